// the operations draft, section 8.7.5 ceil, examples
// verify: yes
cuda_tile.module @kernels {
  entry @example(%source: tile<f32>) {
    // block 1
    %result = ceil %source : tile<f32>
    return
  }
}
