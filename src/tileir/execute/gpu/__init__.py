"""What engines for NVIDIA GPUs share, and a package for each of them; begin with `launcher.py`.

engines.py        the engines as the choice of one sees them; engine_choice.py: the faster one; errors.py: errors
targets.py        the GPUs there is code for; gpus.py: GPUs by name, with their peak rates
cubin.py          compiled kernels: what the driver loads; cache.py: what the cache keeps of them
reproducer.py     files that reproduce a crash; nvidia_tools.py: where NVIDIA's tools are, the disassembler
driver/           the CUDA driver: libcuda, devices, contexts, memory
arrays.py         arrays in the memory of a GPU, copies of those on the host, and the stream of a launch
launch_record.py  the arguments of a launch as the driver takes them; loaded_code.py: code that the driver has loaded
launcher.py       kernels and their launches; short_launches.py: short ways to launch
output.py         what kernels print, and asserts that fail; timing.py: how long launches take
tileiras/         the engine that has NVIDIA's assembler make cubins
triton/           the engine that has Triton make them
"""
