"""Launches of code of Triton: `kernel.py` has kernels, with a code for each kind of launches.

hidden_parameters.py  what code takes beside the arguments of a kernel: descriptors for TMA, addresses
device_memory.py      memory that kernels have beside their arrays: globals, tables, scratch, prints and failed asserts
"""
