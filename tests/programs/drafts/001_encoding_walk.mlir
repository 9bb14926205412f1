// the bytecode draft, section Encoding Walk: cuda_tile.addi, examples
// verify: yes
// the draft writes the type with a multiplication sign and blanks (prose typography); written here as tile<8xi32>
cuda_tile.module @kernels {
  entry @example() {
    %a = iota : tile<8xi32>
    %b = constant <i32: 1> : tile<8xi32>
    // block 1
    %c = cuda_tile.addi %a, %b : tile<8xi32>
    return
  }
}
