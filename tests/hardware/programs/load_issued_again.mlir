cuda_tile.module @m {
  entry @k(%p: tile<ptr<i32>>, %to: tile<ptr<i32>>) {
    %lane = iota : tile<64xi32>
    %p_1 = reshape %p : tile<ptr<i32>> -> tile<1xptr<i32>>
    %p_64 = broadcast %p_1 : tile<1xptr<i32>> -> tile<64xptr<i32>>
    %to_1 = reshape %to : tile<ptr<i32>> -> tile<1xptr<i32>>
    %to_64 = broadcast %to_1 : tile<1xptr<i32>> -> tile<64xptr<i32>>
    %address = offset %p_64, %lane : tile<64xptr<i32>>, tile<64xi32> -> tile<64xptr<i32>>
    %target = offset %to_64, %lane : tile<64xptr<i32>>, tile<64xi32> -> tile<64xptr<i32>>
    %x, %read = load_ptr_tko weak %address : tile<64xptr<i32>> -> tile<64xi32>, token
    %nine = constant <i32: 9> : tile<64xi32>
    %stored = store_ptr_tko weak %address, %nine token=%read : tile<64xptr<i32>>, tile<64xi32> -> token
    %written = store_ptr_tko weak %target, %x : tile<64xptr<i32>>, tile<64xi32> -> token
    return
  }
}
