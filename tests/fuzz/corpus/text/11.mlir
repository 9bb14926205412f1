cuda_tile.module @"q\22" {
  global  @"x y" alignment = 256 <i8: [-33, 93, 3, 81, -1, 7, 3, -123]> : tile<8xi8>
  entry @"1x"(%arg0: tile<ptr<i64>>, %arg1: tile<f8E5M2>, %arg2: tile<i8>, %arg3: tile<i8>) {
    %cst_0_f16 = constant <f16: 0.000000e+00> : tile<f16>
    %0 = negf %cst_0_f16 : tile<f16>
    %cst_f32 = constant <f32: -1.23491853E-33> : tile<64x64x1xf32>
    %1 = minf %cst_f32, %cst_f32 flush_to_zero : tile<64x64x1xf32>
    %cst_f32_0 = constant <f32: 1.000000e-01> : tile<64x1xf32>
    %2 = maxf %cst_f32_0, %cst_f32_0 flush_to_zero : tile<64x1xf32>
    %cst_f64 = constant <f64: 0x7FF0000000000000> : tile<f64>
    %3 = maxf %cst_f64, %cst_f64 propagate_nan : tile<f64>
    %4 = negf %cst_f64 : tile<f64>
    return
  }
}