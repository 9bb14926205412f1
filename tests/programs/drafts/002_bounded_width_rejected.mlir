// the types draft, section BoundedAttr Verifier, a rule it names, broken
// expect: expects upper bound to be within [-128, 127]
cuda_tile.module @kernels {
  entry @bound_too_wide(%scalar: tile<i8>) {
    %0 = assume bounded<0, 300>, %scalar : tile<i8>
    return
  }
}
