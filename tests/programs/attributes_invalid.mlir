// Attributes anywhere in a text.

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected attribute value}}
    "test.use"() {a = } : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected attribute value}}
    "test.use"() {a = }} : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected attribute name}}
    "test.use"() {= 1} : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected attribute name}}
    "test.use"() {1 = 1} : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected valid attribute name}}
    "test.use"() {"" = 1} : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{duplicate key 'a' in dictionary attribute}}
    "test.use"() {a = 1, a = 2} : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected constant integer or floating point value}}
    "test.use"() {a = -} : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected constant integer or floating point value}}
    "test.use"() {a = -x} : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{floating point value not valid for specified type}}
    "test.use"() {a = 1.5 : i32} : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{integer constant out of range for attribute}}
    "test.use"() {a = 256 : i8} : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{integer constant out of range for attribute}}
    "test.use"() {a = -129 : i8} : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{hexadecimal float literal should not have a leading minus}}
    "test.use"() {a = -0x1 : f32} : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{hexadecimal float constant out of range for type}}
    "test.use"() {a = 0x1FFFF : f16} : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{unexpected decimal integer literal for a floating point value}}
    // expected-note @below {{add a trailing dot to make the literal a float}}
    "test.use"() {a = 1 : f32} : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected '}'}}
    "test.use"() {a = 0x1.5} : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected valid keyword}}
    "test.use"() {a = 1 : } : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{undefined symbol alias id 'undefined'}}
    "test.use"() {a = #undefined} : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected ']'}}
    "test.use"() {a = [1, 2} : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected ']'}}
    "test.use"() {a = [1 2]} : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected '}'}}
    "test.use"() {a = {b = 1} : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{unknown attribute `frob` in dialect `cuda_tile`}}
    "test.use"() {a = #cuda_tile.frob<1>} : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected integer value}}
    "test.use"() {a = #cuda_tile.div_by<x>} : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected 'every'}}
    "test.use"() {a = #cuda_tile.div_by<4, >} : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected ','}}
    "test.use"() {a = #cuda_tile.bounded<1>} : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected integer value}}
    "test.use"() {a = #cuda_tile.bounded<?, x>} : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected '['}}
    "test.use"() {a = #cuda_tile.same_elements<4>} : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected one of: nearest_even, zero, negative_inf, positive_inf, approx, full, nearest_int_to_zero, but got: sideways}}
    "test.use"() {a = #cuda_tile.rounding<sideways>} : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected '<'}}
    "test.use"() {a = #cuda_tile.div_by} : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected integer value}}
    "test.use"() {a = array<i32: 1, x>} : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{integer constant out of range for attribute}}
    "test.use"() {a = array<i8: 300>} : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected '>'}}
    "test.use"() {a = array<i32 1>} : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected valid '@'-identifier for symbol name}}
    "test.use"() {a = @} : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected valid '@'-identifier for symbol name}}
    "test.use"() {a = @a::b} : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{elements literal must be a shaped type}}
    "test.use"() {a = dense<1> : i32} : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{tensor literal is invalid; ranks are not consistent between elements}}
    "test.use"() {a = dense<[1, [2]]> : !cuda_tile.tile<2xi32>} : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected valid keyword or string}}
    "test.use"() {a = #cuda_tile.optimization_hints<1>} : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected dictionary attribute for optimization_hints entry `sm_100` got value=4 : i64}}
    "test.use"() {a = #cuda_tile.optimization_hints<sm_100 = 4>} : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected attribute value}}
    "test.use"() {a = *} : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected '}'}}
    "test.use"() {a 1} : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected '"' in string literal}}
    "test.use"() {a = "open} : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected '}'}}
    "test.use"() {a = 1 b = 2} : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected '}'}}
    "test.use"() {a = unit 1} : () -> ()
    return
  }
}

// -----

#a = 1 : i32
// expected-error @below {{redefinition of attribute alias id 'a'}}
#a = 2 : i32
cuda_tile.module @m {
}

// -----

!a = i32
// expected-error @below {{redefinition of type alias id 'a'}}
!a = i64
cuda_tile.module @m {
}

// -----

// expected-error @below {{alias 'b' refers to itself}}
#a = [#b]
#b = [#a]
cuda_tile.module @m {
  entry @k() attributes {x.y = #a} {
    return
  }
}

// -----

// expected-error @below {{alias 'a' refers to itself}}
#a = [#a]
cuda_tile.module @m {
}

// -----

#a =
// expected-error @below {{unknown type: cuda_tile.module}}
cuda_tile.module @m {
}

// -----

cuda_tile.module @m {
  entry @k(%a: tile<i32>) {
    // expected-error @below {{expected '<'}}
    %0 = constant {1} <i32: 1> : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  // expected-error @below {{custom op 'cuda_tile.entry' expected dictionary attribute for optimization_hints entry `sm_100` got value=3 : i64}}
  entry @k() optimization_hints=<sm_100 = 3> {
    return
  }
}

// -----

cuda_tile.module @m {
  // expected-error @below {{custom op 'cuda_tile.entry' expected valid keyword or string}}
  entry @k() optimization_hints=<3> {
    return
  }
}

// -----

cuda_tile.module @m {
  // expected-error @below {{expected '>'}}
  entry @k() optimization_hints=<sm_100 = {num_cta_in_cga = 3} {
    return
  }
}
