"""LLVM IR text, and arithmetic on vectors: conversions, traced kernels, fast functions."""
