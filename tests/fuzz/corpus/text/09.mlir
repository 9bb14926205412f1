cuda_tile.module @_ attributes {producer = "gr\C3\B6\C3\9Fe"} {
  entry @private(%arg0: tile<ptr<i8>>, %arg1: tile<f16>) {
    %cst_NaN_f64 = constant <f64: 0x7FFFFFFFFFFFFFFF> : tile<f64>
    %0 = absf %cst_NaN_f64 : tile<f64>
    %cst_f32 = constant <f32: 0x7F800000> : tile<2x64x8xf32>
    %cst_f32_0 = constant <f32: -4.81749724E-17> : tile<2x64x8xf32>
    %1 = addf %cst_f32, %cst_f32_0  flush_to_zero : tile<2x64x8xf32>
    %cst_NaN_f16 = constant <f16: 0x7C01> : tile<4x4x2xf16>
    %2 = ceil %cst_NaN_f16 : tile<4x4x2xf16>
    %cst_f64 = constant <f64: -3.9747762233054285E+266> : tile<2xf64>
    %3 = ceil %cst_f64 : tile<2xf64>
    %cst_f64_1 = constant <f64: 5.1518141843882061E+129> : tile<8xf64>
    %4 = addf %cst_f64_1, %cst_f64_1  : tile<8xf64>
    return
  }
}