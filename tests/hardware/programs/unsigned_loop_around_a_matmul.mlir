cuda_tile.module @m {
  entry @k(%a: tile<ptr<f32>>, %to: tile<ptr<f32>>, %rounds: tile<i32>) {
    %zeros = constant <f32: 0.0> : tile<4x16xf32>
    %ones = constant <f32: 1.0> : tile<8x16xf32>
    %first = constant <i32: 0> : tile<i32>
    %step = constant <i32: 1> : tile<i32>
    %sum = for unsigned %i in (%first to %rounds, step %step) : tile<i32> iter_values(%before = %zeros) -> (tile<4x16xf32>) {
      %a_1 = reshape %a : tile<ptr<f32>> -> tile<1x1xptr<f32>>
      %a_32 = broadcast %a_1 : tile<1x1xptr<f32>> -> tile<4x8xptr<f32>>
      %x, %read = load_ptr_tko weak %a_32 : tile<4x8xptr<f32>> -> tile<4x8xf32>, token
      %after = mmaf %x, %ones, %before : tile<4x8xf32>, tile<8x16xf32>, tile<4x16xf32>
      continue %after : tile<4x16xf32>
    }
    %flat = reshape %sum : tile<4x16xf32> -> tile<64xf32>
    %to_1 = reshape %to : tile<ptr<f32>> -> tile<1xptr<f32>>
    %to_64 = broadcast %to_1 : tile<1xptr<f32>> -> tile<64xptr<f32>>
    %lane = iota : tile<64xi32>
    %address = offset %to_64, %lane : tile<64xptr<f32>>, tile<64xi32> -> tile<64xptr<f32>>
    %stored = store_ptr_tko weak %address, %flat : tile<64xptr<f32>>, tile<64xf32> -> token
    return
  }
}
