"""The threads of a launch.

A launch is one call of the kernel's worker per thread; each takes tile blocks until none is left (`record`).  The
calling thread works too, beside helper threads that stay for the next launch.  A launch too short for a second thread
to be worth waking stays on the calling thread.

Python runs signal handlers on the main thread and between its own instructions only, so a native call there would hold
up Ctrl-C.  On the main thread, therefore, a launch on one thread is made in slices of some milliseconds, and a launch
on several is left to helpers while the main thread waits, unless the last one was short.  The last one says nothing
where loops may run longer than they did (`trip_counts`): such a launch is always left to helpers, as is one
that calls back into Python, as no exception gets through native code.  An interrupt lets every worker finish the tile
block at hand or the iteration of its loop, and is then raised.
"""

from __future__ import annotations

import _thread
import itertools
import os
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any, Final

from tileir.execute.arguments import MOST_THREADS
from tileir.execute.cpu.native import scratch
from tileir.execute.cpu.native.record import CHUNK, COUNT, FAILED, NEXT, STOP, Record
from tileir.execute.cpu.native.runtime import Loaded
from tileir.execute.cpu.native.scratch import Scratch, arena_of, spare
from tileir.execute.errors import LaunchError
from tileir.execute.releasing import release_with
from tileir.processors import processors

VARIABLE: Final = "TILEIR_NUM_THREADS"

SLICE: Final = 20_000_000
"""Nanoseconds that a native call may hold up the main thread."""
WORTH_WAKING: Final = 30_000
"""Nanoseconds of work below which a launch stays on one thread."""
_WAKING: Final = 6_000
"""Nanoseconds that each further thread costs."""
_MEASURABLE: Final = 1_000_000
"""Nanoseconds below which a launch on several threads says more about waking them than about the kernel."""
_SHORT: Final = 1_000_000
"""Nanoseconds that a launch takes for which it matters whether the main thread works or waits."""
_PROBE: Final = 8
"""The binary logarithm of the part of a launch that is run to see how long the rest will take."""
_FEW: Final = 16
"""Tile blocks that are not worth dividing."""
_PAUSE: Final = 0.05 if sys.platform == "win32" else -1.0
"""Seconds of an uninterrupted wait: on Windows a wait for a lock cannot be interrupted at all."""


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


# --- helper threads ---


def release_memory() -> None:
    """Give scratch memory that no launch uses back to the system."""
    spare.clear()
    for helper in list(_idle):
        helper.arena = None


release_with(release_memory)


# A number that no data left in scratch memory is likely to hold, and then the ones after it: of launches.
numbers: Final = itertools.count(int.from_bytes(os.urandom(8), "little") >> 1)


class Job(ABC):
    """What a helper does when it is woken."""

    __slots__ = ("started",)

    def __init__(self) -> None:
        self.started: list[None] = []
        """Not empty as soon as a helper is on its way."""

    @abstractmethod
    def work(self, helper: Helper) -> None:
        """Do it; nothing may be raised."""

    @abstractmethod
    def finish(self, helper: Helper) -> None:
        """Called after `work`, when the helper can be had for other jobs."""


class _Share(Job):
    """A launch as helpers see it; refers to all the memory that native code works in."""

    __slots__ = ("arena_bytes", "call", "done", "errors", "expected", "finished", "keep", "number", "record")

    def __init__(self, call: Callable[[int, int], int], record: Record, arena_bytes: int, expected: int) -> None:
        super().__init__()
        self.call: Callable[[int, int], int] = call
        self.record: Record = record
        self.arena_bytes: int = arena_bytes
        self.number: int = next(numbers)
        self.expected: int = expected
        self.finished: list[object] = []
        self.errors: list[BaseException] = []
        self.keep: object = None
        self.done: _thread.LockType = _thread.allocate_lock()
        self.done.acquire()

    def work(self, helper: Helper) -> None:
        try:
            self.call(self.record.address, helper.for_launch(self.arena_bytes, self.number))
        except BaseException as error:
            self.errors.append(error)

    def finish(self, helper: Helper) -> None:
        self.finished.append(helper)
        if len(self.finished) == self.expected:
            self._notify()

    def abandon(self) -> None:
        """No helper is there any more."""
        self.errors.append(LaunchError("a process made by a fork in the middle of a launch cannot go on with it"))
        self.expected = 0
        self._notify()

    def _notify(self) -> None:
        try:
            self.done.release()
        except RuntimeError:
            # Two helpers saw the last one finish.
            pass


class Helper(Scratch):
    """A thread that waits for jobs as long as the process lives.

    It enters itself among the idle ones, after each job and when it begins: no interrupt reaches it, so none is lost.
    """

    __slots__ = ("job", "ready", "wake")

    def __init__(self) -> None:
        super().__init__()
        self.job: Job | None = None
        self.wake: _thread.LockType = _thread.allocate_lock()
        self.wake.acquire()
        self.ready: _thread.LockType = _thread.allocate_lock()
        self.ready.acquire()
        # One step, other than starting a thread of `threading`, which an interrupt may divide.
        _thread.start_new_thread(self._serve, ())

    def _serve(self) -> None:
        global _helper_count
        with _lock:
            _helper_count += 1
        _idle.append(self)
        self.ready.release()
        while True:
            self.wake.acquire()
            job, self.job = self.job, None
            if job is not None:
                job.work(self)
                _idle.append(self)
                job.finish(self)
            # Not to keep a launch's arrays until the next one.
            del job


