// The types of views, and the operations on views.

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected 'strides'}}
    %0 = "test.value"() : () -> !cuda_tile.tensor_view<4x4xf32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{strides must not be provided for 0-d tiles}}
    %0 = "test.value"() : () -> !cuda_tile.tensor_view<f32, strides=[1]>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{unexpected token after element type in 0-d tensor_view}}
    %0 = "test.value"() : () -> !cuda_tile.tensor_view<f32, 1>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected 'strides'}}
    %0 = "test.value"() : () -> !cuda_tile.tensor_view<4xf32, stride=[1]>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected strictly positive integer, got 0}}
    %0 = "test.value"() : () -> !cuda_tile.tensor_view<4xf32, strides=[0]>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected strictly positive integer, got -1}}
    %0 = "test.value"() : () -> !cuda_tile.tensor_view<4xf32, strides=[-1]>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected either 64-bit integer or question mark}}
    %0 = "test.value"() : () -> !cuda_tile.tensor_view<4xf32, strides=[x]>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected shape and stride to be of same rank but got shape of rank 1 and stride of rank 2}}
    %0 = "test.value"() : () -> !cuda_tile.tensor_view<4xf32, strides=[1, 1]>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{dimensions must have strictly positive constant sizes but got [0]}}
    %0 = "test.value"() : () -> !cuda_tile.tensor_view<0xf32, strides=[1]>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected '['}}
    %0 = "test.value"() : () -> !cuda_tile.tensor_view<4xf32, strides=1>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected ']'}}
    %0 = "test.value"() : () -> !cuda_tile.tensor_view<4xf32, strides=[1>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{failed to verify 'elementType': f16 or bf16 or f32 or tf32 or f64 or f8E4M3FN or f8E5M2 or f8E8M0FNU or f4E2M1FN or i1 or i8 or i16 or i32 or i64}}
    %0 = "test.value"() : () -> !cuda_tile.tensor_view<4xptr<f32>, strides=[1]>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected pointer attribute to be one of: none}}
    %0 = "test.value"() : () -> !cuda_tile.tensor_view<4xf32, strides=[1], <other>>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected either 64-bit integer or question mark}}
    %0 = "test.value"() : () -> !cuda_tile.tensor_view<4xf32, strides=[99999999999999999999]>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected 'tile'}}
    %0 = "test.value"() : () -> !cuda_tile.partition_view<tensor_view<4xf32, strides=[1]>>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected '('}}
    %0 = "test.value"() : () -> !cuda_tile.partition_view<tile=4, tensor_view<4xf32, strides=[1]>>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected integer value}}
    %0 = "test.value"() : () -> !cuda_tile.partition_view<tile=(x), tensor_view<4xf32, strides=[1]>>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected ')'}}
    %0 = "test.value"() : () -> !cuda_tile.partition_view<tile=(4, tensor_view<4xf32, strides=[1]>>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected 'tensor_view' type, but got '!cuda_tile.tile<4xf32>'}}
    %0 = "test.value"() : () -> !cuda_tile.partition_view<tile=(4), tile<4xf32>>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected tensor_view rank and tile rank to match, got tensor_view of rank 1 and tiles of rank 2}}
    %0 = "test.value"() : () -> !cuda_tile.partition_view<tile=(4x4), tensor_view<4xf32, strides=[1]>>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{tile shape dimensions must have power of two length but got [3]}}
    %0 = "test.value"() : () -> !cuda_tile.partition_view<tile=(3), tensor_view<4xf32, strides=[1]>>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{tile shape dimensions must have positive length but got [0]}}
    %0 = "test.value"() : () -> !cuda_tile.partition_view<tile=(0), tensor_view<4xf32, strides=[1]>>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{tile dimension 0 exceeds i32 limitations (got 4294967296, expected strictly positive and less than or equal to 2147483647)}}
    %0 = "test.value"() : () -> !cuda_tile.partition_view<tile=(4294967296), tensor_view<4xf32, strides=[1]>>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{target dimension is outside of tensor view dimensions, expected strictly less than 1, got 1}}
    %0 = "test.value"() : () -> !cuda_tile.partition_view<tile=(4), tensor_view<4xf32, strides=[1]>, dim_map=[1]>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{target dimension must not be negative, got -1}}
    %0 = "test.value"() : () -> !cuda_tile.partition_view<tile=(4), tensor_view<4xf32, strides=[1]>, dim_map=[-1]>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected dim_map to map exactly all 1 dimensions of the tile, got 2 mappings}}
    %0 = "test.value"() : () -> !cuda_tile.partition_view<tile=(4), tensor_view<4xf32, strides=[1]>, dim_map=[0, 1]>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{target dimension 0 mapped at least twice (for tile dimensions 0 and 1)}}
    %0 = "test.value"() : () -> !cuda_tile.partition_view<tile=(4x4), tensor_view<4x4xf32, strides=[4,1]>, dim_map=[0, 0]>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected integer value}}
    %0 = "test.value"() : () -> !cuda_tile.partition_view<tile=(4), tensor_view<4xf32, strides=[1]>, dim_map=[x]>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected 'dim_map'}}
    %0 = "test.value"() : () -> !cuda_tile.partition_view<tile=(4), tensor_view<4xf32, strides=[1]>, map=[0]>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{invalid padding_value attribute specification. Got "huge" but expect one of: zero, neg_zero, nan, pos_inf, neg_inf}}
    %0 = "test.value"() : () -> !cuda_tile.partition_view<tile=(4), padding_value=huge, tensor_view<4xf32, strides=[1]>>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{padding_value nan can only be used with floating point element types, got 'i32'}}
    %0 = "test.value"() : () -> !cuda_tile.partition_view<tile=(4), padding_value=nan, tensor_view<4xi32, strides=[1]>>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected 'traversal_strides'}}
    %0 = "test.value"() : () -> !cuda_tile.strided_view<tile=(4), tensor_view<4xf32, strides=[1]>>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected 1 traversal strides, got 2}}
    %0 = "test.value"() : () -> !cuda_tile.strided_view<tile=(4), traversal_strides=[1, 1], tensor_view<4xf32, strides=[1]>>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{traversal strides must be strictly positive but got [0]}}
    %0 = "test.value"() : () -> !cuda_tile.strided_view<tile=(4), traversal_strides=[0], tensor_view<4xf32, strides=[1]>>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected 1 traversal strides, got 0}}
    %0 = "test.value"() : () -> !cuda_tile.strided_view<tile=(4), traversal_strides=[], tensor_view<4xf32, strides=[1]>>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected ','}}
    %0 = "test.value"() : () -> !cuda_tile.gather_scatter_view<tile=(4x4), tensor_view<4x4xf32, strides=[4,1]>>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{gather dimension is outside of tensor view dimensions, expected strictly less than 2, got 2}}
    %0 = "test.value"() : () -> !cuda_tile.gather_scatter_view<tile=(4x4), tensor_view<4x4xf32, strides=[4,1]>, sparse_dim=2>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected integer value}}
    %0 = "test.value"() : () -> !cuda_tile.gather_scatter_view<tile=(4x4), tensor_view<4x4xf32, strides=[4,1]>, sparse_dim=x>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected 'sparse_dim'}}
    %0 = "test.value"() : () -> !cuda_tile.gather_scatter_view<tile=(4x4), tensor_view<4x4xf32, strides=[4,1]>, dim=0>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    // expected-error @below {{custom op 'cuda_tile.make_tensor_view' expected shape declaration to contain 2 elements due to tensor_view type, but 1 were provided}}
    %tv = make_tensor_view %p, shape = [64], strides = [64, 1] : tensor_view<?x64xf32, strides=[64,1]>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    // expected-error @below {{custom op 'cuda_tile.make_tensor_view' input shape dimension 1 does not match tensor_view type (expected 64, got 32)}}
    %tv = make_tensor_view %p, shape = [%n, 32], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    // expected-error @below {{custom op 'cuda_tile.make_tensor_view' input shape dimension 1 does not match tensor_view type (expected 64, got dynamic)}}
    %tv = make_tensor_view %p, shape = [%n, %n], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    // expected-error @below {{custom op 'cuda_tile.make_tensor_view' input stride dimension 0 does not match tensor_view type (expected 64, got dynamic)}}
    %tv = make_tensor_view %p, shape = [%n, 64], strides = [%n, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    // expected-error @+2 {{custom op 'cuda_tile.make_tensor_view' expected 'tensor_view' type, but got '!cuda_tile.tile<f32>'}}
    %tv = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tile<f32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    // expected-error @below {{expected '->'}}
    %tv = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tensor_view<?x64xf32, strides=[64,1]>
    return
  }
}

