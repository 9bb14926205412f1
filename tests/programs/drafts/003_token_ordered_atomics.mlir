// the printer draft, section Token-Ordered Memory Syntax, examples
// verify: yes
// elided in the draft and filled in here: the pointee of tile<ptr>; mode before the pointers: A11; gpu: B1
cuda_tile.module @kernels {
  entry @compare_and_swap(%ptrs: tile<ptr<i32>>, %cmp: tile<i32>, %val: tile<i32>, %mask: tile<i1>) {
    %tok0 = make_token : token
    // block 1, first statement
    %old, %tok1 = cuda_tile.atomic_cas_tko acq_rel gpu %ptrs, %cmp, %val, %mask
    token=%tok0 : !cuda_tile.tile<ptr<i32>>, !cuda_tile.tile<i32>, !cuda_tile.tile<i1>
    -> !cuda_tile.tile<i32>, !cuda_tile.token
    return
  }

  entry @read_modify_write(%ptrs: tile<ptr<i32>>, %val: tile<i32>, %mask: tile<i1>) {
    %tok0 = make_token : token
    // block 1, second statement
    %old, %tok1 = cuda_tile.atomic_rmw_tko acquire gpu add %ptrs, %val, %mask
    token=%tok0 : !cuda_tile.tile<ptr<i32>>, !cuda_tile.tile<i32>, !cuda_tile.tile<i1>
    -> !cuda_tile.tile<i32>, !cuda_tile.token
    return
  }
}
