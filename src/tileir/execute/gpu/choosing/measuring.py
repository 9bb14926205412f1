"""How long the codes of several engines take for a launch, by CUDA events, on the arrays of the launch itself.

They run in turn, so that a clock that falls or a cache that fills is no one's advantage.  Arrays that the kernel reads
and writes are put back before each run, outside of what is timed.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Final

from tileir.execute.arguments.binding import BoundArguments
from tileir.execute.gpu.choosing.repeatable import Repeatable
from tileir.execute.gpu.driver.library import driver
from tileir.execute.gpu.driver.memory import DeviceMemory
from tileir.execute.gpu.streams import synchronize

_BUDGET: Final = 0.02
"""Seconds that each code is run for, about."""
_LONG: Final = 0.25
"""Seconds of a run that need not be made again."""
_LEAST: Final = 3
_MOST: Final = 20
_SHARE: Final = 8
"""The part of the free memory that copies may take: one in so many."""
_WITH_TIMING: Final = 0
_ATTEMPT: Final = "measuring a launch"

Stretch = tuple[int, int]
"""An address, and how many bytes."""


def restored(kernel: Repeatable, bound: BoundArguments) -> list[Stretch]:
    """The memory that has to be put back between launches with such arguments."""
    stretches = {label.number: (buffer.low, buffer.high) for buffer, label in bound.buffers}
    found: list[Stretch] = []
    for number in sorted(kernel.written & stretches.keys()):
        low, high = stretches[number]
        read = [stretches[other] for other in kernel.read & stretches.keys()]
        if low < high and any(start < high and low < end for start, end in read):
            found.append((low, high - low))
    return found


def has_space(stretches: Sequence[Stretch]) -> bool:
    """Whether the GPU has the memory for copies."""
    if not stretches:
        return True
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    driver().call("cuMemGetInfo_v2", "asking for free memory", ctypes.byref(free), ctypes.byref(total))
    return sum([size for _, size in stretches]) <= free.value // _SHARE


def measured(launches: Sequence[Callable[[], None]], stream: int, stretches: Sequence[Stretch]) -> list[float]:
    """Seconds that each launch takes, in the context that is current; what they write is put back at the end."""
    of = driver()
    with ExitStack() as stack:
        copies = [(address, stack.enter_context(DeviceMemory(size)).address, size) for address, size in stretches]
        for address, copy, size in copies:
            of.call("cuMemcpyDtoDAsync_v2", _ATTEMPT, copy, address, size, stream)

        def put_back() -> None:
            for address, copy, size in copies:
                of.call("cuMemcpyDtoDAsync_v2", _ATTEMPT, address, copy, size, stream)

        begin, end = (
            of.handle("cuEventCreate", _ATTEMPT, _WITH_TIMING),
            of.handle("cuEventCreate", _ATTEMPT, _WITH_TIMING),
        )

        def timed(launch: Callable[[], None]) -> float:
            put_back()
            of.call("cuEventRecord", _ATTEMPT, begin, stream)
            launch()
            of.call("cuEventRecord", _ATTEMPT, end, stream)
            of.call("cuEventSynchronize", _ATTEMPT, end)
            milliseconds = ctypes.c_float()
            of.call("cuEventElapsedTime", _ATTEMPT, ctypes.byref(milliseconds), begin, end)
            return milliseconds.value / 1e3

        try:
            firsts = [timed(launch) for launch in launches]
            if max(firsts) >= _LONG:
                return firsts
            times: list[list[float]] = [[] for _ in launches]
            longest = max(max(firsts), 1e-6)
            for _ in range(max(_LEAST, min(_MOST, int(_BUDGET / longest)))):
                for launch, found in zip(launches, times, strict=True):
                    found.append(timed(launch))
            return [sorted(found)[len(found) // 2] for found in times]
        finally:
            for event in (begin, end):
                of.function("cuEventDestroy_v2")(event)
            put_back()
            # The copies are given back when they have been read.
            synchronize(stream, _ATTEMPT)
