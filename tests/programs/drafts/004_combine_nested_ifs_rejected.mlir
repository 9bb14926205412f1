// the folds draft, section CombineNestedIfs, examples
// expect: expects different type than prior uses
// A13: outside a replay of this draft, i1 is not a tile
cuda_tile.module @kernels {
  entry @output(%a: tile<i1>, %b: tile<i1>) {
    // block 2, first statement
    %conj = cuda_tile.andi %a, %b : i1
    return
  }
}
