// the printer draft, section Token-Ordered Memory Syntax, examples
// verify: no (the value must be a tile of the view's shape)
// view before value: A10; elided in the draft and filled in here: partition_view<...>
cuda_tile.module @kernels {
  entry @store(%base: tile<ptr<f32>>, %i: tile<i32>, %j: tile<i32>, %value: tile<f32>) {
    %tensor = make_tensor_view %base, shape = [64, 32], strides = [32, 1] : tensor_view<64x32xf32, strides=[32,1]>
    %view = make_partition_view %tensor : partition_view<tile=(4x8), tensor_view<64x32xf32, strides=[32,1]>>
    %tok0 = make_token : token
    // block 1, third statement without its mask, with the value type of the draft
    %tok1 = cuda_tile.store_view_tko release gpu %view[%i, %j], %value
    token=%tok0 : !cuda_tile.partition_view<tile=(4x8), tensor_view<64x32xf32, strides=[32,1]>>, !cuda_tile.tile<f32>
    -> !cuda_tile.token
    return
  }
}
