cuda_tile.module @kernel attributes {producer = "tileir 1.0"} {
  entry @kernel() {
    %cst_0_i64 = constant <i64: 0> : tile<128x32x1x1xi64>
    %0 = maxi %cst_0_i64, %cst_0_i64 unsigned : tile<128x32x1x1xi64>
    %cst_i64 = constant <i64: [7, -9223372036854775808]> : tile<2xi64>
    %1 = divi %cst_i64, %cst_i64 signed : tile<2xi64>
    %cst_-36_i8 = constant <i8: -36> : tile<2x2x1x32xi8>
    %cst_i8 = constant <i8: "0xF8648B0180E707020001075BD43FF8018098020164AEFF0280612A2A642A80FF004CAF038003010146FF3402FFDBB12A590144801DF507010764070380028C66BF2A000002295E2A64012A2A0280002A6280012A07FF03DD2A800003000002FF01E45CFF53FF649E641D000000640364078002002ACD002A073607FF005CB4C1"> : tile<2x2x1x32xi8>
    %2 = mini %cst_-36_i8, %cst_i8 unsigned : tile<2x2x1x32xi8>
    %cst_42_i64 = constant <i64: 42> : tile<4x2xi64>
    %3 = mulhii %cst_42_i64, %cst_42_i64 : tile<4x2xi64>
    %cst_-2147483648_i32 = constant <i32: -2147483648> : tile<i32>
    %4 = divi %cst_-2147483648_i32, %cst_-2147483648_i32 signed : tile<i32>
    return
  }
}