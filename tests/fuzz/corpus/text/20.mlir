cuda_tile.module @_ attributes {producer = ""} {
  entry @loc() optimization_hints=<> {
    %0 = make_token : token
    %1 = join_tokens %0, %0, %0 : token
    %2 = join_tokens %0, %0, %1, %1, %0 : token
    return
  }
  entry @k_1(%arg0: tile<ptr<f8E4M3FN>>, %arg1: tile<ptr<i16>>) {
    %cst_i8 = constant <i8: [[[109, 2], [2, -119]]]> : tile<1x2x2xi8>
    %cst_-128_i8 = constant <i8: -128> : tile<1x2x8xi8>
    %cst_i32 = constant <i32: [[[3, 1821098410, -941471893, -1, -1, 0, 0, 7], [1042918490, 1, 2108261379, -1171289859, 1058470591, 1923585350, 2097183578, 7]]]> : tile<1x2x8xi32>
    %0 = mmai %cst_i8, %cst_-128_i8, %cst_i32 signed signed : tile<1x2x2xi8>, tile<1x2x8xi8>, tile<1x2x8xi32>
    %1 = make_token : token
    %2 = join_tokens %1, %1 : token
    return
  }
}