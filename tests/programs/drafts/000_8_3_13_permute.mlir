// the operations draft, section 8.3.13 permute, examples
// verify: yes
cuda_tile.module @kernels {
  entry @example() {
    // block 1
    %arg0 = constant dense<0.0> : tile<2x4x8xf16>
    %0 = permute %arg0 [2, 0, 1] : tile<2x4x8xf16> -> tile<8x2x4xf16>
    return
  }
}
