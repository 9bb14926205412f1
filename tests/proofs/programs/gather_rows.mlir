// target[i, :] = table[rows[i], :] for i < n, where rows[i] is a row of the table; offsets are computed in 64 bits.
!index = tile<64xi64>
!pointers = tile<64xptr<f32>>
cuda_tile.module @kernels {
  entry @gather_rows(%table: tile<ptr<f32>>, %rows: tile<ptr<i32>>, %target: tile<ptr<f32>>, %m: tile<i32>, %n: tile<i32>, %width: tile<i32>) {
    %i, %part, %block_z = get_tile_block_id : tile<i32>
    %row_at = offset %rows, %i : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %row, %row_token = load_ptr_tko weak %row_at : tile<ptr<i32>> -> tile<i32>, token
    %zero = constant <i32: 0> : tile<i32>
    %at_least = cmpi greater_than_or_equal %row, %zero, signed : tile<i32> -> tile<i1>
    %below = cmpi less_than %row, %m, signed : tile<i32> -> tile<i1>
    %valid = andi %at_least, %below : tile<i1>
    %size = constant <i32: 64> : tile<i32>
    %first = muli %part, %size : tile<i32>
    %first_1 = reshape %first : tile<i32> -> tile<1xi32>
    %firsts = broadcast %first_1 : tile<1xi32> -> tile<64xi32>
    %lane = iota : tile<64xi32>
    %column = addi %firsts, %lane : tile<64xi32>
    %width_1 = reshape %width : tile<i32> -> tile<1xi32>
    %limit = broadcast %width_1 : tile<1xi32> -> tile<64xi32>
    %inside = cmpi less_than %column, %limit, signed : tile<64xi32> -> tile<64xi1>
    %valid_1 = reshape %valid : tile<i1> -> tile<1xi1>
    %valids = broadcast %valid_1 : tile<1xi1> -> tile<64xi1>
    %mask = andi %inside, %valids : tile<64xi1>
    %column_wide = exti %column signed : tile<64xi32> -> !index
    %width_wide = exti %width signed : tile<i32> -> tile<i64>
    %row_wide = exti %row signed : tile<i32> -> tile<i64>
    %source_first = muli %row_wide, %width_wide : tile<i64>
    %source_1 = reshape %source_first : tile<i64> -> tile<1xi64>
    %source_firsts = broadcast %source_1 : tile<1xi64> -> !index
    %source_index = addi %source_firsts, %column_wide : !index
    %i_wide = exti %i signed : tile<i32> -> tile<i64>
    %target_first = muli %i_wide, %width_wide : tile<i64>
    %target_1 = reshape %target_first : tile<i64> -> tile<1xi64>
    %target_firsts = broadcast %target_1 : tile<1xi64> -> !index
    %target_index = addi %target_firsts, %column_wide : !index
    %table_1 = reshape %table : tile<ptr<f32>> -> tile<1xptr<f32>>
    %table_base = broadcast %table_1 : tile<1xptr<f32>> -> !pointers
    %source_at = offset %table_base, %source_index : !pointers, !index -> !pointers
    %out_1 = reshape %target : tile<ptr<f32>> -> tile<1xptr<f32>>
    %out_base = broadcast %out_1 : tile<1xptr<f32>> -> !pointers
    %target_at = offset %out_base, %target_index : !pointers, !index -> !pointers
    %nothing = constant <f32: 0.0> : tile<64xf32>
    %values, %values_token = load_ptr_tko weak %source_at, %mask, %nothing : !pointers, tile<64xi1>, tile<64xf32> -> tile<64xf32>, token
    %stored = store_ptr_tko weak %target_at, %values, %inside : !pointers, tile<64xf32>, tile<64xi1> -> token
    return
  }
}
