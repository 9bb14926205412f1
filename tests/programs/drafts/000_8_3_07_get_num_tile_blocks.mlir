// the operations draft, section 8.3.7 get_num_tile_blocks, examples
// verify: yes
// result type: A6; bare % in print: A8, A17; the entry has no return: one is implied
cuda_tile.module @kernels {
  // block 1
  entry @example() {
    %x, %y, %z = get_num_tile_blocks : tile<3xi32>
    print "x: %, y: %, z: %\n", %x, %y, %z : tile<i32>, tile<i32>, tile<i32>
  }
}
