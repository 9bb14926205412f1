// Layer norm of the rows of an f32 matrix with at most 1024 columns, row-major:
// (x - mean) / sqrt(variance + epsilon) * weight + bias.
// Each tile block handles one row: launch as many blocks as there are rows.
cuda_tile.module @kernels {
  entry @layer_norm(%source: tile<ptr<f32>>, %weight: tile<ptr<f32>>, %bias: tile<ptr<f32>>, %target: tile<ptr<f32>>, %rows: tile<i32>, %columns: tile<i32>, %epsilon: tile<f32>) {
    %row, %y, %z = get_tile_block_id : tile<i32>
    %zero = constant <i32: 0> : tile<i32>
    %no = constant <f32: 0.0> : tile<1x1024xf32>

    %source_tensor = make_tensor_view %source, shape = [%rows, %columns], strides = [%columns, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
    %source_rows = make_partition_view %source_tensor : partition_view<tile=(1x1024), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>
    %x, %x_token = load_view_tko weak %source_rows[%row, %zero] : partition_view<tile=(1x1024), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> tile<1x1024xf32>, token

    // The mean: columns past the end are zero and add nothing.
    %count = itof %columns signed : tile<i32> -> tile<f32>
    %count_1d = reshape %count : tile<f32> -> tile<1xf32>
    %total = reduce %x dim=1 identities=[0.0 : f32] : tile<1x1024xf32> -> tile<1xf32>
    (%element: tile<f32>, %so_far: tile<f32>) {
      %sum = addf %element, %so_far : tile<f32>
      yield %sum : tile<f32>
    }
    %mean = divf %total, %count_1d : tile<1xf32>
    %mean_2d = reshape %mean : tile<1xf32> -> tile<1x1xf32>
    %means = broadcast %mean_2d : tile<1x1xf32> -> tile<1x1024xf32>
    %difference = subf %x, %means : tile<1x1024xf32>

    // Columns past the end are no longer zero now that the mean is subtracted: they are put back to it.
    %lane = iota : tile<1024xi32>
    %lane_2d = reshape %lane : tile<1024xi32> -> tile<1x1024xi32>
    %columns_2d = reshape %columns : tile<i32> -> tile<1x1xi32>
    %limit = broadcast %columns_2d : tile<1x1xi32> -> tile<1x1024xi32>
    %inside = cmpi less_than %lane_2d, %limit, signed : tile<1x1024xi32> -> tile<1x1024xi1>
    %centered = select %inside, %difference, %no : tile<1x1024xi1>, tile<1x1024xf32>

    %squares = mulf %centered, %centered : tile<1x1024xf32>
    %square_total = reduce %squares dim=1 identities=[0.0 : f32] : tile<1x1024xf32> -> tile<1xf32>
    (%element: tile<f32>, %so_far: tile<f32>) {
      %sum = addf %element, %so_far : tile<f32>
      yield %sum : tile<f32>
    }
    %variance = divf %square_total, %count_1d : tile<1xf32>
    %epsilon_1d = reshape %epsilon : tile<f32> -> tile<1xf32>
    %safe = addf %variance, %epsilon_1d : tile<1xf32>
    %scale = rsqrt %safe : tile<1xf32>
    %scale_2d = reshape %scale : tile<1xf32> -> tile<1x1xf32>
    %scales = broadcast %scale_2d : tile<1x1xf32> -> tile<1x1024xf32>
    %normal = mulf %centered, %scales : tile<1x1024xf32>

    // Weight and bias are matrices of one row.
    %weight_tensor = make_tensor_view %weight, shape = [1, %columns], strides = [%columns, 1] : tile<i32> -> tensor_view<1x?xf32, strides=[?,1]>
    %weight_rows = make_partition_view %weight_tensor : partition_view<tile=(1x1024), padding_value = zero, tensor_view<1x?xf32, strides=[?,1]>>
    %w, %w_token = load_view_tko weak %weight_rows[%zero, %zero] : partition_view<tile=(1x1024), padding_value = zero, tensor_view<1x?xf32, strides=[?,1]>>, tile<i32> -> tile<1x1024xf32>, token
    %bias_tensor = make_tensor_view %bias, shape = [1, %columns], strides = [%columns, 1] : tile<i32> -> tensor_view<1x?xf32, strides=[?,1]>
    %bias_rows = make_partition_view %bias_tensor : partition_view<tile=(1x1024), padding_value = zero, tensor_view<1x?xf32, strides=[?,1]>>
    %b, %b_token = load_view_tko weak %bias_rows[%zero, %zero] : partition_view<tile=(1x1024), padding_value = zero, tensor_view<1x?xf32, strides=[?,1]>>, tile<i32> -> tile<1x1024xf32>, token
    %result = fma %normal, %w, %b : tile<1x1024xf32>

    %target_tensor = make_tensor_view %target, shape = [%rows, %columns], strides = [%columns, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
    %target_rows = make_partition_view %target_tensor : partition_view<tile=(1x1024), tensor_view<?x?xf32, strides=[?,1]>>
    %stored = store_view_tko weak %result, %target_rows[%row, %zero] : tile<1x1024xf32>, partition_view<tile=(1x1024), tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> token
    return
  }
}
