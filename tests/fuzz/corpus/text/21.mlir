cuda_tile.module @"q\22" attributes {producer = ""} {
  global  constant @_ <tf32: -1.147940e-41> : tile<2xtf32>
  entry @entry(%arg0: tile<f64>) {
    %0 = alloca num_elem = 0, alignment = 1099511627776 : tile<ptr<i1>>
    %1 = alloca num_elem = 100, alignment = 1099511627776 global : tile<ptr<f32>>
    %2 = alloca num_elem = 0, alignment = 1099511627776 : tile<ptr<f16>>
    return
  }
  entry @"1x"(%arg0: tile<ptr<f8E8M0FNU>>, %arg1: tile<ptr<i32>>, %arg2: tile<tf32>, %arg3: tile<ptr<f32>>) {
    %0 = alloca num_elem = 1, alignment = 16 global : tile<ptr<f8E4M3FN>>
    %1 = alloca num_elem = 1, alignment = 8 global : tile<ptr<f8E4M3FN>>
    return
  }
}