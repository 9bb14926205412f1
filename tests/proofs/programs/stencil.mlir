// target[i] = source[i - 1] + source[i] + source[i + 1] for i < n; neighbors beyond the ends are zero.
!index = tile<128xi32>
!pointers = tile<128xptr<f32>>
cuda_tile.module @kernels {
  entry @stencil(%source: tile<ptr<f32>>, %target: tile<ptr<f32>>, %n: tile<i32>) {
    %block, %block_y, %block_z = get_tile_block_id : tile<i32>
    %size = constant <i32: 128> : tile<i32>
    %first = muli %block, %size : tile<i32>
    %first_1 = reshape %first : tile<i32> -> tile<1xi32>
    %firsts = broadcast %first_1 : tile<1xi32> -> !index
    %lane = iota : !index
    %index = addi %firsts, %lane : !index
    %n_1 = reshape %n : tile<i32> -> tile<1xi32>
    %limit = broadcast %n_1 : tile<1xi32> -> !index
    %zero = constant <i32: 0> : !index
    %one = constant <i32: 1> : !index
    %left = subi %index, %one : !index
    %right = addi %index, %one : !index
    %inside = cmpi less_than %index, %limit, signed : !index -> tile<128xi1>
    %after_first = cmpi greater_than_or_equal %left, %zero, signed : !index -> tile<128xi1>
    %has_left = andi %inside, %after_first : tile<128xi1>
    %before_last = cmpi less_than %right, %limit, signed : !index -> tile<128xi1>
    %has_right = andi %inside, %before_last : tile<128xi1>
    %source_1 = reshape %source : tile<ptr<f32>> -> tile<1xptr<f32>>
    %base = broadcast %source_1 : tile<1xptr<f32>> -> !pointers
    %left_at = offset %base, %left : !pointers, !index -> !pointers
    %middle_at = offset %base, %index : !pointers, !index -> !pointers
    %right_at = offset %base, %right : !pointers, !index -> !pointers
    %target_1 = reshape %target : tile<ptr<f32>> -> tile<1xptr<f32>>
    %target_base = broadcast %target_1 : tile<1xptr<f32>> -> !pointers
    %target_at = offset %target_base, %index : !pointers, !index -> !pointers
    %nothing = constant <f32: 0.0> : tile<128xf32>
    %a, %a_token = load_ptr_tko weak %left_at, %has_left, %nothing : !pointers, tile<128xi1>, tile<128xf32> -> tile<128xf32>, token
    %b, %b_token = load_ptr_tko weak %middle_at, %inside, %nothing : !pointers, tile<128xi1>, tile<128xf32> -> tile<128xf32>, token
    %c, %c_token = load_ptr_tko weak %right_at, %has_right, %nothing : !pointers, tile<128xi1>, tile<128xf32> -> tile<128xf32>, token
    %ab = addf %a, %b : tile<128xf32>
    %sum = addf %ab, %c : tile<128xf32>
    %stored = store_ptr_tko weak %target_at, %sum, %inside : !pointers, tile<128xf32>, tile<128xi1> -> token
    return
  }
}
