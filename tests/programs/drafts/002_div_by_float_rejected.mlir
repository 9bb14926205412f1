// the types draft, section DivByAttr Verifier, a rule it names, broken
// expect: is valid only for tile of integer/pointer or tensor_view values
cuda_tile.module @kernels {
  entry @divisor_of_a_float(%scalar: tile<f32>) {
    %0 = assume div_by<4>, %scalar : tile<f32>
    return
  }
}
