"""Launches under way at the same time, each after those whose memory it needs (`conflicts`).

Workers of the pool (`thread_pool`) take launches that may begin, and leave when there is none; threads that wait for
launches run some too.  A launch that is worth several threads has the native workers of the pool, one such launch at a
time; each of the others runs on one thread beside it.

When a launch fails, later ones that have not begun are left out, as they would not have been reached without overlap;
earlier ones are run.  So which error is the first does not depend on the threads.

An interrupt may come between any two steps of the main thread.  Only the list of workers at work is reliable then: they
are waited for, and all launches are forgotten (`abort`).
"""

from __future__ import annotations

import _thread
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final

from tileir.execute.cpu.runtime import parallel_launch
from tileir.execute.cpu.runtime.conflicts import Accesses
from tileir.execute.cpu.runtime.launch_record import CHUNK, COUNT, FAILED, STOP, Record, Span
from tileir.execute.cpu.runtime.loader import Loaded
from tileir.execute.cpu.runtime.thread_pool import numbers, pool

WORTH_SHARING: Final = 30_000  # Nanoseconds of work below which one thread does it: workers come by way of Python.
AT_ONCE: Final = 15_000  # Nanoseconds below which a launch is over sooner than it is left to others.
_MOST: Final = 256  # Launches under way; one more waits until half of them are done.
_PAUSE: Final = 0.05  # Seconds: Windows cannot interrupt a wait, and only one of several waiting threads is woken


class Launch:
    """A launch that is ready to run but for others before it."""

    def __init__(self, function: Loaded, record: Record, scratch_bytes: int, threads: int, keep: object) -> None:
        self.slots = record.slots
        run = partial(parallel_launch.run, function, record, scratch_bytes, threads, keep)
        self.run: Callable[[], None] | None = run
        self.recycle: Callable[[], None] | None = None  # Called when it is over and all is well.
        self.raise_failure: Callable[[], None] | None = None
        # 0 if it is not known how long it takes.
        expected = function.ns_per_block * self.slots[COUNT]
        self.expected: int = expected or 10 * WORTH_SHARING
        self.is_wide: bool = threads > 1 and self.slots[COUNT] > self.slots[CHUNK] and not 0 < expected < WORTH_SHARING
        self.number: int = next(numbers)
        self.has_begun: bool = False
        self.is_over: bool = False
        self.waits: int = 0  # How many earlier launches it waits for.
        self.followers: list[Launch] = []
        self.error: BaseException | None = None

    def end(self) -> None:
        self.is_over = True
        self.run = self.recycle = self.raise_failure = None


class Service:
    """A worker at work on the launches of a context, from when it is called until it finds nothing to do."""

    def __init__(self) -> None:
        self.has_arrived: bool = False
        self.started: list[None] = []  # Not empty as soon as a worker is on its way.


