"""Launches under way at the same time, each after those whose memory it needs.

A launch begins when no earlier unfinished one conflicts with it (`conflicts`).  Workers of the pool (`thread_pool`)
take launches that may begin; where there are more of them than launches, several work on one, since all it takes to
join is to call the kernel's function.  A worker that finds nothing leaves.  Who waits for launches works too: the main
thread on what will soon be over, so that Ctrl-C is not held up, and on everything if there is no worker.

When a launch fails, later ones that have not begun are left out, as they would not have been reached without overlap;
earlier ones are run.  So which error is the first does not depend on the threads.

An interrupt may come between any two steps of the main thread.  Nothing is then taken to be in order but the list of
workers at work: they are waited for, and all launches are forgotten (`abort`).
"""

from __future__ import annotations

import _thread
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final

from tileir.execute.cpu.runtime import parallel_launch, target
from tileir.execute.cpu.runtime.binder import Span
from tileir.execute.cpu.runtime.conflicts import Accesses
from tileir.execute.cpu.runtime.launch_record import CACHED, CHUNK, COUNT, FAILED, NEXT, STOP, Record
from tileir.execute.cpu.runtime.loader import Loaded
from tileir.execute.cpu.runtime.scratch import Scratch, numbers
from tileir.execute.cpu.runtime.thread_pool import pool
from tileir.execute.errors import LaunchError

WORTH_SHARING: Final = 30_000
"""Nanoseconds of work below which one thread does it: workers come by way of Python."""
AT_ONCE: Final = 15_000
"""Nanoseconds below which a launch is over sooner than it is left to others."""
_MOST: Final = 256
"""Launches under way; one more waits until half of them are done."""
_UNKNOWN: Final = 10 * WORTH_SHARING
"""Nanoseconds that a launch may take of which that is not known."""
_PAUSE: Final = 0.05
"""Seconds of a wait: on Windows it cannot be interrupted, and where several threads wait only one is woken."""


