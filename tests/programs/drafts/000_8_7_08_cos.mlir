// the operations draft, section 8.7.8 cos, examples
// verify: yes
cuda_tile.module @kernels {
  entry @example() {
    // block 1
    %in = constant dense<[0.0, 1.0, 2.0, 3.0]> : tile<4xf32>
    %res = cos %in : tile<4xf32>
    return
  }
}
