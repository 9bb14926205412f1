// the operations draft, section 8.7.12 floor, examples
// verify: yes
cuda_tile.module @kernels {
  entry @example() {
    // block 1
    %source = constant dense<1.5> : tile<f32>
    %result = floor %source : tile<f32>
    return
  }
}
