"""The threads of a launch: how many, and how they share it.

A launch is one call of the kernel's worker per thread; each takes tile blocks until none is left (`launch_record`).
The calling thread takes part, beside workers of the pool (`thread_pool`).  A launch too short for a second thread to be
worth waking stays on the calling thread.

Python runs signal handlers on the main thread and between its own instructions only, so a native call there would hold
up Ctrl-C.  The main thread therefore works in slices of some milliseconds.  A slice is one chunk of tile blocks at
least, and how long that takes is not known where loops may run longer than they did (`trip_counts`): such a launch is
left to workers while the main thread waits, as is one that calls back into Python, as no exception gets through native
code.  An interrupt lets every worker finish the tile block at hand or the iteration of its loop, and is then raised.
A launch that a signal handler forked in the middle of fails in the child.
"""

from __future__ import annotations

import _thread
import os
import sys
from collections.abc import Callable
from math import isqrt
from time import perf_counter_ns
from typing import Any, Final

from tileir.execute.arguments.binding import MOST_THREADS
from tileir.execute.cpu.runtime import scratch, target
from tileir.execute.cpu.runtime.launch_record import (
    BUDGET,
    CACHED,
    CHUNK,
    COUNT,
    FAILED,
    PAUSED,
    RANGE_COUNT,
    STOP,
    PoolWords,
    Record,
)
from tileir.execute.cpu.runtime.loader import Loaded
from tileir.execute.cpu.runtime.scratch import Arena, Scratch, arena_of, numbers, spare
from tileir.execute.cpu.runtime.thread_pool import FIRST, TIMEOUT, Pool, is_main_thread, pool
from tileir.execute.errors import LaunchError
from tileir.processors import memory_nodes, processors

VARIABLE: Final = "TILEIR_NUM_THREADS"

SLICE: Final = 20_000_000
"""Nanoseconds that a native call may hold up the main thread."""
WORTH_WAKING: Final = 12_000 if sys.platform == "linux" else 30_000
"""Nanoseconds of work below which a launch stays on one thread; less where workers need no Python to begin."""
WORTH_SLICING: Final = 30_000
"""Nanoseconds of work below which a launch on one thread goes the shortest way."""
_SHORT: Final = 1_000_000
"""Nanoseconds of work below which a launch is not made in slices, even if it takes twenty times as long."""
_SHARE: Final = 800
"""Nanoseconds that each further thread costs."""
_WAKING: Final = 1_500
"""Nanoseconds that it takes to wake a thread which is asleep."""
_MEASURABLE: Final = 1_000_000
"""Nanoseconds below which a launch on several threads says more about waking them than about the kernel."""


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


