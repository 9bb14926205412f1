// the printer draft, section SSA Result Names and the 5-Path Constant Algorithm, no code block, one constant per path
// verify: yes
// G1, G2
cuda_tile.module @kernels {
  entry @constants() {
    // path 1
    %0 = constant <i1: true> : tile<4xi1>
    // path 2
    %1 = constant <i1: false> : tile<4xi1>
    // path 3
    %2 = constant <f32: 0x7FC00000> : tile<4xf32>
    // path 4
    %3 = constant <i1: [true, false]> : tile<2xi1>
    // path 5, integer
    %4 = constant <i32: 42> : tile<i32>
    // path 5, everything else
    %5 = constant <i32: [1, 2]> : tile<2xi32>
    %6 = constant <f32: 1.5> : tile<f32>
    return
  }
}
