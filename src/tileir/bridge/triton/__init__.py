"""Triton kernels, run by the engines of `execute`: from `@triton.jit` to a launch, without a GPU.

Triton's frontend makes TTIR of a kernel, `tileir.ttir` makes a tile program of that.  In reading order:

frontend.py      a kernel and the types of its arguments to TTIR, kept on disk; what differs between Triton's versions
compilation_errors.py  what Triton's frontend refuses, in the user's lines
arguments.py     the arguments of a launch as the tile program takes them
kernel.py        `TritonKernel`: what Triton's `compile` returns here, and how it is launched
driver.py        the driver that describes the GPU to Triton
recognition.py   launches that are like one before
entry_points.py  Triton's functions that are replaced in a context
resolving.py     the compiled kernel of a launch, for `tileir.launch`, `compile` and `record`
"""
