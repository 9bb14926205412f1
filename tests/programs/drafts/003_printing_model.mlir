// the printer draft, section Printing Model, examples
// verify: yes
// elided in the draft and filled in here: the parameters of partition_view and of the loaded tile; index types: A3; token=: A12; gpu: B1
cuda_tile.module @kernels {
  entry @example(%base: tile<ptr<f32>>, %i: tile<i32>, %j: tile<i32>) {
    %tensor = make_tensor_view %base, shape = [64, 32], strides = [32, 1] : tensor_view<64x32xf32, strides=[32,1]>
    %view = make_partition_view %tensor : partition_view<tile=(4x8), tensor_view<64x32xf32, strides=[32,1]>>
    // block 1
    %tok0 = cuda_tile.make_token : !cuda_tile.token
    %v, %tok1 = cuda_tile.load_view_tko acquire gpu %view[%i, %j] token=%tok0
    : !cuda_tile.partition_view<tile=(4x8), tensor_view<64x32xf32, strides=[32,1]>> -> !cuda_tile.tile<4x8xf32>, !cuda_tile.token
    return
  }
}
