"""The engine that has NVIDIA's assembler, `tileiras`, make code for GPUs; begin with `compiling.py`.

tool.py         where the assembler is, its version, what it takes, its options
messages.py     what it reports, as diagnostics at the operations of the program
program.py      kernels as it gets them, with forms that it refuses or gets wrong rewritten
failures.py     why there is no cubin, and at which operation
compiling.py    a kernel to a cubin, through the cache
kernel.py       kernels that are launched
"""
