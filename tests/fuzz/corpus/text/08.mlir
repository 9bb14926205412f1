cuda_tile.module @"1x" {
  entry @"q\22"(%arg0: tile<ptr<f32, <none>>>, %arg1: tile<ptr<tf32>>, %arg2: tile<ptr<f64, <none>>>) {
    %0 = iota : tile<1xi8>
    %1 = iota : tile<1xi1>
    %cst_1712983677024174051_i64 = constant <i64: 1712983677024174051> : tile<4x32xi64>
    %2 = int_to_ptr %cst_1712983677024174051_i64 : tile<4x32xi64> -> tile<4x32xptr<f64>>
    %3 = permute %2 [1, 0] : tile<4x32xptr<f64>> -> tile<32x4xptr<f64>>
    %cst_4803016308208594051_i64 = constant <i64: 4803016308208594051> : tile<2x8x16x16xi64>
    %4 = int_to_ptr %cst_4803016308208594051_i64 : tile<2x8x16x16xi64> -> tile<2x8x16x16xptr<tf32>>
    %cst_42_i8 = constant <i8: 42> : tile<2x8x16x16xi8>
    %5 = offset %4, %cst_42_i8 : tile<2x8x16x16xptr<tf32>>, tile<2x8x16x16xi8> -> tile<2x8x16x16xptr<tf32>>
    %6 = permute %cst_4803016308208594051_i64 [0, 2, 3, 1] : tile<2x8x16x16xi64> -> tile<2x16x16x8xi64>
    return
  }
}