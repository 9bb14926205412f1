// the operations draft, section 8.3.12 offset, examples
// expect: custom op 'result' is unknown
// the formula of the block as it stands: not a statement of the language
cuda_tile.module @kernels {
  entry @example() {
    // block 1
    result[i,j] = ptr[i,j] + offset[i,j] * bitwidth
    return
  }
}
