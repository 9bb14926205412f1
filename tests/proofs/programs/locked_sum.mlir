// totals[column] += the sum of 64 rows of that column: the tile blocks of a column take turns by a lock, one per column of tiles.
!matrix = partition_view<tile=(64x32), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>
!totals = partition_view<tile=(32), padding_value = zero, tensor_view<?xf32, strides=[1]>>
cuda_tile.module @kernels {
  entry @locked_sum(%source: tile<ptr<f32>>, %totals: tile<ptr<f32>>, %locks: tile<ptr<i32>>, %m: tile<i32>, %n: tile<i32>) {
    %row, %column, %block_z = get_tile_block_id : tile<i32>
    %source_matrix = make_tensor_view %source, shape = [%m, %n], strides = [%n, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
    %source_tiles = make_partition_view %source_matrix : !matrix
    %totals_row = make_tensor_view %totals, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
    %totals_tiles = make_partition_view %totals_row : !totals
    %tile, %loaded = load_view_tko weak %source_tiles[%row, %column] : !matrix, tile<i32> -> tile<64x32xf32>, token
    %sum = reduce %tile dim=0 identities=[0.0 : f32] : tile<64x32xf32> -> tile<32xf32>
    (%element: tile<f32>, %so_far: tile<f32>) {
      %more = addf %element, %so_far : tile<f32>
      yield %more : tile<f32>
    }
    %open = constant <i32: 0> : tile<i32>
    %taken = constant <i32: 1> : tile<i32>
    %lock = offset %locks, %column : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %start = make_token : token
    %locked = loop iter_values(%before = %start) : token -> token {
      %found, %tried = atomic_cas_tko acquire device %lock, %open, %taken token=%before : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
      %is_mine = cmpi equal %found, %open, signed : tile<i32> -> tile<i1>
      if %is_mine {
        break %tried : token
      }
      continue %tried : token
    }
    %so_far, %read = load_view_tko weak %totals_tiles[%column] token = %locked : !totals, tile<i32> -> tile<32xf32>, token
    %more = addf %so_far, %sum : tile<32xf32>
    %written = store_view_tko weak %more, %totals_tiles[%column] token = %read : tile<32xf32>, !totals, tile<i32> -> token
    %old, %unlocked = atomic_rmw_tko release device %lock, xchg, %open token=%written : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
    return
  }
}
