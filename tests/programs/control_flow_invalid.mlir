// Branches, loops, and what ends them.

cuda_tile.module @m {
  entry @k(%c: tile<i1>, %x: tile<i32>, %f: tile<f32>) {
    // expected-error @below {{expected SSA operand}}
    if : tile<i1> {
    }
    return
  }
}

// -----

cuda_tile.module @m {
  // expected-note @below {{prior use here}}
  entry @k(%c: tile<i1>, %x: tile<i32>, %f: tile<f32>) {
    // expected-error @below {{use of value '%x' expects different type than prior uses: '!cuda_tile.tile<i1>' vs '!cuda_tile.tile<i32>'}}
    if %x {
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%c: tile<i1>, %x: tile<i32>, %f: tile<f32>) {
    // expected-error @below {{expected '('}}
    if %c -> tile<i32> {
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%c: tile<i1>, %x: tile<i32>, %f: tile<f32>) {
    // expected-error @below {{'cuda_tile.if' op has non-empty return type, must define else branch}}
    %r = if %c -> (tile<i32>) {
      yield %x : tile<i32>
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%c: tile<i1>, %x: tile<i32>, %f: tile<f32>) {
    // expected-error @below {{'cuda_tile.if' op has return type of '!cuda_tile.tile<i32>' but else branch does not yield anything}}
    %r = if %c -> (tile<i32>) {
      yield %x : tile<i32>
    } else {
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%c: tile<i1>, %x: tile<i32>, %f: tile<f32>) {
    // expected-error @below {{'cuda_tile.if' op type does not match yield type, then branch yields '!cuda_tile.tile<f32>' but op result type is '!cuda_tile.tile<i32>'}}
    %r = if %c -> (tile<i32>) {
      yield %f : tile<f32>
    } else {
      yield %x : tile<i32>
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%c: tile<i1>, %x: tile<i32>, %f: tile<f32>) {
    // expected-error @below {{'cuda_tile.if' op does not return a value, but then branch yields '!cuda_tile.tile<i32>'}}
    if %c {
      yield %x : tile<i32>
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%c: tile<i1>, %x: tile<i32>, %f: tile<f32>) {
    if %c {
      %y = addi %x, %x : tile<i32>
    return
  }
// expected-error @below {{expected '}'}}
}

// -----

cuda_tile.module @m {
  entry @k(%c: tile<i1>, %x: tile<i32>, %f: tile<f32>) {
    if %c {
    // expected-error @below {{expected '{'}}
    } else if %c {
    }
    return
  }
}

// -----

cuda_tile.module @m {
  // expected-note @below {{see unexpected ancestor operation}}
  entry @k(%c: tile<i1>, %x: tile<i32>, %f: tile<f32>) {
    if %c {
      // expected-error @below {{'cuda_tile.break' op can only be nested within a ancestor chain of 'cuda_tile.loop', 'cuda_tile.if' operations}}
      break
    }
    return
  }
}

// -----

cuda_tile.module @m {
  // expected-note @below {{see unexpected ancestor operation}}
  entry @k(%c: tile<i1>, %x: tile<i32>, %f: tile<f32>) {
    if %c {
      // expected-error @below {{'cuda_tile.continue' op can only be nested within a ancestor chain of 'cuda_tile.for', 'cuda_tile.loop', 'cuda_tile.if' operations}}
      continue
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%c: tile<i1>, %x: tile<i32>, %f: tile<f32>) {
    // expected-error @below {{'cuda_tile.break' op must be the last operation in the parent block}}
    break
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%c: tile<i1>, %x: tile<i32>, %f: tile<f32>) {
    // expected-error @below {{'cuda_tile.continue' op must be the last operation in the parent block}}
    continue
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%c: tile<i1>, %x: tile<i32>, %f: tile<f32>) {
    // expected-error @below {{'cuda_tile.yield' op must be the last operation in the parent block}}
    yield
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%c: tile<i1>, %x: tile<i32>, %f: tile<f32>) {
    // expected-error @below {{expected SSA operand}}
    for 1 in (%x to %x, step %x) : tile<i32> {
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%c: tile<i1>, %x: tile<i32>, %f: tile<f32>) {
    // expected-error @below {{custom op 'cuda_tile.for' expected 'in'}}
    for %i of (%x to %x, step %x) : tile<i32> {
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%c: tile<i1>, %x: tile<i32>, %f: tile<f32>) {
    // expected-error @below {{custom op 'cuda_tile.for' expected 'to'}}
    for %i in (%x until %x, step %x) : tile<i32> {
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%c: tile<i1>, %x: tile<i32>, %f: tile<f32>) {
    // expected-error @below {{custom op 'cuda_tile.for' expected 'step'}}
    for %i in (%x to %x, by %x) : tile<i32> {
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%c: tile<i1>, %x: tile<i32>, %f: tile<f32>) {
    // expected-error @below {{expected ','}}
    for %i in (%x to %x) : tile<i32> {
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%c: tile<i1>, %x: tile<i32>, %f: tile<f32>) {
    // expected-error @below {{expected ':'}}
    for %i in (%x to %x, step %x) {
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%c: tile<i1>, %x: tile<i32>, %f: tile<f32>) {
    // expected-error @below {{'cuda_tile.for' op operand #0 must be 0D tile of i1 or i8 or i16 or i32 or i64 values, but got '!cuda_tile.tile<f32>'}}
    for %i in (%f to %f, step %f) : tile<f32> {
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%c: tile<i1>, %x: tile<i32>, %f: tile<f32>) {
    // expected-error @below {{expected '->'}}
    %r = for %i in (%x to %x, step %x) : tile<i32> iter_values(%a = %f) {
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%c: tile<i1>, %x: tile<i32>, %f: tile<f32>) {
    // expected-error @below {{custom op 'cuda_tile.for' mismatch in number of loop-carried values and defined values}}
    %r = for %i in (%x to %x, step %x) : tile<i32> iter_values(%a = %f) -> (tile<f32>, tile<f32>) {
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%c: tile<i1>, %x: tile<i32>, %f: tile<f32>) {
    // expected-error @below {{`for` is missing a valid terminator. `continue` op should have operand types that match the parent loop return types: ('!cuda_tile.tile<f32>'), but found: ()}}
    %r = for %i in (%x to %x, step %x) : tile<i32> iter_values(%a = %f) -> (tile<f32>) {
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%c: tile<i1>, %x: tile<i32>, %f: tile<f32>) {
    %r = for %i in (%x to %x, step %x) : tile<i32> iter_values(%a = %f) -> (tile<f32>) {
      // expected-error @below {{`for` is missing a valid terminator. `continue` op should have operand types that match the parent loop return types: ('!cuda_tile.tile<f32>'), but found: ('!cuda_tile.tile<i32>')}}
      continue %i : tile<i32>
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%c: tile<i1>, %x: tile<i32>, %f: tile<f32>) {
    for %i in (%x to %x, step %x) : tile<i32> {
      // expected-error @below {{'cuda_tile.break' op expects parent op to be one of 'cuda_tile.if, cuda_tile.loop'}}
      break
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%c: tile<i1>, %x: tile<i32>, %f: tile<f32>) {
    // expected-error @below {{expected SSA operand}}
    for %i in (%x to %x, step %x) : tile<i32> iter_values(a = %f) -> (tile<f32>) {
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%c: tile<i1>, %x: tile<i32>, %f: tile<f32>) {
    // expected-error @below {{expected '='}}
    for %i in (%x to %x, step %x) : tile<i32> iter_values(%a : %f) -> (tile<f32>) {
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%c: tile<i1>, %x: tile<i32>, %f: tile<f32>) {
    // expected-error @below {{redefinition of SSA value '%i'}}
    // expected-note @below {{previously defined here}}
    %i = for %i in (%x to %x, step %x) : tile<i32> iter_values(%i = %f) -> (tile<f32>) {
      continue %i : tile<f32>
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%c: tile<i1>, %x: tile<i32>, %f: tile<f32>) {
    for %i in (%x to %x, step %x) : tile<i32> {
      // expected-error @below {{'cuda_tile.return' op expects parent op to be one of 'cuda_tile.entry, cuda_tile.if'}}
      return
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%c: tile<i1>, %x: tile<i32>, %f: tile<f32>) {
    // expected-error @below {{expected ':'}}
    loop iter_values(%a = %x) {
      break
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%c: tile<i1>, %x: tile<i32>, %f: tile<f32>) {
    // expected-error @below {{custom op 'cuda_tile.loop' found different number of iter_values and types}}
    loop iter_values(%a = %x) : tile<i32>, tile<i32> {
      break
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%c: tile<i1>, %x: tile<i32>, %f: tile<f32>) {
    loop iter_values(%a = %x) : tile<i32> {
      // expected-error @below {{`loop` is missing a valid terminator. `continue` op should have operand types that match the parent loop iter_values: ('!cuda_tile.tile<i32>'), but found: ()}}
      continue
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%c: tile<i1>, %x: tile<i32>, %f: tile<f32>) {
    %r = loop : tile<i32> {
      // expected-error @below {{'cuda_tile.break' op operand types must correspond to the parent loop result types: () vs ('!cuda_tile.tile<i32>')}}
      break
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%c: tile<i1>, %x: tile<i32>, %f: tile<f32>) {
    %r = loop : tile<i32> {
      // expected-error @below {{'cuda_tile.break' op operand types must correspond to the parent loop result types: ('!cuda_tile.tile<f32>') vs ('!cuda_tile.tile<i32>')}}
      break %f : tile<f32>
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%c: tile<i1>, %x: tile<i32>, %f: tile<f32>) {
    loop {
      // expected-error @below {{'cuda_tile.break' op operand types must correspond to the parent loop result types: ('!cuda_tile.tile<f32>') vs ()}}
      break %f : tile<f32>
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%c: tile<i1>, %x: tile<i32>, %f: tile<f32>) {
    loop {
      break
      // expected-error @below {{expected ':'}}
      %y = addi %x, %x : tile<i32>
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%c: tile<i1>, %x: tile<i32>, %f: tile<f32>) {
    loop {
      // expected-error @below {{'cuda_tile.yield' op expects parent op to be one of 'cuda_tile.if, cuda_tile.reduce, cuda_tile.scan'}}
      yield
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%c: tile<i1>, %x: tile<i32>, %f: tile<f32>) {
    loop {
      // expected-error @below {{expected ':'}}
      break %f
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%c: tile<i1>, %x: tile<i32>, %f: tile<f32>) {
    loop {
      break %f :
    // expected-error @below {{custom op 'cuda_tile.break' expected valid keyword}}
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%x: tile<i32>) {
    // expected-error @below {{'cuda_tile.return' op must be the last operation in the parent block}}
    return %x : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%x: tile<i32>) {
    // expected-error @below {{'cuda_tile.return' op has 1 operands, but enclosing function (@k) returns 0}}
    return %x : tile<i32>
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %tv = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
    // expected-error @below {{'cuda_tile.for' op loop-carried value 0 is a tensor_view, which is not supported}}
    %r = for %i in (%n to %n, step %n) : tile<i32> iter_values(%a = %tv) -> (tensor_view<?x64xf32, strides=[64,1]>) {
      continue %a : tensor_view<?x64xf32, strides=[64,1]>
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %tv = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
    %v = make_partition_view %tv : partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>
    // expected-error @below {{'cuda_tile.for' op loop-carried value 0 is a tile view, which is not supported}}
    %r = for %i in (%n to %n, step %n) : tile<i32> iter_values(%a = %v) -> (partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>) {
      continue %a : partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %tv = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
    // expected-error @below {{'cuda_tile.loop' op loop-carried value 0 is a tensor_view, which is not supported}}
    %r = loop iter_values(%a = %tv) : tensor_view<?x64xf32, strides=[64,1]> -> tensor_view<?x64xf32, strides=[64,1]> {
      break %a : tensor_view<?x64xf32, strides=[64,1]>
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%c: tile<i1>) {
    // expected-error @below {{'cuda_tile.if' op expects regions to end with 'cuda_tile.yield', found 'test.end'}}
    // expected-note @below {{in custom textual format, the absence of terminator implies 'cuda_tile.yield'}}
    if %c {
      "test.end"() : () -> ()
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%c: tile<i1>) {
    // expected-error @below {{'cuda_tile.loop' op expects regions to end with 'cuda_tile.continue', found 'test.end'}}
    // expected-note @below {{in custom textual format, the absence of terminator implies 'cuda_tile.continue'}}
    loop {
      "test.end"() : () -> ()
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%x: tile<i32>) {
    // expected-error @below {{'cuda_tile.for' op expects regions to end with 'cuda_tile.continue', found 'test.end'}}
    // expected-note @below {{in custom textual format, the absence of terminator implies 'cuda_tile.continue'}}
    for %i in (%x to %x, step %x) : tile<i32> {
      "test.end"() : () -> ()
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%x: tile<i32>, %f: tile<f32>) {
    // expected-error @below {{'cuda_tile.loop' op init value 0 and region iter_value 0 have different type: '!cuda_tile.tile<i32>' != '!cuda_tile.tile<f32>'}}
    "cuda_tile.loop"(%x) ({
    ^body(%a: !cuda_tile.tile<f32>):
      "cuda_tile.break"() : () -> ()
    }) : (!cuda_tile.tile<i32>) -> ()
    return
  }
}
