// the operations draft, section 8.11.3 load_view_tko, examples
// verify: yes
// index types left out: A3; the hint key belongs to entry, a load ignores it by default: E1, E2
cuda_tile.module @kernels {
  entry @hints_on_entry()
  // block 1
  optimization_hints =< sm_100 = { num_cta_in_cga = 8 }, sm_120 = { num_cta_in_cga = 16 } >
  {
    return
  }

  entry @hints_on_load(%ptr: tile<ptr<f32>>) {
    %tensor_view = make_tensor_view %ptr, shape = [8192, 128], strides = [128, 1] : tensor_view<8192x128xf32, strides = [128, 1]>
    %view = make_partition_view %tensor_view : partition_view<tile = (64x64), tensor_view<8192x128xf32, strides = [128, 1]>>
    %c0 = constant dense<0> : tile<i32>
    // block 1, on the operation of the section
    %tile, %res_token = load_view_tko weak %view [%c0, %c0]
      optimization_hints =< sm_100 = { num_cta_in_cga = 8 }, sm_120 = { num_cta_in_cga = 16 } >
      : partition_view<tile = (64x64), tensor_view<8192x128xf32, strides = [128, 1]>> -> tile<64x64xf32>, token
    return
  }

  entry @example(%ptr: tile<ptr<f32>>, %index: tile<i32>) {
    // block 2
    %tensor_view = make_tensor_view %ptr, shape = [8192, 128], strides = [128, 1] : tensor_view<8192x128xf32, strides = [128, 1]>

    // This example uses the PartitionView on a 8192x128xf32 tensor_view,
    // dividing the tensor_view in tiles of 64x64.
    %view = make_partition_view %tensor_view : partition_view<tile = (64x64), tensor_view<8192x128xf32, strides = [128, 1]>>

    %c0 = constant dense<0> : tile<i32>
    %c1 = constant dense<1> : tile<i32>

    // Load a tile at index (0, 0) in the view's index space.
    %tile0, %res_token0 = load_view_tko weak %view [%c0, %c0] : partition_view<tile = (64x64), tensor_view<8192x128xf32, strides = [128, 1]>> -> tile<64x64xf32>, token

    // Load a tile at index (0, 1) in the view's index space.
    %tile1, %res_token1 = load_view_tko weak %view [%c0, %c1] : partition_view<tile = (64x64), tensor_view<8192x128xf32, strides = [128, 1]>> -> tile<64x64xf32>, token

    // Same example as above but with memory token as input.
    %token = make_token : token
    %tile2, %res_token2 = load_view_tko weak %view [%c0, %c1] token = %token : partition_view<tile = (64x64), tensor_view<8192x128xf32, strides = [128, 1]>> -> tile<64x64xf32>, token

    // Loads a tile at the dynamic index (%index, %index) in the view's index space.
    %tile3, %res_token3 = load_view_tko weak %view [%index, %index] : partition_view<tile = (64x64), tensor_view<8192x128xf32, strides = [128, 1]>> -> tile<64x64xf32>, token
    return
  }
}
