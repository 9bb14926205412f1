// Wrong on purpose: each tile block adds its sum of 128 values to a total by a plain load and store, so that sums get lost.
// `tileir run --sanitize` reports it, `--schedule interleaved` shows it; an atomic addition, as in histogram.mlir, is right.
// tileir: ignore-file[same-store-in-every-block]: that is the race
cuda_tile.module @kernels {
  entry @racy(%values: tile<ptr<i32>>, %total: tile<ptr<i32>>, %n: tile<i32>) {
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
    %x, %x_token = load_ptr_tko weak %values_ptr, %mask, %zero : tile<128xptr<i32>>, tile<128xi1>, tile<128xi32> -> tile<128xi32>, token
    %sum = reduce %x dim=0 identities=[0 : i32] : tile<128xi32> -> tile<i32>
    (%element: tile<i32>, %so_far: tile<i32>) {
      %more = addi %element, %so_far : tile<i32>
      yield %more : tile<i32>
    }

    // Here another tile block may come in between.
    %old, %old_token = load_ptr_tko weak %total : tile<ptr<i32>> -> tile<i32>, token
    %new = addi %old, %sum : tile<i32>
    %stored = store_ptr_tko weak %total, %new token=%old_token : tile<ptr<i32>>, tile<i32> -> token
    return
  }
}
