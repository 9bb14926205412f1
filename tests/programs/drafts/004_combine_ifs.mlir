// the folds draft, section CombineIfs, examples
// verify: yes
// cmpf olt: A2
cuda_tile.module @kernels {
  entry @input(%cond: tile<i1>) {
    %lhs = constant <f32: 1.0> : tile<128xf32>
    %rhs = constant <f32: 2.0> : tile<128xf32>
    %thr = constant <f32: 3.0> : tile<128xf32>
    %zero = constant <f32: 0.0> : tile<128xf32>
    %fmask = constant <i1: false> : tile<128xi1>
    // block 1
    %a, %b = cuda_tile.if %cond -> (tile<128xf32>, tile<128xi1>) {
    %x = cuda_tile.mulf %lhs, %rhs : tile<128xf32>
    %m = cuda_tile.cmpf olt, %x, %thr : tile<128xf32>
    cuda_tile.yield %x, %m : tile<128xf32>, tile<128xi1>
    } else {
    cuda_tile.yield %zero, %fmask : tile<128xf32>, tile<128xi1>
    }
    %c = cuda_tile.if %cond -> (tile<128xf32>) {
    %y = cuda_tile.addf %a, %a : tile<128xf32>
    cuda_tile.yield %y : tile<128xf32>
    } else {
    cuda_tile.yield %a : tile<128xf32>
    }
    return
  }

  entry @output(%cond: tile<i1>) {
    %lhs = constant <f32: 1.0> : tile<128xf32>
    %rhs = constant <f32: 2.0> : tile<128xf32>
    %thr = constant <f32: 3.0> : tile<128xf32>
    %zero = constant <f32: 0.0> : tile<128xf32>
    %fmask = constant <i1: false> : tile<128xi1>
    // block 2
    %a, %b, %c = cuda_tile.if %cond -> (tile<128xf32>, tile<128xi1>, tile<128xf32>) {
    %x = cuda_tile.mulf %lhs, %rhs : tile<128xf32>
    %m = cuda_tile.cmpf olt, %x, %thr : tile<128xf32>
    %y = cuda_tile.addf %x, %x : tile<128xf32>
    cuda_tile.yield %x, %m, %y : tile<128xf32>, tile<128xi1>, tile<128xf32>
    } else {
    cuda_tile.yield %zero, %fmask, %zero : tile<128xf32>, tile<128xi1>, tile<128xf32>
    }
    return
  }
}
