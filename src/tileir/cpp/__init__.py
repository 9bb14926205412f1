"""Kernels in CUDA Tile C++: NVIDIA's NVRTC compiles a .cu file to bytecode, without a GPU."""

from __future__ import annotations


def is_cpp(path: str) -> bool:
    """Whether a file is a C++ source, by its name."""
    return path.endswith((".cu", ".cuh"))
