"""A CUDA device that is not there: torch and CuPy behave as if there were one, with its memory in main memory.

Everything is put in its place once and for good, and acts only within contexts of `tileir.emulate`.
"""

from __future__ import annotations

from tileir.bridge.pretended.importing import prepare
from tileir.execute.gpu.gpus import DEFAULT, Gpu, gpu_named


def install(gpu: str = DEFAULT) -> Gpu:
    """Have torch and CuPy, imported before or later, look for contexts; gives the GPU of that name."""
    found = gpu_named(gpu)
    prepare()
    return found
