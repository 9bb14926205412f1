// the operations draft, section 8.11.6 store_view_tko, examples
// verify: yes
// index types left out: A3; the hint key belongs to entry, a store ignores it by default: E1, E2
cuda_tile.module @kernels {
  entry @hints_on_entry()
  // block 1
  optimization_hints =< sm_100 = { num_cta_in_cga = 8 }, sm_120 = { num_cta_in_cga = 16 } >
  {
    return
  }

  entry @hints_on_store(%ptr: tile<ptr<f32>>) {
    %tensor_view = make_tensor_view %ptr, shape = [8192, 128], strides = [128, 1] : tensor_view<8192x128xf32, strides = [128, 1]>
    %view = make_partition_view %tensor_view : partition_view<tile = (64x64), tensor_view<8192x128xf32, strides = [128, 1]>>
    %c0 = constant dense<0> : tile<i32>
    %tile = constant dense<0.0> : tile<64x64xf32>
    // block 1, on the operation of the section
    %res_token = store_view_tko weak %tile, %view [%c0, %c0]
      optimization_hints =< sm_100 = { num_cta_in_cga = 8 }, sm_120 = { num_cta_in_cga = 16 } >
      : tile<64x64xf32>, partition_view<tile = (64x64), tensor_view<8192x128xf32, strides = [128, 1]>> -> token
    return
  }

  entry @example(%ptr: tile<ptr<f32>>) {
    // block 2
    %tensor_view = make_tensor_view %ptr, shape = [8192, 128], strides = [128, 1] : tensor_view<8192x128xf32, strides = [128, 1]>

    // This example uses the PartitionView on a 8192x128xf32 tensor_view,
    // dividing the tensor_view in tiles of 64x64.
    %view = make_partition_view %tensor_view : partition_view<tile = (64x64), tensor_view<8192x128xf32, strides = [128, 1]>>

    %c0 = constant dense<0> : tile<i32>
    %c1 = constant dense<1> : tile<i32>
    %tile = constant dense<0.0> : tile<64x64xf32>

    // Store a tile at index (0, 0) in the view's index space.
    %res_token0 = store_view_tko weak %tile, %view [%c0, %c0] : tile<64x64xf32>, partition_view<tile = (64x64), tensor_view<8192x128xf32, strides = [128, 1]>> -> token

    // Store a tile at index (0, 1) in the view's index space.
    %res_token1 = store_view_tko weak %tile, %view [%c0, %c1] : tile<64x64xf32>, partition_view<tile = (64x64), tensor_view<8192x128xf32, strides = [128, 1]>> -> token

    // Same example as above but with input token.
    %token = make_token : token
    %res_token2 = store_view_tko weak %tile, %view [%c0, %c1] token = %token : tile<64x64xf32>, partition_view<tile = (64x64), tensor_view<8192x128xf32, strides = [128, 1]>> -> token
    return
  }
}
