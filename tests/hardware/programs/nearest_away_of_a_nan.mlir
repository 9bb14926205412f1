cuda_tile.module @m {
  entry @k(%from: tile<ptr<f32>>, %to: tile<ptr<tf32>>) {
    %lane = iota : tile<2xi32>
    %from_1 = reshape %from : tile<ptr<f32>> -> tile<1xptr<f32>>
    %from_2 = broadcast %from_1 : tile<1xptr<f32>> -> tile<2xptr<f32>>
    %source = offset %from_2, %lane : tile<2xptr<f32>>, tile<2xi32> -> tile<2xptr<f32>>
    %x, %loaded = load_ptr_tko weak %source : tile<2xptr<f32>> -> tile<2xf32>, token
    %y = ftof %x rounding<nearest_away> : tile<2xf32> -> tile<2xtf32>
    %to_1 = reshape %to : tile<ptr<tf32>> -> tile<1xptr<tf32>>
    %to_2 = broadcast %to_1 : tile<1xptr<tf32>> -> tile<2xptr<tf32>>
    %target = offset %to_2, %lane : tile<2xptr<tf32>>, tile<2xi32> -> tile<2xptr<tf32>>
    %stored = store_ptr_tko weak %target, %y : tile<2xptr<tf32>>, tile<2xtf32> -> token
    return
  }
}
