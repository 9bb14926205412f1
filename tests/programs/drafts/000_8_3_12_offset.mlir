// the operations draft, section 8.3.12 offset, examples
// verify: yes
// the block is a formula over the elements; this is the operation that computes it (C15 on the scale)
cuda_tile.module @kernels {
  entry @example(%base: tile<ptr<f32>>) {
    %reshaped = reshape %base : tile<ptr<f32>> -> tile<1x1xptr<f32>>
    %ptr = broadcast %reshaped : tile<1x1xptr<f32>> -> tile<2x4xptr<f32>>
    %offset = constant <i32: [[0, 1, 2, 3], [4, 5, 6, 7]]> : tile<2x4xi32>
    // block 1
    %result = offset %ptr, %offset : tile<2x4xptr<f32>>, tile<2x4xi32> -> tile<2x4xptr<f32>>
    return
  }
}
