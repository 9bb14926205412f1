cuda_tile.module @loc {
  entry @"a-b"(%arg0: tile<ptr<i32>>, %arg1: tile<f8E8M0FNU>) {
    %cst_-1_i32 = constant <i32: -1> : tile<32xi32>
    %0 = trunci %cst_-1_i32 : tile<32xi32> -> tile<32xi8>
    %bcast = broadcast %0 : tile<32xi8> -> tile<32xi8>
    return
  }
  entry @a.b$c(%arg0: tile<tf32>, %arg1: tile<f64>, %arg2: tile<ptr<f8E4M3FN>>, %arg3: tile<ptr<tf32>>) {
    %bcast = broadcast %arg2 : tile<ptr<f8E4M3FN>> -> tile<ptr<f8E4M3FN>>
    %bcast_0 = broadcast %arg1 : tile<f64> -> tile<f64>
    return
  }
  entry @_(%arg0: tile<ptr<bf16>>, %arg1: tile<bf16>, %arg2: tile<ptr<i1>>) {
    %bcast = broadcast %arg2 : tile<ptr<i1>> -> tile<ptr<i1>>
    return
  }
}