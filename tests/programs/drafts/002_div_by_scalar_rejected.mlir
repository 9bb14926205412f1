// the types draft, section DivByAttr Verifier, a rule it names, broken
// expect: 'every'/'along' cannot be used if the constrained value is a 0D tile
cuda_tile.module @kernels {
  entry @every_of_a_scalar(%scalar: tile<i32>) {
    %0 = assume div_by<4, every 1 along 0>, %scalar : tile<i32>
    return
  }
}
