"""The engine that has NVIDIA's assembler, `tileiras`, make code for GPUs; begin with `assembly.py`.

tool.py         where the assembler is, its version, what it takes, its options
program.py      kernels as it gets them, with forms that it refuses or gets wrong rewritten; what it reports
assembly.py     a kernel to a cubin, through the cache; why there is none, and at which operation
kernel.py       kernels that are launched
"""
