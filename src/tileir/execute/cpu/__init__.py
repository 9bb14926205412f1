"""The CPU engine: tile programs compiled to native code with LLVM.

A kernel goes through three forms:

    tile IR     -> lowering/   loops in which every tile value has one place (scalar, index map, fused, buffer)
    loop form   -> emission/   LLVM IR text: with vector/ for arithmetic, matrix/ for products, checking/ for checks
    LLVM IR     -> native/     machine code through llvmlite, kept in a cache on disk, run by threads

Arithmetic is not written again: `vector.tracing` runs the kernels of `tileir.execute.arithmetic`, which the interpreter
uses, on symbolic values and emits each NumPy operation as an LLVM instruction, so both engines compute the same bits.
"""
