"""Launches of code of Triton.

tensor_maps.py        descriptors for the tensor memory accelerator, made by the driver
own_memory.py         memory of a GPU that kernels have beside their arrays
host_buffers.py       what kernels print, and asserts that fail, read from memory
reports.py            that memory, for each launch
hidden_parameters.py  what code takes beside the arguments of a kernel, of all of the above
kernel.py             kernels, with a code for each kind of launches
ahead.py              code for launches that are made elsewhere
"""
