"""Compiled programs that launch tile kernels through the CUDA driver, run without a GPU.

`program` starts one with a `libcuda.so.1` and a `tileiras` of tileir before those of the system.  `library` builds that
`libcuda.so.1`: each function of it calls Python, which it starts in the process where there is none.  `driver` is what
the functions do: memory is the host's, and a launch runs the kernel on the CPU before it returns.  `assembler` is
`tileiras`, which writes what `image` reads: the bytecode in an ELF file.
"""
