// counts[values[i]] += 1 for i < n: many elements may meet in one count, so the addition is atomic.
// Each tile block counts 128 values: launch ceil(n / 128) blocks.
cuda_tile.module @kernels {
  entry @histogram(%values: tile<ptr<i32>>, %counts: tile<ptr<i32>>, %n: tile<i32>) {
    %block, %block_y, %block_z = get_tile_block_id : tile<i32>
    %size = constant <i32: 128> : tile<i32>
    %first = muli %block, %size : tile<i32>
    %first_1d = reshape %first : tile<i32> -> tile<1xi32>
    %firsts = broadcast %first_1d : tile<1xi32> -> tile<128xi32>
    %lane = iota : tile<128xi32>
    %index = addi %firsts, %lane : tile<128xi32>
    %n_1d = reshape %n : tile<i32> -> tile<1xi32>
    %limit = broadcast %n_1d : tile<1xi32> -> tile<128xi32>
    %mask = cmpi less_than %index, %limit, signed : tile<128xi32> -> tile<128xi1>

    %values_1d = reshape %values : tile<ptr<i32>> -> tile<1xptr<i32>>
    %values_base = broadcast %values_1d : tile<1xptr<i32>> -> tile<128xptr<i32>>
    %values_ptr = offset %values_base, %index : tile<128xptr<i32>>, tile<128xi32> -> tile<128xptr<i32>>
    %zero = constant <i32: 0> : tile<128xi32>
    %bucket, %bucket_token = load_ptr_tko weak %values_ptr, %mask, %zero : tile<128xptr<i32>>, tile<128xi1>, tile<128xi32> -> tile<128xi32>, token

    // Pointers that meet add up one after the other, within a tile and between tile blocks.
    %counts_1d = reshape %counts : tile<ptr<i32>> -> tile<1xptr<i32>>
    %counts_base = broadcast %counts_1d : tile<1xptr<i32>> -> tile<128xptr<i32>>
    %counts_ptr = offset %counts_base, %bucket : tile<128xptr<i32>>, tile<128xi32> -> tile<128xptr<i32>>
    %one = constant <i32: 1> : tile<128xi32>
    %old, %old_token = atomic_rmw_tko relaxed device %counts_ptr, add, %one, %mask : tile<128xptr<i32>>, tile<128xi32>, tile<128xi1> -> tile<128xi32>, token
    return
  }
}
