"""Kernels in CUDA Tile C++: NVIDIA's NVRTC compiles a .cu file to bytecode, without a GPU."""
