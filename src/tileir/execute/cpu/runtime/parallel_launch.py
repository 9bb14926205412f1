"""The threads of a launch: how many, and how they share it.

A launch is one call of the kernel's worker per thread; each takes tile blocks until none is left (`launch_record`).
The calling thread runs tile blocks too, beside workers of the pool (`thread_pool`); a short launch has no workers.

Python runs signal handlers on the main thread between its own instructions only, so a native call there would hold up
Ctrl-C.  The main thread therefore works in slices of some milliseconds, one chunk of tile blocks at least.  A launch
whose loops may run longer than they did (`trip_counts`) is left to workers while the main thread waits.  So is one that
calls back into Python, as no exception gets through native code.  An interrupt lets every worker finish its tile block
or the iteration of its loop, and is then raised.  A launch that a signal handler forked in the middle of fails in the
child.
"""

from __future__ import annotations

import _thread
import os
import sys
from collections.abc import Callable
from functools import partial
from math import isqrt
from time import perf_counter_ns
from typing import Any, Final

from tileir.execute.arguments.binding import MOST_THREADS
from tileir.execute.cpu.runtime import launch_record, target, thread_pool
from tileir.execute.cpu.runtime.launch_record import BUDGET, CACHED, CHUNK, COUNT, FAILED, STOP, TAIL, Record
from tileir.execute.cpu.runtime.loader import Loaded
from tileir.execute.cpu.runtime.thread_pool import FIRST, Scratch, is_main_thread, pool, spare, take_scratch
from tileir.execute.errors import BlockId, LaunchError
from tileir.processors import memory_nodes, processors

VARIABLE: Final = "TILEIR_THREADS"

SLICE: Final = 20_000_000  # Nanoseconds that a native call may hold up the main thread.
WORTH_WAKING: Final = 12_000 if sys.platform == "linux" else 30_000  # Nanoseconds; workers on Linux need no Python
WORTH_SLICING: Final = 30_000  # Nanoseconds of work below which a launch on one thread goes the shortest way.
_SHORT: Final = 1_000_000  # Nanoseconds; no slices below this, even if it takes twenty times as long
_SHARE: Final = 800  # Nanoseconds that each further thread costs.
_WAKING: Final = 1_500  # Nanoseconds that it takes to wake a thread which is asleep.
_MEASURABLE: Final = 1_000_000  # Nanoseconds; shorter launches on several threads measure waking


def default_threads() -> int:
    """The default number of threads of a launch: TILEIR_THREADS, or the processors this process may use."""
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