class Launches:
    def __init__(self) -> None:
        self.is_closed: bool = False
        self._process: int = os.getpid()
        self._inside: set[int] = set()  # Threads at work here: no signal handler may wait for them
        self._threads: int = parallel_launch.default_threads()
        self._lock = threading.Lock()
        self._news = _thread.allocate_lock()  # Released when waiting threads must check again.
        # The lock guards all of the following.
        self._services: list[Service] = []
        self._reset()

    def _reset(self) -> None:
        self._unfinished: dict[Launch, None] = {}
        self._accesses: Accesses[Launch] = Accesses()
        self._ready: list[Launch] = []
        self._wide: list[Launch] = []  # The one that is wide and has begun.
        self._failed: list[Launch] = []
        self._awaited: int = -1  # The number of unfinished launches that a thread waits for.
        self._is_stopped: bool = False

    @property
    def is_open(self) -> bool:
        # A process made by a fork has none of the threads.
        return not self.is_closed and self._process == os.getpid()

    @property
    def is_usable(self) -> bool:
        """Whether launches can be left to this context here and now."""
        return self.is_open and threading.get_ident() not in self._inside

    @property
    def is_idle(self) -> bool:
        return not self._unfinished and not self._failed

    @contextmanager
    def _entered(self) -> Iterator[None]:
        thread = threading.get_ident()
        self._inside.add(thread)
        try:
            yield
        except BaseException:
            self.abort()
            raise
        finally:
            self._inside.discard(thread)

    def submit(self, launch: Launch, spans: list[Span]) -> None:
        """Run a launch, which works in this memory, as soon as it may."""
        with self._entered():
            if len(self._unfinished) >= _MOST:
                self._wait(_MOST // 2)
            with self._lock:
                # What comes after a failure is not run.
                if not self._failed:
                    self._add(launch, spans)

    def wait_for_all(self, error: Exception | None = None) -> None:
        """Wait for all launches; raise the first error with the others as notes, or note all on an `error`."""
        with self._entered():
            self._wait(0)
            errors = self._errors()
        if not errors:
            return
        first = error if error is not None else errors.pop(0)
        # From Python 3.11 on a traceback shows notes.
        if hasattr(first, "add_note"):
            for other in errors:
                first.add_note(f"another launch of the context failed too: {other}")
        if error is None:
            raise first

    def abort(self) -> None:
        """Let launches finish the tile blocks at hand and none begin, and forget them all."""
        thread = threading.get_ident()
        while self.is_open:
            try:
                self._inside.add(thread)
                self._is_stopped = True
                with self._lock:
                    for launch in self._unfinished:
                        launch.slots[STOP] = 1
                    if not any(service.started for service in self._services):
                        self._services.clear()
                        self._reset()
                        self._inside.discard(thread)
                        return
                self._news.acquire(True, _PAUSE)
            except BaseException:
                # Impatience, which changes nothing.
                continue

    def _errors(self) -> list[Exception]:
        """What the launches that failed raise, in the order of their launches; they are forgotten with this."""
        if not self.is_open:
            return []
        with self._lock:
            failed, self._failed = sorted(self._failed, key=lambda launch: launch.number), []
        errors: list[Exception] = []
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
        """Wait until no more than a number of launches are unfinished, and run some in that time."""
        while self.is_open:
            taken: list[Launch] = []
            with self._lock:
                if len(self._unfinished) <= allowed:
                    return
                self._take(taken)
                if not taken:
                    self._awaited = max(self._awaited, allowed)
            if taken:
                self._run(taken[0])
            else:
                self._news.acquire(True, _PAUSE)

    def _run(self, launch: Launch) -> None:
        try:
            if launch.run is not None:
                launch.run()
        except Exception as error:
            launch.error = error
        with self._lock:
            self._end(launch)

    def serve(self, service: Service) -> None:
        try:
            service.has_arrived = True
            while True:
                taken: list[Launch] = []
                with self._lock:
                    if not self._is_stopped:
                        self._take(taken)
                    if not taken:
                        self._dismiss(service)
                        return
                self._run(taken[0])
        except BaseException:
            # The main thread was interrupted in the middle of something, and is about to stop all this.
            with self._lock:
                self._dismiss(service)

    def _add(self, launch: Launch, spans: list[Span]) -> None:
        for earlier in self._accesses.add(launch, spans):
            if not earlier.is_over:
                launch.waits += 1
                earlier.followers.append(launch)
        self._unfinished[launch] = None
        if not launch.waits:
            self._ready.append(launch)
            self._call_workers()

    def _dismiss(self, service: Service) -> None:
        if service in self._services:
            self._services.remove(service)
        self._notify()

    def _notify(self) -> None:
        try:
            self._news.release()
        except RuntimeError:
            # It is released already.
            pass

    def _take(self, taken: list[Launch]) -> None:
        for launch in self._ready:
            if not (launch.is_wide and self._wide):
                taken.append(launch)
                self._ready.remove(launch)
                launch.has_begun = True
                if launch.is_wide:
                    self._wide.append(launch)
                return

    def _call_workers(self) -> None:
        free = self._threads - len(self._services)
        if free <= 0 or not self._ready:
            return
        coming = sum([not service.has_arrived for service in self._services])
        work = sum([launch.expected for launch in self._ready])
        for _ in range(min(len(self._ready) - coming, work // WORTH_SHARING, free)):
            if not pool().grow(self._threads, False):
                return
            service = Service()
            self._services.append(service)
            try:
                pool().submit([partial(self.serve, service)], service.started)
            finally:
                if not service.started:
                    self._services.remove(service)

    def _end(self, launch: Launch) -> None:
        self._unfinished.pop(launch, None)
        if launch in self._wide:
            self._wide.remove(launch)
        if launch.error is not None or launch.slots[FAILED]:
            launch.is_over = True
            self._failed.append(launch)
            for later in [*self._unfinished]:
                if later.number > launch.number and not later.has_begun:
                    later.end()
                    del self._unfinished[later]
            self._ready = [each for each in self._ready if not each.is_over]
        else:
            if not launch.slots[STOP] and launch.recycle is not None:
                launch.recycle()
            launch.end()
        for follower in launch.followers:
            follower.waits -= 1
            if not follower.waits and not follower.is_over:
                self._ready.append(follower)
        launch.followers.clear()
        self._call_workers()
        if not self._unfinished:
            self._accesses = Accesses()
        # Who waits may work on what is ready now.
        if len(self._unfinished) <= self._awaited or (self._awaited >= 0 and self._ready):
            self._awaited = -1
            self._notify()
