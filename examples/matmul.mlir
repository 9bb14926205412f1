// C = A * B with f16 inputs and an f32 result; A is m x k, B is k x n, C is m x n, all row-major.
// Each tile block computes one 64 x 64 tile of C: launch (ceil(m / 64), ceil(n / 64)) blocks.
cuda_tile.module @kernels {
  entry @matmul(%a: tile<ptr<f16>>, %b: tile<ptr<f16>>, %c: tile<ptr<f32>>, %m: tile<i32>, %n: tile<i32>, %k: tile<i32>) {
    %row, %column, %z = get_tile_block_id : tile<i32>

    // What the caller promises: aligned pointers, so that wide loads are possible.
    %a_aligned = assume div_by<16>, %a : tile<ptr<f16>>
    %b_aligned = assume div_by<16>, %b : tile<ptr<f16>>
    %c_aligned = assume div_by<16>, %c : tile<ptr<f32>>

    // A tensor view is a pointer with a shape; a partition view splits it into tiles.
    // Elements outside the matrix read as zero, so the last tile of the k loop needs no special case.
    %a_tensor = make_tensor_view %a_aligned, shape = [%m, %k], strides = [%k, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]>
    %b_tensor = make_tensor_view %b_aligned, shape = [%k, %n], strides = [%n, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]>
    %c_tensor = make_tensor_view %c_aligned, shape = [%m, %n], strides = [%n, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
    %a_tiles = make_partition_view %a_tensor : partition_view<tile=(64x32), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>
    %b_tiles = make_partition_view %b_tensor : partition_view<tile=(32x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>
    %c_tiles = make_partition_view %c_tensor : partition_view<tile=(64x64), tensor_view<?x?xf32, strides=[?,1]>>

    // The accumulator travels through the loop as an iteration value.
    %count:2 = get_index_space_shape %a_tiles : partition_view<tile=(64x32), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>> -> tile<i32>
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %empty = constant <f32: 0.0> : tile<64x64xf32>
    %sum = for %step in (%zero to %count#1, step %one) : tile<i32> iter_values(%accumulator = %empty) -> (tile<64x64xf32>) {
      %x, %x_token = load_view_tko weak %a_tiles[%row, %step] : partition_view<tile=(64x32), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>, tile<i32> -> tile<64x32xf16>, token
      %y, %y_token = load_view_tko weak %b_tiles[%step, %column] : partition_view<tile=(32x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>, tile<i32> -> tile<32x64xf16>, token
      %next = mmaf %x, %y, %accumulator : tile<64x32xf16>, tile<32x64xf16>, tile<64x64xf32>
      continue %next : tile<64x64xf32>
    }

    // Elements outside the matrix are not stored.
    %stored = store_view_tko weak %sum, %c_tiles[%row, %column] : tile<64x64xf32>, partition_view<tile=(64x64), tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> token
    return
  }
}
