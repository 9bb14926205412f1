// the printer draft, section Token-Ordered Memory Syntax, examples
// expect: mask
// A10: a view operation takes no mask; elided in the draft and filled in here: partition_view<...>
cuda_tile.module @kernels {
  entry @store(%base: tile<ptr<f32>>, %i: tile<i32>, %j: tile<i32>, %value: tile<f32>, %mask: tile<i1>) {
    %tensor = make_tensor_view %base, shape = [64, 32], strides = [32, 1] : tensor_view<64x32xf32, strides=[32,1]>
    %view = make_partition_view %tensor : partition_view<tile=(4x8), tensor_view<64x32xf32, strides=[32,1]>>
    %tok0 = make_token : token
    // block 1, third statement
    %tok1 = cuda_tile.store_view_tko release gpu %view[%i, %j], %value, %mask
    token=%tok0 : !cuda_tile.partition_view<tile=(4x8), tensor_view<64x32xf32, strides=[32,1]>>, !cuda_tile.tile<f32>
    -> !cuda_tile.token
    return
  }
}
