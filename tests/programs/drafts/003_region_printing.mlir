// the printer draft, section Region Printing, examples
// verify: yes
// labels on entry blocks: A9; elided in the draft and filled in here: tile<...>
cuda_tile.module @kernels {
  entry @example(%cond: tile<i1>, %a: tile<f32>, %b: tile<f32>) {
    // block 1
    %r = cuda_tile.if %cond -> (!cuda_tile.tile<f32>) {
    ^then:
    cuda_tile.yield %a : !cuda_tile.tile<f32>
    } else {
    ^else:
    cuda_tile.yield %b : !cuda_tile.tile<f32>
    }
    return
  }
}
