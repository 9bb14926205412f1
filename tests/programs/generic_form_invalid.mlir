// Operations in MLIR's generic form.

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected '('}}
    "cuda_tile.return" : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected SSA operand}}
    "test.use"( : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected ':'}}
    "test.use"()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected '('}}
    "test.use"() :
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected '->'}}
    "test.use"() : ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected '('}}
    "test.use"() : i32
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    "test.use"() : () ->
    // expected-error @below {{unknown type: return}}
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%x: tile<i32>) {
    // expected-error @below {{expected 1 operand types but had 0}}
    "test.use"(%x) : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%x: tile<i32>) {
    // expected-error @below {{expected 1 operand types but had 2}}
    "test.use"(%x) : (i32, i32) -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{found conflicting values for 'a'}}
    "test.use"() <{a = 1}> {a = 2} : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected '{'}}
    "test.use"() <a = 1> : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected '>'}}
    "test.use"() <{a = 1} : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected '{'}}
    "test.use"() ({}, ) : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected '}'}}
    "test.use"() {a = 1 : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{expected block name}}
    "test.use"() [] : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%x: tile<i32>) {
    // expected-error @below {{invalid 'operandSegmentSizes' attribute}}
    "test.use"(%x) {operandSegmentSizes = 1 : i32} : (!cuda_tile.tile<i32>) -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%x: tile<i32>) {
    // expected-error @below {{invalid 'operandSegmentSizes' attribute}}
    "test.use"(%x) {operandSegmentSizes = array<i32: -1>} : (!cuda_tile.tile<i32>) -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%x: tile<i32>) {
    // expected-error @below {{'cuda_tile.negi' op requires a single operand}}
    %0 = "cuda_tile.negi"() : () -> !cuda_tile.tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%x: tile<i32>) {
    // expected-error @below {{'cuda_tile.negi' op requires a single operand}}
    %0 = "cuda_tile.negi"(%x, %x) : (!cuda_tile.tile<i32>, !cuda_tile.tile<i32>) -> !cuda_tile.tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%x: tile<i32>) {
    // expected-error @below {{'cuda_tile.addi' op expected 2 operands, but found 1}}
    %0 = "cuda_tile.addi"(%x) <{overflow = #cuda_tile.overflow<none>}> : (!cuda_tile.tile<i32>) -> !cuda_tile.tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%x: tile<i32>) {
    // expected-error @below {{'cuda_tile.negi' op requires one result}}
    "cuda_tile.negi"(%x) : (!cuda_tile.tile<i32>) -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%x: tile<i32>) {
    // expected-error @below {{'cuda_tile.negi' op requires one result}}
    %0:2 = "cuda_tile.negi"(%x) : (!cuda_tile.tile<i32>) -> (!cuda_tile.tile<i32>, !cuda_tile.tile<i32>)
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%x: tile<i32>) {
    // expected-error @below {{'cuda_tile.negi' op requires zero regions}}
    %0 = "cuda_tile.negi"(%x) ({}) : (!cuda_tile.tile<i32>) -> !cuda_tile.tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%x: tile<i32>) {
    // expected-error @below {{'cuda_tile.get_tile_block_id' op expected 3 results, but found 2}}
    %0:2 = "cuda_tile.get_tile_block_id"() : () -> (!cuda_tile.tile<i32>, !cuda_tile.tile<i32>)
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%x: tile<i32>) {
    // expected-error @below {{'cuda_tile.get_tile_block_id' op requires zero operands}}
    %0:3 = "cuda_tile.get_tile_block_id"(%x) : (!cuda_tile.tile<i32>) -> (!cuda_tile.tile<i32>, !cuda_tile.tile<i32>, !cuda_tile.tile<i32>)
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%x: tile<i32>) {
    // expected-error @below {{'cuda_tile.constant' op requires attribute 'value'}}
    %0 = "cuda_tile.constant"() : () -> !cuda_tile.tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%x: tile<i32>) {
    // expected-error @below {{'cuda_tile.constant' op attribute 'value' failed to satisfy constraint: dense elements attribute}}
    %0 = "cuda_tile.constant"() <{value = 1 : i32}> : () -> !cuda_tile.tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%x: tile<i32>) {
    // expected-error @below {{'cuda_tile.negi' op failed to verify that all of {source, result} have same type}}
    %0 = "cuda_tile.negi"(%x) : (!cuda_tile.tile<i32>) -> !cuda_tile.tile<i64>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%x: tile<i32>) {
    // expected-error @below {{'cuda_tile.negi' op result #0 must be tile of i1 or i8 or i16 or i32 or i64 values, but got 'i32'}}
    %0 = "cuda_tile.negi"(%x) : (!cuda_tile.tile<i32>) -> i32
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%x: tile<i32>) {
    // expected-error @below {{'cuda_tile.if' op expected 2 regions}}
    "cuda_tile.if"(%x) : (!cuda_tile.tile<i32>) -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%c: tile<i1>) {
    // expected-error @below {{'cuda_tile.if' op expected 2 regions}}
    "cuda_tile.if"(%c) ({
      "cuda_tile.yield"() : () -> ()
    }) : (!cuda_tile.tile<i1>) -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%c: tile<i1>) {
    // expected-error @below {{'cuda_tile.if' op region #0 ('thenRegion') failed to verify constraint: region with 1 blocks}}
    "cuda_tile.if"(%c) ({
    }, {
    }) : (!cuda_tile.tile<i1>) -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%c: tile<i1>) {
    // expected-error @below {{'cuda_tile.if' op region #0 should have no arguments}}
    "cuda_tile.if"(%c) ({
    ^first(%a: !cuda_tile.tile<i32>):
      "cuda_tile.yield"() : () -> ()
    }, {
    }) : (!cuda_tile.tile<i1>) -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    // expected-error @below {{'cuda_tile.loop' op region #0 ('region') failed to verify constraint: region with 1 blocks}}
    "cuda_tile.loop"() ({
    }) : () -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%x: tile<i32>) {
    // expected-error @below {{'cuda_tile.loop' op mismatch in number of region iterator values and loop iterator inits: 0 vs 1}}
    "cuda_tile.loop"(%x) ({
      "cuda_tile.break"() : () -> ()
    }) : (!cuda_tile.tile<i32>) -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%x: tile<i32>) {
    // expected-error @below {{'cuda_tile.for' op expected at least one block argument for induction variable}}
    "cuda_tile.for"(%x, %x, %x) ({
      "cuda_tile.continue"() : () -> ()
    }) : (!cuda_tile.tile<i32>, !cuda_tile.tile<i32>, !cuda_tile.tile<i32>) -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%x: tile<i32>) {
    // expected-error @below {{'cuda_tile.for' op expected induction variable to be same type as bounds and step: '!cuda_tile.tile<i64>' vs '!cuda_tile.tile<i32>'}}
    "cuda_tile.for"(%x, %x, %x) ({
    ^body(%i: !cuda_tile.tile<i64>):
      "cuda_tile.continue"() : () -> ()
    }) : (!cuda_tile.tile<i32>, !cuda_tile.tile<i32>, !cuda_tile.tile<i32>) -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%x: tile<i32>) {
    // expected-error @below {{'cuda_tile.for' op expected 3 or more operands, but found 2}}
    "cuda_tile.for"(%x, %x) ({
    ^body(%i: !cuda_tile.tile<i32>):
      "cuda_tile.continue"() : () -> ()
    }) : (!cuda_tile.tile<i32>, !cuda_tile.tile<i32>) -> ()
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %0 = "test.value"() : () -> !cuda_tile.tile<ptr<i32>>
    // expected-error @below {{unknown attribute `memory_ordering` in dialect `cuda_tile`}}
    %1, %2 = "cuda_tile.load_ptr_tko"(%0) <{memory_ordering_semantics = #cuda_tile.memory_ordering<weak>}> : (!cuda_tile.tile<ptr<i32>>) -> (!cuda_tile.tile<i32>, !cuda_tile.token)
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %0 = "test.value"() : () -> !cuda_tile.tile<ptr<i32>>
    // expected-error @below {{'cuda_tile.load_ptr_tko' op operand count (1) does not match with the total size (2) specified in attribute 'operandSegmentSizes'}}
    %1, %2 = "cuda_tile.load_ptr_tko"(%0) <{memory_ordering_semantics = 0 : i32, operandSegmentSizes = array<i32: 1, 1, 0, 0>}> : (!cuda_tile.tile<ptr<i32>>) -> (!cuda_tile.tile<i32>, !cuda_tile.token)
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %0 = "test.value"() : () -> !cuda_tile.tile<ptr<i32>>
    // expected-error @below {{'cuda_tile.load_ptr_tko' op operand group starting at #0 requires 1 element, but found 0}}
    %1, %2 = "cuda_tile.load_ptr_tko"(%0) <{memory_ordering_semantics = 0 : i32, operandSegmentSizes = array<i32: 0, 1, 0, 0>}> : (!cuda_tile.tile<ptr<i32>>) -> (!cuda_tile.tile<i32>, !cuda_tile.token)
    return
  }
}

// -----

cuda_tile.module @m {
  // expected-error @below {{'cuda_tile.entry' op requires attribute 'sym_name'}}
  "cuda_tile.entry"() ({
    "cuda_tile.return"() : () -> ()
  }) : () -> ()
}

// -----

cuda_tile.module @m {
  // expected-error @below {{'cuda_tile.entry' op entry block must have 1 arguments to match function signature}}
  "cuda_tile.entry"() <{sym_name = "k", function_type = (i32) -> ()}> ({
    "cuda_tile.return"() : () -> ()
  }) : () -> ()
}

// -----

cuda_tile.module @m {
  // expected-error @below {{'cuda_tile.entry' op region #0 ('body') failed to verify constraint: region with 1 blocks}}
  "cuda_tile.entry"() <{sym_name = "k", function_type = () -> ()}> ({
  }) : () -> ()
}

// -----

cuda_tile.module @m {
  // expected-error @below {{'cuda_tile.entry' op attribute 'sym_name' failed to satisfy constraint: string attribute}}
  "cuda_tile.entry"() <{sym_name = 3, function_type = () -> ()}> ({
    "cuda_tile.return"() : () -> ()
  }) : () -> ()
}

// -----

cuda_tile.module @m {
  entry @k() {
    %0 = "test.value"() : () -> !cuda_tile.tile<ptr<i32>>
    // expected-error @below {{'cuda_tile.load_ptr_tko' op 'operandSegmentSizes' attribute for specifying operand segments must have 4 elements, but got 0}}
    %1, %2 = "cuda_tile.load_ptr_tko"(%0) <{memory_ordering_semantics = 0 : i32}> : (!cuda_tile.tile<ptr<i32>>) -> (!cuda_tile.tile<i32>, !cuda_tile.token)
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %0 = "test.value"() : () -> !cuda_tile.tile<ptr<i32>>
    // expected-error @below {{'cuda_tile.load_ptr_tko' op 'operandSegmentSizes' attribute for specifying operand segments must have 4 elements, but got 2}}
    %1, %2 = "cuda_tile.load_ptr_tko"(%0) <{memory_ordering_semantics = 0 : i32, operandSegmentSizes = array<i32: 1, 0>}> : (!cuda_tile.tile<ptr<i32>>) -> (!cuda_tile.tile<i32>, !cuda_tile.token)
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k() {
    %0 = "test.value"() : () -> !cuda_tile.tile<ptr<i32>>
    %m = constant <i1: true> : tile<i1>
    // expected-error @below {{'cuda_tile.load_ptr_tko' op operand group starting at #1 requires 0 or 1 element, but found 2}}
    %1, %2 = "cuda_tile.load_ptr_tko"(%0, %m, %m) <{memory_ordering_semantics = 0 : i32, operandSegmentSizes = array<i32: 1, 2, 0, 0>}> : (!cuda_tile.tile<ptr<i32>>, !cuda_tile.tile<i1>, !cuda_tile.tile<i1>) -> (!cuda_tile.tile<i32>, !cuda_tile.token)
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %tv = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
    // expected-error @below {{'cuda_tile.get_tensor_shape' op expected 2 results due to tensor rank, but got 1}}
    %a = "cuda_tile.get_tensor_shape"(%tv) : (!cuda_tile.tensor_view<?x64xf32, strides=[64,1]>) -> !cuda_tile.tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %tv = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
    %v = make_partition_view %tv : partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>
    // expected-error @below {{'cuda_tile.get_index_space_shape' op expected 2 results due to view index space rank, but got 1}}
    %a = "cuda_tile.get_index_space_shape"(%v) : (!cuda_tile.partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>) -> !cuda_tile.tile<i32>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %tv = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
    // expected-error @below {{'cuda_tile.make_partition_view' op expected the type of the provided tensor_view value ('!cuda_tile.tensor_view<?x64xf32, strides=[64,1]>') to be the same as the view's tensor_view type ('!cuda_tile.tensor_view<4xf32, strides=[1]>')}}
    %a = "cuda_tile.make_partition_view"(%tv) : (!cuda_tile.tensor_view<?x64xf32, strides=[64,1]>) -> !cuda_tile.partition_view<tile=(4), tensor_view<4xf32, strides=[1]>>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<i32>>) {
    // expected-error @below {{'cuda_tile.make_tensor_view' op expected pointer to 'f32' to build tensor_view of this type, got 'i32'}}
    %a = "cuda_tile.make_tensor_view"(%p) <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (!cuda_tile.tile<ptr<i32>>) -> !cuda_tile.tensor_view<4xf32, strides=[1]>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>) {
    // expected-error @below {{'cuda_tile.make_tensor_view' op expected 1 dynamic shape operands, got 0}}
    %a = "cuda_tile.make_tensor_view"(%p) <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (!cuda_tile.tile<ptr<f32>>) -> !cuda_tile.tensor_view<?xf32, strides=[1]>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>) {
    // expected-error @below {{'cuda_tile.make_tensor_view' op expected 1 dynamic stride operands, got 0}}
    %a = "cuda_tile.make_tensor_view"(%p) <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (!cuda_tile.tile<ptr<f32>>) -> !cuda_tile.tensor_view<4xf32, strides=[?]>
    return
  }
}

// -----

cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>, %m: tile<i64>) {
    // expected-error @below {{'cuda_tile.make_tensor_view' op expected dynamic shape index 1 to be of the same type as the other dynamic values ('!cuda_tile.tile<i32>'), got '!cuda_tile.tile<i64>'}}
    %a = "cuda_tile.make_tensor_view"(%p, %n, %m) <{operandSegmentSizes = array<i32: 1, 2, 0>}> : (!cuda_tile.tile<ptr<f32>>, !cuda_tile.tile<i32>, !cuda_tile.tile<i64>) -> !cuda_tile.tensor_view<?x?xf32, strides=[1,1]>
    return
  }
}

// -----

cuda_tile.module @m {
  // expected-error @below {{'cuda_tile.entry' op type of entry block argument #0('!cuda_tile.tile<f32>') must match the type of the corresponding argument in function signature('!cuda_tile.tile<i32>')}}
  "cuda_tile.entry"() <{sym_name = "k", function_type = (!cuda_tile.tile<i32>) -> ()}> ({
  ^body(%a: !cuda_tile.tile<f32>):
    "cuda_tile.return"() : () -> ()
  }) : () -> ()
}

// -----

cuda_tile.module @m {
  // expected-error @below {{'cuda_tile.entry' op expects argument attribute array to have the same number of elements as the number of function arguments, got 1, but expected 0}}
  "cuda_tile.entry"() <{sym_name = "k", function_type = () -> (), arg_attrs = [{}]}> ({
    "cuda_tile.return"() : () -> ()
  }) : () -> ()
}
