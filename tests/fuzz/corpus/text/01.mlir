cuda_tile.module @a.b$c attributes {producer = ""} {
  global  @a.b$c alignment = 16 <f64: 1.000000e+00> : tile<2xf64>
  entry @kernel(%arg0: tile<i64>, %arg1: tile<i16>, %arg2: tile<ptr<i16>>) {
    %0 = ori %arg0, %arg0 : tile<i64>
    %1 = int_to_ptr %arg0 : tile<i64> -> tile<ptr<i32>>
    %cst_-1233168396_i32 = constant <i32: -1233168396> : tile<i32>
    %tview = make_tensor_view %1, shape = [%cst_-1233168396_i32, %cst_-1233168396_i32, 64], strides = [7, 1, 7] : tile<i32> -> tensor_view<?x?x64xi32, strides=[7,1,7]>
    %pview = make_partition_view %tview : partition_view<tile=(64x64x1), tensor_view<?x?x64xi32, strides=[7,1,7]>, dim_map=[1, 2, 0]>
    %cst_2_i32 = constant <i32: 2> : tile<64x64x1xi32>
    %2 = atomic_red_view_tko relaxed tl_blk %pview[%cst_-1233168396_i32, %0, %0], and, %cst_2_i32 : tile<64x64x1xi32>, partition_view<tile=(64x64x1), tensor_view<?x?x64xi32, strides=[7,1,7]>, dim_map=[1, 2, 0]>, tile<i32>, tile<i64>, tile<i64> -> token
    %cst_357784167_i32 = constant <i32: 357784167> : tile<1xi32>
    %3 = xori %cst_357784167_i32, %cst_357784167_i32 : tile<1xi32>
    %cst_i16 = constant <i16: [-1, 14343, 100, 7, 100, 100, 0, -10472, 0, 17716, -32768, 7, 1, 42, -10247, -1]> : tile<16xi16>
    %4 = andi %cst_i16, %cst_i16 : tile<16xi16>
    %5 = int_to_ptr %arg0 : tile<i64> -> tile<ptr<i64>>
    %tview_0 = make_tensor_view %5, shape = [3], strides = [%cst_-1233168396_i32] : tile<i32> -> tensor_view<3xi64, strides=[?]>
    %sview = make_strided_view %tview_0 : strided_view<tile=(32), traversal_strides=[1], tensor_view<3xi64, strides=[?]>>
    %cst_4152456104117072003_i64 = constant <i64: 4152456104117072003> : tile<32xi64>
    %6 = atomic_red_view_tko relaxed tl_blk %sview[%0], add, %cst_4152456104117072003_i64 : tile<32xi64>, strided_view<tile=(32), traversal_strides=[1], tensor_view<3xi64, strides=[?]>>, tile<i64> -> token
    return
  }
}