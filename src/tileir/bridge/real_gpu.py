"""Scripts on a GPU that is there: with an engine for GPUs nothing is pretended."""

from __future__ import annotations

import ctypes
import os
import sys

from tileir.execute.engine.registry import AUTO, find_engine, require


def runs_on_gpu(backend: str) -> bool:
    """Whether the kernels of an engine run on a GPU, of which there must be one then."""
    if backend == AUTO or not find_engine(backend).on_gpu:
        return False
    if not _has_device_files():
        # Said here: without a GPU a script would end in the words of its libraries, before it launches anything.
        require(find_engine(backend))
    return True


def _has_device_files() -> bool:
    """Whether there seems to be a GPU.  The driver is not asked: a process that has asked it cannot be forked for
    others to use it."""
    if sys.platform != "linux" or os.environ.get("TILEIR_LIBCUDA"):
        return True
    return any(os.path.exists(path) for path in ("/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg"))


def has_gpu() -> bool:
    """Whether the CUDA driver finds a device."""
    try:
        driver = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
        count = ctypes.c_int(0)
        return driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0
    except (OSError, AttributeError):
        return False
