"""What engines for NVIDIA GPUs share, and one package for each of them.

targets.py   the GPUs there is code for: their names, and what a device of some compute capability runs
cubin.py     compiled kernels: what the driver loads, read for their target, parameters and resources
tileiras/    the engine that has NVIDIA's assembler make cubins
"""
