// the operations draft, section 8.5.7 return, examples
// verify: yes
cuda_tile.module @kernels {
  // block 1
  entry @foo() {
    %0 = constant dense<0> : tile<i32>
    %1 = constant dense<0.0> : tile<f16>
    // ...
    return
  }
}
