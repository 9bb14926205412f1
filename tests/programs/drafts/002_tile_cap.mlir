// the types draft, section Dynamic-dimension sentinel and tile cap, no code block, the largest tile
// verify: yes
cuda_tile.module @kernels {
  entry @largest() {
    %tile = constant <i8: 0> : tile<4096x4096xi8>
    return
  }
}
