"""The CPU engine: tile programs compiled to native code with LLVM.

A kernel goes through three forms:

    tile IR      the program, optimized by passes that keep every bit of its results
    loop form    statements in order; a `Nest` goes once through the elements of a shape, computes expressions and
                 feeds them to sinks (memory, a buffer of scratch memory, a register).  A tile value is a scalar, an
                 expression that is computed wherever it is wanted, or a buffer
    LLVM IR      text; one function, the worker, which every thread runs and which takes tile blocks until none is left

Facts about tile IR that any engine may want are in `execute/analysis`.  The folders, each with the files to read first:

    runtime/     compiled code: `target` (the processor), `llvm_compile` (LLVM IR to an object), `loader`,
                 `launch_record` (memory that Python and native code share), `binder` (arguments into a record),
                 `parallel_launch` and `thread_pool`, `overlap` (several launches at once)
    vector/      LLVM IR as text (`llvm`; `builder`: branches and loops), and elementwise arithmetic on vectors
                 (`instructions`)
    loops/       the loop form: `expressions`, `sinks`, `statements`; what is decided once a whole program is in that
                 form: places in scratch memory (`arena`), memory `traffic`; `printer`
    lowering/    tile IR to the loop form: one function per operation (`roster`), which take a `context`; what is
                 computed together (`fusion`); `carried_pointers` rewrites tile IR before
    emission/    the loop form to LLVM IR: one function per statement and sink, which take a `context`; `entry` is the
                 function around them
    matmul/      matmuls through all of that, from the operation (`mma`) to the kernel (`macrokernel`); its
                 functions are in the tables of lowering and emission
    engine       what the choice of an engine sees; `pipeline`: a kernel to LLVM IR, through all of the above; `code`:
                 its compiled versions; `kernel`: how a launch goes; `findings`: what sanitized code finds

Imports point one way: a folder imports those to its left; lowering and emission know nothing of each other.  Only
`matmul` imports and is imported by `loops`, `lowering` and `emission`, module by module.

    vector <- runtime <- loops <- {lowering, emission, matmul}
           <- {pipeline, code, kernel, findings, engine}

Three decisions explain most of the rest:

1. Arithmetic is not written again.  `vector.tracing` runs the NumPy functions that the interpreter uses on symbolic
   values and emits each as an instruction, so that both engines compute the same bits.
2. An access is checked.  Where a whole launch, a view or a tile is seen to lie in its array, that is checked once
   (`emission.bounds`); code for what is left over checks each element, and fails with the interpreter's error.
3. What can be known only at the launch has two versions of the code: arrays apart and arrays that share memory, large
   results that pass the caches by and small ones, whole tiles and tiles over an edge.
"""
