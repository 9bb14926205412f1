// the types draft, section Concrete Types, no code block, the string type
// verify: no (D3: string is not portable)
cuda_tile.module @kernels {
  entry @string(%message: !cuda_tile.string) {
    return
  }
}
