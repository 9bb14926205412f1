// the printer draft, section Enum Spellings, no code block, the mode cmpxchg
// expect: use atomic_cas_tko
// B4
cuda_tile.module @kernels {
  entry @compare_exchange_as_a_mode(%ptrs: tile<ptr<i32>>, %val: tile<i32>) {
    %old, %token = atomic_rmw_tko acq_rel gpu cmpxchg %ptrs, %val : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
    return
  }
}
