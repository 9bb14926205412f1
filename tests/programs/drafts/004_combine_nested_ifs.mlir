// the folds draft, section CombineNestedIfs, examples
// verify: yes
// replay: A13
// there is no operation for poison, a constant stands for it: H2
cuda_tile.module @kernels {
  entry @input(%a: tile<i1>, %b: tile<i1>) {
    %x = iota : tile<64xi32>
    %y = constant <i32: 2> : tile<64xi32>
    %poison = constant <i32: 0> : tile<64xi32>
    // block 1
    %r = cuda_tile.if %a -> (tile<64xi32>) {
    %inner = cuda_tile.if %b -> (tile<64xi32>) {
    %v = cuda_tile.muli %x, %y : tile<64xi32>
    cuda_tile.yield %v : tile<64xi32>
    } else {
    cuda_tile.yield %x : tile<64xi32>
    }
    cuda_tile.yield %inner : tile<64xi32>
    } else {
    cuda_tile.yield %poison : tile<64xi32>
    }
    return
  }

  entry @output(%a: tile<i1>, %b: tile<i1>) {
    %x = iota : tile<64xi32>
    %y = constant <i32: 2> : tile<64xi32>
    %poison = constant <i32: 0> : tile<64xi32>
    // block 2
    %conj = cuda_tile.andi %a, %b : i1
    %r = cuda_tile.if %conj -> (tile<64xi32>) {
    %v = cuda_tile.muli %x, %y : tile<64xi32>
    cuda_tile.yield %v : tile<64xi32>
    } else {
    cuda_tile.yield %poison : tile<64xi32>
    }
    return
  }
}
