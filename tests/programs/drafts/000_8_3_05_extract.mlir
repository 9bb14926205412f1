// the operations draft, section 8.3.5 extract, examples
// verify: yes
cuda_tile.module @kernels {
  entry @example() {
    // block 1
    // Extract a subtile from %t at dim_0 = [4;8) and dim_1 = [4;6).
    %c1 = constant dense<1> : tile<i32>
    %c2 = constant dense<2> : tile<i32>
    %t = constant dense<0.0> : tile<32x8xf32>
    // Valid indices are: [ {0, 1, 2, 3, 4, 5, 6, 7}, {0, 1, 2, 3} ]
    %0 = extract %t[%c1, %c2]
        : tile<32x8xf32> -> tile<4x2xf32>
    return
  }
}
