// The types of the dialect.

cuda_tile.module @m {
  entry @k() {
    %0 = "test.value"() : () -> !cuda_tile.tile<
    // expected-error @below {{unknown type: return}}
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected '>'}}
    %0 = "test.value"() : () -> !cuda_tile.tile<4xi32]
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %0 = "test.value"() : () -> !cuda_tile.tile
    // expected-error @below {{expected '<'}}
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected valid keyword}}
    %0 = "test.value"() : () -> !cuda_tile.tile<>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected 'x' in dimension list}}
    %0 = "test.value"() : () -> !cuda_tile.tile<4i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected static shape}}
    %0 = "test.value"() : () -> !cuda_tile.tile<?xi32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected valid keyword}}
    %0 = "test.value"() : () -> !cuda_tile.tile<-4xi32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{all dimensions must be powers of two, got 3}}
    %0 = "test.value"() : () -> !cuda_tile.tile<3xi32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{all dimensions must be positive constants, got 0}}
    %0 = "test.value"() : () -> !cuda_tile.tile<0xi32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{failed to verify 'elementType': f16 or bf16 or f32 or tf32 or f64 or f8E4M3FN or f8E5M2 or f8E8M0FNU or f4E2M1FN or i1 or i8 or i16 or i32 or i64 or Pointer type or i4}}
    %0 = "test.value"() : () -> !cuda_tile.tile<4xi7>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected '>'}}
    %0 = "test.value"() : () -> !cuda_tile.tile<4xi32*>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{unknown type: word}}
    %0 = "test.value"() : () -> !cuda_tile.tile<4xword>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected '>'}}
    %0 = "test.value"() : () -> !cuda_tile.tile<4xi32, 5>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected '<'}}
    %0 = "test.value"() : () -> !cuda_tile.tile<4xptr>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{tile would exceed the maximum of 16777216 elements}}
    %0 = "test.value"() : () -> !cuda_tile.tile<4096x8192xi32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{integer value too large}}
    %0 = "test.value"() : () -> !cuda_tile.tile<999999999999999999999xi32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{failed to verify 'elementType': f16 or bf16 or f32 or tf32 or f64 or f8E4M3FN or f8E5M2 or f8E8M0FNU or f4E2M1FN or i1 or i8 or i16 or i32 or i64 or Pointer type or i4}}
    %0 = "test.value"() : () -> !cuda_tile.tile<token>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{failed to verify 'elementType': f16 or bf16 or f32 or tf32 or f64 or f8E4M3FN or f8E5M2 or f8E8M0FNU or f4E2M1FN or i1 or i8 or i16 or i32 or i64 or Pointer type or i4}}
    %0 = "test.value"() : () -> !cuda_tile.tile<tile<i32>>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected valid keyword}}
    %0 = "test.value"() : () -> !cuda_tile.ptr<>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{failed to verify 'pointeeType': f16 or bf16 or f32 or tf32 or f64 or f8E4M3FN or f8E5M2 or f8E8M0FNU or f4E2M1FN or i1 or i8 or i16 or i32 or i64}}
    %0 = "test.value"() : () -> !cuda_tile.ptr<tile<i32>>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected '<'}}
    %0 = "test.value"() : () -> !cuda_tile.ptr<i32, none>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected '#cuda_tile.ptr_attr'}}
    %0 = "test.value"() : () -> !cuda_tile.ptr<i32, #cuda_tile.other<none>>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected pointer attribute to be one of: none}}
    %0 = "test.value"() : () -> !cuda_tile.ptr<i32, #cuda_tile.ptr_attr<some>>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{unknown  type `cube` in dialect `cuda_tile`}}
    %0 = "test.value"() : () -> !cuda_tile.cube<4xi32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{undefined symbol alias id 'undefined'}}
    %0 = "test.value"() : () -> !undefined
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected operation name in quotes}}
    %0 = make_token : token<4>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected ')'}}
    %0 = "test.value"() : () -> (i32
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{custom op 'i32' is unknown (tried 'cuda_tile.i32' as well)}}
    %0 = "test.value"() : () -> (i32) i32
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{unknown type: i32x}}
    %0 = "test.value"() : () -> i32x
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{custom op 'x' is unknown (tried 'cuda_tile.x' as well)}}
    %0 = "test.value"() : () -> index x
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected valid keyword}}
    %0 = "test.value"() : () -> -> i32
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected operation name in quotes}}
    %0 = "test.value"() : () -> !cuda_tile.tile<i32> >
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected shape and stride to be of same rank but got shape of rank 1 and stride of rank 0}}
    %0 = "test.value"() : () -> !cuda_tile.tensor_view<4xf32, strides=[]>
    return
  }
}
