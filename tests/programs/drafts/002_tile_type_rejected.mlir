// the types draft, section Tile Type, the rule of its pseudocode, broken
// expect: all dimensions must be powers of two, got 3
cuda_tile.module @kernels {
  entry @odd_dimension() {
    %tile = constant <f32: 0.0> : tile<3xf32>
    return
  }
}
