cuda_tile.module @m {
  entry @k(%from: tile<ptr<tf32>>, %to: tile<ptr<tf32>>) {
    %tensor = make_tensor_view %from, shape = [4], strides = [1] : tensor_view<4xtf32, strides=[1]>
    %view = make_partition_view %tensor : partition_view<tile=(8), padding_value = nan, tensor_view<4xtf32, strides=[1]>>
    %first = constant <i32: 0> : tile<i32>
    %x, %loaded = load_view_tko weak %view[%first] : partition_view<tile=(8), padding_value = nan, tensor_view<4xtf32, strides=[1]>>, tile<i32> -> tile<8xtf32>, token
    %lane = iota : tile<8xi32>
    %to_1 = reshape %to : tile<ptr<tf32>> -> tile<1xptr<tf32>>
    %to_8 = broadcast %to_1 : tile<1xptr<tf32>> -> tile<8xptr<tf32>>
    %target = offset %to_8, %lane : tile<8xptr<tf32>>, tile<8xi32> -> tile<8xptr<tf32>>
    %stored = store_ptr_tko weak %target, %x : tile<8xptr<tf32>>, tile<8xtf32> -> token
    return
  }
}
