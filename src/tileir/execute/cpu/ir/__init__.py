"""The loop IR of the CPU backend: what `lowering` writes, `codegen` reads and `--dump loops` prints.

Begin with `expressions` (what is computed) and `statements` (when, and where results go).  `scratch_layout` and
`memory_hints` decide about a whole program: where buffers lie, which stores are non-temporal, what is prefetched.
`printer` writes a program as text.  `checks` are the errors of compiled code, `options` the options of a version.
"""
