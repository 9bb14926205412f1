// c[i] = a[i] + b[i] for i < n, through pointers and a mask.
!index = tile<128xi32>
!pointers = tile<128xptr<f32>>
cuda_tile.module @kernels {
  entry @vector_add(%a: tile<ptr<f32>>, %b: tile<ptr<f32>>, %c: tile<ptr<f32>>, %n: tile<i32>) {
    %block, %block_y, %block_z = get_tile_block_id : tile<i32>
    %size = constant <i32: 128> : tile<i32>
    %first = muli %block, %size : tile<i32>
    %first_1 = reshape %first : tile<i32> -> tile<1xi32>
    %firsts = broadcast %first_1 : tile<1xi32> -> !index
    %lane = iota : !index
    %index = addi %firsts, %lane : !index
    %n_1 = reshape %n : tile<i32> -> tile<1xi32>
    %limit = broadcast %n_1 : tile<1xi32> -> !index
    %mask = cmpi less_than %index, %limit, signed : !index -> tile<128xi1>
    %a_1 = reshape %a : tile<ptr<f32>> -> tile<1xptr<f32>>
    %a_base = broadcast %a_1 : tile<1xptr<f32>> -> !pointers
    %a_at = offset %a_base, %index : !pointers, !index -> !pointers
    %b_1 = reshape %b : tile<ptr<f32>> -> tile<1xptr<f32>>
    %b_base = broadcast %b_1 : tile<1xptr<f32>> -> !pointers
    %b_at = offset %b_base, %index : !pointers, !index -> !pointers
    %c_1 = reshape %c : tile<ptr<f32>> -> tile<1xptr<f32>>
    %c_base = broadcast %c_1 : tile<1xptr<f32>> -> !pointers
    %c_at = offset %c_base, %index : !pointers, !index -> !pointers
    %zero = constant <f32: 0.0> : tile<128xf32>
    %x, %x_token = load_ptr_tko weak %a_at, %mask, %zero : !pointers, tile<128xi1>, tile<128xf32> -> tile<128xf32>, token
    %y, %y_token = load_ptr_tko weak %b_at, %mask, %zero : !pointers, tile<128xi1>, tile<128xf32> -> tile<128xf32>, token
    %sum = addf %x, %y : tile<128xf32>
    %stored = store_ptr_tko weak %c_at, %sum, %mask : !pointers, tile<128xf32>, tile<128xi1> -> token
    return
  }
}
