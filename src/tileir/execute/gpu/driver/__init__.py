"""The CUDA driver: libcuda, its devices and contexts, memory, streams and libraries of kernels.

    library.py    finds and loads libcuda when it is first needed, and calls its functions
    errors.py     what a call that fails becomes: the driver's own words, and what was attempted
    devices.py    the GPUs of this machine, their contexts, and why there is none
    kernels.py    cubins loaded into the driver
    memory.py     memory of a GPU, and copies to it and from it

Nothing here is loaded by importing it, and a process that never launches on a GPU never loads libcuda.
"""
