// out[b, h] = q[b, h] k[b, h / group] transposed, weighted sums of v[b, h / group]; one tile block for 64 queries of a head, head size 32.
// Scores are used as weights without a softmax, which would not change an access.
!q = partition_view<tile=(1x1x64x32), padding_value = zero, tensor_view<?x?x?x32xf16, strides=[?,?,32,1]>>
!k = partition_view<tile=(1x1x32x64), padding_value = zero, tensor_view<?x?x?x32xf16, strides=[?,?,32,1]>, dim_map=[0, 1, 3, 2]>
!v = partition_view<tile=(1x1x64x32), padding_value = zero, tensor_view<?x?x?x32xf16, strides=[?,?,32,1]>>
!out = partition_view<tile=(1x1x64x32), tensor_view<?x?x?x32xf32, strides=[?,?,32,1]>>
cuda_tile.module @kernels {
  entry @attention(%q: tile<ptr<f16>>, %k: tile<ptr<f16>>, %v: tile<ptr<f16>>, %out: tile<ptr<f32>>, %batches: tile<i32>, %heads: tile<i32>, %groups: tile<i32>, %queries: tile<i32>, %keys: tile<i32>) {
    %block, %head, %batch = get_tile_block_id : tile<i32>
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %width = constant <i32: 32> : tile<i32>
    %side = constant <i32: 64> : tile<i32>
    %group = divi %heads, %groups signed : tile<i32>
    %key_head = divi %head, %group signed : tile<i32>
    %q_head = muli %queries, %width : tile<i32>
    %q_batch = muli %q_head, %heads : tile<i32>
    %k_head = muli %keys, %width : tile<i32>
    %k_batch = muli %k_head, %groups : tile<i32>
    %q_tensor = make_tensor_view %q, shape = [%batches, %heads, %queries, 32], strides = [%q_batch, %q_head, 32, 1] : tile<i32> -> tensor_view<?x?x?x32xf16, strides=[?,?,32,1]>
    %k_tensor = make_tensor_view %k, shape = [%batches, %groups, %keys, 32], strides = [%k_batch, %k_head, 32, 1] : tile<i32> -> tensor_view<?x?x?x32xf16, strides=[?,?,32,1]>
    %v_tensor = make_tensor_view %v, shape = [%batches, %groups, %keys, 32], strides = [%k_batch, %k_head, 32, 1] : tile<i32> -> tensor_view<?x?x?x32xf16, strides=[?,?,32,1]>
    %out_tensor = make_tensor_view %out, shape = [%batches, %heads, %queries, 32], strides = [%q_batch, %q_head, 32, 1] : tile<i32> -> tensor_view<?x?x?x32xf32, strides=[?,?,32,1]>
    %q_tiles = make_partition_view %q_tensor : !q
    %k_tiles = make_partition_view %k_tensor : !k
    %v_tiles = make_partition_view %v_tensor : !v
    %out_tiles = make_partition_view %out_tensor : !out
    %query_4, %query_token = load_view_tko weak %q_tiles[%batch, %head, %block, %zero] : !q, tile<i32> -> tile<1x1x64x32xf16>, token
    %query = reshape %query_4 : tile<1x1x64x32xf16> -> tile<64x32xf16>
    %steps = divi %keys, %side signed rounding<positive_inf> : tile<i32>
    %no_scores = constant <f32: 0.0> : tile<64x64xf32>
    %nothing = constant <f32: 0.0> : tile<64x32xf32>
    %result = for %step in (%zero to %steps, step %one) : tile<i32> iter_values(%before = %nothing) -> (tile<64x32xf32>) {
      %keys_4, %keys_token = load_view_tko weak %k_tiles[%batch, %key_head, %zero, %step] : !k, tile<i32> -> tile<1x1x32x64xf16>, token
      %key_tile = reshape %keys_4 : tile<1x1x32x64xf16> -> tile<32x64xf16>
      %scores = mmaf %query, %key_tile, %no_scores : tile<64x32xf16>, tile<32x64xf16>, tile<64x64xf32>
      %weights = ftof %scores : tile<64x64xf32> -> tile<64x64xf16>
      %values_4, %values_token = load_view_tko weak %v_tiles[%batch, %key_head, %step, %zero] : !v, tile<i32> -> tile<1x1x64x32xf16>, token
      %values = reshape %values_4 : tile<1x1x64x32xf16> -> tile<64x32xf16>
      %after = mmaf %weights, %values, %before : tile<64x64xf16>, tile<64x32xf16>, tile<64x32xf32>
      continue %after : tile<64x32xf32>
    }
    %result_4 = reshape %result : tile<64x32xf32> -> tile<1x1x64x32xf32>
    %stored = store_view_tko weak %result_4, %out_tiles[%batch, %head, %block, %zero] : tile<1x1x64x32xf32>, !out, tile<i32> -> token
    return
  }
}
