// Names of operations and of their results.

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{custom op 'frobnicate' is unknown (tried 'cuda_tile.frobnicate' as well)}}
    %0 = frobnicate : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{custom op 'cuda_tile.frobnicate' is unknown}}
    %0 = cuda_tile.frobnicate : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{custom op 'elsewhere.operation' is unknown}}
    elsewhere.operation
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected '=' after SSA name}}
    %0 constant <i32: 1> : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected valid ssa identifier}}
    %0, = constant <i32: 1> : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected valid ssa identifier}}
    %0, 1 = constant <i32: 1> : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected integer number of results}}
    %0:x = "test.many"() : () -> (i32, i32)
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected named operation to have at least 1 result}}
    %0:0 = "test.many"() : () -> (i32, i32)
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{operation defines 2 results but was provided 3 to bind}}
    %0:3 = "test.many"() : () -> (i32, i32)
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{operation defines 2 results but was provided 3 to bind}}
    %0:2, %1 = "test.many"() : () -> (i32, i32)
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{operation defines 1 results but was provided 2 to bind}}
    %0, %1 = constant <i32: 1> : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%c: tile<i1>) {
    // expected-error @below {{cannot name an operation with no results}}
    %0 = assert %c, "no results" : tile<i1>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%c: tile<i1>) {
    // expected-error @below {{expected ','}}
    assert %c : tile<i1>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%a: tile<i32>) {
    // expected-error @below {{expected ','}}
    %0 = addi %a : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%a: tile<i32>) {
    // expected-error @below {{expected ':'}}
    %0 = addi %a, %a, %a : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%a: tile<i32>) {
    // expected-error @below {{expected ','}}
    %0 = addi %a %a : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%a: tile<i32>) {
    // expected-error @below {{expected ':'}}
    %0 = addi %a, %a
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%a: tile<i32>) {
    %0 = addi %a, %a :
    // expected-error @below {{custom op 'cuda_tile.addi' unknown type: return}}
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%a: tile<i32>) {
    // expected-error @below {{expected ::mlir::cuda_tile enum overflow to be one of: none, no_signed_wrap, no_unsigned_wrap, no_wrap}}
    %0 = addi %a, %a overflow<sometimes> : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%a: tile<f32>) {
    // expected-error @below {{custom op 'cuda_tile.addf' expected rounding mode to be one of: 'nearest_even', 'zero', 'negative_inf', 'positive_inf', got: 'upwards'}}
    %0 = addf %a, %a rounding<upwards> : tile<f32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%a: tile<i32>) {
    // expected-error @below {{custom op 'cuda_tile.cmpi' expected 'comparison_predicate' to be one of: {'equal', 'not_equal', 'less_than', 'less_than_or_equal', 'greater_than', 'greater_than_or_equal'}}}
    %0 = cmpi nearly %a, %a, signed : tile<i32> -> tile<i1>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%a: tile<i32>) {
    // expected-error @below {{custom op 'cuda_tile.cmpi' expected signedness to be one of: {'signed', 'unsigned'}}}
    %0 = cmpi equal %a, %a, unsinged : tile<i32> -> tile<i1>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%a: tile<i32>) {
    // expected-error @below {{expected SSA operand}}
    %0 = addi 1, %a : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%a: tile<f32>) {
    // expected-error @below {{'cuda_tile.addi' op operand #0 must be tile of i1 or i8 or i16 or i32 or i64 values, but got '!cuda_tile.tile<f32>'}}
    %0 = addi %a, %a : tile<f32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%a: tile<i32>) {
    // expected-error @below {{'cuda_tile.addf' op operand #0 must be tile of f16 or bf16 or f32 or f64 values, but got '!cuda_tile.tile<i32>'}}
    %0 = addf %a, %a rounding<nearest_even> : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%a: tile<i32>) {
    // expected-error @below {{'cuda_tile.negf' op operand #0 must be tile of f16 or bf16 or f32 or f64 values, but got '!cuda_tile.tile<i32>'}}
    %0 = negf %a : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%a: tile<f32>) {
    // expected-error @below {{'cuda_tile.sqrt' op invalid rounding mode specified, expect one of [nearest_even, zero, negative_inf, positive_inf, approx]}}
    %0 = sqrt %a rounding<nearest_int_to_zero> : tile<f32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%a: tile<f32>) {
    // expected-error @below {{custom op 'cuda_tile.ftoi' expected rounding mode to be one of: 'nearest_int_to_zero', got: 'nearest_even'}}
    %0 = ftoi %a signed rounding<nearest_even> : tile<f32> -> tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%a: tile<i32>) {
    // expected-error @below {{'cuda_tile.exti' op extending to smaller or identical integer}}
    %0 = exti %a signed : tile<i32> -> tile<i16>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%a: tile<i32>) {
    // expected-error @below {{'cuda_tile.trunci' op truncating to larger or identical integer}}
    %0 = trunci %a : tile<i32> -> tile<i64>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%a: tile<f32>) {
    // expected-error @below {{'cuda_tile.ftof' op converting tiles must not be a no-op}}
    %0 = ftof %a : tile<f32> -> tile<f32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%a: tile<i32>) {
    // expected-error @below {{'cuda_tile.bitcast' op types must be equal width, cannot convert '!cuda_tile.tile<i32>' of width 32 to type '!cuda_tile.tile<i64>' of width 64}}
    %0 = bitcast %a : tile<i32> -> tile<i64>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%a: tile<i32>) {
    // expected-error @below {{'cuda_tile.reshape' op expected source tile and result tile to have the same number of elements}}
    %0 = reshape %a : tile<i32> -> tile<2xi32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%a: tile<i32>) {
    // expected-error @below {{'cuda_tile.broadcast' op failed to verify that all of {source, result} have same rank}}
    %0 = broadcast %a : tile<i32> -> tile<2xi32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %a = constant <i32: 0> : tile<2x4xi32>
    // expected-error @below {{'cuda_tile.broadcast' op expects the shape of source tile to be compatible with that of the result tile, but got: 2, 4 and 4, 4}}
    %0 = broadcast %a : tile<2x4xi32> -> tile<4x4xi32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %a = constant <i32: 0> : tile<2x4xi32>
    // expected-error @below {{'cuda_tile.permute' op expect permutation size (1) to equal the rank of the source (2)}}
    %0 = permute %a [0] : tile<2x4xi32> -> tile<4x2xi32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %a = constant <i32: 0> : tile<2x4xi32>
    // expected-error @below {{'cuda_tile.permute' op expect permutation elements to be unique}}
    %0 = permute %a [0, 0] : tile<2x4xi32> -> tile<2x2xi32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %a = constant <i32: 0> : tile<2x4xi32>
    // expected-error @below {{'cuda_tile.permute' op permutation element at index 1 (2) is out of bound [0, 2)}}
    %0 = permute %a [0, 2] : tile<2x4xi32> -> tile<2x4xi32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %a = constant <i32: 0> : tile<2x4xi32>
    // expected-error @below {{'cuda_tile.permute' op result shape invalid at index 0, expected: 4, but got: 2}}
    %0 = permute %a [1, 0] : tile<2x4xi32> -> tile<2x4xi32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %a = constant <i32: 0> : tile<2x4xi32>
    // expected-error @below {{'cuda_tile.cat' op expect dim to be [0, 2), but got: 2}}
    %0 = cat %a, %a dim = 2 : tile<2x4xi32>, tile<2x4xi32> -> tile<4x4xi32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %a = constant <i32: 0> : tile<2x4xi32>
    // expected-error @below {{'cuda_tile.cat' op invalid concat at position 0, expected: 4 but got: 8}}
    %0 = cat %a, %a dim = 0 : tile<2x4xi32>, tile<2x4xi32> -> tile<8x4xi32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %a = constant <i32: 0> : tile<2x4xi32>
    // expected-error @below {{expected integer value}}
    %0 = cat %a, %a dim = x : tile<2x4xi32>, tile<2x4xi32> -> tile<8x4xi32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{'cuda_tile.iota' op expects result type to be 1-d tile}}
    %0 = iota : tile<2x2xi32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%i: tile<i32>) {
    %a = constant <i32: 0> : tile<4x4xi32>
    // expected-error @below {{'cuda_tile.extract' op expected 2 indices, but got 1}}
    %0 = extract %a[%i] : tile<4x4xi32> -> tile<2x2xi32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%i: tile<i32>) {
    %a = constant <i32: 0> : tile<4x4xi32>
    // expected-error @below {{'cuda_tile.extract' op source dimension 1 size (4) must be evenly divisible by result dimension 1 size (8)}}
    %0 = extract %a[%i, %i] : tile<4x4xi32> -> tile<2x8xi32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%a: tile<f32>) {
    // expected-error @below {{'cuda_tile.mmaf' op operands must be 2D or 3D tiles}}
    %0 = mmaf %a, %a, %a : tile<f32>, tile<f32>, tile<f32>
    return
  }
}

