"""How long launches take on a GPU, by CUDA events, and which launches can be made several times.

`event_times` queues all launches of one code before it waits, so the host is not measured.  `measured` times several
codes in turn, so clocks and caches favor none; arrays that are read and written are restored outside of what is timed.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Final, NamedTuple, cast

from tileir.dialect.ops import GET_GLOBAL, INT_TO_PTR
from tileir.execute.analysis.parameters import readers_of, writers_of
from tileir.execute.arguments.binding import BoundArguments
from tileir.execute.gpu.arrays import synchronize
from tileir.execute.gpu.driver.devices import Device, DeviceMemory
from tileir.execute.gpu.driver.library import driver
from tileir.execute.gpu.output import device_output_of
from tileir.execute.launching.timing import enough
from tileir.ir.attributes import SymbolAttribute
from tileir.ir.core import Operation
from tileir.ir.symbols import lookup_symbol, nearest_symbol_table

_L2_CACHE, _WITH_TIMING = 38, 0
_ATTEMPT: Final = "timing a launch"
_BUDGET: Final = 0.02  # Seconds that each code is run for, about.
_LONG: Final = 0.25  # Seconds of a run that need not be made again.
_LEAST, _MOST = 3, 20
_SHARE: Final = 8  # The part of the free memory that copies may take: one in so many.

MemoryRange = tuple[int, int]  # An address, and how many bytes.


class Repeatable(NamedTuple):
    """A kernel whose launches can be made several times: the parameters through which it may write, and read."""

    written: frozenset[int]
    read: frozenset[int]


def repeatable(entry: Operation) -> Repeatable | None:
    """None if effects of launches cannot be undone: prints, asserts, globals, memory reached through numbers."""
    if device_output_of(entry) or writes_globals(entry):
        return None
    parameters = range(len(entry.regions[0].blocks[0].arguments))
    writers = {number: set(writers_of(entry, number)) for number in parameters}
    known = set().union(*writers.values())
    for operation in entry.walk():
        declaration = operation.declaration
        if declaration is INT_TO_PTR or (declaration.writes is not None and operation not in known):
            return None
    read = [number for number in parameters if next(readers_of(entry, number), None) is not None]
    return Repeatable(frozenset([number for number in parameters if writers[number]]), frozenset(read))


def writes_globals(entry: Operation) -> bool:
    """Whether a kernel uses global variables, which each engine has for itself; constants are none."""
    table = nearest_symbol_table(entry)
    uses = [each for each in entry.walk() if each.declaration is GET_GLOBAL]
    names = [cast(SymbolAttribute, each.attribute("name")).path[-1] for each in uses]
    found = [None if table is None else lookup_symbol(table, name) for name in names]
    return any(each is None or not each.constant for each in found)


def event_times(
    launch: Callable[[], None], stream: int, place: Device, repeat: int | None, flush_cache: bool
) -> list[float]:
    """Seconds of each launch, after two that do not count; the context of the GPU is current."""
    with ExitStack() as stack:
        flush: Callable[[], None] | None = None
        if flush_cache:
            memory = stack.enter_context(DeviceMemory(2 * max(place.attribute(_L2_CACHE), 1 << 20)))
            attempt = "emptying the cache of the GPU"
            flush = partial(driver().call, "cuMemsetD8Async", attempt, memory.address, 0, memory.size, stream)
        launch()
        (first,) = _measured(launch, stream, 1, flush)
        return _measured(launch, stream, enough(first) if repeat is None else repeat, flush)


def _measured(launch: Callable[[], None], stream: int, count: int, before: Callable[[], None] | None) -> list[float]:
    of = driver()
    events: list[int] = []
    try:
        for _ in range(2 * count):
            events.append(of.handle("cuEventCreate", _ATTEMPT, _WITH_TIMING))
        for begin, end in zip(events[::2], events[1::2], strict=True):
            if before is not None:
                before()
            of.call("cuEventRecord", _ATTEMPT, begin, stream)
            launch()
            of.call("cuEventRecord", _ATTEMPT, end, stream)
        of.call("cuEventSynchronize", _ATTEMPT, events[-1])
        milliseconds = [ctypes.c_float() for _ in range(count)]
        for found, begin, end in zip(milliseconds, events[::2], events[1::2], strict=True):
            of.call("cuEventElapsedTime", _ATTEMPT, ctypes.byref(found), begin, end)
        return [found.value / 1e3 for found in milliseconds]
    finally:
        for event in events:
            of.function("cuEventDestroy_v2")(event)


def restored(kernel: Repeatable, bound: BoundArguments) -> list[MemoryRange]:
    """The memory that has to be restored between launches with such arguments."""
    ranges = {label.number: (buffer.low, buffer.high) for buffer, label in bound.buffers}
    read = [ranges[number] for number in kernel.read & ranges.keys()]
    written = [ranges[number] for number in sorted(kernel.written & ranges.keys())]
    return [
        (low, high - low)
        for low, high in written
        if low < high and any(start < high and low < end for start, end in read)
    ]


def has_space(ranges: Sequence[MemoryRange]) -> bool:
    """Whether the GPU has the memory for copies."""
    if not ranges:
        return True
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    driver().call("cuMemGetInfo_v2", "reading the size of free memory", ctypes.byref(free), ctypes.byref(total))
    return sum([size for _, size in ranges]) <= free.value // _SHARE


class SavedMemory:
    """Copies of memory that launches write to, which is restored from them, in the order of a stream."""

    def __init__(self, ranges: Sequence[MemoryRange], stream: int, stack: ExitStack) -> None:
        self._stream: Final = stream
        self._copies: Final = [(start, stack.enter_context(DeviceMemory(size)).address, size) for start, size in ranges]
        for start, copy, size in self._copies:
            driver().call("cuMemcpyDtoDAsync_v2", "saving an array", copy, start, size, stream)

    def restore(self) -> None:
        for start, copy, size in self._copies:
            driver().call("cuMemcpyDtoDAsync_v2", "restoring an array", start, copy, size, self._stream)

    def end(self) -> None:
        """Restore the memory a last time, and wait for it: the copies are freed then."""
        self.restore()
        synchronize(self._stream, "restoring an array")


def measured(launches: Sequence[Callable[[], None]], stream: int, ranges: Sequence[MemoryRange]) -> list[float]:
    """Seconds that each launch takes, in the context that is current; what they write is restored at the end."""
    with ExitStack() as stack:
        saved = SavedMemory(ranges, stream, stack)

        def timed() -> list[float]:
            return [_measured(launch, stream, 1, saved.restore)[0] for launch in launches]

        try:
            firsts = timed()
            if max(firsts) >= _LONG:
                return firsts
            count = max(_LEAST, min(_MOST, int(_BUDGET / max(*firsts, 1e-6))))
            rounds = [timed() for _ in range(count)]
            return [sorted(found)[count // 2] for found in zip(*rounds, strict=True)]
        finally:
            saved.end()
