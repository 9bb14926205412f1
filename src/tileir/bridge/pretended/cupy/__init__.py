"""CuPy's interface, met with NumPy: the modules that `import cupy` gives where there is no CuPy or no GPU."""
