// counts[values[i]] += 1 for i < n where 0 <= values[i] < bins.
!index = tile<128xi32>
!pointers = tile<128xptr<i32>>
cuda_tile.module @kernels {
  entry @histogram(%values: tile<ptr<i32>>, %counts: tile<ptr<i32>>, %n: tile<i32>, %bins: tile<i32>) {
    %block, %block_y, %block_z = get_tile_block_id : tile<i32>
    %size = constant <i32: 128> : tile<i32>
    %first = muli %block, %size : tile<i32>
    %first_1 = reshape %first : tile<i32> -> tile<1xi32>
    %firsts = broadcast %first_1 : tile<1xi32> -> !index
    %lane = iota : !index
    %index = addi %firsts, %lane : !index
    %n_1 = reshape %n : tile<i32> -> tile<1xi32>
    %limit = broadcast %n_1 : tile<1xi32> -> !index
    %inside = cmpi less_than %index, %limit, signed : !index -> tile<128xi1>
    %values_1 = reshape %values : tile<ptr<i32>> -> tile<1xptr<i32>>
    %values_base = broadcast %values_1 : tile<1xptr<i32>> -> !pointers
    %value_at = offset %values_base, %index : !pointers, !index -> !pointers
    %none = constant <i32: -1> : !index
    %bin, %bin_token = load_ptr_tko weak %value_at, %inside, %none : !pointers, tile<128xi1>, !index -> !index, token
    %zero = constant <i32: 0> : !index
    %at_least = cmpi greater_than_or_equal %bin, %zero, signed : !index -> tile<128xi1>
    %bins_1 = reshape %bins : tile<i32> -> tile<1xi32>
    %most = broadcast %bins_1 : tile<1xi32> -> !index
    %below = cmpi less_than %bin, %most, signed : !index -> tile<128xi1>
    %mask = andi %at_least, %below : tile<128xi1>
    %counts_1 = reshape %counts : tile<ptr<i32>> -> tile<1xptr<i32>>
    %counts_base = broadcast %counts_1 : tile<1xptr<i32>> -> !pointers
    %count_at = offset %counts_base, %bin : !pointers, !index -> !pointers
    %one = constant <i32: 1> : !index
    %old, %counted = atomic_rmw_tko relaxed device %count_at, add, %one, %mask : !pointers, !index, tile<128xi1> -> !index, token
    return
  }
}
