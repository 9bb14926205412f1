// the types draft, section Pointer and View Types, the rule of verify_tensor_view, broken
// expect: expected shape and stride to be of same rank but got shape of rank 2 and stride of rank 1
cuda_tile.module @kernels {
  entry @ranks(%pointer: tile<ptr<f32>>) {
    %view = make_tensor_view %pointer, shape = [64, 32], strides = [32] : tensor_view<64x32xf32, strides=[32]>
    return
  }
}