def worth_sharing(expected: int, threads: int) -> int:
    """How many of several threads are to share a launch that is expected to take so many nanoseconds; 0: not known."""
    if not 0 < expected < _SHARE * threads * threads:
        return threads
    # Where the work of one and what the others cost are least together, as a power of two: tile blocks stay where they
    # are when the next launch is a little shorter.
    return min(threads, max(2, 1 << (expected // _SHARE).bit_length() // 2))


def worth_waking(expected: int) -> int:
    """How many sleepers a launch is to wake: with n of them it takes about expected / n + n `_WAKING`."""
    return isqrt(expected // _WAKING) if expected else MOST_THREADS


def run(
    function: Loaded, record: Record, arena_bytes: int, threads: int, keep: object = None, calls_back: bool = False
) -> None:
    """Run all tile blocks of a record; `keep` is what must stay alive as long as native code runs.

    An exception out of this, an interrupt above all, leaves the record to whoever still uses it: do not use it again.
    """
    slots = record.slots
    count = slots[COUNT]
    expected = function.ns_per_block * count
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
        is_left = is_main_thread() and (calls_back or not is_known or not 0 < expected < SLICE)
    if threads > 1 and not 0 < expected < WORTH_WAKING:
        threads = worth_sharing(expected, threads)
    elif is_left:
        threads = 1
    else:
        threads = 0
    if not threads or not _run_shared(function, record, arena_bytes, threads, keep, is_left):
        run_here(function, record, arena_bytes, is_known)


def run_here(function: Loaded, record: Record, arena_bytes: int, is_known: bool) -> None:
    """Run on the calling thread; `is_known` if the last launch tells how long this one takes."""
    slots = record.slots
    count = slots[COUNT]
    arena = arena_of(arena_bytes)
    arena.words[0] = next(numbers)
    begin = perf_counter_ns()
    _run_own(function, record, arena, count == 1 or _is_short(function, count, 1))
    elapsed = perf_counter_ns() - begin
    spare.append(arena)
    # A launch that did not reach its end says nothing about the next.
    if slots[STOP] or slots[FAILED]:
        return
    if is_known:
        function.ns_per_block = elapsed // count or 1
    else:
        function.measured(slots, elapsed // count or 1)


def run_short(function: Loaded, record: Record, arena_bytes: int, count: int) -> int:
    """Run what is over before another thread could help, with few steps; returns what `FAILED` is."""
    arena = arena_of(arena_bytes)
    arena.words[0] = next(numbers)
    begin = perf_counter_ns()
    function.call(record.address, arena.address)
    elapsed = perf_counter_ns() - begin
    spare.append(arena)
    failed: int = record.slots[FAILED]
    if not failed:
        function.ns_per_block = elapsed // count or 1
    return failed


def _is_short(function: Loaded, count: int, threads: int) -> bool:
    """Whether a launch is over soon on so many threads, even if a tile block takes much longer than it did."""
    # 1 stands for a time that was not measured.
    return function.ns_per_block > 1 and function.ns_per_block * count < _SHORT * threads


def _run_own(function: Loaded, record: Record, arena: Arena, is_short: bool) -> None:
    """Run tile blocks on the calling thread; in slices on the main thread."""
    if is_short or not is_main_thread():
        function.call(record.address, arena.address)
    else:
        slices = _Slices(arena)
        while slices.has_next() and not record.slots[STOP]:
            function.call(record.address, arena.address)
        arena.words[BUDGET] = 0


class _Slices:
    """Slices of what the main thread does, measured in chunks of tile blocks."""

    __slots__ = ("_begin", "_budget", "_words")

    def __init__(self, arena: Arena) -> None:
        self._words: Any = arena.words
        # Those without a limit count down from zero.
        self._words[BUDGET] = 0
        self._budget: int = 0
        self._begin: int = 0

    def has_next(self) -> bool:
        """Begin the next slice, unless something is left of the last one: then there are no tile blocks any more."""
        now = perf_counter_ns()
        if self._words[BUDGET]:
            return False
        # One chunk first, however fast the last launch was: how long it takes may depend on the arguments.
        if 2 * (now - self._begin) < SLICE or not self._budget:
            self._budget = 2 * self._budget or 1
        self._words[BUDGET] = self._budget
        self._begin = now
        return True


_FORKED: Final = "a process made by a fork in the middle of a launch cannot go on with it"


def _run_shared(function: Loaded, record: Record, arena_bytes: int, threads: int, keep: object, is_left: bool) -> bool:
    """Run on several threads, with `is_left` all of them workers; False if no worker is to be had."""
    slots = record.slots
    if not function.ns_per_block and memory_nodes() == 1:
        # No memory is in any thread's cache yet, and of several tile blocks that fail one of the first is reported.
        # Where processors have memory of their own, it lies with who touches it first: with who uses it from then on.
        slots[RANGE_COUNT] = -1
    slots[CACHED] = target.cached_bytes(threads)
    elapsed = 0
    if pool().is_native:
        elapsed = _run_natively(function, record, arena_bytes, threads - (not is_left), is_left)
    if not elapsed and (is_left or not pool().is_native):
        elapsed = _run_jobs(function, record, arena_bytes, threads - (not is_left), keep, is_left)
    if not elapsed:
        return False
    if slots[STOP] or slots[FAILED]:
        return True
    count, pace = slots[COUNT], function.ns_per_block
    # The first launch starts threads and touches memory for the first time: measured alone the next time.
    measured = max(elapsed * threads // count, 1) if pace or elapsed > _MEASURABLE else 1
    # Of a short launch more than half may be waiting: a tile block took this long at most.
    function.measured(slots, measured if elapsed > _MEASURABLE or not pace else min(measured, pace))
    return True


def _run_natively(function: Loaded, record: Record, arena_bytes: int, wanted: int, is_left: bool) -> int:
    """Run in native code; how many nanoseconds it took, 0 if another launch has the pool or there are no workers."""
    threads = pool()
    taken: list[None] = []
    interrupt: BaseException | None = None
    elapsed = 0
    has_begun = is_over = False
    while True:
        try:
            if not has_begun:
                has_begun = True
                try:
                    # One call: an interrupt finds the token in one list or the other.
                    taken.extend(map(threads.token.pop, FIRST))
                except IndexError:
                    return 0
                workers = min(threads.grow(wanted), wanted)
                if workers:
                    elapsed = _launch(threads, function, record, arena_bytes, workers, is_left)
                is_over = True
            # After an interrupt, too, and one that comes while this is done changes nothing.
            if taken:
                while not is_over and not threads.is_abandoned and threads.finish():
                    pass
                is_over = True
                threads.token.extend(map(taken.pop, FIRST))
            break
        except BaseException as error:
            record.slots[STOP] = 1
            if taken:
                threads.words[PoolWords.LEFT] = 0
            interrupt = error
    if interrupt is not None:
        raise interrupt
    if threads.is_abandoned:
        raise LaunchError(_FORKED)
    return elapsed


def _launch(threads: Pool, function: Loaded, record: Record, arena_bytes: int, workers: int, is_left: bool) -> int:
    threads.reserve(workers, arena_bytes)
    expected = function.ns_per_block * record.slots[COUNT]
    # Who is not woken has its tile blocks taken by others; one has to be there to do so.
    wakes = workers if is_left else worth_waking(expected)
    begin = perf_counter_ns()
    if is_left:
        state = threads.launch(function, record, workers, None, wakes)
    else:
        arena = arena_of(arena_bytes)
        if _is_short(function, record.slots[COUNT], workers) or not is_main_thread():
            state = threads.launch(function, record, workers, arena, wakes)
        else:
            slices = _Slices(arena)
            slices.has_next()
            state = threads.launch(function, record, workers, arena, wakes)
            # Python looks for signals in between; a handler may fork, and there are no workers in the child.
            while slices.has_next() and state == PAUSED and not (threads.is_abandoned or record.slots[STOP]):
                state = threads.resume(arena)
            arena.words[BUDGET] = 0
        spare.append(arena)
    while state and not threads.is_abandoned:
        state = threads.finish()
    return perf_counter_ns() - begin or 1


# --- launches by way of Python ---


class _Share:
    """A launch as workers in Python see it; refers to all the memory that native code works in."""

    __slots__ = ("_arena_bytes", "_call", "_done", "_keep", "_record", "_workers", "errors", "finished")

    def __init__(self, function: Loaded, record: Record, arena_bytes: int, workers: int, keep: object) -> None:
        self._call: Callable[[int, int], int] = function.call
        self._record: Record = record
        self._arena_bytes: int = arena_bytes
        self._workers: int = workers
        self._keep: object = (function, keep)
        self._done: _thread.LockType = _thread.allocate_lock()
        self._done.acquire()
        self.finished: list[None] = []
        self.errors: list[BaseException] = []

    def work(self, memory: Scratch) -> None:
        try:
            self._call(self._record.address, memory.for_launch(self._arena_bytes, next(numbers)))
        except BaseException as error:
            self.errors.append(error)
        self.finished.append(None)
        if len(self.finished) == self._workers:
            try:
                self._done.release()
            except RuntimeError:
                # Two workers saw the last one finish.
                pass

    def wait(self, threads: Pool) -> None:
        """Wait for all workers; an interrupt stops them and is raised afterwards."""
        interrupt: BaseException | None = None
        while len(self.finished) < self._workers and not threads.is_abandoned:
            try:
                self._done.acquire(True, TIMEOUT / 1e9)
            except BaseException as error:
                self._record.slots[STOP] = 1
                interrupt = error
        if interrupt is not None:
            raise interrupt
        if threads.is_abandoned:
            raise LaunchError(_FORKED)


def _run_jobs(function: Loaded, record: Record, arena_bytes: int, wanted: int, keep: object, is_left: bool) -> int:
    """Run by jobs for workers in Python; how many nanoseconds it took, 0 if there are no workers."""
    threads = pool()
    workers = min(threads.grow(wanted), wanted)
    if not workers:
        return 0
    share = _Share(function, record, arena_bytes, workers, keep)
    started: list[object] = []
    begin = perf_counter_ns()
    try:
        threads.submit([share.work] * workers, started)
        if not is_left:
            arena = arena_of(arena_bytes)
            arena.words[0] = next(numbers)
            _run_own(function, record, arena, _is_short(function, record.slots[COUNT], workers))
            spare.append(arena)
        share.wait(threads)
    except BaseException:
        record.slots[STOP] = 1
        if started:
            share.wait(threads)
        raise
    if share.errors:
        raise share.errors[0]
    return perf_counter_ns() - begin or 1
