// the operations draft, section 8.3.16 scan, examples
// verify: yes
// argument names %acc, %elem: position decides, C13
cuda_tile.module @kernels {
  entry @example() {
    // block 1
    %input = constant dense<0.0> : tile<8x16xf32>
    %result = scan %input dim=1 reverse=false identities=[1.0 : f32] : tile<8x16xf32> -> tile<8x16xf32>
    (%acc: tile<f32>, %elem: tile<f32>) {
      %prod = mulf %acc, %elem rounding<nearest_even>: tile<f32>
      yield %prod : tile<f32>
    }
    return
  }
}
