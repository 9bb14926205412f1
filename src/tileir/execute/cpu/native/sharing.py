"""A launch on several threads: helpers, and the calling thread where it works too.

Helpers that wait in native code get the launch there (`posting`); others are woken for a job each, and begin when they
have Python's lock.
"""

from __future__ import annotations

import _thread
import os
import sys
from collections.abc import Callable
from math import isqrt
from time import perf_counter_ns
from typing import Final

from tileir.execute.arguments import MOST_THREADS
from tileir.execute.cpu.native import caches, helpers, posting
from tileir.execute.cpu.native.helpers import Helper, Job, waking
from tileir.execute.cpu.native.loader import Loaded
from tileir.execute.cpu.native.posting import Post, Table
from tileir.execute.cpu.native.posting_code import PAUSED
from tileir.execute.cpu.native.record import CACHED, CHUNK, COUNT, NEXT, STOP, Record
from tileir.execute.cpu.native.scratch import Arena, arena_of, numbers, spare
from tileir.execute.errors import LaunchError
from tileir.processors import processors

_WAKING: Final = 1_500
"""Nanoseconds that it takes to wake a thread which is asleep."""
_SHORT: Final = 1_000_000
"""Nanoseconds that a launch takes for which it matters whether the main thread works or waits."""
_PROBE: Final = 8
"""The binary logarithm of the part of a launch that is run to see how long the rest will take."""
_PAUSE: Final = 0.05 if sys.platform == "win32" else -1.0
"""Seconds of an uninterrupted wait: on Windows a wait for a lock cannot be interrupted at all."""


def run_shared(
    function: Loaded, record: Record, arena_bytes: int, threads: int, keep: object, is_left: bool, slice: int
) -> int:
    """Run on so many threads, one of which is the calling thread unless it `is_left` to helpers.

    The calling thread is back in Python after a `slice` of so many nanoseconds, if that is not 0.  Gives how many
    nanoseconds it took, 0 if no helper is to be had.
    """
    record.slots[CACHED] = caches.cached_bytes(threads)
    post = posting.post()
    if post is None:
        # No slices: the thread works if that will not take long, and waits otherwise.
        here = not is_left and (not slice or _is_short(function, record, arena_bytes, threads, slice))
        return _by_jobs(function, record, arena_bytes, threads - here, keep, here, is_left)
    return _posted(post, function, record, arena_bytes, threads - (not is_left), is_left, slice)


def _take(wanted: int, taken: list[Helper], is_left: bool) -> None:
    helpers.take_helpers(wanted, taken)
    if is_left and not taken:
        # All of them are busy, and this thread must not do the work: one more.
        helpers.take_one_more(taken)


# --- in native code ---


def _posted(
    post: Post, function: Loaded, record: Record, arena_bytes: int, wanted: int, is_left: bool, slice: int
) -> int:
    taken: list[Helper] = []
    table: Table | None = None
    arena: Arena | None = None
    interrupt: BaseException | None = None
    elapsed = 0
    has_begun = is_over = False
    while True:
        try:
            if not has_begun:
                has_begun = True
                _take(wanted, taken, is_left)
                if not taken:
                    return 0
                table = post.table(len(taken))
                _awaited[table] = None
                boxes = helpers.boxes_of(taken, arena_bytes)
                if not is_left:
                    arena = arena_of(arena_bytes)
                head = (function.address, record.address, next(numbers), arena.address if arena is not None else 0)
                # Where threads share processors, who waits is in the way of who works.
                looks = post.looks if len(taken) < processors() else 0
                # Who is posted to and not woken has its tile blocks taken by others; one has to be there to do so.
                wakes = len(taken) if is_left else _worth_waking(function.pace * record.slots[COUNT])
                begin = perf_counter_ns()
                state = post.launch(table, head, boxes, looks, wakes, slice)
                # Python looks for signals in between; a handler may fork, and helpers are not there in the child.
                while state == PAUSED and not table.is_abandoned:
                    state = post.go_on(table)
                while state and not table.is_abandoned:
                    state = post.finish(table)
                elapsed = perf_counter_ns() - begin
                is_over = True
            # After an interrupt, too, and one that comes while this is done changes nothing.
            if table is not None:
                if not is_over and table.is_begun and not table.is_abandoned and post.take_back(table):
                    while not table.is_abandoned and post.finish(table):
                        pass
                # Once: after another interrupt the mailboxes may have the launches of others.
                is_over = True
                _awaited.pop(table, None)
                if table.is_abandoned:
                    taken.clear()
            helpers.give_back(taken)
            break
        except BaseException as error:
            record.slots[STOP] = 1
            interrupt = error
    if interrupt is not None:
        raise interrupt
    if table is not None:
        if table.is_abandoned:
            raise LaunchError(_FORKED)
        post.recycle(table)
    if arena is not None:
        spare.append(arena)
    return elapsed or 1


def _worth_waking(expected: int) -> int:
    """How many sleepers a launch is to wake: with n of them it takes about expected / n + n `_WAKING`."""
    return isqrt(expected // _WAKING) if expected else MOST_THREADS


# --- by way of Python ---


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
        self.errors.append(LaunchError(_FORKED))
        self.expected = 0
        self._notify()

    def _notify(self) -> None:
        try:
            self.done.release()
        except RuntimeError:
            # Two helpers saw the last one finish.
            pass


def _is_short(function: Loaded, record: Record, arena_bytes: int, threads: int, slice: int) -> bool:
    """Whether a launch is likely to be over soon.  The first tile blocks are run, where they are a small part of all,
    to see how long the others will take."""
    slots = record.slots
    count, chunk = slots[COUNT], slots[CHUNK]
    if not 0 < function.pace * count < _SHORT * threads or count < chunk * threads << _PROBE:
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
    return elapsed * count < slice * threads * chunk


def _by_jobs(
    function: Loaded, record: Record, arena_bytes: int, wanted: int, keep: object, here: bool, is_left: bool
) -> int:
    taken: list[Helper] = []
    started: list[None] = []
    try:
        _take(wanted, taken, is_left)
        if not taken:
            return 0
        job = _Share(function.call, record, arena_bytes, len(taken))
        job.keep = (function, keep)
        for helper in taken:
            helper.job = job
        begin = perf_counter_ns()
        # One call again: either all have been woken or none.
        started.extend(waking(taken))
        if here:
            arena = arena_of(arena_bytes)
            arena.tag.value = job.number
            function.call(record.address, arena.address)
            spare.append(arena)
        _wait(job)
    except BaseException:
        record.slots[STOP] = 1
        if started:
            _wait(job)
        else:
            helpers.give_back(taken)
        raise
    if job.errors:
        raise job.errors[0]
    return perf_counter_ns() - begin or 1


def _wait(job: _Share) -> None:
    """Wait until every helper is done with a job; an interrupt stops the workers and is raised afterwards."""
    interrupt: BaseException | None = None
    _awaited[job] = None
    try:
        while len(job.finished) < job.expected:
            try:
                job.done.acquire(True, _PAUSE)
            except BaseException as error:
                job.record.slots[STOP] = 1
                interrupt = error
    finally:
        _awaited.pop(job, None)
    if interrupt is not None:
        raise interrupt


# --- forks ---

_awaited: dict[Table | _Share, None] = {}
"""Launches that a thread waits for."""
_FORKED: Final = "a process made by a fork in the middle of a launch cannot go on with it"


def _abandon_launches() -> None:
    """In a process made by a fork: a signal handler may fork while its thread waits, for threads that are not there."""
    for launch in _awaited:
        launch.abandon()
    _awaited.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon_launches)
