// the printer draft, section Enum Spellings, no code block, the ordering seq_cst
// verify: yes
// B2: kept in the program, refused only when it is made public
cuda_tile.module @kernels {
  entry @sequentially_consistent(%ptrs: tile<ptr<i32>>, %val: tile<i32>) {
    %old, %token = atomic_rmw_tko seq_cst gpu add %ptrs, %val : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
    return
  }
}
