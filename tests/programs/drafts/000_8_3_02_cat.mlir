// the operations draft, section 8.3.2 cat, examples
// verify: yes
cuda_tile.module @kernels {
  entry @example() {
    %arg0 = constant <f32: 0.0> : tile<2x4xf32>
    %arg1 = constant <f32: 1.0> : tile<2x4xf32>
    // block 1
    // A valid invocation of cat.
    %0 = cat %arg0, %arg1 dim = 1
      : tile<2x4xf32>, tile<2x4xf32> -> tile<2x8xf32>

    // A valid invocation of cat.
    %1 = cat %arg0, %arg1 dim = 0
      : tile<2x4xf32>, tile<2x4xf32> -> tile<4x4xf32>
    return
  }
}
