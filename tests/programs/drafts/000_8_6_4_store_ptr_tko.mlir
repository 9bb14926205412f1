// the operations draft, section 8.6.4 store_ptr_tko, examples
// verify: yes
cuda_tile.module @kernels {
  entry @example(%ptr: tile<ptr<f32>>, %value: tile<f32>) {
    // block 1
    %mask = constant dense<1> : tile<i1>

      // Store without token.
      %res_token0 = store_ptr_tko weak %ptr, %value, %mask
          : tile<ptr<f32>>, tile<f32>, tile<i1> -> token

      // Store with token.
      %token0 = make_token : token
      %res_token1 = store_ptr_tko weak %ptr, %value, %mask token=%token0
          : tile<ptr<f32>>, tile<f32>, tile<i1> -> token

      return
  }
}
