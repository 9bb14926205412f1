// the operations draft, section 8.11.4 make_partition_view, examples
// expect: expected 'tile'
// A5: without tile=(..) the shape of the tile cannot be recovered
cuda_tile.module @kernels {
  entry @example(%ptr: tile<ptr<f32>>) {
    %s0 = constant dense<8192> : tile<i32>
    %str0 = constant dense<524288> : tile<i32>
    %tensor_view1 = make_tensor_view %ptr, shape = [%s0, 8192, 64], strides = [%str0, 64, 1] : tensor_view<?x8192x64xf32, strides = [?, 64, 1]>
    // block 1, last statement
    make_partition_view %tensor_view1 : partition_view<tensor_view<?x8192x64xf32, strides = [?, 64, 1]>>
    return
  }
}
