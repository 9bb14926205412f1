// the types draft, section Concrete Types, no code block, every type it names
// verify: yes
// string is in a file of its own: D3
cuda_tile.module @kernels {
  entry @types(%pointer: !cuda_tile.tile<ptr<f32>>, %extent: !cuda_tile.tile<i32>) {
    %tile = cuda_tile.constant <f32: 0.0> : !cuda_tile.tile<4x8xf32>
    %scalar = cuda_tile.make_tensor_view %pointer, shape = [], strides = [] : !cuda_tile.tensor_view<f32>
    %static = cuda_tile.make_tensor_view %pointer, shape = [64, 32], strides = [32, 1] : !cuda_tile.tensor_view<64x32xf32, strides=[32,1]>
    %dynamic = cuda_tile.make_tensor_view %pointer, shape = [%extent, 32], strides = [%extent, 1] : !cuda_tile.tile<i32> -> !cuda_tile.tensor_view<?x32xf32, strides=[?,1]>
    %partition = cuda_tile.make_partition_view %static : !cuda_tile.partition_view<tile=(4x8), tensor_view<64x32xf32, strides=[32,1]>>
    %padded = cuda_tile.make_partition_view %dynamic : !cuda_tile.partition_view<tile=(4x8), padding_value = nan, tensor_view<?x32xf32, strides=[?,1]>, dim_map=[1, 0]>
    %token = cuda_tile.make_token : !cuda_tile.token
    return
  }
}
