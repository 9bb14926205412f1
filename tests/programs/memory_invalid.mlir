// Loads, stores and atomics through pointers, and tokens.

cuda_tile.module @m {
  entry @k() {
    %p = "test.value"() : () -> !cuda_tile.tile<4xptr<i32>>
    %x = constant <i32: 1> : tile<4xi32>
    // expected-error @below {{custom op 'cuda_tile.load_ptr_tko' expected string or keyword containing one of the following enum values for attribute 'memory_ordering_semantics' [weak, relaxed, acquire, release, acq_rel]}}
    %v, %t = load_ptr_tko often %p : tile<4xptr<i32>> -> tile<4xi32>, token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %p = "test.value"() : () -> !cuda_tile.tile<4xptr<i32>>
    %x = constant <i32: 1> : tile<4xi32>
    // expected-error @below {{'cuda_tile.load_ptr_tko' op expect one of: weak, relaxed, or acquire, but got: release}}
    %v, %t = load_ptr_tko release device %p : tile<4xptr<i32>> -> tile<4xi32>, token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %p = "test.value"() : () -> !cuda_tile.tile<4xptr<i32>>
    %x = constant <i32: 1> : tile<4xi32>
    // expected-error @below {{'cuda_tile.load_ptr_tko' op memory scope is required for acquire load}}
    %v, %t = load_ptr_tko acquire %p : tile<4xptr<i32>> -> tile<4xi32>, token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %p = "test.value"() : () -> !cuda_tile.tile<4xptr<i32>>
    %x = constant <i32: 1> : tile<4xi32>
    // expected-error @below {{'cuda_tile.load_ptr_tko' op weak load must not have memory scope}}
    %v, %t = load_ptr_tko weak device %p : tile<4xptr<i32>> -> tile<4xi32>, token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %p = "test.value"() : () -> !cuda_tile.tile<4xptr<i32>>
    %x = constant <i32: 1> : tile<4xi32>
    // expected-error @below {{expected SSA operand}}
    %v, %t = load_ptr_tko relaxed galaxy %p : tile<4xptr<i32>> -> tile<4xi32>, token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %p = "test.value"() : () -> !cuda_tile.tile<4xptr<i32>>
    %x = constant <i32: 1> : tile<4xi32>
    // expected-error @below {{'cuda_tile.load_ptr_tko' op failed to verify that `source` type is expected a pointer type of `result` type}}
    %v, %t = load_ptr_tko weak %p : tile<4xptr<i32>> -> tile<4xf32>, token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %p = "test.value"() : () -> !cuda_tile.tile<4xptr<i32>>
    %x = constant <i32: 1> : tile<4xi32>
    // expected-error @below {{'cuda_tile.load_ptr_tko' op failed to verify that `source` type is expected a pointer type of `result` type}}
    %v, %t = load_ptr_tko weak %p : tile<4xptr<i32>> -> tile<8xi32>, token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %p = "test.value"() : () -> !cuda_tile.tile<4xptr<i32>>
    %x = constant <i32: 1> : tile<4xi32>
    // expected-error @below {{'cuda_tile.load_ptr_tko' op operand #0 must be tile of Pointer type values, but got '!cuda_tile.tile<4xi32>'}}
    %v, %t = load_ptr_tko weak %x : tile<4xi32> -> tile<4xi32>, token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %p = "test.value"() : () -> !cuda_tile.tile<4xptr<i32>>
    %x = constant <i32: 1> : tile<4xi32>
    %m = constant <i1: true> : tile<8xi1>
    // expected-error @below {{'cuda_tile.load_ptr_tko' op failed to verify that shape of 'mask' must match the shape of 'source'}}
    %v, %t = load_ptr_tko weak %p, %m : tile<4xptr<i32>>, tile<8xi1> -> tile<4xi32>, token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %p = "test.value"() : () -> !cuda_tile.tile<4xptr<i32>>
    // expected-note @below {{prior use here}}
    %x = constant <i32: 1> : tile<4xi32>
    // expected-error @below {{use of value '%x' expects different type than prior uses: '!cuda_tile.token' vs '!cuda_tile.tile<4xi32>'}}
    %v, %t = load_ptr_tko weak %p token=%x : tile<4xptr<i32>> -> tile<4xi32>, token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %p = "test.value"() : () -> !cuda_tile.tile<4xptr<i32>>
    %x = constant <i32: 1> : tile<4xi32>
    // expected-error @below {{expected ','}}
    %v, %t = load_ptr_tko weak %p : tile<4xptr<i32>> -> tile<4xi32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %p = "test.value"() : () -> !cuda_tile.tile<4xptr<i32>>
    %x = constant <i32: 1> : tile<4xi32>
    // expected-error @below {{'cuda_tile.store_ptr_tko' op expect one of: weak, relaxed, or release, but got: acquire}}
    %t = store_ptr_tko acquire device %p, %x : tile<4xptr<i32>>, tile<4xi32> -> token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %p = "test.value"() : () -> !cuda_tile.tile<4xptr<i32>>
    %x = constant <i32: 1> : tile<4xi32>
    // expected-error @below {{'cuda_tile.store_ptr_tko' op memory scope is required for release store}}
    %t = store_ptr_tko release %p, %x : tile<4xptr<i32>>, tile<4xi32> -> token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %p = "test.value"() : () -> !cuda_tile.tile<4xptr<i32>>
    %x = constant <i32: 1> : tile<4xi32>
    // expected-error @below {{expected ','}}
    %t = store_ptr_tko weak %p : tile<4xptr<i32>> -> token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %p = "test.value"() : () -> !cuda_tile.tile<4xptr<i32>>
    %x = constant <i32: 1> : tile<4xi32>
    %y = constant <f32: 1.0> : tile<4xf32>
    // expected-error @below {{'cuda_tile.store_ptr_tko' op failed to verify that `destination` type is expected a pointer type of `value` type}}
    %t = store_ptr_tko weak %p, %y : tile<4xptr<i32>>, tile<4xf32> -> token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %p = "test.value"() : () -> !cuda_tile.tile<4xptr<i32>>
    %x = constant <i32: 1> : tile<4xi32>
    // expected-error @below {{'cuda_tile.atomic_rmw_tko' op memory ordering semantics must be one of: relaxed, acquire, release, acq_rel}}
    %v, %t = atomic_rmw_tko weak device %p, add, %x : tile<4xptr<i32>>, tile<4xi32> -> tile<4xi32>, token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %p = "test.value"() : () -> !cuda_tile.tile<4xptr<i32>>
    %x = constant <i32: 1> : tile<4xi32>
    // expected-error @below {{custom op 'cuda_tile.atomic_rmw_tko' expected string or keyword containing one of the following enum values for attribute 'memory_scope' [tl_blk, device, sys]}}
    %v, %t = atomic_rmw_tko relaxed %p, add, %x : tile<4xptr<i32>>, tile<4xi32> -> tile<4xi32>, token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %p = "test.value"() : () -> !cuda_tile.tile<4xptr<i32>>
    %x = constant <i32: 1> : tile<4xi32>
    // expected-error @below {{custom op 'cuda_tile.atomic_rmw_tko' expected string or keyword containing one of the following enum values for attribute 'mode' [and, or, xor, add, addf, max, min, umax, umin, xchg]}}
    %v, %t = atomic_rmw_tko relaxed device %p, frob, %x : tile<4xptr<i32>>, tile<4xi32> -> tile<4xi32>, token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %p = "test.value"() : () -> !cuda_tile.tile<4xptr<i32>>
    %x = constant <i32: 1> : tile<4xi32>
    // expected-error @below {{custom op 'cuda_tile.atomic_rmw_tko' expected string or keyword containing one of the following enum values for attribute 'mode' [and, or, xor, add, addf, max, min, umax, umin, xchg]}}
    %v, %t = atomic_rmw_tko relaxed device %p, cmpxchg, %x : tile<4xptr<i32>>, tile<4xi32> -> tile<4xi32>, token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %p = "test.value"() : () -> !cuda_tile.tile<4xptr<i32>>
    %x = constant <i32: 1> : tile<4xi32>
    // expected-error @below {{'cuda_tile.atomic_rmw_tko' op 'addf' works only with floats f16, bf16, f32, and f64}}
    %v, %t = atomic_rmw_tko relaxed device %p, addf, %x : tile<4xptr<i32>>, tile<4xi32> -> tile<4xi32>, token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %p = "test.value"() : () -> !cuda_tile.tile<4xptr<f32>>
    %x = constant <f32: 1.0> : tile<4xf32>
    // expected-error @below {{'cuda_tile.atomic_rmw_tko' op 'add' works only with integers i32 and i64}}
    %v, %t = atomic_rmw_tko relaxed device %p, add, %x : tile<4xptr<f32>>, tile<4xf32> -> tile<4xf32>, token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %p = "test.value"() : () -> !cuda_tile.tile<4xptr<f32>>
    %x = constant <f32: 1.0> : tile<4xf32>
    // expected-error @below {{expected ','}}
    %v, %t = atomic_rmw_tko relaxed device %p addf, %x : tile<4xptr<f32>>, tile<4xf32> -> tile<4xf32>, token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %p = "test.value"() : () -> !cuda_tile.tile<4xptr<i32>>
    %x = constant <i32: 1> : tile<4xi32>
    // expected-error @below {{'cuda_tile.atomic_cas_tko' op memory ordering semantics must be one of: relaxed, acquire, release, acq_rel}}
    %v, %t = atomic_cas_tko weak device %p, %x, %x : tile<4xptr<i32>>, tile<4xi32> -> tile<4xi32>, token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %p = "test.value"() : () -> !cuda_tile.tile<4xptr<i32>>
    %x = constant <i32: 1> : tile<4xi32>
    // expected-error @below {{expected ','}}
    %v, %t = atomic_cas_tko relaxed device %p, %x : tile<4xptr<i32>>, tile<4xi32> -> tile<4xi32>, token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %p = "test.value"() : () -> !cuda_tile.tile<4xptr<i16>>
    %x = constant <i16: 1> : tile<4xi16>
    // expected-error @below {{'cuda_tile.atomic_cas_tko' op expect only float or integer types with 32 or 64 bit}}
    %v, %t = atomic_cas_tko relaxed device %p, %x, %x : tile<4xptr<i16>>, tile<4xi16> -> tile<4xi16>, token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %p = "test.value"() : () -> !cuda_tile.tile<4xptr<i16>>
    %x = constant <i16: 1> : tile<4xi16>
    // expected-error @below {{'cuda_tile.atomic_rmw_tko' op 'xchg' works only with integers or float of 32 or 64 bitwidth}}
    %v, %t = atomic_rmw_tko relaxed device %p, xchg, %x : tile<4xptr<i16>>, tile<4xi16> -> tile<4xi16>, token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %p = "test.value"() : () -> !cuda_tile.tile<4xptr<i32>>
    %x = constant <i32: 1> : tile<4xi32>
    // expected-error @below {{'cuda_tile.offset' op operand #1 must be tile of i1 or i8 or i16 or i32 or i64 values, but got '!cuda_tile.tile<4xptr<i32>>'}}
    %q = offset %p, %p : tile<4xptr<i32>>, tile<4xptr<i32>> -> tile<4xptr<i32>>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %p = "test.value"() : () -> !cuda_tile.tile<4xptr<i32>>
    %x = constant <i32: 1> : tile<4xi32>
    %i = constant <i32: 1> : tile<8xi32>
    // expected-error @below {{'cuda_tile.offset' op requires the same shape for all operands and results}}
    %q = offset %p, %i : tile<4xptr<i32>>, tile<8xi32> -> tile<4xptr<i32>>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{'cuda_tile.join_tokens' op expect two or more tokens}}
    %t = join_tokens : token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %a = make_token : token
    // expected-error @below {{'cuda_tile.join_tokens' op expect two or more tokens}}
    %t = join_tokens %a : token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{'cuda_tile.make_token' op result #0 must be cuda tile token type, but got '!cuda_tile.tile<i32>'}}
    %a = make_token : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{'cuda_tile.get_global' op 'nowhere' does not reference a valid global}}
    %a = get_global @nowhere : tile<ptr<f32>>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected valid '@'-identifier for symbol name}}
    %a = get_global nowhere : tile<ptr<f32>>
    return
  }
}

// -----

cuda_tile.module @m {
  global @table <f32: [0.5, 1.5]> : tile<2xf32>
  entry @k() {
    // expected-error @below {{'cuda_tile.get_global' op pointee type of result type '!cuda_tile.ptr<i32>' does not match type 'f32' of the global @table}}
    %a = get_global @table : tile<ptr<i32>>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{'cuda_tile.get_global' op 'k' does not reference a valid global}}
    %a = get_global @k : tile<ptr<i32>>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %p = "test.value"() : () -> !cuda_tile.tile<4xptr<i32>>
    %x = constant <i32: 1> : tile<4xi32>
    %y = constant <f32: 1.0> : tile<4xf32>
    // expected-error @below {{'cuda_tile.atomic_rmw_tko' op expected pointee type ('i32') to match element type of 'arg' ('f32')}}
    %v, %t = atomic_rmw_tko relaxed device %p, addf, %y : tile<4xptr<i32>>, tile<4xf32> -> tile<4xf32>, token
    return
  }
}
