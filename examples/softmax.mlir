// Row-wise softmax of an f32 matrix with at most 1024 columns, row-major.
// Each tile block handles one row: launch as many blocks as there are rows.
cuda_tile.module @kernels {
  entry @softmax(%source: tile<ptr<f32>>, %target: tile<ptr<f32>>, %rows: tile<i32>, %columns: tile<i32>) {
    %row, %y, %z = get_tile_block_id : tile<i32>
    %zero = constant <i32: 0> : tile<i32>

    // Columns past the end read as minus infinity: they change neither the maximum nor the sum.
    %source_tensor = make_tensor_view %source, shape = [%rows, %columns], strides = [%columns, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
    %source_rows = make_partition_view %source_tensor : partition_view<tile=(1x1024), padding_value = neg_inf, tensor_view<?x?xf32, strides=[?,1]>>
    %x, %x_token = load_view_tko weak %source_rows[%row, %zero] : partition_view<tile=(1x1024), padding_value = neg_inf, tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> tile<1x1024xf32>, token

    // The largest value is subtracted first, so that exp cannot overflow. 0xFF800000 is minus infinity.
    %largest = reduce %x dim=1 identities=[0xFF800000 : f32] : tile<1x1024xf32> -> tile<1xf32>
    (%element: tile<f32>, %so_far: tile<f32>) {
      %larger = maxf %element, %so_far : tile<f32>
      yield %larger : tile<f32>
    }
    %largest_2d = reshape %largest : tile<1xf32> -> tile<1x1xf32>
    %largests = broadcast %largest_2d : tile<1x1xf32> -> tile<1x1024xf32>
    %shifted = subf %x, %largests : tile<1x1024xf32>
    %powers = exp %shifted : tile<1x1024xf32>

    %total = reduce %powers dim=1 identities=[0.0 : f32] : tile<1x1024xf32> -> tile<1xf32>
    (%element: tile<f32>, %so_far: tile<f32>) {
      %sum = addf %element, %so_far : tile<f32>
      yield %sum : tile<f32>
    }
    %total_2d = reshape %total : tile<1xf32> -> tile<1x1xf32>
    %totals = broadcast %total_2d : tile<1x1xf32> -> tile<1x1024xf32>
    %result = divf %powers, %totals : tile<1x1024xf32>

    %target_tensor = make_tensor_view %target, shape = [%rows, %columns], strides = [%columns, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
    %target_rows = make_partition_view %target_tensor : partition_view<tile=(1x1024), tensor_view<?x?xf32, strides=[?,1]>>
    %stored = store_view_tko weak %result, %target_rows[%row, %zero] : tile<1x1024xf32>, partition_view<tile=(1x1024), tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> token
    return
  }
}
