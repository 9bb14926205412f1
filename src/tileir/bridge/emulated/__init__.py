"""An emulated CUDA device: torch and CuPy work as if there were a GPU, in main memory.

Functions of these libraries are replaced once, and act only within contexts of `tileir.emulate`.  `installation` lists
what is replaced, `device` is the heart of torch's part: begin there.  `cupy_modules` is CuPy's interface over NumPy.
"""