// -----

cuda_tile.module @m {
  // expected-note @below {{prior use here}}
  entry @k(%c: tile<i1>, %a: tile<i32>, %b: tile<f32>) {
    // expected-error @below {{use of value '%b' expects different type than prior uses: '!cuda_tile.tile<i32>' vs '!cuda_tile.tile<f32>'}}
    %0 = select %c, %a, %b : tile<i1>, tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%a: tile<i32>) {
    // expected-error @below {{'cuda_tile.print_tko' op incorrect number of operands: expected 2, found 1}}
    print_tko "%i and %i", %a : tile<i32> -> token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%a: tile<i32>) {
    // expected-error @below {{'cuda_tile.print_tko' op found unterminated format expression}}
    print_tko "%", %a : tile<i32> -> token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%a: tile<i32>) {
    // expected-error @below {{expected attribute value}}
    print_tko %a : tile<i32> -> token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%a: tile<i32>) {
    // expected-error @below {{expected an assume predicate: div_by, same_elements or bounded}}
    %0 = assume frob<4>, %a : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%a: tile<i32>) {
    // expected-error @below {{expected unsigned 64-bit integer for divisor}}
    %0 = assume div_by<-4>, %a : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%a: tile<i32>) {
    // expected-error @below {{expected 'every'}}
    %0 = assume div_by<4, each 2>, %a : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%a: tile<i32>) {
    // expected-error @below {{integer value too large}}
    %0 = assume bounded<0, 99999999999999999999>, %a : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%a: tile<i32>) {
    // expected-error @below {{'cuda_tile.assume' op expected number of values in 'cuda_tile.same_elements' (1) to match rank of constrained tile (0)}}
    %0 = assume same_elements<[1]>, %a : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%a: tile<i32>) {
    // expected-error @below {{'cuda_tile.assume' op 'cuda_tile.div_by' divisor must be a power of 2}}
    %0 = assume div_by<3>, %a : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%a: tile<i32>) {
    // expected-error @below {{expected ')'}}
    %0 = negi %a {value = 1} : tile<i32> loc(unknown
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %a = constant <i32: 0> : tile<2x4xi32>
    %b = constant <i32: 0> : tile<2x2xi32>
    // expected-error @below {{'cuda_tile.cat' op expect lhs and rhs shapes to match at non-concat position 1, expected: 4 but got: 2}}
    %0 = cat %a, %b dim = 0 : tile<2x4xi32>, tile<2x2xi32> -> tile<4x4xi32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%i: tile<i32>) {
    %a = constant <i32: 0> : tile<4xi32>
    // expected-error @below {{'cuda_tile.extract' op source and result element type do not match}}
    %0 = extract %a[%i] : tile<4xi32> -> tile<2xf32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%i: tile<i32>) {
    %a = constant <i32: 0> : tile<4xi32>
    // expected-error @below {{'cuda_tile.extract' op failed to verify that all of {source, result} have same rank}}
    %0 = extract %a[%i] : tile<4xi32> -> tile<2x2xi32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{'cuda_tile.iota' op the number of elements 1024 exceeds the maximum value of element type 'i8'}}
    %0 = iota : tile<1024xi8>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{'cuda_tile.permute' op expects at least rank 2, but got: 0}}
    %0 = permute %s [] : tile<i32> -> tile<i32>
    %s = constant <i32: 0> : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%a: tile<f64>) {
    // expected-error @below {{'cuda_tile.addf' op flush_to_zero modifier only supported for f32 data type, but got: 'f64'}}
    %0 = addf %a, %a rounding<nearest_even> flush_to_zero : tile<f64>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%a: tile<f64>) {
    // expected-error @below {{'cuda_tile.exp2' op flush_to_zero modifier only supported for f32 data type, but got: 'f64'}}
    %0 = exp2 %a flush_to_zero : tile<f64>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%a: tile<f64>) {
    // expected-error @below {{'cuda_tile.rsqrt' op flush_to_zero modifier only supported for f32 data type, but got: 'f64'}}
    %0 = rsqrt %a flush_to_zero : tile<f64>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%a: tile<i32>) {
    // expected-error @below {{'cuda_tile.divi' op invalid rounding mode specified, expect one of [zero, negative_inf, positive_inf]}}
    %0 = divi %a, %a signed rounding<nearest_even> : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%a: tile<i32>) {
    // expected-error @below {{'cuda_tile.divi' op rounding mode 'negative_inf' is not allowed with 'unsigned' flag}}
    %0 = divi %a, %a unsigned rounding<negative_inf> : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%a: tile<i32>) {
    // expected-error @below {{'cuda_tile.negi' op 'no_unsigned_wrap' overflow flag is not supported}}
    %0 = negi %a overflow<no_unsigned_wrap> : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%a: tile<i32>) {
    // expected-error @below {{'cuda_tile.itof' op integer to f8E8M0FNU conversion is not supported, please first convert to another float type}}
    %0 = itof %a signed : tile<i32> -> tile<f8E8M0FNU>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%a: tile<i32>) {
    // expected-error @below {{'cuda_tile.itof' op invalid rounding mode specified. Only 'nearest_even' is supported}}
    %0 = itof %a signed rounding<zero> : tile<i32> -> tile<f32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%a: tile<f32>) {
    // expected-error @below {{'cuda_tile.ftof' op invalid rounding mode specified. Only 'nearest_even' is supported}}
    %0 = ftof %a rounding<zero> : tile<f32> -> tile<f16>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %a = constant <f16: 0.0> : tile<4x8xf16>
    %c = constant <f32: 0.0> : tile<4x4xf32>
    // expected-error @below {{'cuda_tile.mmaf' op  shape error: dim 1 of lhs (8) and dim 0 of rhs (4) must match, but got lhs shape (4, 8) and rhs shape (4, 8)}}
    %0 = mmaf %a, %a, %c : tile<4x8xf16>, tile<4x8xf16>, tile<4x4xf32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %a = constant <f64: 0.0> : tile<4x4xf64>
    %c = constant <f32: 0.0> : tile<4x4xf32>
    // expected-error @below {{'cuda_tile.mmaf' op unsupported combination of element types. Input type 'f64' expects accumulator/result type to be one of {'f64'}, but got 'f32'}}
    %0 = mmaf %a, %a, %c : tile<4x4xf64>, tile<4x4xf64>, tile<4x4xf32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %a = constant <i8: 0> : tile<4x8xi8>
    %c = constant <i32: 0> : tile<4x4xi32>
    // expected-error @below {{'cuda_tile.mmai' op  shape error: dim 1 of lhs (8) and dim 0 of rhs (4) must match, but got lhs shape (4, 8) and rhs shape (4, 8)}}
    %0 = mmai %a, %a, %c signed signed : tile<4x8xi8>, tile<4x8xi8>, tile<4x4xi32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %a = constant <i8: 0> : tile<4x4xi8>
    // expected-error @below {{'cuda_tile.pack' op failed to verify that all of {source, result} have same rank}}
    %0 = pack %a : tile<4x4xi8> -> tile<16xi8>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %a = constant <i8: 0> : tile<16xi8>
    // expected-error @below {{'cuda_tile.unpack' op expects source and result to have different element type widths}}
    %0 = unpack %a : tile<16xi8> -> tile<16xi8>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %a = constant <f32: 0.0> : tile<16xf32>
    // expected-error @below {{'cuda_tile.pack' op expects source and result to have the same size in bytes, but got source tile size 64 bytes and result tile size 16 bytes}}
    %0 = pack %a : tile<16xf32> -> tile<16xi8>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%a: tile<i32>) {
    // expected-error @below {{expected ':'}}
    %0 = reshape %a, %a : tile<i32> -> tile<1xi32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%a: tile<f32>) {
    // expected-error @below {{custom op 'cuda_tile.addf' `flush_to_zero` clause can appear at most once in the expansion of the oilist}}
    %0 = addf %a, %a flush_to_zero flush_to_zero : tile<f32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%a: tile<i32>) {
    // expected-error @below {{custom op 'cuda_tile.assume' expected assume predicate attribute}}
    %0 = assume 4, %a : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%a: tile<i32>) {
    // expected-error @below {{expected an assume predicate: div_by, same_elements or bounded}}
    %0 = assume #cuda_tile.rounding<zero>, %a : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%a: tile<i32>) {
    // expected-error @below {{expected '>'}}
    %0 = assume bounded<0, 4, strict>, %a : tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%a: tile<i32>) {
    // expected-error @below {{custom op 'cuda_tile.print_tko' expected the result to be a token}}
    print_tko "%i", %a : tile<i32> -> i32
    return
  }
}
