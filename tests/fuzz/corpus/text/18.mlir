cuda_tile.module @private {
  global  @private <f8E4M3FN: "0x004AA3BE278081FF81010080891AFF7D653F00FF517F8701FFFC815C818B01FF011E01FFFFFF006B1F017F01EA7CF97E00010180FF81E7B8FF018DC938FF17F53501FFFF8125083A6900A44980FF41B801010000FF067F39D701297F804081017FA47FFFDBBDFF7A90807F8100C1FFFFFF9280FF537898016D00A1F0011CFF80"> : tile<128xf8E4M3FN>
  entry @kernel() {
    %cst_7_i64 = constant <i64: 7> : tile<i64>
    %cst_2_i64 = constant <i64: 2> : tile<i64>
    %0 = muli %cst_7_i64, %cst_2_i64 overflow<no_signed_wrap> : tile<i64>
    %cst_i32 = constant <i32: [42, 100, 100, 100, 100, 7, 42, 100]> : tile<8xi32>
    %1 = negi %cst_i32 : tile<8xi32>
    %cst_i8 = constant <i8: [[41], [1], [42], [-53], [95], [2], [104], [103]]> : tile<8x1xi8>
    %cst_i8_0 = constant <i8: [[42], [100], [100], [42], [-45], [-23], [3], [23]]> : tile<8x1xi8>
    %2 = muli %cst_i8, %cst_i8_0 overflow<no_unsigned_wrap> : tile<8x1xi8>
    return
  }
  entry @"a-b"(%arg0: tile<i16>, %arg1: tile<ptr<f8E8M0FNU>>, %arg2: tile<ptr<f8E8M0FNU>>, %arg3: tile<f8E5M2>) optimization_hints=<sm_80 = {}> {
    %0 = muli %arg0, %arg0 overflow<no_unsigned_wrap> : tile<i16>
    %cst_-1_i64 = constant <i64: -1> : tile<2x16xi64>
    %1 = negi %cst_-1_i64 : tile<2x16xi64>
    return
  }
}