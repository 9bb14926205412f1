// the types draft, section Pointer and View Types, the rule of verify_pointer_type, broken
// expect: failed to verify 'pointeeType'
cuda_tile.module @kernels {
  entry @pointer_to_pointer(%pointer: tile<ptr<ptr<f32>>>) {
    return
  }
}
