cuda_tile.module @entry {
  global  @private alignment = 1 <i8: 121> : tile<1xi8>
  entry @a.b$c(%arg0: tile<ptr<i8>>) {
    %cst_NaN_f32 = constant <f32: 0x7FC00000> : tile<f32>
    %0 = divf %cst_NaN_f32, %cst_NaN_f32 rounding<zero> flush_to_zero : tile<f32>
    %cst_f64 = constant <f64: 5.1845665790198724E-71> : tile<128x32xf64>
    %1 = divf %cst_f64, %cst_f64  : tile<128x32xf64>
    %cst_f32 = constant <f32: 2.07800035E-14> : tile<4xf32>
    %2 = divf %cst_f32, %cst_f32  : tile<4xf32>
    %cst_100_f32 = constant <f32: 1.000000e+02> : tile<1xf32>
    %3 = divf %cst_100_f32, %cst_100_f32  flush_to_zero : tile<1xf32>
    %cst_bf16 = constant <bf16: -4.400000e+02> : tile<bf16>
    %4 = floor %cst_bf16 : tile<bf16>
    return
  }
}