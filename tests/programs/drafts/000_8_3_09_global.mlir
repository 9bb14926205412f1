// the operations draft, section 8.3.9 global, examples
// verify: yes
// the entry is empty: a return is implied
cuda_tile.module @kernels {
  // block 1
  global @val alignment = 128 dense<[0.1, 0.2, 0.3, 0.4]> : tile<4xf32>
  entry @example() {}
}
