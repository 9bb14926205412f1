// the operations draft, section 8.3.4 entry, examples
// verify: yes
// the block is only the hints clause; braces inside the angle brackets: A7
cuda_tile.module @kernels {
  entry @example()
  // block 1
  optimization_hints=<{
    sm_100 = {num_cta_in_cga = 8},
    sm_120 = {num_cta_in_cga = 16}
  }>
  {
    return
  }
}
