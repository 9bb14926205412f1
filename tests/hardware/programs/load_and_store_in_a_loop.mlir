cuda_tile.module @m {
  entry @k(%p: tile<ptr<i32>>, %rounds: tile<i32>) {
    %lane = iota : tile<4096xi32>
    %p_1 = reshape %p : tile<ptr<i32>> -> tile<1xptr<i32>>
    %p_4096 = broadcast %p_1 : tile<1xptr<i32>> -> tile<4096xptr<i32>>
    %forwards = offset %p_4096, %lane : tile<4096xptr<i32>>, tile<4096xi32> -> tile<4096xptr<i32>>
    %last = constant <i32: 4095> : tile<4096xi32>
    %opposite = subi %last, %lane : tile<4096xi32>
    %backwards = offset %p_4096, %opposite : tile<4096xptr<i32>>, tile<4096xi32> -> tile<4096xptr<i32>>
    %start = make_token : token
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %end = loop iter_values(%t = %start, %i = %zero) : token, tile<i32> -> token {
      %done = cmpi greater_than_or_equal %i, %rounds, signed : tile<i32> -> tile<i1>
      if %done {
        break %t : token
      }
      %x, %read = load_ptr_tko weak %backwards token=%t : tile<4096xptr<i32>> -> tile<4096xi32>, token
      %stored = store_ptr_tko weak %forwards, %x token=%read : tile<4096xptr<i32>>, tile<4096xi32> -> token
      %next = addi %i, %one : tile<i32>
      continue %stored, %next : token, tile<i32>
    }
    return
  }
}
