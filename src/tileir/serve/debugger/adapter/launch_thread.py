"""`LaunchThread`: the thread that has the launch runs it; other threads submit runs, pause it, or hold it.

`LaunchRequest` is what the client requested, and what became of it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from tileir.serve.debugger.adapter.requests import Arguments
from tileir.serve.debugger.session import Debugger
from tileir.serve.debugger.stops import Stop

Run = Callable[[], Stop]

_AGAIN: Final = 0.05
"""Seconds until a run that was interrupted before it began is interrupted once more."""


@dataclass
class Job:
    """A run, and what continues it after it was held; without, it ends as a pause."""

    run: Run
    further: Run | None = None
    stops_at_end: bool = False
    """Whether the end of the launch is a stop like others, from where one may go back."""


@dataclass
class LaunchRequest:
    """A `launch` or `attach` request, and what became of it; who changes it holds `changed`."""

    can_launch: bool
    """Whether this process belongs to the client: otherwise it is a script that the client attaches to."""
    changed: threading.Condition = field(default_factory=threading.Condition)
    is_sent: bool = False
    pending: Arguments | None = None
    """The arguments of a request that no thread has taken yet."""
    arguments: Arguments = field(default_factory=lambda: Arguments({}, "'launch'"))
    is_configured: bool = False
    can_restart: bool = False
    restart: Arguments | None = None
    """The launch begins again, with these arguments."""
    leave_how: str = ""
    """How a launch of a script is left: "skip", "next-launch", "detach"; "" at its end."""
    is_over: bool = False
    """The client has gone, or ended the session."""
    is_disconnected: bool = False
    ends_program: bool = False
    """Whether the program ends with the session."""
    end_program: Callable[[], None] | None = None
    """Ends a script that is not launching a kernel."""


class LaunchThread:
    """One launch after the other.  Requests about a launch are answered while it is not `running`."""

    def __init__(self, started: Callable[[], None], stopped: Callable[[Stop, Job], None]) -> None:
        """These are called where each run begins and ends, on the thread that runs."""
        self._started: Callable[[], None] = started
        self._stopped: Callable[[Stop, Job], None] = stopped
        self._changed: threading.Condition = threading.Condition()
        self._jobs: deque[Job] = deque()
        self._debugger: Debugger | None = None
        self._running: bool = False
        self._held: bool = False
        self._holders: int = 0
        self._pauses: bool = False
        self._is_left: bool = False

    @property
    def running(self) -> bool:
        return self._running

    # --- on the thread that has the launch ---

    def work(self, debugger: Debugger, first: Job) -> None:
        """Run a launch as jobs say, until it is left."""
        with self._changed:
            self._debugger = debugger
            self._is_left = False
            self._running = True
            self._jobs.clear()
        job: Job | None = first
        try:
            while job is not None:
                self._started()
                self._stopped(self._perform(debugger, job), job)
                job = self._next()
        finally:
            with self._changed:
                self._debugger = None
                self._running = False
                self._changed.notify_all()

    def _perform(self, debugger: Debugger, job: Job) -> Stop:
        run = job.run
        while True:
            if self._pauses or self._holders:
                debugger.interrupt()
            stop = run()
            with self._changed:
                if stop.reason != "pause" or self._pauses or self._is_left or not self._holders or job.further is None:
                    self._running = self._pauses = False
                    self._changed.notify_all()
                    return stop
                self._held = True
                self._changed.notify_all()
                while self._holders:
                    self._changed.wait()
                self._held = False
                run = job.further

    def _next(self) -> Job | None:
        with self._changed:
            while not self._jobs and not self._is_left:
                self._changed.wait()
            if self._is_left:
                return None
            return self._jobs.popleft()

    def leave(self) -> None:
        """Interrupt the run, and let `work` return."""
        with self._changed:
            self._is_left = True
            if self._running and self._debugger is not None:
                self._debugger.interrupt()
            self._changed.notify_all()

    # --- on other threads ---

    def announce(self) -> None:
        """A launch that is stopped is about to run: a pause from here on is for that run."""
        with self._changed:
            self._running = True

    def submit(self, job: Job) -> None:
        """Run a launch that is stopped."""
        with self._changed:
            self._running = True
            self._jobs.append(job)
            self._changed.notify_all()

    def pause(self) -> None:
        """Stop the run soon, or the next one where it begins."""
        with self._changed:
            if self._debugger is None:
                self._pauses = True
            elif self._running:
                self._pauses = True
                self._debugger.interrupt()

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Hold a run: it is interrupted, and continues afterwards."""
        with self._changed:
            self._holders += 1
            while self._running and not self._held:
                if self._debugger is not None:
                    self._debugger.interrupt()
                self._changed.wait(_AGAIN)
        try:
            yield
        finally:
            with self._changed:
                self._holders -= 1
                self._changed.notify_all()
