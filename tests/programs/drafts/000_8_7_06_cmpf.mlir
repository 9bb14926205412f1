// the operations draft, section 8.7.6 cmpf, examples
// verify: yes
// result type left out: A2
cuda_tile.module @kernels {
  entry @example() {
    // block 1
    %lhs0 = constant dense<0.0> : tile<f16>
    %rhs0 = constant dense<0.0> : tile<f16>

    // Custom form of scalar "ordered equal" comparison.
    %x0 = cmpf equal ordered %lhs0, %rhs0 : tile<f16>

    %lhs1 = constant dense<0.0> : tile<2x2xf16>
    %rhs1 = constant dense<0.0> : tile<2x2xf16>

    // Custom form of scalar "unordered less than" comparison.
    %x2 = cmpf less_than unordered %lhs1, %rhs1 : tile<2x2xf16>

    %lhs2 = constant dense<0.0> : tile<2x2xf64>
    %rhs2 = constant dense<0.0> : tile<2x2xf64>
    return
  }
}
