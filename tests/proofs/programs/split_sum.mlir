// totals[column] += the sum of 64 rows of that column: every tile block of a column adds its part by atomics.
!matrix = partition_view<tile=(64x32), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>
!index = tile<32xi32>
!pointers = tile<32xptr<f32>>
cuda_tile.module @kernels {
  entry @split_sum(%source: tile<ptr<f32>>, %totals: tile<ptr<f32>>, %m: tile<i32>, %n: tile<i32>) {
    %row, %column, %block_z = get_tile_block_id : tile<i32>
    %source_matrix = make_tensor_view %source, shape = [%m, %n], strides = [%n, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
    %source_tiles = make_partition_view %source_matrix : !matrix
    %tile, %loaded = load_view_tko weak %source_tiles[%row, %column] : !matrix, tile<i32> -> tile<64x32xf32>, token
    %sum = reduce %tile dim=0 identities=[0.0 : f32] : tile<64x32xf32> -> tile<32xf32>
    (%element: tile<f32>, %so_far: tile<f32>) {
      %more = addf %element, %so_far : tile<f32>
      yield %more : tile<f32>
    }
    %width = constant <i32: 32> : tile<i32>
    %first = muli %column, %width : tile<i32>
    %first_1 = reshape %first : tile<i32> -> tile<1xi32>
    %firsts = broadcast %first_1 : tile<1xi32> -> !index
    %lane = iota : !index
    %index = addi %firsts, %lane : !index
    %n_1 = reshape %n : tile<i32> -> tile<1xi32>
    %limit = broadcast %n_1 : tile<1xi32> -> !index
    %mask = cmpi less_than %index, %limit, signed : !index -> tile<32xi1>
    %totals_1 = reshape %totals : tile<ptr<f32>> -> tile<1xptr<f32>>
    %base = broadcast %totals_1 : tile<1xptr<f32>> -> !pointers
    %at = offset %base, %index : !pointers, !index -> !pointers
    %old, %added = atomic_rmw_tko relaxed device %at, addf, %sum, %mask : !pointers, tile<32xf32>, tile<32xi1> -> tile<32xf32>, token
    return
  }
}
