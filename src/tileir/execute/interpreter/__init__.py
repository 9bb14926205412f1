"""The reference interpreter: what every program computes, on NumPy.  It is written to be read, not to be fast.

engine.py        the engine, as `tileir.compile` sees it
kernel.py        a kernel and its launches, how each operation is run; calls an observer: begin here
frame.py         the values of a tile block that runs
kernels.py       elementwise operations and matmuls, on `tileir.execute.arithmetic`; shapes, offsets, the grid, globals
control_flow.py  branches, loops, `assert`, `reduce` and `scan`
pointers.py      memory through pointers: loads, stores, atomics, `alloca`
views.py         memory through views
printing.py      `print_tko`
"""
