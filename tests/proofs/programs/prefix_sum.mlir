// Running sums within parts of 256 elements, in place; ends[part] is the sum of a part.
!x = partition_view<tile=(256), padding_value = zero, tensor_view<?xf32, strides=[1]>>
!ends = partition_view<tile=(1), tensor_view<?xf32, strides=[1]>>
cuda_tile.module @kernels {
  entry @prefix_sum(%x: tile<ptr<f32>>, %ends: tile<ptr<f32>>, %n: tile<i32>) {
    %part, %block_y, %block_z = get_tile_block_id : tile<i32>
    %size = constant <i32: 256> : tile<i32>
    %parts = divi %n, %size signed rounding<positive_inf> : tile<i32>
    %is_part = cmpi less_than %part, %parts, signed : tile<i32> -> tile<i1>
    assert %is_part, "the grid has one tile block for each part" : tile<i1>
    %x_row = make_tensor_view %x, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
    %ends_row = make_tensor_view %ends, shape = [%parts], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
    %x_tiles = make_partition_view %x_row : !x
    %ends_tiles = make_partition_view %ends_row : !ends
    %values, %loaded = load_view_tko weak %x_tiles[%part] : !x, tile<i32> -> tile<256xf32>, token
    %sums = scan %values dim=0 reverse=false identities=[0.0 : f32] : tile<256xf32> -> tile<256xf32>
    (%element: tile<f32>, %so_far: tile<f32>) {
      %more = addf %element, %so_far : tile<f32>
      yield %more : tile<f32>
    }
    %stored = store_view_tko weak %sums, %x_tiles[%part] token = %loaded : tile<256xf32>, !x, tile<i32> -> token
    %total = reduce %values dim=0 identities=[0.0 : f32] : tile<256xf32> -> tile<f32>
    (%element: tile<f32>, %so_far: tile<f32>) {
      %more = addf %element, %so_far : tile<f32>
      yield %more : tile<f32>
    }
    %total_1 = reshape %total : tile<f32> -> tile<1xf32>
    %ended = store_view_tko weak %total_1, %ends_tiles[%part] : tile<1xf32>, !ends, tile<i32> -> token
    return
  }
}
