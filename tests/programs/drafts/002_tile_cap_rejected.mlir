// the types draft, section Dynamic-dimension sentinel and tile cap, no code block, one step beyond the largest tile
// expect: tile would exceed the maximum of 16777216 elements
cuda_tile.module @kernels {
  entry @too_large() {
    %tile = constant <i8: 0> : tile<4096x8192xi8>
    return
  }
}
