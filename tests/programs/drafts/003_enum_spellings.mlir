// the printer draft, section Enum Spellings, no code block, the spellings of its table
// verify: yes
// cluster is kept: B1; addu: B4; seq_cst and cmpxchg are in files of their own
cuda_tile.module @kernels {
  entry @scopes(%ptrs: tile<ptr<i32>>, %val: tile<i32>) {
    %0, %t0 = load_ptr_tko weak %ptrs : tile<ptr<i32>> -> tile<i32>, token
    %1, %t1 = load_ptr_tko relaxed tl_blk %ptrs : tile<ptr<i32>> -> tile<i32>, token
    %2, %t2 = load_ptr_tko acquire cluster %ptrs : tile<ptr<i32>> -> tile<i32>, token
    %3, %t3 = load_ptr_tko acquire gpu %ptrs : tile<ptr<i32>> -> tile<i32>, token
    %4, %t4 = load_ptr_tko acquire sys %ptrs : tile<ptr<i32>> -> tile<i32>, token
    %t5 = store_ptr_tko release gpu %ptrs, %val : tile<ptr<i32>>, tile<i32> -> token
    return
  }

  entry @modes(%ptrs: tile<ptr<i32>>, %val: tile<i32>, %floats: tile<ptr<f32>>, %float: tile<f32>) {
    %0, %t0 = atomic_rmw_tko acq_rel gpu add %ptrs, %val : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
    %1, %t1 = atomic_rmw_tko acq_rel gpu addf %floats, %float : tile<ptr<f32>>, tile<f32> -> tile<f32>, token
    %2, %t2 = atomic_rmw_tko acq_rel gpu addu %ptrs, %val : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
    %3, %t3 = atomic_rmw_tko acq_rel gpu and %ptrs, %val : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
    %4, %t4 = atomic_rmw_tko acq_rel gpu or %ptrs, %val : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
    %5, %t5 = atomic_rmw_tko acq_rel gpu xor %ptrs, %val : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
    %6, %t6 = atomic_rmw_tko acq_rel gpu xchg %ptrs, %val : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
    %7, %t7 = atomic_rmw_tko acq_rel gpu min %ptrs, %val : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
    %8, %t8 = atomic_rmw_tko acq_rel gpu umin %ptrs, %val : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
    %9, %t9 = atomic_rmw_tko acq_rel gpu max %ptrs, %val : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
    %10, %t10 = atomic_rmw_tko acq_rel gpu umax %ptrs, %val : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
    return
  }

  entry @rounding_and_signedness(%x: tile<f32>, %i: tile<i32>) {
    %0 = addf %x, %x rounding<nearest_even> : tile<f32>
    %1 = addf %x, %x rounding<zero> : tile<f32>
    %2 = addf %x, %x rounding<negative_inf> : tile<f32>
    %3 = addf %x, %x rounding<positive_inf> : tile<f32>
    %4 = divf %x, %x rounding<approx> : tile<f32>
    %5 = divf %x, %x rounding<full> : tile<f32>
    %6 = maxi %i, %i signed : tile<i32>
    %7 = maxi %i, %i unsigned : tile<i32>
    return
  }
}
