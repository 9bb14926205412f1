// the operations draft, section 8.12.2 print, examples
// verify: yes
// print is the old name of print_tko: A17
cuda_tile.module @kernels {
  entry @example(%val: tile<i32>, %fval: tile<f32>) {
    // block 1
    print "Value: %d\n", %val : tile<i32>
    print "Float: %f\n", %fval : tile<f32>
    return
  }
}
