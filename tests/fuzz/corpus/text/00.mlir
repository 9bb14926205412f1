cuda_tile.module @"1x" attributes {producer = ""} {
  global  constant @private alignment = 256 <f64: 0.000000e+00> : tile<8xf64>
  entry @a.b$c(%arg0: tile<ptr<i16>>, %arg1: tile<ptr<f8E5M2>>, %arg2: tile<ptr<f64, <none>>>, %arg3: tile<ptr<f16, <none>>>) optimization_hints=<default = {}, sm_100 = {allow_tma = true}, sm_90 = {allow_tma = true}> {
    %cst_bf16 = constant <bf16: [3.044510e-30, -1.920990e+09, 0.000000e+00, -6.891220e-34, 0xFFFF, -7.902730e+11, 0xFF80, 2.160000e+36]> : tile<8xbf16>
    %cst_199491584_tf32 = constant <tf32: 1.994920e+08> : tile<8xtf32>
    %0:2 = scan %cst_bf16, %cst_199491584_tf32 dim=0 reverse=false identities=[-9.344960e+16 : bf16, -1.817340e-28 : tf32] : tile<8xbf16>, tile<8xtf32> -> tile<8xbf16>, tile<8xtf32> 
    (%arg4: tile<bf16>, %arg5: tile<bf16>, %arg6: tile<tf32>, %arg7: tile<tf32>) {
      %cst_0_i32 = constant <i32: 0> : tile<2xi32>
      %cst_f8E4M3FN = constant <f8E4M3FN: -5.000000e+00> : tile<2xf8E4M3FN>
      %reduce:2 = reduce %cst_0_i32, %cst_f8E4M3FN dim=0 identities=[-1620528758 : i32, -1.920000e+02 : f8E4M3FN] : tile<2xi32>, tile<2xf8E4M3FN> -> tile<i32>, tile<f8E4M3FN> 
      (%reduce_lhs0: tile<i32>, %reduce_rhs0: tile<i32>, %reduce_lhs1: tile<f8E4M3FN>, %reduce_rhs1: tile<f8E4M3FN>) {
        %cst_f8E5M2 = constant <f8E5M2: -6.000000e+00> : tile<32xf8E5M2>
        %reduce_0 = reduce %cst_f8E5M2 dim=0 identities=[6.103520e-05 : f8E5M2] : tile<32xf8E5M2> -> tile<f8E5M2> 
        (%reduce_lhs: tile<f8E5M2>, %reduce_rhs: tile<f8E5M2>) {
          %cst_f8E5M2_1 = constant <f8E5M2: -4.577640e-05> : tile<f8E5M2>
          yield %cst_f8E5M2_1 : tile<f8E5M2>
        }
        %cst_38948630_i32 = constant <i32: 38948630> : tile<i32>
        yield %cst_38948630_i32, %reduce_lhs1 : tile<i32>, tile<f8E4M3FN>
      }
      yield %arg4, %arg6 : tile<bf16>, tile<tf32>
    }
    return
  }
  entry @"a-b"(%arg0: tile<ptr<f8E8M0FNU>>) optimization_hints=<> {
    return
  }
}