// the types draft, section Pointer and View Types, the rule of verify_partition_view, broken
// expect: target dimension 0 mapped at least twice (for tile dimensions 0 and 1)
cuda_tile.module @kernels {
  entry @map_not_injective(%pointer: tile<ptr<f32>>) {
    %tensor = make_tensor_view %pointer, shape = [64, 32], strides = [32, 1] : tensor_view<64x32xf32, strides=[32,1]>
    %view = make_partition_view %tensor : partition_view<tile=(4x8), tensor_view<64x32xf32, strides=[32,1]>, dim_map=[0, 0]>
    return
  }
}