// -----

cuda_tile.module @m {
  // expected-note @below {{prior use here}}
  entry @k(%p: tile<ptr<i32>>, %n: tile<i32>) {
    // expected-error @below {{use of value '%p' expects different type than prior uses: '!cuda_tile.tile<ptr<f32>>' vs '!cuda_tile.tile<ptr<i32>>'}}
    %tv = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>) {
    // expected-error @below {{custom op 'cuda_tile.make_tensor_view' expected 'shape'}}
    %tv = make_tensor_view %p, size = [64] : tensor_view<64xf32, strides=[1]>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>) {
    // expected-error @below {{custom op 'cuda_tile.make_tensor_view' expected either integer or SSA value}}
    %tv = make_tensor_view %p, shape = [x], strides = [1] : tensor_view<64xf32, strides=[1]>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>) {
    // expected-error @below {{custom op 'cuda_tile.make_tensor_view' expected either integer or SSA value}}
    %tv = make_tensor_view %p, shape = [->], strides = [1] : tensor_view<64xf32, strides=[1]>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    // expected-note @below {{prior use here}}
    %tv = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
    // expected-error @below {{use of value '%tv' expects different type than prior uses: '!cuda_tile.tensor_view<4xf32, strides=[1]>' vs '!cuda_tile.tensor_view<?x64xf32, strides=[64,1]>'}}
    %v = make_partition_view %tv : partition_view<tile=(4), tensor_view<4xf32, strides=[1]>>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %tv = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
    // expected-error @below {{custom op 'cuda_tile.make_partition_view' expected 'partition_view' type, but got '!cuda_tile.tensor_view<?x64xf32, strides=[64,1]>'}}
    %v = make_partition_view %tv : tensor_view<?x64xf32, strides=[64,1]>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %tv = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
    // expected-error @below {{custom op 'cuda_tile.make_strided_view' expected 'strided_view' type, but got '!cuda_tile.partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>'}}
    %v = make_strided_view %tv : partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %tv = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
    // expected-error @below {{operation defines 2 results but was provided 1 to bind}}
    %a = get_tensor_shape %tv : tensor_view<?x64xf32, strides=[64,1]> -> tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %tv = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
    %v = make_partition_view %tv : partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>
    // expected-error @below {{operation defines 2 results but was provided 1 to bind}}
    %a = get_index_space_shape %v : partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>> -> tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %tv = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
    %v = make_partition_view %tv : partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>
    // expected-error @below {{'cuda_tile.load_view_tko' op expected 2 index operands (based on view type), got 1}}
    %x, %t = load_view_tko weak %v[%n] : partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>, tile<i32> -> tile<4x2xf32>, token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %tv = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
    %v = make_partition_view %tv : partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>
    // expected-error @below {{'cuda_tile.load_view_tko' op expected tile type to be '!cuda_tile.tile<4x2xf32>' (based on view type), got '!cuda_tile.tile<4x4xf32>'}}
    %x, %t = load_view_tko weak %v[%n, %n] : partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>, tile<i32> -> tile<4x4xf32>, token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %tv = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
    %v = make_partition_view %tv : partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>
    // expected-error @below {{expected ','}}
    %x, %t = load_view_tko weak %v[%n, %n] : partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>, tile<i32> -> tile<4x2xf32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %tv = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
    %v = make_partition_view %tv : partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>
    // expected-error @below {{'cuda_tile.load_view_tko' op result #1 must be cuda tile token type, but got 'i32'}}
    %x, %t = load_view_tko weak %v[%n, %n] : partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>, tile<i32> -> tile<4x2xf32>, i32
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %tv = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
    %v = make_partition_view %tv : partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>
    // expected-error @below {{'cuda_tile.load_view_tko' op expect one of: weak, relaxed, or acquire, but got: release}}
    %x, %t = load_view_tko release device %v[%n, %n] : partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>, tile<i32> -> tile<4x2xf32>, token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %tv = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
    %v = make_partition_view %tv : partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>
    // expected-error @below {{'cuda_tile.load_view_tko' op memory scope is required for relaxed load}}
    %x, %t = load_view_tko relaxed %v[%n, %n] : partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>, tile<i32> -> tile<4x2xf32>, token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %tv = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
    %v = make_partition_view %tv : partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>
    // expected-error @below {{custom op 'cuda_tile.load_view_tko' operation specifies weak memory ordering semantics, but then provides "device" scope, expected no memory scope.}}
    %x, %t = load_view_tko weak device %v[%n, %n] : partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>, tile<i32> -> tile<4x2xf32>, token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %tv = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
    %v = make_partition_view %tv : partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>
    // expected-error @below {{custom op 'cuda_tile.load_view_tko' invalid memory_ordering_semantics attribute specification. Got "sometimes" but expect one of: weak, relaxed, acquire, release, acq_rel}}
    %x, %t = load_view_tko sometimes %v[%n, %n] : partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>, tile<i32> -> tile<4x2xf32>, token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %tv = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
    %v = make_partition_view %tv : partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>
    // expected-error @below {{expected '['}}
    %x, %t = load_view_tko weak %v : partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>> -> tile<4x2xf32>, token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %tv = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
    %v = make_partition_view %tv : partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>
    // expected-error @below {{expected SSA operand}}
    %x, %t = load_view_tko weak %v[%n, %n] token = 3 : partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>, tile<i32> -> tile<4x2xf32>, token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %tv = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
    %v = make_partition_view %tv : partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>
    // expected-error @below {{'cuda_tile.load_view_tko' op operand #0 must be TileView instance, but got '!cuda_tile.tensor_view<?x64xf32, strides=[64,1]>'}}
    %x, %t = load_view_tko weak %tv[%n, %n] : tensor_view<?x64xf32, strides=[64,1]>, tile<i32> -> tile<4x2xf32>, token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %tv = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
    %v = make_partition_view %tv : partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>
    %x = constant <f32: 0.0> : tile<4x4xf32>
    // expected-error @below {{'cuda_tile.store_view_tko' op expected tile type to be '!cuda_tile.tile<4x2xf32>' (based on view type), got '!cuda_tile.tile<4x4xf32>'}}
    %t = store_view_tko weak %x, %v[%n, %n] : tile<4x4xf32>, partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>, tile<i32> -> token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %tv = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
    %v = make_partition_view %tv : partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>
    %x = constant <f32: 0.0> : tile<4x2xf32>
    // expected-error @below {{'cuda_tile.store_view_tko' op expect one of: weak, relaxed, or release, but got: acquire}}
    %t = store_view_tko acquire device %x, %v[%n, %n] : tile<4x2xf32>, partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>, tile<i32> -> token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %tv = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
    %v = make_partition_view %tv : partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>
    %x = constant <f32: 0.0> : tile<4x2xf32>
    // expected-error @below {{'cuda_tile.atomic_red_view_tko' op only 'relaxed' memory ordering is supported for view-based atomic reductions}}
    %t = atomic_red_view_tko acquire device %v[%n, %n], addf, %x : tile<4x2xf32>, partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>, tile<i32> -> token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %tv = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
    %v = make_partition_view %tv : partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>
    %x = constant <f32: 0.0> : tile<4x2xf32>
    // expected-error @below {{'cuda_tile.atomic_red_view_tko' op memory scope 'sys' is not supported for view-based atomic reductions; use 'tl_blk' or 'device' for TMA compatibility}}
    %t = atomic_red_view_tko relaxed sys %v[%n, %n], addf, %x : tile<4x2xf32>, partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>, tile<i32> -> token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %tv = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
    %v = make_partition_view %tv : partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>
    %x = constant <f32: 0.0> : tile<4x2xf32>
    // expected-error @below {{'cuda_tile.atomic_red_view_tko' op atomic_red_view_tko op cannot use xchg operation}}
    %t = atomic_red_view_tko relaxed device %v[%n, %n], xchg, %x : tile<4x2xf32>, partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>, tile<i32> -> token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %tv = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
    %v = make_partition_view %tv : partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>
    %x = constant <f32: 0.0> : tile<4x2xf32>
    // expected-error @below {{custom op 'cuda_tile.atomic_red_view_tko' unknown atomic RMW mode: 'frob'; expected one of: and, or, xor, add, addf, max, min, umax, umin}}
    %t = atomic_red_view_tko relaxed device %v[%n, %n], frob, %x : tile<4x2xf32>, partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>, tile<i32> -> token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %tv = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
    %v = make_partition_view %tv : partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>
    %x = constant <f32: 0.0> : tile<4x2xf32>
    // expected-error @below {{'cuda_tile.atomic_red_view_tko' op 'and' works only with integers i32 and i64}}
    %t = atomic_red_view_tko relaxed device %v[%n, %n], and, %x : tile<4x2xf32>, partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>, tile<i32> -> token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %tv = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
    %v = make_gather_scatter_view %tv : gather_scatter_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>, sparse_dim=0>
    // expected-error @below {{'cuda_tile.load_view_tko' op expected index at sparse_dim position 0 to be a 1D tensor for GatherScatterView, got rank 0}}
    %x, %t = load_view_tko weak %v[%n, %n] : gather_scatter_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>, sparse_dim=0>, tile<i32>, tile<i32> -> tile<4x2xf32>, token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %tv = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
    %v = make_gather_scatter_view %tv : gather_scatter_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>, sparse_dim=0>
    %r = iota : tile<8xi32>
    // expected-error @below {{'cuda_tile.load_view_tko' op expected gather/scatter index size (8) to match tile shape at gather/scatter dimension 0 (4)}}
    %x, %t = load_view_tko weak %v[%r, %n] : gather_scatter_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>, sparse_dim=0>, tile<8xi32>, tile<i32> -> tile<4x2xf32>, token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %tv = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
    %v = make_gather_scatter_view %tv : gather_scatter_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>, sparse_dim=0>
    %r = iota : tile<4xi32>
    // expected-error @below {{'cuda_tile.load_view_tko' op expected index 1 to be a scalar tile for GatherScatterView}}
    %x, %t = load_view_tko weak %v[%r, %r] : gather_scatter_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>, sparse_dim=0>, tile<4xi32>, tile<4xi32> -> tile<4x2xf32>, token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %tv = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
    %v = make_gather_scatter_view %tv : gather_scatter_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>, sparse_dim=0>
    %x = constant <f32: 0.0> : tile<4x2xf32>
    %r = iota : tile<4xi32>
    // expected-error @below {{'cuda_tile.atomic_red_view_tko' op gather_scatter_view is not supported; use partition_view instead}}
    %t = atomic_red_view_tko relaxed device %v[%r, %n], addf, %x : tile<4x2xf32>, gather_scatter_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>, sparse_dim=0>, tile<4xi32>, tile<i32> -> token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %tv = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
    %x = constant <f32: 0.0> : tile<4x2xf32>
    %v = make_partition_view %tv : partition_view<tile=(4x2), padding_value=zero, tensor_view<?x64xf32, strides=[64,1]>>
    // expected-error @below {{'cuda_tile.atomic_red_view_tko' op views with padding_value are not supported for atomic reductions}}
    %t = atomic_red_view_tko relaxed device %v[%n, %n], addf, %x : tile<4x2xf32>, partition_view<tile=(4x2), padding_value=zero, tensor_view<?x64xf32, strides=[64,1]>>, tile<i32> -> token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %tv = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
    %v = make_partition_view %tv : partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>
    %x = constant <f16: 0.0> : tile<4x2xf16>
    // expected-error @below {{'cuda_tile.atomic_red_view_tko' op view element type ('f32') must match value element type ('f16')}}
    %t = atomic_red_view_tko relaxed device %v[%n, %n], addf, %x : tile<4x2xf16>, partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>, tile<i32> -> token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %tv = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
    %v = make_partition_view %tv : partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>
    %x = constant <f32: 0.0> : tile<4x4xf32>
    // expected-error @below {{'cuda_tile.atomic_red_view_tko' op view tile shape 4, 2 must match value shape 4, 4 for element-wise atomic operations}}
    %t = atomic_red_view_tko relaxed device %v[%n, %n], addf, %x : tile<4x4xf32>, partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>, tile<i32> -> token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %tv = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
    %v = make_partition_view %tv : partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>
    %x = constant <f32: 0.0> : tile<4x2xf32>
    // expected-error @below {{'cuda_tile.atomic_red_view_tko' op expected 2 index operand(s) for view with tile rank 2, got 1}}
    %t = atomic_red_view_tko relaxed device %v[%n], addf, %x : tile<4x2xf32>, partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>, tile<i32> -> token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %tv = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
    %v = make_partition_view %tv : partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>
    %x = constant <f32: 0.0> : tile<4x2xf32>
    %r = iota : tile<4xi32>
    // expected-error @below {{'cuda_tile.atomic_red_view_tko' op index operand 0 must be a scalar tile (rank 0), got shape 4}}
    %t = atomic_red_view_tko relaxed device %v[%r, %r], addf, %x : tile<4x2xf32>, partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>, tile<4xi32> -> token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %tv = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
    %v = make_partition_view %tv : partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>
    %r = iota : tile<4xi32>
    // expected-error @below {{'cuda_tile.load_view_tko' op expected index type to be a scalar tile, got '!cuda_tile.tile<4xi32>'}}
    %x, %t = load_view_tko weak %v[%r, %r] : partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>, tile<4xi32> -> tile<4x2xf32>, token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %tv = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
    %v = make_partition_view %tv : partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>
    %r = constant <i64: 0> : tile<i64>
    // expected-error @below {{'cuda_tile.load_view_tko' op expected index type 1 to be the same as other index types ('!cuda_tile.tile<i32>'), got '!cuda_tile.tile<i64>'}}
    %x, %t = load_view_tko weak %v[%n, %r] : partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>, tile<i32>, tile<i64> -> tile<4x2xf32>, token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %tv = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
    %v = make_partition_view %tv : partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>
    // expected-error @below {{custom op 'cuda_tile.load_view_tko' index types must be specified when indices are present}}
    %x, %t = load_view_tko weak %v[%n, %n] : partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>> -> tile<4x2xf32>, token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %tv = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
    %v = make_partition_view %tv : partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>
    // expected-error @below {{custom op 'cuda_tile.load_view_tko' expected 2 index types, got 3}}
    %x, %t = load_view_tko weak %v[%n, %n] : partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>, tile<i32>, tile<i32>, tile<i32> -> tile<4x2xf32>, token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %tv = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
    %v = make_partition_view %tv : partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>
    %tok = make_token : token
    // expected-error @below {{'cuda_tile.load_view_tko' op operand #1 must be variadic of tile of i1 or i8 or i16 or i32 or i64 values, but got '!cuda_tile.token'}}
    %x, %t = load_view_tko weak %v[%tok, %tok] : partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>, token -> tile<4x2xf32>, token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %tv = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
    %v = make_gather_scatter_view %tv : gather_scatter_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>, sparse_dim=0>
    // expected-error @below {{'cuda_tile.load_view_tko' op expected 2 index operands (based on view type), got 0}}
    %x, %t = load_view_tko weak %v[] : gather_scatter_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>, sparse_dim=0> -> tile<4x2xf32>, token
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>) {
    // expected-error @below {{custom op 'cuda_tile.get_index_space_shape' expected tile view, got '!cuda_tile.tile<ptr<f32>>'}}
    %a = get_index_space_shape %p : tile<ptr<f32>> -> tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>) {
    // expected-error @below {{'cuda_tile.make_tensor_view' op pointer base without ptr_attr cannot produce tensor_view with ptr_attr}}
    %tv = make_tensor_view %p, shape = [4], strides = [1] : tensor_view<4xf32, strides=[1], <none>>
    return
  }
}
