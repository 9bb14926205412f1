cuda_tile.module @_ {
  global  @"q\22" <f8E4M3FN: [-3.125000e-01, -1.953130e-03]> : tile<2xf8E4M3FN>
  entry @a.b$c(%arg0: tile<bf16>, %arg1: tile<i16>, %arg2: tile<ptr<f8E5M2>>, %arg3: tile<ptr<f8E5M2>>) optimization_hints=<sm_100 = {}, sm_80 = {allow_tma = 2, occupancy = 1}, sm_90 = {allow_tma = i32}> {
    %cst_42_i64 = constant <i64: 42> : tile<i64>
    %0 = int_to_ptr %cst_42_i64 : tile<i64> -> tile<ptr<i16>>
    %cst_1_i32 = constant <i32: 1> : tile<i32>
    %tview = make_tensor_view %0, shape = [3, %cst_1_i32, 64], strides = [%cst_1_i32, 1, 1] : tile<i32> -> tensor_view<3x?x64xi16, strides=[?,1,1]>
    %pview = make_partition_view %tview : partition_view<tile=(8x4x4), tensor_view<3x?x64xi16, strides=[?,1,1]>>
    %1:3 = get_index_space_shape %pview : partition_view<tile=(8x4x4), tensor_view<3x?x64xi16, strides=[?,1,1]>> -> tile<i32>
    %blockId_x, %blockId_y, %blockId_z = get_tile_block_id : tile<i32>
    %2 = int_to_ptr %cst_42_i64 : tile<i64> -> tile<ptr<f8E4M3FN>>
    %cst_524585292_i32 = constant <i32: 524585292> : tile<i32>
    %tview_0 = make_tensor_view %2, shape = [%cst_524585292_i32, 3], strides = [%blockId_y, 1] : tile<i32> -> tensor_view<?x3xf8E4M3FN, strides=[?,1]>
    %pview_1 = make_partition_view %tview_0 : partition_view<tile=(2x64), padding_value = neg_zero, tensor_view<?x3xf8E4M3FN, strides=[?,1]>>
    %3:2 = get_index_space_shape %pview_1 : partition_view<tile=(2x64), padding_value = neg_zero, tensor_view<?x3xf8E4M3FN, strides=[?,1]>> -> tile<i8>
    return
  }
  entry @kernel(%arg0: tile<ptr<bf16>>) optimization_hints=<sm_120 = {}, sm_80 = {allow_tma = 2}> {
    %cst_100_i64 = constant <i64: 100> : tile<i64>
    %0 = int_to_ptr %cst_100_i64 : tile<i64> -> tile<ptr<f32>>
    %cst_3_i32 = constant <i32: 3> : tile<i32>
    %tview = make_tensor_view %0, shape = [3], strides = [%cst_3_i32] : tile<i32> -> tensor_view<3xf32, strides=[?]>
    %pview = make_partition_view %tview : partition_view<tile=(4), padding_value = neg_inf, tensor_view<3xf32, strides=[?]>>
    %1 = get_index_space_shape %pview : partition_view<tile=(4), padding_value = neg_inf, tensor_view<3xf32, strides=[?]>> -> tile<i64>
    %blockId_x, %blockId_y, %blockId_z = get_tile_block_id : tile<i32>
    return
  }
}