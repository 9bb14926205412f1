// Softmax of each row of an m x n matrix, in two passes over the columns; one tile block for each row.
!rows = partition_view<tile=(1x256), padding_value = neg_inf, tensor_view<?x?xf32, strides=[?,1]>>
!target = partition_view<tile=(1x256), tensor_view<?x?xf32, strides=[?,1]>>
cuda_tile.module @kernels {
  entry @softmax(%source: tile<ptr<f32>>, %target: tile<ptr<f32>>, %m: tile<i32>, %n: tile<i32>) {
    %row, %block_y, %block_z = get_tile_block_id : tile<i32>
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %source_matrix = make_tensor_view %source, shape = [%m, %n], strides = [%n, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
    %target_matrix = make_tensor_view %target, shape = [%m, %n], strides = [%n, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
    %source_rows = make_partition_view %source_matrix : !rows
    %target_rows = make_partition_view %target_matrix : !target
    %count:2 = get_index_space_shape %source_rows : !rows -> tile<i32>
    %lowest = constant <f32: 0xFF800000> : tile<1x1xf32>
    %nothing = constant <f32: 0.0> : tile<1x1xf32>
    %peak, %total = for %step in (%zero to %count#1, step %one) : tile<i32> iter_values(%peak_before = %lowest, %total_before = %nothing) -> (tile<1x1xf32>, tile<1x1xf32>) {
      %x, %x_token = load_view_tko weak %source_rows[%row, %step] : !rows, tile<i32> -> tile<1x256xf32>, token
      %largest = reduce %x dim=1 identities=[0xFF800000 : f32] : tile<1x256xf32> -> tile<1xf32>
      (%element: tile<f32>, %so_far: tile<f32>) {
        %larger = maxf %element, %so_far : tile<f32>
        yield %larger : tile<f32>
      }
      %largest_2 = reshape %largest : tile<1xf32> -> tile<1x1xf32>
      %higher = maxf %peak_before, %largest_2 : tile<1x1xf32>
      %highers = broadcast %higher : tile<1x1xf32> -> tile<1x256xf32>
      %shifted = subf %x, %highers : tile<1x256xf32>
      %powers = exp %shifted : tile<1x256xf32>
      %sum = reduce %powers dim=1 identities=[0.0 : f32] : tile<1x256xf32> -> tile<1xf32>
      (%element: tile<f32>, %so_far: tile<f32>) {
        %more = addf %element, %so_far : tile<f32>
        yield %more : tile<f32>
      }
      %sum_2 = reshape %sum : tile<1xf32> -> tile<1x1xf32>
      %drop = subf %peak_before, %higher : tile<1x1xf32>
      %shrink = exp %drop : tile<1x1xf32>
      %total_after = fma %total_before, %shrink, %sum_2 : tile<1x1xf32>
      continue %higher, %total_after : tile<1x1xf32>, tile<1x1xf32>
    }
    %peaks = broadcast %peak : tile<1x1xf32> -> tile<1x256xf32>
    %totals = broadcast %total : tile<1x1xf32> -> tile<1x256xf32>
    for %step in (%zero to %count#1, step %one) : tile<i32> {
      %x, %x_token = load_view_tko weak %source_rows[%row, %step] : !rows, tile<i32> -> tile<1x256xf32>, token
      %shifted = subf %x, %peaks : tile<1x256xf32>
      %powers = exp %shifted : tile<1x256xf32>
      %result = divf %powers, %totals : tile<1x256xf32>
      %stored = store_view_tko weak %result, %target_rows[%row, %step] : tile<1x256xf32>, !target, tile<i32> -> token
      continue
    }
    return
  }
}
