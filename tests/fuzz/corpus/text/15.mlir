cuda_tile.module @"a-b" {
  entry @"a-b"() {
    %cst_NaN_f64 = constant <f64: 0x7FF8000000000000> : tile<f64>
    %0 = rsqrt %cst_NaN_f64 : tile<f64>
    %cst_bf16 = constant <bf16: 6.198110e+21> : tile<bf16>
    %1 = tanh %cst_bf16  : tile<bf16>
    %2 = tanh %cst_bf16  : tile<bf16>
    %cst_bf16_0 = constant <bf16: 0x7F80> : tile<bf16>
    %3 = rsqrt %cst_bf16_0 : tile<bf16>
    %cst_f64 = constant <f64: 1.000000e-01> : tile<4xf64>
    %4 = rsqrt %cst_f64 : tile<4xf64>
    return
  }
}