// the operations draft, section 8.11.4 make_partition_view, examples
// verify: yes
// type of the dynamic values left out: A4; the last statement of the block is in the rejected file: A5
cuda_tile.module @kernels {
  entry @example(%ptr: tile<ptr<f32>>) {
    // block 1
    %tensor_view0 = make_tensor_view %ptr, shape = [8192, 8192, 64], strides = [524288, 64, 1] : tensor_view<8192x8192x64xf32, strides = [524288, 64, 1]>

    // Creates a partition with 32-bit-indexed tiles of size (1024x1x32) over
    // the provided tensor_view.
    make_partition_view %tensor_view0 : partition_view<tile = (1024x1x32), tensor_view<8192x8192x64xf32, strides = [524288, 64, 1]>>

    %s0 = constant dense<8192> : tile<i32>
    %str0 = constant dense<524288> : tile<i32>
    %tensor_view1 = make_tensor_view %ptr, shape = [%s0, 8192, 64], strides = [%str0, 64, 1] : tensor_view<?x8192x64xf32, strides = [?, 64, 1]>
    return
  }
}
