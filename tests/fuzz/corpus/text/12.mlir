cuda_tile.module @a.b$c {
  global  @entry alignment = 16 <f8E4M3FN: -1.953130e-03> : tile<1xf8E4M3FN>
  entry @"x y"(%arg0: tile<ptr<i8, <none>>>) {
    %cst_f64 = constant <f64: 1.4870695435318843E-250> : tile<1x4x128x4xf64>
    %0 = subf %cst_f64, %cst_f64  : tile<1x4x128x4xf64>
    %cst_3324815_f32 = constant <f32: 0x4A4AEE3C> : tile<16x8x8xf32>
    %1 = subf %cst_3324815_f32, %cst_3324815_f32 rounding<negative_inf> : tile<16x8x8xf32>
    return
  }
  entry @private() {
    %cst_f64 = constant <f64: 2.640849436576755E-11> : tile<16x64x4xf64>
    %0 = exp2 %cst_f64 : tile<16x64x4xf64>
    %cst_f16 = constant <f16: 4.582030e+00> : tile<8xf16>
    %cst_f16_0 = constant <f16: [5.960460e-08, 6.446830e-04, 6.027220e-03, 1.967500e+02, 5.960460e-08, 9.390000e+02, 1.462500e+02, 0x7FFF]> : tile<8xf16>
    %1 = remf %cst_f16, %cst_f16_0 : tile<8xf16>
    return
  }
  entry @"1x"() {
    %cst_f32 = constant <f32: 3.40633264E-38> : tile<f32>
    %0 = remf %cst_f32, %cst_f32 : tile<f32>
    return
  }
}