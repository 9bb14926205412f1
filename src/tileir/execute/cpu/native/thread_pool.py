"""The threads of a launch: how many, and which.

A launch is one call of the kernel's worker per thread; each takes tile blocks until none is left (`record`).  The
calling thread works too, beside helper threads that stay for the next launch (`sharing`).  A launch too short for a
second thread to be worth waking stays on the calling thread.

Python runs signal handlers on the main thread and between its own instructions only, so a native call there would hold
up Ctrl-C.  The main thread therefore works in slices of some milliseconds.  A slice is one tile block at least, and how
long that takes is not known where loops may run longer than they did (`trip_counts`): such a launch is left to helpers
while the main thread waits, as is one that calls back into Python, as no exception gets through native code.  An
interrupt lets every worker finish the tile block at hand or the iteration of its loop, and is then raised.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from time import perf_counter_ns
from typing import Final

from tileir.execute.arguments import MOST_THREADS
from tileir.execute.cpu.native import scratch
from tileir.execute.cpu.native.loader import Loaded
from tileir.execute.cpu.native.record import CHUNK, COUNT, FAILED, LANES, NEXT, STOP, Record
from tileir.execute.cpu.native.scratch import arena_of, numbers, spare
from tileir.execute.errors import LaunchError
from tileir.execute.releasing import release_with
from tileir.processors import memory_nodes, processors

VARIABLE: Final = "TILEIR_NUM_THREADS"

SLICE: Final = 20_000_000
"""Nanoseconds that a native call may hold up the main thread."""
WORTH_WAKING: Final = 12_000 if sys.platform == "linux" else 30_000
"""Nanoseconds of work below which a launch stays on one thread; less where helpers do not come through Python."""
WORTH_SLICING: Final = 30_000
"""Nanoseconds of work below which a launch on one thread goes the shortest way."""
_SHARE: Final = 800
"""Nanoseconds that each further thread costs: it has to be posted to and waited for."""
_MEASURABLE: Final = 1_000_000
"""Nanoseconds below which a launch on several threads says more about waking them than about the kernel."""
_PROBE: Final = 8
"""The binary logarithm of the part of a launch that is run to see how long the rest will take."""
_FEW: Final = 16
"""Tile blocks that are not worth dividing."""


def default_threads() -> int:
    """How many threads a launch uses that does not say: TILEIR_NUM_THREADS, or the processors this process may use."""
    text = os.environ.get(VARIABLE)
    if not text:
        return processors()
    plain = text.strip()
    number = int(plain) if plain.isascii() and plain.isdecimal() and len(plain) < 20 else 0
    if not 1 <= number <= MOST_THREADS:
        raise LaunchError(f"{VARIABLE} is '{text}': set it to a number of threads, 1 to {MOST_THREADS}")
    return number


def release_memory() -> None:
    """Give scratch memory that no launch uses back to the system."""
    spare.clear()


release_with(release_memory)


_main_thread: int = threading.main_thread().ident or 0


def _forget_threads() -> None:
    """In a process made by a fork, which has one thread: scratch memory may have been in use."""
    global _main_thread
    spare.clear()
    _main_thread = threading.get_ident()
    processors.cache_clear()
    memory_nodes.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)


# --- launches ---


def worth_sharing(expected: int, threads: int) -> int:
    """How many of several threads are to share a launch that is expected to take so many nanoseconds; 0: not known."""
    if not 0 < expected < _SHARE * threads * threads:
        return threads
    # Where the work of one and what the others cost are least together, as a power of two: tile blocks stay where they
    # are when the next launch is a little shorter.
    return min(threads, max(2, 1 << (expected // _SHARE).bit_length() // 2))


def run(
    function: Loaded, record: Record, arena_bytes: int, threads: int, keep: object = None, calls_back: bool = False
) -> None:
    """Run all tile blocks of a record; `keep` is what must stay alive as long as native code runs.

    An exception out of this, an interrupt above all, leaves the record to whoever still uses it: do not use it again.
    """
    slots = record.slots
    count = slots[COUNT]
    expected = function.pace * count
    if 0 < expected < WORTH_WAKING and not (function.repeats or calls_back):
        # The shortest launches, for which it matters what is asked before.
        run_here(function, record, arena_bytes, True)
        return
    if arena_bytes > scratch.LARGE:
        threads = scratch.affordable(arena_bytes, threads)
    if threads > 1:
        threads = min(threads, -(-count // slots[CHUNK]))
    is_left = False
    is_known = not function.repeats
    if not is_known or calls_back:
        is_known = is_known or function.takes_as_long(slots)
        # No signal handler may be needed here before the launch is over, nor run inside of it.
        is_left = threading.get_ident() == _main_thread and (calls_back or not is_known or not 0 < expected < SLICE)
    if threads > 1 and not 0 < expected < WORTH_WAKING:
        if _run_on(worth_sharing(expected, threads), function, record, arena_bytes, keep, is_left):
            return
    elif is_left and _run_on(1, function, record, arena_bytes, keep, True):
        return
    run_here(function, record, arena_bytes, is_known)


def run_here(function: Loaded, record: Record, arena_bytes: int, is_known: bool) -> None:
    """Run on the calling thread; `is_known` if the last launch tells how long this one takes."""
    count = record.slots[COUNT]
    arena = arena_of(arena_bytes)
    arena.tag.value = next(numbers)
    begin = perf_counter_ns()
    is_short = count == 1 or (count <= _FEW and 0 < function.pace * count < SLICE)
    if is_short or threading.get_ident() != _main_thread:
        function.call(record.address, arena.address)
    else:
        _run_sliced(function, record, arena)
    elapsed = perf_counter_ns() - begin
    spare.append(arena)
    slots = record.slots
    # A launch that did not reach its end says nothing about the next.
    if slots[STOP] or slots[FAILED]:
        return
    if is_known:
        function.pace = elapsed // count or 1
    else:
        function.measured(slots, elapsed // count or 1)


def run_short(function: Loaded, record: Record, arena_bytes: int, count: int) -> int:
    """Run what is over before another thread could help, with few steps; gives what `FAILED` says."""
    if count > _FEW:
        run_here(function, record, arena_bytes, True)
        return int(record.slots[FAILED])
    arena = arena_of(arena_bytes)
    arena.tag.value = next(numbers)
    begin = perf_counter_ns()
    function.call(record.address, arena.address)
    elapsed = perf_counter_ns() - begin
    spare.append(arena)
    failed: int = record.slots[FAILED]
    if not failed:
        function.pace = elapsed // count or 1
    return failed


def _run_sliced(function: Loaded, record: Record, arena: scratch.Arena) -> None:
    """Run on the main thread, coming back to Python every now and then."""
    slots = record.slots
    total = slots[COUNT]
    chunk = slots[CHUNK]
    pace = function.pace
    # A small part first, however fast the last launch was: how long a tile block takes may depend on the arguments.
    size = max(1, min(total >> _PROBE, SLICE // pace) // chunk) if pace else 1
    done = 0
    while True:
        limit = min(total, done + size * chunk)
        slots[COUNT] = limit
        begin = perf_counter_ns()
        function.call(record.address, arena.address)
        if limit == total or slots[STOP] or slots[FAILED]:
            break
        elapsed = perf_counter_ns() - begin
        size = max(1, min(size << _PROBE, SLICE * (limit - done) // max(elapsed, 1) // chunk))
        slots[NEXT] = done = limit
    slots[COUNT] = total


_shared: Callable[..., int] | None = None


def _run_on(threads: int, function: Loaded, record: Record, arena_bytes: int, keep: object, is_left: bool) -> bool:
    """Run on several threads, with `is_left` all of them helpers; False if no helper is to be had."""
    global _shared
    if _shared is None:
        # Imported here: a process with small launches needs no helpers.
        from tileir.execute.cpu.native.sharing import run_shared

        _shared = run_shared
    if not function.pace and memory_nodes() == 1:
        # No memory is in any thread's cache yet, and of several tile blocks that fail one of the first is reported.
        # Where processors have memory of their own, it lies with who touches it first: with who uses it from then on.
        record.slots[LANES] = -1
    # Python handles signals on the main thread, which has to come back to it.
    slice = SLICE if threading.get_ident() == _main_thread else 0
    elapsed = _shared(function, record, arena_bytes, threads, keep, is_left, slice)
    if not elapsed:
        return False
    slots = record.slots
    count, pace = slots[COUNT], function.pace
    if slots[STOP] or slots[FAILED]:
        return True
    # The first launch starts threads and touches memory for the first time: measured alone the next time.
    measured = max(elapsed * threads // count, 1) if pace or elapsed > _MEASURABLE else 1
    # Of a short launch more than half may be waiting: a tile block took this long at most.
    function.measured(slots, measured if elapsed > _MEASURABLE or not pace else min(measured, pace))
    return True
