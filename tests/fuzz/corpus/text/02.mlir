cuda_tile.module @_ {
  entry @"a-b"(%arg0: tile<ptr<bf16>>, %arg1: tile<f8E4M3FN>, %arg2: tile<f8E5M2>, %arg3: tile<f8E5M2>) {
    %true = constant <i1: true> : tile<i1>
    assert %true, "line\0Abreak\09" : tile<i1>
    %0 = make_token : token
    loop iter_values(%arg4 = %0) : token {
      if %true {
      }
      break
    }
    return
  }
  entry @k_1() {
    %true = constant <i1: true> : tile<i1>
    %cst_6700288977125522543_i64 = constant <i64: 6700288977125522543> : tile<4x16x2xi64>
    %0 = int_to_ptr %cst_6700288977125522543_i64 : tile<4x16x2xi64> -> tile<4x16x2xptr<f8E8M0FNU>>
    %for = for %loopIdx in (%true to %true, step %true) : tile<i1> iter_values(%iterArg0 = %0) -> (tile<4x16x2xptr<f8E8M0FNU>>) {
      %1 = loop : tile<64xf32> {
        %cst_tf32 = constant <tf32: [-0.000000e+00, -1.817930e+22, 0x7FFFF, 1.147940e-41, -5.268000e+03, -8.296970e-04, 1.000000e+00, 1.000000e+00]> : tile<8xtf32>
        %2 = make_token : token
        %3:2 = loop iter_values(%arg0 = %cst_tf32, %arg1 = %2, %arg2 = %2) : tile<8xtf32>, token, token -> tile<f8E8M0FNU>, tile<8xptr<i64>> {
          %cst_1_f8E8M0FNU = constant <f8E8M0FNU: 1.000000e+00> : tile<f8E8M0FNU>
          %cst_i64 = constant <i64: [3, 2916686521385569860, 2480376006593515642, 7, 1, -9223372036854775808, 2, 2]> : tile<8xi64>
          %4 = int_to_ptr %cst_i64 : tile<8xi64> -> tile<8xptr<i64>>
          break %cst_1_f8E8M0FNU, %4 : tile<f8E8M0FNU>, tile<8xptr<i64>>
        }
        %cst_f32 = constant <f32: [1.000000e-01, -1.27462383E+21, 1.000000e+02, 0x7F800000, 1.0890293E+23, 1.000000e+02, 1.401300e-45, 0x7F800000, 0x7FC00000, 1.17397302E-23, -3.38488428E+38, 0x7F800001, -1.401300e-45, 1.7400841E-12, 1.08041682E+29, 7.48834137E+31, 2.77383482E+35, 1.000000e+00, -5.256070e-06, 0xFFFFFFFF, 3.25875114E+15, 0.0289600026, 1.401300e-45, 0x7FC00000, 1.000000e-01, -2.4575157E-25, 1.000000e+02, 1.401300e-45, 8.5411986E-39, -1.34477213E-23, 0x7F800000, 7.24812655E+32, 1.000000e-01, 0x7FFFFFFF, 0x7F800001, 0x7F800001, -4.98603518E-37, 0.000000e+00, -3611825.75, -1.32615657E+30, 0x7FFFFFFF, 0x7F800000, 1.000000e+00, 0xFF800000, 4.23885925E+13, 5.14794756E-16, 6.22817092E+34, -2.0483149E+34, 0xFF800000, -2.58779905E+31, -0.000000e+00, 0x7F800000, 8.08884593E+22, 0x7F8222E6, 6.97098178E+26, 0xCCE80F54, -3.56763046E+18, -5.42971035E+20, 0x7F800001, -1.65015151E+23, 0x7FC00000, 0xFFAE8079, -2.41163036E-12, 0x7FFFFFFF]> : tile<64xf32>
        break %cst_f32 : tile<64xf32>
      }
      continue %iterArg0 : tile<4x16x2xptr<f8E8M0FNU>>
    }
    return
  }
  entry @a.b$c(%arg0: tile<ptr<bf16>>) {
    return
  }
}