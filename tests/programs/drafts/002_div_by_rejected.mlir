// the types draft, section DivByAttr Verifier, a rule it names, broken
// expect: divisor must be a power of 2
cuda_tile.module @kernels {
  entry @divisor(%scalar: tile<i32>) {
    %0 = assume div_by<3>, %scalar : tile<i32>
    return
  }
}
