cuda_tile.module @"a-b" {
  global  @"a-b" <f8E8M0FNU: "0xF8811300BD011165227A0180807F500152657417FF0E81A213328178F6FFA62BD20114BF8B92300000FF80F97FCA09300101017F017F81C0B0A2B101B8FFAF7F9ABA25FF815A007852375BA6D08D8B01010180012A15FF01011C0000793FFF36FF2700EEEF888EFF7030FF01DCFF014FFF510181010181527FFF05011981803B"> : tile<128xf8E8M0FNU>
  entry @_() {
    %cst_7_i64 = constant <i64: 7> : tile<i64>
    %0 = int_to_ptr %cst_7_i64 : tile<i64> -> tile<ptr<fnv8E5M3FNU>>
    %cst_2_i32 = constant <i32: 2> : tile<i32>
    %tview = make_tensor_view %0, shape = [%cst_2_i32, 3], strides = [64, 1] : tile<i32> -> tensor_view<?x3xfnv8E5M3FNU, strides=[64,1]>
    %1 = int_to_ptr %cst_7_i64 : tile<i64> -> tile<ptr<f64>>
    %tview_0 = make_tensor_view %1, shape = [], strides = [] : tensor_view<f64>
    %2 = int_to_ptr %cst_7_i64 : tile<i64> -> tile<ptr<f16>>
    %cst_-9223372036854775808_i64 = constant <i64: -9223372036854775808> : tile<i64>
    %tview_1 = make_tensor_view %2, shape = [2147483653], strides = [%cst_-9223372036854775808_i64] : tile<i64> -> tensor_view<2147483653xf16, strides=[?]>
    %3 = int_to_ptr %cst_7_i64 : tile<i64> -> tile<ptr<tf32>>
    %tview_2 = make_tensor_view %3, shape = [2147483653], strides = [64] : tensor_view<2147483653xtf32, strides=[64]>
    %gsview = make_gather_scatter_view %tview_2 : gather_scatter_view<tile=(1), padding_value = pos_inf, tensor_view<2147483653xtf32, strides=[64]>, sparse_dim=0>
    %cst_-8476740604772419627_i64 = constant <i64: -8476740604772419627> : tile<1xi64>
    %tile, %result_token = load_view_tko weak %gsview[%cst_-8476740604772419627_i64] inbounds = [false] : gather_scatter_view<tile=(1), padding_value = pos_inf, tensor_view<2147483653xtf32, strides=[64]>, sparse_dim=0>, tile<1xi64> -> tile<1xtf32>, token
    %4 = int_to_ptr %cst_-9223372036854775808_i64 : tile<i64> -> tile<ptr<i64, <none>>>
    %tview_3 = make_tensor_view %4, shape = [%cst_-9223372036854775808_i64], strides = [4611686018427387903] : tile<ptr<i64, <none>>>, tile<i64> -> tensor_view<?xi64, strides=[4611686018427387903], #cuda_tile.ptr_attr<none>>
    return
  }
}