cuda_tile.module @private {
  entry @"q\22"(%arg0: tile<ptr<f32>>, %arg1: tile<ptr<i64>>, %arg2: tile<i64>, %arg3: tile<ptr<i32, <none>>>) optimization_hints=<default = {num_cta_in_cga = [1 : i32, 2], unheard_of = true}, sm_100 = {num_cta_in_cga = 8, num_worker_warps_per_cta = 8}, sm_80 = {unheard_of = "a\22b"}> {
    %cst_i64 = constant <i64: [[100, 42, 1826860448851515760, -521330855143944094], [3, 100, -3121041239888158428, 7], [0, 4071317932154480035, -1, 1216426565517689746], [768724361555886017, -7429325690546232918, 0, 1], [-1, -3171721536334044139, 7110800512200666320, -5303432807799524467], [-1, 1, 1992545931457502937, 6200241504770021202], [-1269152462210253327, 1, -1, 0], [42, 42, -5284875517205225288, 100]]> : tile<8x4xi64>
    %0 = cmpi not_equal %cst_i64, %cst_i64, signed : tile<8x4xi64> -> tile<8x4xi1>
    %cst_f64 = constant <f64: [-4.096186041994077E-129, 1.000000e+00]> : tile<2xf64>
    %1 = sqrt %cst_f64  : tile<2xf64>
    %cst_0_i8 = constant <i8: 0> : tile<i8>
    %2 = cmpi less_than_or_equal %cst_0_i8, %cst_0_i8, unsigned : tile<i8> -> tile<i1>
    %cst_bf16 = constant <bf16: -1.962690e+36> : tile<bf16>
    %3 = sqrt %cst_bf16  : tile<bf16>
    %cst_bf16_0 = constant <bf16: 9.183550e-41> : tile<8x128xbf16>
    %4 = sqrt %cst_bf16_0  : tile<8x128xbf16>
    return
  }
}