def chunk_for(grid: BlockId, threads: int) -> int:
    """How many tile blocks a thread takes at a time."""
    count = grid[0] * grid[1] * grid[2]
    return min(count // (8 * threads), 64) or 1 if count > threads else 1


def run(
    function: Loaded, record: Record, scratch_bytes: int, threads: int, keep: object = None, calls_back: bool = False
) -> None:
    """Run all tile blocks of a record; `keep` must live as long as native code runs.  After an exception do not use the
    record again: workers may still use it."""
    slots = record.slots
    count = slots[COUNT]
    expected = function.ns_per_block * count
    is_short = 0 < expected < WORTH_WAKING
    if is_short and not (function.repeats or calls_back):
        # The order of these tests matters for the shortest launches.
        run_short(function, record, scratch_bytes, count)
        return
    # No signal handler may be needed here before the launch is over, nor run inside of it.
    is_predictable = not function.repeats or (0 < expected < SLICE and function.takes_as_long(slots))
    is_left = is_main_thread() and (calls_back or not is_predictable)
    threads = min(thread_pool.affordable(scratch_bytes, threads), -(-count // slots[CHUNK]))
    if threads > 1 and not is_short:
        threads = worth_sharing(expected, threads)
    else:
        threads = int(is_left)
    if not threads or not _run_shared(function, record, scratch_bytes, threads, keep, is_left):
        memory = take_scratch(scratch_bytes)
        begin = perf_counter_ns()
        _run_own(function, record, memory, 1)
        _measure(function, record, perf_counter_ns() - begin)
        spare.append(memory)


def run_short(function: Loaded, record: Record, scratch_bytes: int, count: int) -> int:
    """Run what is over before another thread could help, with few steps; returns what `FAILED` is."""
    memory = take_scratch(scratch_bytes)
    begin = perf_counter_ns()
    function.call(record.address, memory.address)
    elapsed = perf_counter_ns() - begin
    spare.append(memory)
    failed: int = record.slots[FAILED]
    if not failed:
        function.ns_per_block = elapsed // count or 1
    return failed


def _measure(function: Loaded, record: Record, elapsed: int) -> None:
    """Record how long a tile block takes; an unfinished launch is no measurement."""
    if not record.slots[STOP] and not record.slots[FAILED]:
        function.measured(record.slots, elapsed // record.slots[COUNT] or 1)


def _is_soon_over(function: Loaded, record: Record, threads: int) -> bool:
    """Whether a launch needs no slices on the calling thread, even if a tile block takes much longer than it did."""
    # 1 stands for a time that was not measured.
    expected = function.ns_per_block * record.slots[COUNT] if function.ns_per_block > 1 else _SHORT * threads
    return expected < _SHORT * threads or record.slots[COUNT] == 1 or not is_main_thread()


def _run_own(function: Loaded, record: Record, memory: Scratch, threads: int) -> None:
    """Run tile blocks on the calling thread; in slices on the main thread, measured in chunks of tile blocks."""
    words = memory.words
    words[BUDGET] = budget = begin = 0
    if _is_soon_over(function, record, threads):
        function.call(record.address, memory.address)
        return
    # A slice that is not used up means that there are no more tile blocks.
    while not words[BUDGET] and not record.slots[STOP]:
        now = perf_counter_ns()
        # One chunk first, however fast the last launch was: how long it takes may depend on the arguments.
        if 2 * (now - begin) < SLICE or not budget:
            budget = 2 * budget or 1
        words[BUDGET], begin = budget, now
        function.call(record.address, memory.address)
    words[BUDGET] = 0


_FORKED: Final = "a process made by a fork in the middle of a launch cannot go on with it"


def _run_shared(
    function: Loaded, record: Record, scratch_bytes: int, threads: int, keep: object, is_left: bool
) -> bool:
    """Run on several threads, with `is_left` all of them workers; False if no worker is available."""
    slots = record.slots
    if not function.ns_per_block and memory_nodes() == 1:
        # No memory is in any thread's cache yet, and of several tile blocks that fail one of the first is reported.
        # On NUMA machines, memory lies at the processor that touches it first: at the one that uses it from then on.
        slots[launch_record.RANGE_COUNT] = -1
    slots[CACHED] = target.cached_bytes(threads)
    slots[TAIL] = slots[CHUNK] * ((threads + 1) // 2)
    workers = threads - (not is_left)
    elapsed = 0
    if pool().is_native:
        elapsed = _run_natively(function, record, scratch_bytes, workers, is_left)
    if not elapsed and (is_left or not pool().is_native):
        elapsed = _run_jobs(function, record, scratch_bytes, workers, keep, is_left)
    if not elapsed:
        return False
    before = function.ns_per_block
    # The first launch starts threads and touches memory for the first time: measured alone the next time.
    measured = elapsed * threads if before or elapsed > _MEASURABLE else 1
    # Of a short launch more than half may be waiting: a tile block took this long at most.
    if before and elapsed <= _MEASURABLE:
        measured = min(measured, before * slots[COUNT])
    _measure(function, record, measured)
    return True


def _run_natively(function: Loaded, record: Record, scratch_bytes: int, requested: int, is_left: bool) -> int:
    """Run in native code; how many nanoseconds it took, 0 if another launch has the pool or there are no workers."""
    threads = pool()
    taken: list[None] = []
    interrupt: BaseException | None = None
    begin = elapsed = 0
    state = 1
    has_begun = False
    while True:
        try:
            if not has_begun:
                has_begun = True
                try:
                    # One call: an interrupt finds the token in one list or the other.
                    taken.extend(map(threads.token.pop, FIRST))
                except IndexError:
                    return 0
                workers = min(threads.grow(requested, True), requested)
                if workers:
                    threads.reserve(workers, scratch_bytes)
                    begin, state = _launch(function, record, scratch_bytes, workers, is_left)
            # After an interrupt, too, and one that comes while this is done changes nothing.
            if taken:
                # Python looks for signals in between; a handler may fork, and there are no workers in the child.
                while state and not threads.is_abandoned:
                    state = threads.finish()
                elapsed = perf_counter_ns() - begin if begin else 0
                threads.token.extend(map(taken.pop, FIRST))
            break
        except BaseException as error:
            record.slots[STOP] = 1
            if taken:
                threads.words[launch_record.PoolWords.LEFT] = 0
            interrupt = error
    if interrupt is not None:
        raise interrupt
    if threads.is_abandoned:
        raise LaunchError(_FORKED)
    return elapsed


def _launch(function: Loaded, record: Record, scratch_bytes: int, workers: int, is_left: bool) -> tuple[int, int]:
    """Open a launch, and run a part of it; when that began, and whether it is to be finished."""
    threads = pool()
    if is_left:
        return perf_counter_ns(), threads.launch(function, record, workers, workers, True)
    # Other workers take the tile blocks of a worker that is not woken; so at least one must run.
    wakes = worth_waking(function.ns_per_block * record.slots[COUNT])
    memory = take_scratch(scratch_bytes)
    is_soon_over = _is_soon_over(function, record, workers)
    begin = perf_counter_ns()
    state = threads.launch(function, record, workers, wakes, False, memory.address if is_soon_over else 0)
    if not is_soon_over:
        _run_own(function, record, memory, workers)
    spare.append(memory)
    return begin, state


def _run_jobs(function: Loaded, record: Record, scratch_bytes: int, requested: int, keep: object, is_left: bool) -> int:
    """Run by jobs for workers in Python; how many nanoseconds it took, 0 if there are no workers."""
    threads = pool()
    workers = min(threads.grow(requested, False), requested)
    if not workers:
        return 0
    done = _thread.allocate_lock()
    done.acquire()
    finished: list[BaseException | None] = []
    started: list[None] = []

    def work(_keep: object) -> None:
        try:
            memory = take_scratch(scratch_bytes)
            function.call(record.address, memory.address)
            spare.append(memory)
            finished.append(None)
        except BaseException as error:
            finished.append(error)
        if len(finished) == workers:
            try:
                done.release()
            except RuntimeError:
                # Two workers saw the last one finish.
                pass

    def wait() -> None:
        while started and len(finished) < workers and not threads.is_abandoned:
            done.acquire(True, thread_pool.TIMEOUT / 1e9)

    begin = perf_counter_ns()
    interrupt: BaseException | None = None
    try:
        threads.submit([partial(work, keep)] * workers, started)
        if not is_left:
            memory = take_scratch(scratch_bytes)
            _run_own(function, record, memory, workers)
            spare.append(memory)
        wait()
    except BaseException as error:
        interrupt = error
    while interrupt is not None:
        # Workers stop before it is raised, and another one changes nothing.
        try:
            record.slots[STOP] = 1
            wait()
            break
        except BaseException as error:
            interrupt = error
    if interrupt is not None:
        raise interrupt
    if threads.is_abandoned:
        raise LaunchError(_FORKED)
    for failure in finished:
        if failure is not None:
            raise failure
    return perf_counter_ns() - begin or 1


def tell_progress(slots: Any, count: int, progress: Callable[[int, int], None], run: Callable[[], None]) -> None:
    """Run, and report progress ten times a second from a thread; what `progress` raises is an interrupt."""
    # Locks of the system, which an interrupt does not find half taken.
    over, ended = _thread.allocate_lock(), _thread.allocate_lock()
    over.acquire()
    failures: list[BaseException] = []
    has_left: list[bool] = []

    def report() -> None:
        with ended:
            try:
                while not over.acquire(True, 0.1) and not has_left:
                    progress(min(slots[launch_record.NEXT], count), count)
            except BaseException as error:
                failures.append(error)
                slots[STOP] = 1

    progress(0, count)
    try:
        try:
            _thread.start_new_thread(report, ())
            run()
        finally:
            over.release()
            with ended:
                pass
    finally:
        # An interrupt may have come before the release above: the thread ends when it looks the next time.
        has_left.append(True)
    if failures:
        raise failures[0]
