cuda_tile.module @k_1 {
  global  @loc <i1: false> : tile<2xi1>
  entry @entry() {
    %true = constant <i1: true> : tile<i1>
    if %true {
      if %true {
        %0:2 = if %true -> (tile<16x32x2xptr<i16>>, tile<ptr<i1>>) {
          %cst_0_i64 = constant <i64: 0> : tile<16x32x2xi64>
          %1 = int_to_ptr %cst_0_i64 : tile<16x32x2xi64> -> tile<16x32x2xptr<i16>>
          %cst_5239415743393938458_i64 = constant <i64: 5239415743393938458> : tile<i64>
          %2 = int_to_ptr %cst_5239415743393938458_i64 : tile<i64> -> tile<ptr<i1>>
          yield %1, %2 : tile<16x32x2xptr<i16>>, tile<ptr<i1>>
        } else {
          %cst_-8829882552258096717_i64 = constant <i64: -8829882552258096717> : tile<16x32x2xi64>
          %1 = int_to_ptr %cst_-8829882552258096717_i64 : tile<16x32x2xi64> -> tile<16x32x2xptr<i16>>
          %cst_42_i64 = constant <i64: 42> : tile<i64>
          %2 = int_to_ptr %cst_42_i64 : tile<i64> -> tile<ptr<i1>>
          yield %1, %2 : tile<16x32x2xptr<i16>>, tile<ptr<i1>>
        }
        if %true {
          %1:2 = if %true -> (tile<32xf16>, token) {
            %cst_f16 = constant <f16: -6.380000e+03> : tile<32xf16>
            %2 = make_token : token
            yield %cst_f16, %2 : tile<32xf16>, token
          } else {
            return
          }
          return
        }
      } else {
      }
      return
    }
    return
  }
}