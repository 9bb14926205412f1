// Uses and definitions of values.

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{use of undeclared SSA value name}}
    %0 = negi %missing : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-note @below {{previously defined here}}
    %0 = constant <i32: 0> : tile<i32>
    // expected-error @below {{redefinition of SSA value '%0'}}
    %0 = constant <i32: 1> : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  // expected-note @below {{previously defined here}}
  entry @k(%a: tile<i32>) {
    // expected-error @below {{redefinition of SSA value '%a'}}
    %a = constant <i32: 1> : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  // expected-error @below {{redefinition of SSA value '%a'}}
  // expected-note @below {{previously defined here}}
  entry @k(%a: tile<i32>, %a: tile<i32>) {
    %0 = negi %a : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  // expected-note @below {{prior use here}}
  entry @k(%a: tile<i32>) {
    // expected-error @below {{use of value '%a' expects different type than prior uses: '!cuda_tile.tile<f32>' vs '!cuda_tile.tile<i32>'}}
    %0 = negf %a : tile<f32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{operand #0 does not dominate this use}}
    %0 = negi %1 : tile<i32>
    // expected-note @below {{operand defined here (op in the same block)}}
    %1 = constant <i32: 1> : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{operand #0 does not dominate this use}}
    // expected-note @below {{operand defined here (op in the same block)}}
    %0 = negi %0 : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %0:2 = "test.many"() : () -> (!cuda_tile.tile<i32>, !cuda_tile.tile<i32>)
    // expected-error @below {{reference to invalid result number}}
    %1 = negi %0#2 : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %0 = constant <i32: 1> : tile<i32>
    // expected-error @below {{reference to invalid result number}}
    %1 = negi %0#1 : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-note @below {{prior use here}}
    %0:2 = "test.many"() : () -> (!cuda_tile.tile<i32>, !cuda_tile.tile<f32>)
    // expected-error @below {{use of value '%0' expects different type than prior uses: '!cuda_tile.tile<i32>' vs '!cuda_tile.tile<f32>'}}
    %1 = negi %0#1 : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%c: tile<i1>) {
    if %c {
      %inner = constant <i32: 1> : tile<i32>
    }
    // expected-error @below {{use of undeclared SSA value name}}
    %0 = negi %inner : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%c: tile<i1>) {
    if %c {
      // expected-error @below {{operand #0 does not dominate this use}}
      %0 = negi %later : tile<i32>
    }
    // expected-note @below {{operand defined here (op in a parent region)}}
    %later = constant <i32: 1> : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @a(%x: tile<i32>) {
    return
  }
  entry @b() {
    // expected-error @below {{use of undeclared SSA value name}}
    %0 = negi %x : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected SSA operand}}
    "test.use"(%a, ) : (i32) -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{use of undeclared SSA value name}}
    "test.use"(%missing) : (i32) -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%a: tile<i32>) {
    // expected-error @below {{expected SSA operand}}
    %0 = addi %a, 1 : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    "test.region"() ({
    ^a:
      "test.jump"()[^b] : () -> ()
    ^b:
      // expected-error @below {{operand #0 does not dominate this use}}
      %0 = "test.use"(%1) : (i32) -> i32
      "test.jump"()[^c] : () -> ()
    ^c:
      // expected-note @below {{operand defined here (op in the same region)}}
      %1 = "test.value"() : () -> i32
      "test.end"() : () -> ()
    }) : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-note @below {{operand defined here (op in a parent region)}}
    %1 = "test.region"() ({
      // expected-error @below {{operand #0 does not dominate this use}}
      %0 = negi %1 : tile<i32>
      "test.end"() : () -> ()
    }) : () -> !cuda_tile.tile<i32>
    return
  }
}
