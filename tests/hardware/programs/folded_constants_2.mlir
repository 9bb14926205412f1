cuda_tile.module @m {
  entry @k(%to: tile<ptr<f32>>) {
    %a = constant <f32: 0x3DCCCCCD> : tile<4xf32>
    %b = constant <f32: 0xBCD4EE0A> : tile<4xf32>
    %sum = addf %a, %b flush_to_zero : tile<4xf32>
    %lane = iota : tile<4xi32>
    %to_1 = reshape %to : tile<ptr<f32>> -> tile<1xptr<f32>>
    %to_4 = broadcast %to_1 : tile<1xptr<f32>> -> tile<4xptr<f32>>
    %target = offset %to_4, %lane : tile<4xptr<f32>>, tile<4xi32> -> tile<4xptr<f32>>
    %stored = store_ptr_tko weak %target, %sum : tile<4xptr<f32>>, tile<4xf32> -> token
    return
  }
}
