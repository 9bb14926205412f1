cuda_tile.module @"x y" {
  global  @_ <f32: -0.000000e+00> : tile<8xf32>
  global  @loc alignment = 16 <f8E5M2: 2.240000e+02> : tile<2xf8E5M2>
  entry @"1x"(%arg0: tile<i64>, %arg1: tile<ptr<f8E5M2>>, %arg2: tile<ptr<i1>>) optimization_hints=<sm_100 = {}> {
    %cst_27217_i16 = constant <i16: 27217> : tile<1xi16>
    %0 = cat %cst_27217_i16, %cst_27217_i16 dim = 0 : tile<1xi16>, tile<1xi16> -> tile<2xi16>
    %cst_f64 = constant <f64: -3.7232848798089211E-146> : tile<16x8xf64>
    %1 = cat %cst_27217_i16, %cst_27217_i16 dim = 0 : tile<1xi16>, tile<1xi16> -> tile<2xi16>
    %2 = extract %arg0[] : tile<i64> -> tile<i64>
    %cst_-805584831_i32 = constant <i32: -805584831> : tile<i32>
    %3 = extract %1[%cst_-805584831_i32] : tile<2xi16> -> tile<2xi16>
    return
  }
}