"""More memory than there is: what torch raises for a device, in its words."""

from __future__ import annotations

import math
import re
from typing import Any, Final

import torch

from tileir.bridge.contexts import active
from tileir.execute.memory import available_memory

_LITTLE: Final = 1 << 30
"""Bytes that nobody has to look for."""
_OF_THE_HOST: Final = re.compile(r"DefaultCPUAllocator: (not enough|can't allocate) memory")
"""What torch says of the memory of the host: it depends on how it was built."""


def check_exhausted(error: RuntimeError) -> None:
    """Where an operation on a pretended device found no memory, raise what torch raises for a real one."""
    if _OF_THE_HOST.search(str(error)):
        found = re.search(r"(\d+) bytes", str(error))
        wanted = f" Tried to allocate {int(found.group(1)) / _LITTLE:.2f} GiB." if found else ""
        raise torch.OutOfMemoryError(f"CUDA out of memory.{wanted}") from None


def check_memory(size: Any, dtype: Any) -> None:
    """Refuse a tensor that is larger than the memory of the GPU, or than what this machine has left.

    The system gives out memory that it does not have, and ends processes that use it.
    """
    try:
        count = math.prod(size)
    except TypeError:
        return
    if not isinstance(count, int) or count < _LITTLE // 16:
        return
    wanted = count * (torch.get_default_dtype() if dtype is None else dtype).itemsize
    context = active()
    if context is None or wanted < _LITTLE:
        return
    total, free = context.gpu.memory, available_memory()
    if wanted > total or wanted > free:
        raise torch.OutOfMemoryError(
            f"CUDA out of memory. Tried to allocate {wanted / _LITTLE:.2f} GiB. GPU 0 has a total capacity of "
            f"{total / _LITTLE:.2f} GiB, in the main memory of this machine, of which {free / _LITTLE:.2f} GiB is free."
        )
