cuda_tile.module @m {
  entry @k(%to: tile<ptr<f32>>) {
    %nan = constant <f32: 0x7F800001> : tile<4xf32>
    %one = constant <f32: 1.0> : tile<4xf32>
    %larger = maxf %nan, %one : tile<4xf32>
    %lane = iota : tile<4xi32>
    %to_1 = reshape %to : tile<ptr<f32>> -> tile<1xptr<f32>>
    %to_4 = broadcast %to_1 : tile<1xptr<f32>> -> tile<4xptr<f32>>
    %target = offset %to_4, %lane : tile<4xptr<f32>>, tile<4xi32> -> tile<4xptr<f32>>
    %stored = store_ptr_tko weak %target, %larger : tile<4xptr<f32>>, tile<4xf32> -> token
    return
  }
}
