"""The CPU backend: tile programs compiled to native code with LLVM.

A kernel goes through three representations:

    tile IR      the program, optimized by passes that keep every bit of its results
    loop IR      statements in order; a `LoopNest` visits the elements of a shape once, computes expressions and
                 passes them to stores (memory, a buffer of scratch memory, a register).  A tile value is a scalar, an
                 expression that is computed wherever it is used, or a buffer
    LLVM IR      text; one function, the worker, which every thread runs and which takes tile blocks until none is left

Facts about tile IR that any engine may need are in `execute/analysis`.  The `__init__` of a folder lists what to read
first:

    runtime/     compiled code: from LLVM IR to an object, into memory, and through a launch
    vector/      LLVM IR as text (`llvm`, `builder`), and elementwise arithmetic on vectors (`instructions`)
    ir/          the loop IR
    lowering/    tile IR to the loop IR, one function per operation
    codegen/     the loop IR to LLVM IR, one function per statement and store
    matmul/      matmuls through all of that; its functions are in the tables of `lowering` and `codegen`
    sanitizer/   checks of sanitized code through all of that, up to the findings (`report`)
    engine       what the choice of an engine sees; `pipeline`: a kernel to LLVM IR; `code`: its compiled versions;
                 `kernel`: how a launch goes

Imports point one way: a folder imports those to its left; `lowering` and `codegen` know nothing of each other.  Only
`matmul` and `sanitizer` import and are imported by `ir`, `lowering` and `codegen`, module by module.

    vector <- runtime <- ir <- {lowering, codegen, matmul, sanitizer}
           <- {pipeline, code, kernel, engine}

Three decisions explain most of the rest:

1. Arithmetic is not written again.  `vector.tracing` runs the NumPy functions that the interpreter uses on symbolic
   values and emits each as an instruction, so that both engines compute the same bits.
2. An access is checked.  Where a whole launch, a view or a tile is proven to lie in its array, that is checked once
   (`codegen.bounds`); other code checks each element, and fails with the interpreter's error.
3. What only the launch can know has two versions of the code: arrays apart and arrays that share memory, large results
   with non-temporal stores and small ones, whole tiles and tiles over an edge.
"""
