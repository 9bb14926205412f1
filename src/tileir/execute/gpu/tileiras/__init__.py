"""The engine that has NVIDIA's assembler, `tileiras`, make code for GPUs.

tool.py          where the assembler is, its version, what it takes
options.py       what is asked of it
messages.py      what it says, as diagnostics at the operations of the program
program.py       kernels as it gets them
refused.py       forms that it refuses, written as others
mistakes.py      forms that it gets wrong, written as others
narrowing.py     which operation it means where it does not say so
errors.py        what is raised where there is no cubin
failures.py      which of them, and with which words
compiling.py     a kernel to a cubin, through the cache
cached.py        cubins that were made before, found without what makes them
kernel.py        kernels that are launched
engine.py        the engine
"""
