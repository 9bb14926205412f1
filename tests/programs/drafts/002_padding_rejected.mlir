// the types draft, section Pointer and View Types, the padding rule of verify_partition_view, broken
// expect: padding_value nan can only be used with floating point element types
cuda_tile.module @kernels {
  entry @padding(%pointer: tile<ptr<i32>>) {
    %tensor = make_tensor_view %pointer, shape = [64, 32], strides = [32, 1] : tensor_view<64x32xi32, strides=[32,1]>
    %view = make_partition_view %tensor : partition_view<tile=(4x8), padding_value = nan, tensor_view<64x32xi32, strides=[32,1]>>
    return
  }
}
