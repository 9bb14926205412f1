cuda_tile.module @m {
  entry @k(%p: tile<ptr<i32>>, %q: tile<ptr<i32>>, %to: tile<ptr<i32>>) {
    %lane = iota : tile<64xi32>
    %p_1 = reshape %p : tile<ptr<i32>> -> tile<1xptr<i32>>
    %p_64 = broadcast %p_1 : tile<1xptr<i32>> -> tile<64xptr<i32>>
    %q_1 = reshape %q : tile<ptr<i32>> -> tile<1xptr<i32>>
    %q_64 = broadcast %q_1 : tile<1xptr<i32>> -> tile<64xptr<i32>>
    %to_1 = reshape %to : tile<ptr<i32>> -> tile<1xptr<i32>>
    %to_64 = broadcast %to_1 : tile<1xptr<i32>> -> tile<64xptr<i32>>
    %forwards = offset %p_64, %lane : tile<64xptr<i32>>, tile<64xi32> -> tile<64xptr<i32>>
    %others = offset %q_64, %lane : tile<64xptr<i32>>, tile<64xi32> -> tile<64xptr<i32>>
    %target = offset %to_64, %lane : tile<64xptr<i32>>, tile<64xi32> -> tile<64xptr<i32>>
    %new, %read = load_ptr_tko weak %others : tile<64xptr<i32>> -> tile<64xi32>, token
    %stored = store_ptr_tko weak %forwards, %new : tile<64xptr<i32>>, tile<64xi32> -> token
    %never = constant <i1: false> : tile<64xi1>
    %nine = constant <i32: 9> : tile<64xi32>
    %unused, %between = load_ptr_tko weak %others, %never, %nine token=%stored : tile<64xptr<i32>>, tile<64xi1>, tile<64xi32> -> tile<64xi32>, token
    %last = constant <i32: 63> : tile<64xi32>
    %opposite = subi %last, %lane : tile<64xi32>
    %backwards = offset %p_64, %opposite : tile<64xptr<i32>>, tile<64xi32> -> tile<64xptr<i32>>
    %seen, %after = load_ptr_tko weak %backwards token=%between : tile<64xptr<i32>> -> tile<64xi32>, token
    %written = store_ptr_tko weak %target, %seen : tile<64xptr<i32>>, tile<64xi32> -> token
    return
  }
}
