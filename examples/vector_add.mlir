// c[i] = a[i] + b[i] for i < n, with pointers and a mask.
// Each tile block adds 128 elements: launch ceil(n / 128) blocks.
cuda_tile.module @kernels {
  entry @vector_add(%a: tile<ptr<f32>>, %b: tile<ptr<f32>>, %c: tile<ptr<f32>>, %n: tile<i32>) {
    // The 128 element indices of this block.
    %block, %block_y, %block_z = get_tile_block_id : tile<i32>
    %size = constant <i32: 128> : tile<i32>
    %first = muli %block, %size : tile<i32>
    %first_1d = reshape %first : tile<i32> -> tile<1xi32>
    %firsts = broadcast %first_1d : tile<1xi32> -> tile<128xi32>
    %lane = iota : tile<128xi32>
    %index = addi %firsts, %lane : tile<128xi32>

    // Indices past the end are masked: not loaded, not stored.
    %n_1d = reshape %n : tile<i32> -> tile<1xi32>
    %limit = broadcast %n_1d : tile<1xi32> -> tile<128xi32>
    %mask = cmpi less_than %index, %limit, signed : tile<128xi32> -> tile<128xi1>

    // A scalar pointer becomes a tile of 128 pointers, one per element.
    %a_1d = reshape %a : tile<ptr<f32>> -> tile<1xptr<f32>>
    %a_base = broadcast %a_1d : tile<1xptr<f32>> -> tile<128xptr<f32>>
    %a_ptr = offset %a_base, %index : tile<128xptr<f32>>, tile<128xi32> -> tile<128xptr<f32>>
    %b_1d = reshape %b : tile<ptr<f32>> -> tile<1xptr<f32>>
    %b_base = broadcast %b_1d : tile<1xptr<f32>> -> tile<128xptr<f32>>
    %b_ptr = offset %b_base, %index : tile<128xptr<f32>>, tile<128xi32> -> tile<128xptr<f32>>
    %c_1d = reshape %c : tile<ptr<f32>> -> tile<1xptr<f32>>
    %c_base = broadcast %c_1d : tile<1xptr<f32>> -> tile<128xptr<f32>>
    %c_ptr = offset %c_base, %index : tile<128xptr<f32>>, tile<128xi32> -> tile<128xptr<f32>>

    // Masked elements of a load take the padding value.
    %zero = constant <f32: 0.0> : tile<128xf32>
    %x, %x_token = load_ptr_tko weak %a_ptr, %mask, %zero : tile<128xptr<f32>>, tile<128xi1>, tile<128xf32> -> tile<128xf32>, token
    %y, %y_token = load_ptr_tko weak %b_ptr, %mask, %zero : tile<128xptr<f32>>, tile<128xi1>, tile<128xf32> -> tile<128xf32>, token
    %sum = addf %x, %y : tile<128xf32>
    %stored = store_ptr_tko weak %c_ptr, %sum, %mask : tile<128xptr<f32>>, tile<128xf32>, tile<128xi1> -> token
    return
  }
}
