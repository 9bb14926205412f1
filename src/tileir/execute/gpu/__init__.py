"""What engines for NVIDIA GPUs share, and one package for each of them.

targets.py           the GPUs there is code for: their names, and what a device of some compute capability runs
cubin.py             compiled kernels: what the driver loads, read for their target, parameters and resources
nvidia_packages.py   where NVIDIA's tools are
command.py           their processes, with limits for time and memory
reproducers.py       what is kept of a crash of one of them
spilling.py          what is said of kernels that run out of registers
key_locks.py         threads that want the same code wait for the first of them
disassembly.py       the instructions of a cubin, to read
driver/              the CUDA driver: libcuda, devices, contexts, kernels, memory
arrays.py            arrays of torch, CuPy and others in the memory of a GPU, without copies
streams.py           the stream that a launch goes to
direct.py            launches of arguments that were looked at before, as those of cuTile's kernels are
timing.py            how long launches take, by CUDA events
gpus.py              the GPUs by name: what their drivers report
peaks.py             what they can do at most
packing.py           the arguments of a launch as the driver takes them, prebuilt
launched_code.py     the codes of a kernel, and what tells which one a launch gets
usual_launches.py    launches with arguments of the usual kinds, by a function written for the kernel
launching.py         kernels on a GPU and their launches
kernel_code.py       the cubin of a kernel and its resources, without a launch
tileiras/            the engine that has NVIDIA's assembler make cubins
"""
