// Regions and blocks: of reductions, of scans, of anything.

cuda_tile.module @m {
  entry @k() {
    %t = constant <f32: 1.0> : tile<8xf32>
    // expected-error @below {{'cuda_tile.reduce' op dimension (1) is out of bound [0, 1)}}
    %r = reduce %t dim=1 identities=[0.0 : f32] : tile<8xf32> -> tile<f32>
    (%a: tile<f32>, %b: tile<f32>) {
      %s = addf %a, %b : tile<f32>
      yield %s : tile<f32>
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %t = constant <f32: 1.0> : tile<8xf32>
    // expected-error @below {{expected integer value}}
    %r = reduce %t dim=x identities=[0.0 : f32] : tile<8xf32> -> tile<f32>
    (%a: tile<f32>, %b: tile<f32>) {
      %s = addf %a, %b : tile<f32>
      yield %s : tile<f32>
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %t = constant <f32: 1.0> : tile<8xf32>
    // expected-error @below {{'cuda_tile.reduce' op expect identities to match the number of operands but got: 1 operands and 0 identities}}
    %r = reduce %t dim=0 identities=[] : tile<8xf32> -> tile<f32>
    (%a: tile<f32>, %b: tile<f32>) {
      %s = addf %a, %b : tile<f32>
      yield %s : tile<f32>
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %t = constant <f32: 1.0> : tile<8xf32>
    // expected-error @below {{'cuda_tile.reduce' op expect same type for operand at index: 0 and identity at index: 0 but got: 'f32' and 'i32'}}
    %r = reduce %t dim=0 identities=[0 : i32] : tile<8xf32> -> tile<f32>
    (%a: tile<f32>, %b: tile<f32>) {
      %s = addf %a, %b : tile<f32>
      yield %s : tile<f32>
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %t = constant <f32: 1.0> : tile<8xf32>
    // expected-error @below {{custom op 'cuda_tile.reduce' expected 'identities'}}
    %r = reduce %t dim=0 : tile<8xf32> -> tile<f32>
    (%a: tile<f32>, %b: tile<f32>) {
      %s = addf %a, %b : tile<f32>
      yield %s : tile<f32>
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %t = constant <f32: 1.0> : tile<8xf32>
    // expected-error @below {{'cuda_tile.reduce' op inferred type(s) '!cuda_tile.tile<f32>' are incompatible with return type(s) of operation '!cuda_tile.tile<8xf32>'}}
    // expected-error @below {{'cuda_tile.reduce' op failed to infer returned types}}
    %r = reduce %t dim=0 identities=[0.0 : f32] : tile<8xf32> -> tile<8xf32>
    (%a: tile<f32>, %b: tile<f32>) {
      %s = addf %a, %b : tile<f32>
      yield %s : tile<f32>
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %t = constant <f32: 1.0> : tile<8xf32>
    // expected-error @below {{'cuda_tile.reduce' op inferred type(s) '!cuda_tile.tile<f32>' are incompatible with return type(s) of operation '!cuda_tile.tile<i32>'}}
    // expected-error @below {{'cuda_tile.reduce' op failed to infer returned types}}
    %r = reduce %t dim=0 identities=[0.0 : f32] : tile<8xf32> -> tile<i32>
    (%a: tile<f32>, %b: tile<f32>) {
      %s = addf %a, %b : tile<f32>
      yield %s : tile<f32>
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %t = constant <f32: 1.0> : tile<8xf32>
    // expected-error @below {{'cuda_tile.reduce' op expect 2 block arguments but got: 1}}
    %r = reduce %t dim=0 identities=[0.0 : f32] : tile<8xf32> -> tile<f32>
    (%a: tile<f32>) {
      yield %a : tile<f32>
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %t = constant <f32: 1.0> : tile<8xf32>
    // expected-error @below {{'cuda_tile.reduce' op expect same type for operand at index: 0 and block argument at index: 0 but got: 'f32' and 'i32'}}
    %r = reduce %t dim=0 identities=[0.0 : f32] : tile<8xf32> -> tile<f32>
    (%a: tile<i32>, %b: tile<i32>) {
      yield %a : tile<i32>
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %t = constant <f32: 1.0> : tile<8xf32>
    // expected-error @below {{'cuda_tile.reduce' op expect 0-rank tile type at index: 0 but got: '!cuda_tile.tile<8xf32>'}}
    %r = reduce %t dim=0 identities=[0.0 : f32] : tile<8xf32> -> tile<f32>
    (%a: tile<8xf32>, %b: tile<8xf32>) {
      yield %a : tile<8xf32>
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %t = constant <f32: 1.0> : tile<8xf32>
    // expected-error @below {{'cuda_tile.reduce' op expect number of terminators operands (0) to match number of operands (1)}}
    %r = reduce %t dim=0 identities=[0.0 : f32] : tile<8xf32> -> tile<f32>
    (%a: tile<f32>, %b: tile<f32>) {
      yield
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %t = constant <f32: 1.0> : tile<8xf32>
    // expected-error @below {{'cuda_tile.reduce' op expect same type for operand at index: 0 and terminator argument at index: 0 but got: 'f32' and 'i32'}}
    %r = reduce %t dim=0 identities=[0.0 : f32] : tile<8xf32> -> tile<f32>
    (%a: tile<f32>, %b: tile<f32>) {
      %z = constant <i32: 0> : tile<i32>
      yield %z : tile<i32>
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %t = constant <f32: 1.0> : tile<8xf32>
    // expected-error @below {{'cuda_tile.reduce' op expect number of terminators operands (0) to match number of operands (1)}}
    %r = reduce %t dim=0 identities=[0.0 : f32] : tile<8xf32> -> tile<f32>
    (%a: tile<f32>, %b: tile<f32>) {
      %z = constant <i32: 0> : tile<i32>
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %t = constant <f32: 1.0> : tile<8xf32>
    %r = reduce %t dim=0 identities=[0.0 : f32] : tile<8xf32> -> tile<f32>
    // expected-error @below {{expected SSA operand}}
    (a: tile<f32>, %b: tile<f32>) {
      %s = addf %a, %b : tile<f32>
      yield %s : tile<f32>
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %t = constant <f32: 1.0> : tile<8xf32>
    %r = reduce %t dim=0 identities=[0.0 : f32] : tile<8xf32> -> tile<f32>
    // expected-error @below {{expected ':'}}
    (%a, %b: tile<f32>) {
      %s = addf %a, %b : tile<f32>
      yield %s : tile<f32>
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %t = constant <f32: 1.0> : tile<8xf32>
    %r = reduce %t dim=0 identities=[0.0 : f32] : tile<8xf32> -> tile<f32>
    // expected-error @below {{redefinition of SSA value '%a'}}
    // expected-note @below {{previously defined here}}
    (%a: tile<f32>, %a: tile<f32>) {
      yield %a : tile<f32>
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %t = constant <f32: 1.0> : tile<8xf32>
    // expected-error @below {{expected 'true' or 'false'}}
    %r = scan %t dim=0 reverse=maybe identities=[0.0 : f32] : tile<8xf32> -> tile<8xf32>
    (%a: tile<f32>, %b: tile<f32>) {
      %s = addf %a, %b : tile<f32>
      yield %s : tile<f32>
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %t = constant <f32: 1.0> : tile<8xf32>
    // expected-error @below {{'cuda_tile.scan' op dimension (2) is out of bound [0, 1)}}
    %r = scan %t dim=2 reverse=false identities=[0.0 : f32] : tile<8xf32> -> tile<8xf32>
    (%a: tile<f32>, %b: tile<f32>) {
      %s = addf %a, %b : tile<f32>
      yield %s : tile<f32>
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %t = constant <f32: 1.0> : tile<8xf32>
    // expected-error @below {{'cuda_tile.scan' op expect same type for operand at index: 0 and result at index: 0}}
    %r = scan %t dim=0 reverse=false identities=[0.0 : f32] : tile<8xf32> -> tile<4xf32>
    (%a: tile<f32>, %b: tile<f32>) {
      %s = addf %a, %b : tile<f32>
      yield %s : tile<f32>
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %t = constant <f32: 1.0> : tile<8xf32>
    // expected-error @below {{'cuda_tile.scan' op expect identities to match the number of operands but got: 1 operands and 2 identities}}
    %r = scan %t dim=0 reverse=false identities=[0.0 : f32, 1.0 : f32] : tile<8xf32> -> tile<8xf32>
    (%a: tile<f32>, %b: tile<f32>) {
      %s = addf %a, %b : tile<f32>
      yield %s : tile<f32>
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    "test.region"() ({
    ^first:
      // expected-error @below {{reference to an undefined block '^nowhere'}}
      "test.jump"()[^nowhere] : () -> ()
    }) : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    "test.region"() ({
    ^first:
      "test.end"() : () -> ()
    // expected-error @below {{redefinition of block '^first'}}
    ^first:
      "test.end"() : () -> ()
    }) : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    "test.region"() ({
    // expected-error @below {{expected ')'}}
    ^first(%a: i32:
      "test.end"() : () -> ()
    }) : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    "test.region"() ({
    // expected-error @below {{expected SSA operand}}
    ^first(a: i32):
      "test.end"() : () -> ()
    }) : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    "test.region"() ({
    // expected-error @below {{expected ':'}}
    ^first
      "test.end"() : () -> ()
    }) : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    "test.region"() ({
      "test.end"() : () -> ()
    // expected-error @below {{expected ')'}}
    } : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    "test.region"() ({
      // expected-error @below {{expected block name}}
      "test.jump"()[first] : () -> ()
    }) : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    "test.region"() ({
      // expected-error @below {{expected ']'}}
      "test.jump"()[^first : () -> ()
    }) : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%c: tile<i1>) {
    // expected-error @below {{'cuda_tile.if' op region #0 ('thenRegion') failed to verify constraint: region with 1 blocks}}
    if %c {
      yield
    ^second:
      yield
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%x: tile<i32>) {
    for %i in (%x to %x, step %x) : tile<i32> {
    // expected-error @below {{invalid block name in region with named arguments}}
    ^first:
      continue
    }
    return
  }
}

// -----

cuda_tile.module @m {
  // expected-error @below {{expected '{'}}
  entry @k()
}

// -----

cuda_tile.module @m {
  // expected-error @below {{'cuda_tile.return' op expects parent op to be one of 'cuda_tile.entry, cuda_tile.if'}}
  return
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{'cuda_tile.if' op expected 2 regions}}
    "cuda_tile.if"() ({
    }) : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %t = constant <f32: 1.0> : tile<8xf32>
    // expected-error @below {{'cuda_tile.reduce' op expect same element type for block argument at index: 0 and 1 but got: 'f32' and 'i32'}}
    %r = reduce %t dim=0 identities=[0.0 : f32] : tile<8xf32> -> tile<f32>
    (%a: tile<f32>, %b: tile<i32>) {
      yield %a : tile<f32>
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %t = constant <f32: 1.0> : tile<8xf32>
    // expected-error @below {{operation defines 2 results but was provided 1 to bind}}
    %r = reduce %t dim=0 identities=[0.0 : f32] : tile<8xf32> -> tile<f32>, tile<f32>
    (%a: tile<f32>, %b: tile<f32>) {
      %s = addf %a, %b : tile<f32>
      yield %s : tile<f32>
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %t = constant <f32: 1.0> : tile<8xf32>
    // expected-error @below {{'cuda_tile.reduce' op expected TileType for operand and terminator types but got: '!cuda_tile.tile<8xf32>' and '!cuda_tile.token'}}
    %r = reduce %t dim=0 identities=[0.0 : f32] : tile<8xf32> -> tile<f32>
    (%a: tile<f32>, %b: tile<f32>) {
      %tok = make_token : token
      yield %tok : token
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %t = constant <f32: 1.0> : tile<8xf32>
    %r = reduce %t dim=0 identities=[0.0 : f32] : tile<8xf32> -> tile<f32>
    (%a: tile<f32>, %b: tile<f32>) {
      // expected-error @below {{'cuda_tile.print_tko' op only pure operations are allowed inside 'cuda_tile.reduce'}}
      %tok = print_tko "x" -> token
      yield %a : tile<f32>
    }
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %t = constant <f32: 1.0> : tile<8xf32>
    %r = reduce %t dim=0 identities=[0.0 : f32] : tile<8xf32> -> tile<f32>
    (%a: tile<f32>, %b: tile<f32>) {
      %one = constant <i1: true> : tile<i1>
      // expected-error @below {{'cuda_tile.assert' op only pure operations are allowed inside 'cuda_tile.reduce'}}
      assert %one, "no" : tile<i1>
      yield %a : tile<f32>
    }
    return
  }
}

// -----

cuda_tile.module @m {
  // expected-error @below {{'cuda_tile.entry' op expects a non-empty block}}
  "cuda_tile.entry"() <{sym_name = "k", function_type = () -> ()}> ({
  ^first:
  }) : () -> ()
}

// -----

cuda_tile.module @m {
  "cuda_tile.entry"() <{sym_name = "k", function_type = () -> ()}> ({
    // expected-error @below {{block with no terminator, has %0 = "cuda_tile.make_token"() : () -> !cuda_tile.token}}
    %0 = "cuda_tile.make_token"() : () -> !cuda_tile.token
  }) : () -> ()
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{'cuda_tile.loop' op expects a non-empty block}}
    "cuda_tile.loop"() ({
    ^first:
    }) : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    "cuda_tile.loop"() ({
      // expected-error @below {{block with no terminator, has %0 = "cuda_tile.make_token"() : () -> !cuda_tile.token}}
      %0 = "cuda_tile.make_token"() : () -> !cuda_tile.token
    }) : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%c: tile<i1>) {
    // expected-error @below {{'cuda_tile.if' op expects region #1 to have 0 or 1 blocks}}
    "cuda_tile.if"(%c) ({
      "cuda_tile.yield"() : () -> ()
    }, {
    ^a:
      "cuda_tile.yield"() : () -> ()
    ^b:
      "cuda_tile.yield"() : () -> ()
    }) : (!cuda_tile.tile<i1>) -> ()
    return
  }
}
