cuda_tile.module @"1x" {
  global  constant @private alignment = 16 <i32: [7, -1]> : tile<2xi32>
  global private  constant @_ alignment = 256 <f16: [0xFFFF, 1.000000e+00, -1.429560e-03, 1.000000e+00, 1.000000e+00, 9.622570e-04, 0x7E00, -3.675000e+01]> : tile<8xf16>
  entry @"q\22"(%arg0: tile<i8>, %arg1: tile<ptr<i32>>, %arg2: tile<ptr<i1>>) {
    %cst_100_i64 = constant <i64: 100> : tile<i64>
    %0 = int_to_ptr %cst_100_i64 : tile<i64> -> tile<ptr<f8E4M3FN>>
    %tview = make_tensor_view %0, shape = [3], strides = [1] : tensor_view<3xf8E4M3FN, strides=[1]>
    %sview = make_strided_view %tview : strided_view<tile=(4), traversal_strides=[4], tensor_view<3xf8E4M3FN, strides=[1]>>
    %cst_1178460386_i32 = constant <i32: 1178460386> : tile<i32>
    %tview_0 = make_tensor_view %arg2, shape = [100], strides = [%cst_1178460386_i32] : tile<i32> -> tensor_view<100xi1, strides=[?]>
    %gsview = make_gather_scatter_view %tview_0 : gather_scatter_view<tile=(16), tensor_view<100xi1, strides=[?]>, sparse_dim=0>
    %1 = int_to_ptr %cst_100_i64 : tile<i64> -> tile<ptr<f32>>
    %cst_812642739_i32 = constant <i32: 812642739> : tile<i32>
    %tview_1 = make_tensor_view %1, shape = [3, 3], strides = [%cst_812642739_i32, 1] : tile<i32> -> tensor_view<3x3xf32, strides=[?,1]>
    %gsview_2 = make_gather_scatter_view %tview_1 : gather_scatter_view<tile=(8x16), padding_value = neg_zero, tensor_view<3x3xf32, strides=[?,1]>, sparse_dim=1>
    return
  }
  entry @loc() {
    %cst_-4642343103231832221_i64 = constant <i64: -4642343103231832221> : tile<i64>
    %0 = int_to_ptr %cst_-4642343103231832221_i64 : tile<i64> -> tile<ptr<i32>>
    %cst_-2147483648_i32 = constant <i32: -2147483648> : tile<i32>
    %tview = make_tensor_view %0, shape = [%cst_-2147483648_i32], strides = [1] : tile<i32> -> tensor_view<?xi32, strides=[1]>
    %sview = make_strided_view %tview : strided_view<tile=(8), traversal_strides=[4], tensor_view<?xi32, strides=[1]>>
    %1 = int_to_ptr %cst_-4642343103231832221_i64 : tile<i64> -> tile<ptr<i64>>
    %cst_100_i32 = constant <i32: 100> : tile<i32>
    %cst_3_i32 = constant <i32: 3> : tile<i32>
    %tview_0 = make_tensor_view %1, shape = [3, %cst_100_i32], strides = [7, %cst_3_i32] : tile<i32> -> tensor_view<3x?xi64, strides=[7,?]>
    %sview_1 = make_strided_view %tview_0 : strided_view<tile=(64x4), traversal_strides=[3,3], tensor_view<3x?xi64, strides=[7,?]>>
    return
  }
}