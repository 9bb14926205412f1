"""The engine that has NVIDIA's assembler, `tileiras`, make code for GPUs.

tool.py          where the assembler is, its version, what it takes
command.py       its process, with limits for time and memory
messages.py      what it says, as diagnostics at the operations of the program
reproducers.py   what is kept of a crash
compiling.py     a kernel of a module to a cubin: bytecode, the assembler, the cache
"""
