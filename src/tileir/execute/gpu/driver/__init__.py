"""The CUDA driver: `library.py` loads libcuda when it is first needed and calls it, `devices.py` has GPUs and memory.

Nothing is loaded by importing these, and a process that never launches on a GPU never loads libcuda.
"""
