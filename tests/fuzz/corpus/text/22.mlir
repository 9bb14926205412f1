cuda_tile.module @"x y" {
  entry @private(%arg0: tile<ptr<i16>>) {
    %0 = print_tko "loc(unknown)%lld\0A%lld\0A", %arg0, %arg0 : tile<ptr<i16>>, tile<ptr<i16>> -> token
    %cst_-7262601703800535931_i64 = constant <i64: -7262601703800535931> : tile<1xi64>
    %1 = int_to_ptr %cst_-7262601703800535931_i64 : tile<1xi64> -> tile<1xptr<f8E4M3FN>>
    %assume = assume same_elements<[0]>, %1 : tile<1xptr<f8E4M3FN>>
    %assume_cst_-7262601703800535931_i64 = assume bounded<9223372036854775807, 9223372036854775807>, %cst_-7262601703800535931_i64 : tile<1xi64>
    return
  }
}