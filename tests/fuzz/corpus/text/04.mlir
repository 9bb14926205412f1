cuda_tile.module @loc attributes {producer = ""} {
  entry @loc(%arg0: tile<i8>, %arg1: tile<f8E4M3FN>, %arg2: tile<ptr<bf16>>) {
    %cst_f8E8M0FNU = constant <f8E8M0FNU: 1.175490e-38> : tile<2x16x1x2xf8E8M0FNU>
    %0 = ftoi %cst_f8E8M0FNU unsigned  saturating : tile<2x16x1x2xf8E8M0FNU> -> tile<2x16x1x2xi1>
    %cst_-2147483648_i32 = constant <i32: -2147483648> : tile<32xi32>
    %1 = exti %cst_-2147483648_i32 unsigned : tile<32xi32> -> tile<32xi64>
    return
  }
  entry @private(%arg0: tile<ptr<tf32, <none>>>) {
    %cst_tf32 = constant <tf32: -1.147940e-41> : tile<32x8x1x16xtf32>
    %0 = ftoi %cst_tf32 signed  saturating : tile<32x8x1x16xtf32> -> tile<32x8x1x16xi32>
    %true = constant <i1: true> : tile<64xi1>
    %1 = exti %true unsigned : tile<64xi1> -> tile<64xi16>
    return
  }
  entry @_() optimization_hints=<default = {}, sm_120 = {}> {
    %cst_f8E5M2 = constant <f8E5M2: 1.525880e-05> : tile<64x8x1xf8E5M2>
    %0 = ftoi %cst_f8E5M2 unsigned  : tile<64x8x1xf8E5M2> -> tile<64x8x1xi32>
    return
  }
}