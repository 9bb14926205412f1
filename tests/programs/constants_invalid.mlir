// The numbers of constants and of globals.

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected integer value}}
    %0 = constant <i32: x> : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected integer elements, but parsed floating-point}}
    %0 = constant <i32: 1.5> : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{unexpected decimal integer literal for a floating point value}}
    // expected-note @below {{add a trailing dot to make the literal a float}}
    %0 = constant <f32: 1> : tile<f32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{integer constant out of range for type}}
    %0 = constant <i8: 300> : tile<i8>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{integer constant out of range for type}}
    %0 = constant <i8: -129> : tile<i8>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{integer constant out of range for type}}
    %0 = constant <i1: 2> : tile<i1>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected integer value}}
    %0 = constant <i32: true> : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{hexadecimal float constant out of range for type}}
    %0 = constant <f16: 0x12345> : tile<f16>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{hexadecimal float literal should not have a leading minus}}
    %0 = constant <f32: -0x1> : tile<f32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{inferred shape of elements literal ([3]) does not match type ([2])}}
    %0 = constant <i32: [1, 2, 3]> : tile<2xi32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{tensor literal is invalid; ranks are not consistent between elements}}
    %0 = constant <i32: [[1, 2], [3]]> : tile<2x2xi32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{tensor literal is invalid; ranks are not consistent between elements}}
    %0 = constant <i32: [[1, 2], 3]> : tile<2x2xi32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{dense attribute cannot be empty}}
    %0 = constant <i32: []> : tile<2xi32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{elements hex data size is invalid for provided type: !cuda_tile.tile<2xi32>}}
    %0 = constant <i32: "0x01"> : tile<2xi32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{elements hex string should start with '0x'}}
    %0 = constant <i32: "01"> : tile<2xi32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{elements hex string only contains hex digits}}
    %0 = constant <i32: "0xZZ"> : tile<2xi32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{elements hex data does not fit the provided type: !cuda_tile.tile<i1>}}
    %0 = constant <i1: "0x02"> : tile<i1>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{custom op 'cuda_tile.constant' mismatch between the element type: 'f32' and the tile element type 'i32'}}
    %0 = constant <f32: 1.0> : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{custom op 'cuda_tile.constant' mismatch between the element type: 'i32' and the tile element type 'i64'}}
    %0 = constant <i32: 1> : tile<i64>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{custom op 'cuda_tile.constant' result #0 must be tile of i1 or i8 or i16 or i32 or i64 or f16 or bf16 or f32 or f64 or tf32 or f8E4M3FN or f8E5M2 or f8E8M0FNU or f4E2M1FN values, but got 'i32'}}
    %0 = constant <i32: 1> : i32
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected ':'}}
    %0 = constant <i32: 1>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected ':'}}
    %0 = constant <i32 1> : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected '<'}}
    %0 = constant i32: 1> : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected '>'}}
    %0 = constant <i32: 1 : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected integer value}}
    %0 = constant <i32: -> : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected floating point literal}}
    %0 = constant <f32: nan> : tile<f32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected integer value}}
    %0 = constant <i32: [1, > : tile<2xi32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{dense attribute cannot be empty}}
    %0 = constant <i32: > : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{custom op 'cuda_tile.constant' unknown type: word}}
    // expected-error @below {{custom op 'cuda_tile.constant' expect element type to be one of i1 or i8 or i16 or i32 or i64 or f16 or bf16 or f32 or f64 or tf32 or f8E4M3FN or f8E5M2 or f8E8M0FNU or f4E2M1FN values, but got '<<NULL TYPE>>'}}
    %0 = constant <word: 1> : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{custom op 'cuda_tile.constant' result #0 must be tile of i1 or i8 or i16 or i32 or i64 or f16 or bf16 or f32 or f64 or tf32 or f8E4M3FN or f8E5M2 or f8E8M0FNU or f4E2M1FN values, but got '!cuda_tile.tile<ptr<i32>>'}}
    %0 = constant <i32: 1> : tile<ptr<i32>>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected '"' in string literal}}
    %0 = constant <i32: "text> : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected floating point literal}}
    %0 = constant <f32: @a> : tile<f32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected integer value}}
    %0 = constant <i32: %x> : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{integer constant out of range for type}}
    %0 = constant <i32: 99999999999999999999999> : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{hexadecimal float constant out of range for type}}
    %0 = constant <f8E4M3FN: 0x100> : tile<f8E4M3FN>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{unexpected decimal integer literal for a floating point value}}
    // expected-note @below {{add a trailing dot to make the literal a float}}
    %0 = constant <f8E4M3FN: 1> : tile<f8E4M3FN>
    return
  }
}

// -----

cuda_tile.module @m {
  // expected-error @below {{'cuda_tile.global' op type must have rank 1}}
  global @g <i32: 1> : tile<i32>
}

// -----

cuda_tile.module @m {
  // expected-error @below {{inferred shape of elements literal ([2]) does not match type ([4])}}
  global @g <i32: [1, 2]> : tile<4xi32>
}

// -----

cuda_tile.module @m {
  // expected-error @below {{expected integer elements, but parsed floating-point}}
  global @g <i32: 1.0> : tile<1xi32>
}

// -----

cuda_tile.module @m {
  // expected-error @below {{expected integer value}}
  global @g alignment = x <i32: [1, 2]> : tile<2xi32>
}

// -----

cuda_tile.module @m {
  // expected-error @below {{expected valid '@'-identifier for symbol name}}
  global g <i32: [1, 2]> : tile<2xi32>
}

// -----

cuda_tile.module @m {
  // expected-error @below {{'cuda_tile.global' op type must have rank 1}}
  global @g <i32: [[1, 2]]> : tile<1x2xi32>
}

// -----

cuda_tile.module @m {
  // expected-error @below {{expected '<'}}
  global @g : tile<2xi32>
}

// -----

cuda_tile.module @m {
  // expected-error @below {{dense attribute cannot be empty}}
  global @g <i32: []> : tile<2xi32>
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected floating point value}}
    %0 = constant <f32: true> : tile<f32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{custom op 'cuda_tile.constant' unknown type: ptr<i32>}}
    // expected-error @below {{custom op 'cuda_tile.constant' expect element type to be one of i1 or i8 or i16 or i32 or i64 or f16 or bf16 or f32 or f64 or tf32 or f8E4M3FN or f8E5M2 or f8E8M0FNU or f4E2M1FN values, but got '<<NULL TYPE>>'}}
    %0 = constant <ptr<i32>: 1> : tile<ptr<i32>>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{custom op 'cuda_tile.constant' expect element type to be one of i1 or i8 or i16 or i32 or i64 or f16 or bf16 or f32 or f64 or tf32 or f8E4M3FN or f8E5M2 or f8E8M0FNU or f4E2M1FN values, but got '!cuda_tile.token'}}
    %0 = constant <token: 1> : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected floating point value}}
    "test.use"() {a = dense<true> : !cuda_tile.tile<f32>} : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected element type of integer or floating point}}
    "test.use"() {a = dense<1> : !cuda_tile.tile<ptr<i32>>} : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected element literal of primitive type}}
    "test.use"() {a = dense<x> : !cuda_tile.tile<i32>} : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected integer elements, but parsed floating-point}}
    "test.use"() {a = dense<1.0> : !cuda_tile.tile<i32>} : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected integer value}}
    "test.use"() {a = dense<true> : !cuda_tile.tile<i32>} : () -> ()
    return
  }
}