class Launch:
    """A launch that is ready to run but for others before it."""

    __slots__ = (
        "arena_bytes", "began", "error", "expected", "followers", "function", "is_here", "is_over", "is_predictable",
        "joined", "keep", "limit", "number", "raise_failure", "record", "recycle", "threads", "waits",
    )  # fmt: skip

    def __init__(self, function: Loaded, record: Record, arena_bytes: int, threads: int) -> None:
        count = record.slots[COUNT]
        self.function: Loaded = function
        self.record: Record = record
        self.arena_bytes: int = arena_bytes
        self.recycle: Callable[[], None] | None = None
        """Called when it is over and all is well."""
        self.raise_failure: Callable[[], None] | None = None
        """Raises what its record says."""
        self.keep: object = None
        """What must stay alive as long as native code runs."""
        self.expected: int = function.ns_per_block * count
        """How many nanoseconds it will take one thread; 0 if that is not known."""
        self.is_predictable: bool = function.takes_as_long(record.slots)
        """Whether that can be relied on."""
        self.limit: int = min(threads, -(-count // record.slots[CHUNK]))
        """How many threads may work on it."""
        if 0 < self.expected < WORTH_SHARING:
            self.limit = 1
        if self.limit > 1:
            record.slots[CACHED] = target.cached_bytes(self.limit)
        self.number: int = next(numbers)
        self.threads: int = 0
        self.joined: int = 0
        """How many threads had a part in it."""
        self.is_here: bool = False
        """Whether it runs on a thread that waits, instead of a worker."""
        self.is_over: bool = False
        self.began: int = 0
        self.waits: int = 0
        """How many earlier launches it waits for."""
        self.followers: list[Launch] = []
        """Who waits for it."""
        self.error: BaseException | None = None

    @property
    def is_joinable(self) -> bool:
        slots = self.record.slots
        return self.threads < self.limit and slots[NEXT] < slots[COUNT]

    def join(self) -> None:
        """A thread begins to work on it."""
        if not self.joined:
            self.began = time.perf_counter_ns()
        self.joined += 1
        self.threads += 1

    def run(self, memory: Scratch) -> None:
        """Run tile blocks until none is left."""
        try:
            self.function.call(self.record.address, memory.for_launch(self.arena_bytes, self.number))
        except Exception as error:
            self.error = error

    def run_alone(self) -> None:
        """Run all tile blocks, in slices on the main thread."""
        try:
            parallel_launch.run(self.function, self.record, self.arena_bytes, 1)
        except LaunchError as error:
            self.error = error

    def measure(self) -> None:
        """Learn from a launch that is over how long a tile block takes."""
        function = self.function
        pace = (time.perf_counter_ns() - self.began) * self.joined // self.record.slots[COUNT] or 1
        if not function.ns_per_block or pace < function.ns_per_block or not function.takes_as_long(self.record.slots):
            function.measured(self.record.slots, pace)

    def forget_arguments(self) -> None:
        self.keep = self.recycle = self.raise_failure = None


class _Service:
    """A worker at work on the launches of a context, from when it is called until it finds nothing to do."""

    __slots__ = ("has_arrived", "started")

    def __init__(self) -> None:
        self.has_arrived: bool = False
        self.started: list[object] = []
        """Not empty as soon as a worker is on its way."""


class Launches:
    """The launches of a context."""

    def __init__(self) -> None:
        self.is_closed: bool = False
        self._process: int = os.getpid()
        self._inside: set[int] = set()
        """Threads in the middle of something here: a signal handler that runs then must not wait for them."""
        self._threads: int = parallel_launch.default_threads()
        self._lock = threading.Lock()
        self._news = _thread.allocate_lock()
        """Released when there is something new for who waits."""
        # All of the following is looked at and changed with the lock only.
        self._services: list[_Service] = []
        self._reset()

    def _reset(self) -> None:
        self._unfinished: dict[Launch, None] = {}
        self._accesses: Accesses[Launch] = Accesses()
        self._ready: deque[Launch] = deque()
        self._running: list[Launch] = []
        self._failed: list[Launch] = []
        self._awaited: int = -1
        """The number of unfinished launches that somebody waits for."""
        self._is_stopped: bool = False

    @property
    def is_open(self) -> bool:
        # A process made by a fork has none of the threads.
        return not self.is_closed and self._process == os.getpid()

    @property
    def is_usable(self) -> bool:
        """Whether launches can be left to this context here and now."""
        return self.is_open and threading.get_ident() not in self._inside

    @contextmanager
    def _entered(self) -> Iterator[None]:
        thread = threading.get_ident()
        self._inside.add(thread)
        try:
            yield
        finally:
            self._inside.discard(thread)

    @property
    def is_idle(self) -> bool:
        return not self._unfinished and not self._failed

    # --- for who launches ---

    def submit(self, launch: Launch, spans: list[Span]) -> None:
        """Run a launch, which works in this memory, as soon as it may."""
        thread = threading.get_ident()
        self._inside.add(thread)
        try:
            if len(self._unfinished) >= _MOST:
                self._wait(_MOST // 2)
            with self._lock:
                # What comes after a failure is not run.
                if not self._failed:
                    self._add(launch, spans)
        except BaseException:
            self.abort()
            raise
        finally:
            self._inside.discard(thread)

    def wait_for_all(self) -> None:
        """Wait for all launches, and raise the error of the first that failed."""
        with self._entered():
            errors = self._finished()
        if errors:
            _add_notes(errors[0], errors[1:])
            raise errors[0]

    def wait_for_all_after(self, mistake: Exception) -> None:
        """Wait for all launches; errors are noted on a mistake that is raised already."""
        with self._entered():
            _add_notes(mistake, self._finished())

    def abort(self) -> None:
        """Let launches finish the tile blocks at hand and none begin, and forget them all."""
        thread = threading.get_ident()
        while self.is_open:
            try:
                self._inside.add(thread)
                self._is_stopped = True
                with self._lock:
                    for launch in [*self._unfinished, *self._running]:
                        launch.record.slots[STOP] = 1
                    if not any(service.started for service in self._services):
                        self._services.clear()
                        self._reset()
                        self._inside.discard(thread)
                        return
                self._news.acquire(True, _PAUSE)
            except BaseException:
                # Impatience, which changes nothing.
                continue

    def _finished(self) -> list[BaseException]:
        """Wait for all launches; what those that failed raise."""
        try:
            self._wait(0)
        except BaseException:
            self.abort()
            raise
        return self._errors()

    def _errors(self) -> list[BaseException]:
        """What the launches that failed raise, in the order of their launches; they are forgotten with this."""
        if not self.is_open:
            return []
        with self._lock:
            failed, self._failed = sorted(self._failed, key=lambda launch: launch.number), []
        errors: list[BaseException] = []
        for launch in failed:
            try:
                if launch.error is not None:
                    raise launch.error
                if launch.raise_failure is not None:
                    launch.raise_failure()
            except Exception as error:
                errors.append(error)
        return errors

    def _wait(self, allowed: int) -> None:
        """Wait until no more than a number of launches are unfinished, and work on them meanwhile."""
        if not self.is_open:
            return
        longest = parallel_launch.SLICE if threading.current_thread() is threading.main_thread() else 0
        memory = Scratch()
        try:
            while True:
                taken: list[Launch] = []
                with self._lock:
                    if len(self._unfinished) <= allowed:
                        return
                    is_alone = self._take_here(taken, longest)
                    if not taken:
                        self._awaited = max(self._awaited, allowed)
                if not taken:
                    self._news.acquire(True, _PAUSE)
                    continue
                if is_alone:
                    taken[0].run_alone()
                else:
                    taken[0].run(memory)
                with self._lock:
                    self._end(taken[0])
        finally:
            memory.clear()

    # --- for workers ---

    def serve(self, service: _Service, memory: Scratch) -> None:
        """Work on launches until there is nothing to do."""
        taken: list[Launch] = []
        try:
            while True:
                with self._lock:
                    service.has_arrived = True
                    for launch in taken:
                        self._end(launch)
                    taken = []
                    if not self._is_stopped:
                        self._take(taken)
                    if not taken:
                        self._services.remove(service)
                        self._notify()
                        return
                    self._call_workers()
                taken[0].run(memory)
        except BaseException:
            # The main thread was interrupted in the middle of something, and is about to stop all this.
            with self._lock:
                if service in self._services:
                    self._services.remove(service)
                self._notify()

    # --- with the lock ---

    def _add(self, launch: Launch, spans: list[Span]) -> None:
        for earlier in self._accesses.add(launch, spans):
            if not earlier.is_over:
                launch.waits += 1
                earlier.followers.append(launch)
        self._unfinished[launch] = None
        if not launch.waits:
            self._ready.append(launch)
            self._call_workers()

    def _notify(self) -> None:
        """Wake who waits."""
        try:
            self._news.release()
        except RuntimeError:
            # Nobody has heard of the last news yet.
            pass

    def _take_here(self, taken: list[Launch], longest: int) -> bool:
        """Find work for a thread that waits; True if it must do it in slices, as nobody else will."""
        if not self._is_served():
            self._call_workers()
        self._take(taken, longest)
        is_alone = not taken and not self._is_served()
        if is_alone:
            self._begin(taken)
            # Nobody joins: what is made in slices seems to end sooner than it does.
            taken[0].limit = 1
        if taken:
            taken[0].is_here = True
        return is_alone

    def _take(self, taken: list[Launch], longest: int = 0) -> None:
        """Find work: a launch that has not begun, or else the one with the fewest threads.

        With `longest` only one that has not begun and will not take longer.
        """
        if self._ready:
            launch = self._ready[0]
            if not longest or (launch.is_predictable and 0 < launch.expected <= longest):
                self._begin(taken)
        elif not longest:
            joinable = [launch for launch in self._running if launch.is_joinable]
            if joinable:
                taken.append(min(joinable, key=lambda launch: launch.threads))
                taken[0].join()

    def _begin(self, taken: list[Launch]) -> None:
        """Begin the next launch."""
        launch = self._ready.popleft()
        launch.join()
        self._running.append(launch)
        taken.append(launch)

    def _is_served(self) -> bool:
        return any(service.started for service in self._services) or any(launch.is_here for launch in self._running)

    def _call_workers(self) -> None:
        """Have workers come for what is there to do."""
        free = self._threads - len(self._services)
        if free <= 0:
            return
        places = work = 0
        for launch in self._ready:
            places += launch.limit
            work += launch.expected or _UNKNOWN
        for launch in self._running:
            if launch.is_joinable:
                places += launch.limit - launch.threads
                work += _UNKNOWN
        coming = sum([not service.has_arrived for service in self._services])
        for _ in range(min(places - coming, work // WORTH_SHARING, free)):
            if not pool().grow(self._threads):
                return
            service = _Service()
            self._services.append(service)
            try:
                pool().submit([partial(self.serve, service)], service.started)
            finally:
                if not service.started:
                    self._services.remove(service)

    def _end(self, launch: Launch) -> None:
        """A thread is done with a launch, which has no more tile blocks to hand out."""
        launch.threads -= 1
        if launch.threads:
            return
        launch.is_over = True
        self._running.remove(launch)
        self._unfinished.pop(launch, None)
        if launch.error is not None or launch.record.slots[FAILED]:
            self._failed.append(launch)
            self._drop_after(launch.number)
        else:
            if not launch.record.slots[STOP] and launch.recycle is not None:
                launch.measure()
                launch.recycle()
            launch.forget_arguments()
        for follower in launch.followers:
            follower.waits -= 1
            if not follower.waits and follower in self._unfinished:
                self._ready.append(follower)
        launch.followers.clear()
        if not self._unfinished:
            self._accesses.clear()
        if len(self._unfinished) <= self._awaited:
            self._awaited = -1
            self._notify()

    def _drop_after(self, number: int) -> None:
        """Forget launches that have not begun."""
        for launch in [*self._unfinished]:
            if launch.number > number and not launch.joined:
                launch.is_over = True
                launch.forget_arguments()
                del self._unfinished[launch]
        self._ready = deque([launch for launch in self._ready if not launch.is_over])


def _add_notes(error: BaseException, others: list[BaseException]) -> None:
    """From Python 3.11 on a traceback shows notes."""
    if hasattr(error, "add_note"):
        for other in others:
            error.add_note(f"another launch of the context failed too: {other}")