_idle: list[Helper] = []
_helper_count: int = 0
_lock = threading.Lock()
_main_thread: int = threading.main_thread().ident or 0


def _take_helpers(wanted: int, taken: list[Helper], most: int = 0) -> None:
    """Take idle helpers, new ones where there are fewer than `most`; fewer if other launches use them.

    Without `most` there may be as many as are wanted.
    """
    while len(taken) < wanted:
        try:
            # One call, between whose steps no signal handler runs: a helper is in one list or the other.
            taken.extend(itertools.islice(iter(_idle.pop, None), wanted - len(taken)))
        except IndexError:
            if _helper_count >= (most or wanted):
                return
            try:
                Helper().ready.acquire()
            except RuntimeError:
                # The system gives this process no more threads: those there are do the work.
                return


def lend(job: Job, most: int) -> bool:
    """Have a helper do a job, of which there are `most` at most; False if none is to be had."""
    helpers: list[Helper] = []
    try:
        _take_helpers(1, helpers, most)
        for helper in helpers:
            helper.job = job
        # One call: an interrupt finds the helper woken or not.
        job.started.extend(map(_RELEASE, [helper.wake for helper in helpers]))
    finally:
        if not job.started:
            _idle.extend(helpers)
    return bool(job.started)


_awaited: list[_Share] = []
"""Launches that a thread waits for."""


def _forget_threads() -> None:
    """In a process made by a fork: the threads are gone, and their scratch memory was in use.

    A signal handler may fork while its thread waits for them: the launch has no end in the new process.
    """
    global _helper_count, _lock, _main_thread
    _idle.clear()
    spare.clear()
    for job in _awaited:
        job.abandon()
    _helper_count = 0
    _lock = threading.Lock()
    _main_thread = threading.get_ident()
    processors.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)


# --- launches ---


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
        if _run_on(threads, function, record, arena_bytes, keep, is_left):
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


def _run_on(threads: int, function: Loaded, record: Record, arena_bytes: int, keep: object, is_left: bool) -> bool:
    """Run on several threads, with `is_left` all of them helpers; False if no helper is to be had."""
    slots = record.slots
    count = slots[COUNT]
    pace = function.pace
    # The calling thread works beside the helpers, the main thread only where it will soon be back.
    here = not is_left and (
        threading.get_ident() != _main_thread
        or (0 < pace * count < _SHORT * threads and _is_short(function, record, arena_bytes, threads))
    )
    helpers: list[Helper] = []
    started: list[None] = []
    try:
        _take_helpers(threads - 1 if here else threads, helpers)
        if is_left and not helpers:
            # All of them are busy, and this thread must not do the work: one more.
            _take_helpers(1, helpers, _helper_count + 1)
        if not helpers:
            return False
        job = _Share(function.call, record, arena_bytes, len(helpers))
        job.keep = (function, keep)
        for helper in helpers:
            helper.job = job
        begin = perf_counter_ns()
        # One call again: either all have been woken or none.
        started.extend(map(_RELEASE, [helper.wake for helper in helpers]))
        if here:
            arena = arena_of(arena_bytes)
            arena.tag.value = job.number
            function.call(record.address, arena.address)
            spare.append(arena)
        _wait(job)
    except BaseException:
        slots[STOP] = 1
        if started:
            _wait(job)
        else:
            _idle.extend(helpers)
        raise
    if job.errors:
        raise job.errors[0]
    if slots[STOP] or slots[FAILED]:
        return True
    elapsed = perf_counter_ns() - begin
    if pace or elapsed > _MEASURABLE:
        measured = (elapsed - _WAKING * threads) * threads // count
        if elapsed > _MEASURABLE or measured < pace:
            pace = max(measured, 1)
    else:
        # The first launch starts threads and touches memory for the first time: measured alone the next time.
        pace = 1
    function.measured(slots, pace)
    return True


def _is_short(function: Loaded, record: Record, arena_bytes: int, threads: int) -> bool:
    """Run the first tile blocks, where they are a small part of all, to see how long the others will take."""
    slots = record.slots
    count, chunk = slots[COUNT], slots[CHUNK]
    if count < chunk * threads << _PROBE:
        return False
    arena = arena_of(arena_bytes)
    arena.tag.value = next(numbers)
    slots[COUNT] = chunk
    begin = perf_counter_ns()
    function.call(record.address, arena.address)
    elapsed = perf_counter_ns() - begin
    slots[NEXT] = chunk
    slots[COUNT] = count
    spare.append(arena)
    return elapsed * count < SLICE * threads * chunk


_RELEASE: Final[Callable[[Any], None]] = _thread.LockType.release


def _wait(job: _Share) -> None:
    """Wait until every helper is done with a job; an interrupt stops the workers and is raised afterwards."""
    interrupt: BaseException | None = None
    _awaited.append(job)
    try:
        while len(job.finished) < job.expected:
            try:
                job.done.acquire(True, _PAUSE)
            except BaseException as error:
                job.record.slots[STOP] = 1
                interrupt = error
    finally:
        _awaited.remove(job)
    if interrupt is not None:
        raise interrupt
