// the operations draft, section 8.5.1 assert, examples
// verify: yes
cuda_tile.module @kernels {
  entry @example(%arg0: tile<i1>) {
    // block 1
    assert %arg0, "assertion failed" : tile<i1>
    return
  }
}
