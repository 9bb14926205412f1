// the operations draft, section 8.3.3 constant, examples
// verify: yes
// literals: A1
cuda_tile.module @kernels {
  entry @example() {
    // block 1
    %c0 = constant dense<0> : tile<i32>
    %c1 = constant dense<1> : tile<i64>
    %c2 = constant dense<[0, 1, 2, 3]> : tile<4xi32>
    %c3 = constant dense<0.0> : tile<2x4xf32>
    %c4 = constant dense<[0.0, 1.0, 2.0, 3.0]> : tile<4xf64>
    return
  }
}
