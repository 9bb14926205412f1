// the types draft, section SameElementsAttr Verifier, the length rule of the pseudocode, broken
// expect: expected number of values in 'cuda_tile.same_elements' (2) to match rank of constrained tile (1)
cuda_tile.module @kernels {
  entry @rank() {
    %vector = iota : tile<8xi32>
    %0 = assume same_elements<[2, 2]>, %vector : tile<8xi32>
    return
  }
}
