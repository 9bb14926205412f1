"""The way from a caller's values to the arguments of a kernel.

binding.py        checks values against a kernel's parameters; begin here
array_memory.py   where the memory of an array is: NumPy, array interface, DLPack, buffers
argument_text.py  grids and arguments as `tileir run` takes them, `4,1`, `rand:f32:64x64:7`; launches stated in comments
"""
