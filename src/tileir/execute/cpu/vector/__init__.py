"""LLVM IR as text, and arithmetic on vectors.

module, builder       the text: a module, and a function under construction; `llvm` has registers and types
casting, lanes        conversions between element types, and vectors taken apart and put together
tracing, ufuncs       the interpreter's NumPy functions as instructions; `nans` is what NumPy does with NaNs
instructions          the operations of tile IR on vectors
fast_math             the functions of fast mode
"""
