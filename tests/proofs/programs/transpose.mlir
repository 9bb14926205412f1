// target = source transposed; source is m x n.
!source = partition_view<tile=(32x64), tensor_view<?x?xf32, strides=[?,1]>>
!target = partition_view<tile=(64x32), tensor_view<?x?xf32, strides=[?,1]>>
cuda_tile.module @kernels {
  entry @transpose(%source: tile<ptr<f32>>, %target: tile<ptr<f32>>, %m: tile<i32>, %n: tile<i32>) {
    %row, %column, %block_z = get_tile_block_id : tile<i32>
    %source_matrix = make_tensor_view %source, shape = [%m, %n], strides = [%n, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
    %target_matrix = make_tensor_view %target, shape = [%n, %m], strides = [%m, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
    %source_tiles = make_partition_view %source_matrix : !source
    %target_tiles = make_partition_view %target_matrix : !target
    %tile, %loaded = load_view_tko weak %source_tiles[%row, %column] : !source, tile<i32> -> tile<32x64xf32>, token
    %turned = permute %tile [1, 0] : tile<32x64xf32> -> tile<64x32xf32>
    %stored = store_view_tko weak %turned, %target_tiles[%column, %row] : tile<64x32xf32>, !target, tile<i32> -> token
    return
  }
}
