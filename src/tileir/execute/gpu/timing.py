"""How long launches take on a GPU, by its own clock: CUDA events before and after each.

All launches are under way before the first is looked at, so that the host is not waited for.  Between two launches the
level-2 cache is emptied, if that is asked for, by writing to as much memory as it holds twice over.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from contextlib import ExitStack
from typing import Final

from tileir.execute.gpu.driver.devices import Device
from tileir.execute.gpu.driver.library import Driver, driver
from tileir.execute.gpu.driver.memory import DeviceMemory

_L2_CACHE: Final = 38
_WITH_TIMING: Final = 0
_ATTEMPT: Final = "timing a launch"


def event_times(
    launch: Callable[[], None],
    stream: int,
    place: Device,
    repeat: int | None,
    flush_cache: bool,
    enough: Callable[[float], int],
) -> list[float]:
    """Seconds of each launch, after two that do not count; the context of the GPU is current.

    `enough` says how many launches of some length to make where `repeat` does not.
    """
    of = driver()
    with ExitStack() as stack:
        flush = _flusher(of, stack, place, stream) if flush_cache else None
        launch()
        (first,) = _measured(of, launch, stream, 1, flush)
        return _measured(of, launch, stream, enough(first) if repeat is None else repeat, flush)


def _flusher(of: Driver, stack: ExitStack, place: Device, stream: int) -> Callable[[], None]:
    memory = stack.enter_context(DeviceMemory(2 * max(place.attribute(_L2_CACHE), 1 << 20)))

    def flush() -> None:
        of.call("cuMemsetD8Async", "emptying the cache of the GPU", memory.address, 0, memory.size, stream)

    return flush


def _measured(
    of: Driver, launch: Callable[[], None], stream: int, count: int, flush: Callable[[], None] | None
) -> list[float]:
    events: list[int] = []
    try:
        for _ in range(2 * count):
            events.append(of.handle("cuEventCreate", _ATTEMPT, _WITH_TIMING))
        for begin, end in zip(events[::2], events[1::2], strict=True):
            if flush is not None:
                flush()
            of.call("cuEventRecord", _ATTEMPT, begin, stream)
            launch()
            of.call("cuEventRecord", _ATTEMPT, end, stream)
        of.call("cuEventSynchronize", _ATTEMPT, events[-1])
        return [_seconds(of, begin, end) for begin, end in zip(events[::2], events[1::2], strict=True)]
    finally:
        for event in events:
            of.function("cuEventDestroy_v2")(event)


def _seconds(of: Driver, begin: int, end: int) -> float:
    milliseconds = ctypes.c_float()
    of.call("cuEventElapsedTime", _ATTEMPT, ctypes.byref(milliseconds), begin, end)
    return milliseconds.value / 1e3
