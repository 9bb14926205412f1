"""An emulated CUDA device: torch, CuPy and cuTile's calls from JAX work as if there were a GPU, in main memory.

Functions of these libraries are replaced once, and act only within contexts of `tileir.emulate`.  `installation` lists
what is replaced, `device` is the heart of torch's part: begin there.  `cupy_modules` and `cupy_cuda` are CuPy's
interface over NumPy, `jax_calls` runs `cuda.tile.jax.cutile_call`.
"""
