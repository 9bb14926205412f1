// the types draft, section BoundedAttr Verifier, a rule it names, broken
// expect: expects lower bound to be less than or equal to upper bound
cuda_tile.module @kernels {
  entry @bounds(%scalar: tile<i32>) {
    %0 = assume bounded<5, 4>, %scalar : tile<i32>
    return
  }
}
