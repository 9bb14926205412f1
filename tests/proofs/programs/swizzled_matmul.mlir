// c = a b with a grid of one dimension: tiles are numbered in groups of 8 rows, column by column within a group.
!a = partition_view<tile=(64x32), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>
!b = partition_view<tile=(32x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>
!c = partition_view<tile=(64x64), tensor_view<?x?xf32, strides=[?,1]>>
cuda_tile.module @kernels {
  entry @swizzled_matmul(%a: tile<ptr<f16>>, %b: tile<ptr<f16>>, %c: tile<ptr<f32>>, %m: tile<i32>, %n: tile<i32>, %k: tile<i32>) {
    %block, %block_y, %block_z = get_tile_block_id : tile<i32>
    %a_matrix = make_tensor_view %a, shape = [%m, %k], strides = [%k, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]>
    %b_matrix = make_tensor_view %b, shape = [%k, %n], strides = [%n, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]>
    %c_matrix = make_tensor_view %c, shape = [%m, %n], strides = [%n, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
    %a_tiles = make_partition_view %a_matrix : !a
    %b_tiles = make_partition_view %b_matrix : !b
    %c_tiles = make_partition_view %c_matrix : !c
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %side = constant <i32: 64> : tile<i32>
    %height = constant <i32: 8> : tile<i32>
    %rows = divi %m, %side signed rounding<positive_inf> : tile<i32>
    %columns = divi %n, %side signed rounding<positive_inf> : tile<i32>
    %in_group = muli %height, %columns : tile<i32>
    %group = divi %block, %in_group signed : tile<i32>
    %first = muli %group, %height : tile<i32>
    %left = subi %rows, %first : tile<i32>
    %group_rows = mini %left, %height signed : tile<i32>
    %number = remi %block, %in_group signed : tile<i32>
    %row_in_group = remi %number, %group_rows signed : tile<i32>
    %row = addi %first, %row_in_group : tile<i32>
    %column = divi %number, %group_rows signed : tile<i32>
    %count:2 = get_index_space_shape %a_tiles : !a -> tile<i32>
    %empty = constant <f32: 0.0> : tile<64x64xf32>
    %sum = for %step in (%zero to %count#1, step %one) : tile<i32> iter_values(%total = %empty) -> (tile<64x64xf32>) {
      %x, %x_token = load_view_tko weak %a_tiles[%row, %step] : !a, tile<i32> -> tile<64x32xf16>, token
      %y, %y_token = load_view_tko weak %b_tiles[%step, %column] : !b, tile<i32> -> tile<32x64xf16>, token
      %next = mmaf %x, %y, %total : tile<64x32xf16>, tile<32x64xf16>, tile<64x64xf32>
      continue %next : tile<64x64xf32>
    }
    %stored = store_view_tko weak %sum, %c_tiles[%row, %column] : tile<64x64xf32>, !c, tile<i32> -> token
    return
  }
}
