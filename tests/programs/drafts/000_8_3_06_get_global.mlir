// the operations draft, section 8.3.6 get_global, examples
// verify: yes
cuda_tile.module @kernels {
  // block 1
  global @val dense<[0.1, 0.2, 0.3, 0.4]> : tile<4xf32>

  entry @example() {
    %ptr = get_global @val : tile<ptr<f32>>
    return
  }
}
