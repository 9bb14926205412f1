cuda_tile.module @"x y" {
  entry @"gr\C3\B6\C3\9Fe"(%arg0: tile<i4>) optimization_hints=<default = {allow_tma = i32}, sm_100 = {unheard_of = 4 : i32}, sm_120 = {latency = 1.000000e+00 : f32, unheard_of = false}> {
    %cst_bf16 = constant <bf16: -2.614530e+31> : tile<1xbf16>
    %0 = log %cst_bf16 : tile<1xbf16>
    %cst_f64 = constant <f64: -5461706680.266695> : tile<64xf64>
    %1 = log2 %cst_f64 : tile<64xf64>
    %cst_1_f16 = constant <f16: 1.000000e+00> : tile<1x2xf16>
    %2 = atan2 %cst_1_f16, %cst_1_f16 : tile<1x2xf16>
    return
  }
  entry @entry(%arg0: tile<i16>) {
    %cst_f64 = constant <f64: -4.940660e-324> : tile<f64>
    %0 = log %cst_f64 : tile<f64>
    %cst_f16 = constant <f16: -6.179690e+00> : tile<8xf16>
    %1 = cosh %cst_f16 : tile<8xf16>
    return
  }
}