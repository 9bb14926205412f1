// the printer draft, section Token-Ordered Memory Syntax, examples
// verify: yes
// view before value: A10; elided in the draft and filled in here: partition_view<...>; the value is a tile of the view, not tile<f32>
cuda_tile.module @kernels {
  entry @store(%base: tile<ptr<f32>>, %i: tile<i32>, %j: tile<i32>) {
    %tensor = make_tensor_view %base, shape = [64, 32], strides = [32, 1] : tensor_view<64x32xf32, strides=[32,1]>
    %view = make_partition_view %tensor : partition_view<tile=(4x8), tensor_view<64x32xf32, strides=[32,1]>>
    %value = constant <f32: 0.0> : tile<4x8xf32>
    %tok0 = make_token : token
    // block 1, third statement without its mask
    %tok1 = cuda_tile.store_view_tko release gpu %view[%i, %j], %value
    token=%tok0 : !cuda_tile.partition_view<tile=(4x8), tensor_view<64x32xf32, strides=[32,1]>>, !cuda_tile.tile<4x8xf32>
    -> !cuda_tile.token
    return
  }
}
