// softmax(Q * K^T * scale) * V for one head of depth 64: Q, K and V are f16, length x 64, row-major; the result is f32.
// Each tile block handles 64 queries, in one pass over the keys and the values: launch ceil(length / 64) blocks.
cuda_tile.module @kernels {
  entry @attention(%q: tile<ptr<f16>>, %k: tile<ptr<f16>>, %v: tile<ptr<f16>>, %out: tile<ptr<f32>>, %length: tile<i32>, %scale: tile<f32>) {
    %block, %y, %z = get_tile_block_id : tile<i32>
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>

    %q_tensor = make_tensor_view %q, shape = [%length, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf16, strides=[64,1]>
    %k_tensor = make_tensor_view %k, shape = [%length, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf16, strides=[64,1]>
    %v_tensor = make_tensor_view %v, shape = [%length, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf16, strides=[64,1]>
    %out_tensor = make_tensor_view %out, shape = [%length, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
    %q_tiles = make_partition_view %q_tensor : partition_view<tile=(64x64), padding_value = zero, tensor_view<?x64xf16, strides=[64,1]>>
    // The keys are read transposed: dimension 0 of a tile lies along dimension 1 of the matrix.
    %k_tiles = make_partition_view %k_tensor : partition_view<tile=(64x64), padding_value = zero, tensor_view<?x64xf16, strides=[64,1]>, dim_map=[1, 0]>
    %v_tiles = make_partition_view %v_tensor : partition_view<tile=(64x64), padding_value = zero, tensor_view<?x64xf16, strides=[64,1]>>
    %out_tiles = make_partition_view %out_tensor : partition_view<tile=(64x64), tensor_view<?x64xf32, strides=[64,1]>>
    %query, %query_token = load_view_tko weak %q_tiles[%block, %zero] : partition_view<tile=(64x64), padding_value = zero, tensor_view<?x64xf16, strides=[64,1]>>, tile<i32> -> tile<64x64xf16>, token

    %scale_2d = reshape %scale : tile<f32> -> tile<1x1xf32>
    %scales = broadcast %scale_2d : tile<1x1xf32> -> tile<64x64xf32>
    %length_2d = reshape %length : tile<i32> -> tile<1x1xi32>
    %limit = broadcast %length_2d : tile<1x1xi32> -> tile<64x64xi32>
    %lane = iota : tile<64xi32>
    %lane_2d = reshape %lane : tile<64xi32> -> tile<1x64xi32>
    %lanes = broadcast %lane_2d : tile<1x64xi32> -> tile<64x64xi32>
    %size = constant <i32: 64> : tile<i32>
    %empty = constant <f32: 0.0> : tile<64x64xf32>
    %never = constant <f32: 0xFF800000> : tile<64x64xf32>

    // Three values travel through the loop: the weighted sum of values, and for each query the largest score and the sum
    // of weights so far. A larger score scales down what is summed so far.
    %no_peak = constant <f32: 0xFF800000> : tile<64x1xf32>
    %no_total = constant <f32: 0.0> : tile<64x1xf32>
    %count:2 = get_index_space_shape %v_tiles : partition_view<tile=(64x64), padding_value = zero, tensor_view<?x64xf16, strides=[64,1]>> -> tile<i32>
    %mixed, %peak, %total = for %step in (%zero to %count#0, step %one) : tile<i32> iter_values(%mixed_before = %empty, %peak_before = %no_peak, %total_before = %no_total) -> (tile<64x64xf32>, tile<64x1xf32>, tile<64x1xf32>) {
      %keys, %keys_token = load_view_tko weak %k_tiles[%zero, %step] : partition_view<tile=(64x64), padding_value = zero, tensor_view<?x64xf16, strides=[64,1]>, dim_map=[1, 0]>, tile<i32> -> tile<64x64xf16>, token
      %product = mmaf %query, %keys, %empty : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
      %scaled = mulf %product, %scales : tile<64x64xf32>

      // Keys past the end get no weight.
      %first = muli %step, %size : tile<i32>
      %first_2d = reshape %first : tile<i32> -> tile<1x1xi32>
      %firsts = broadcast %first_2d : tile<1x1xi32> -> tile<64x64xi32>
      %index = addi %firsts, %lanes : tile<64x64xi32>
      %inside = cmpi less_than %index, %limit, signed : tile<64x64xi32> -> tile<64x64xi1>
      %score = select %inside, %scaled, %never : tile<64x64xi1>, tile<64x64xf32>

      %largest = reduce %score dim=1 identities=[0xFF800000 : f32] : tile<64x64xf32> -> tile<64xf32>
      (%element: tile<f32>, %so_far: tile<f32>) {
        %larger = maxf %element, %so_far : tile<f32>
        yield %larger : tile<f32>
      }
      %largest_2d = reshape %largest : tile<64xf32> -> tile<64x1xf32>
      %higher = maxf %peak_before, %largest_2d : tile<64x1xf32>
      %highers = broadcast %higher : tile<64x1xf32> -> tile<64x64xf32>
      %shifted = subf %score, %highers : tile<64x64xf32>
      %weight = exp %shifted : tile<64x64xf32>
      %drop = subf %peak_before, %higher : tile<64x1xf32>
      %shrink = exp %drop : tile<64x1xf32>

      %sum = reduce %weight dim=1 identities=[0.0 : f32] : tile<64x64xf32> -> tile<64xf32>
      (%element: tile<f32>, %so_far: tile<f32>) {
        %more = addf %element, %so_far : tile<f32>
        yield %more : tile<f32>
      }
      %sum_2d = reshape %sum : tile<64xf32> -> tile<64x1xf32>
      %total_after = fma %total_before, %shrink, %sum_2d : tile<64x1xf32>

      %values, %values_token = load_view_tko weak %v_tiles[%step, %zero] : partition_view<tile=(64x64), padding_value = zero, tensor_view<?x64xf16, strides=[64,1]>>, tile<i32> -> tile<64x64xf16>, token
      %shrinks = broadcast %shrink : tile<64x1xf32> -> tile<64x64xf32>
      %kept = mulf %mixed_before, %shrinks : tile<64x64xf32>
      %narrow = ftof %weight : tile<64x64xf32> -> tile<64x64xf16>
      %mixed_after = mmaf %narrow, %values, %kept : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
      continue %mixed_after, %higher, %total_after : tile<64x64xf32>, tile<64x1xf32>, tile<64x1xf32>
    }

    %totals = broadcast %total : tile<64x1xf32> -> tile<64x64xf32>
    %result = divf %mixed, %totals : tile<64x64xf32>
    %stored = store_view_tko weak %result, %out_tiles[%block, %zero] : tile<64x64xf32>, partition_view<tile=(64x64), tensor_view<?x64xf32, strides=[64,1]>>, tile<i32> -> token
    return
  }
}
