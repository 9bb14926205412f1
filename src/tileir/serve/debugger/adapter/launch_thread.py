"""`LaunchThread`: the thread that has the launch runs it; other threads submit runs, pause it, or hold it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from tileir.serve.debugger.session import Debugger
from tileir.serve.debugger.stops import Stop

Run = Callable[[], Stop]

_AGAIN: Final = 0.05  # Seconds until a run that was interrupted before it began is interrupted once more.


@dataclass
class Job:
    """A run, and what continues it after it was held; without, it ends as a pause."""

    run: Run
    further: Run | None = None
    stops_at_end: bool = False  # Whether the end of the launch is a stop like others, from where one may go back.


class LaunchThread:
    """One launch after the other.  Requests about a launch are answered while it is not `running`."""

    def __init__(self, started: Callable[[], None], stopped: Callable[[Stop, Job], None]) -> None:
        """These are called where each run begins and ends, on the thread that runs."""
        self._started, self._stopped = started, stopped
        self._changed = threading.Condition()
        self._job: Job | None = None
        self._debugger: Debugger | None = None
        self.running = self._held = self._pauses = self._is_left = False
        self._holders = 0

    # --- on the thread that has the launch ---

    def work(self, debugger: Debugger, first: Job) -> None:
        """Run the jobs of a launch, until it is left."""
        with self._changed:
            self._debugger, self._job = debugger, first
            self._is_left, self.running = False, True
        try:
            while (job := self._next()) is not None:
                self._started()
                self._stopped(self._perform(debugger, job), job)
        finally:
            with self._changed:
                self._debugger, self.running = None, False
                self._changed.notify_all()

    def _perform(self, debugger: Debugger, job: Job) -> Stop:
        run = job.run
        while True:
            if self._pauses or self._holders:
                debugger.interrupt()
            stop = run()
            with self._changed:
                if stop.reason != "pause" or self._pauses or self._is_left or not self._holders or job.further is None:
                    self.running = self._pauses = False
                    self._changed.notify_all()
                    return stop
                self._held = True
                self._changed.notify_all()
                self._changed.wait_for(lambda: not self._holders)
                self._held = False
                run = job.further

    def _next(self) -> Job | None:
        with self._changed:
            self._changed.wait_for(lambda: self._job is not None or self._is_left)
            job, self._job = self._job, None
            return None if self._is_left else job

    def leave(self) -> None:
        """Interrupt the run, and let `work` return."""
        with self._changed:
            self._is_left = True
            if self.running and self._debugger is not None:
                self._debugger.interrupt()
            self._changed.notify_all()

    # --- on other threads ---

    def announce(self) -> None:
        """A launch that is stopped is about to run: a pause from here on is for that run."""
        with self._changed:
            self.running = True

    def submit(self, job: Job) -> None:
        with self._changed:
            self.running, self._job = True, job
            self._changed.notify_all()

    def pause(self) -> None:
        """Stop the run soon, or the next one where it begins."""
        with self._changed:
            self._pauses = self._pauses or self._debugger is None or self.running
            if self._debugger is not None and self.running:
                self._debugger.interrupt()

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Hold a run: it is interrupted, and continues afterwards."""
        with self._changed:
            self._holders += 1
            while self.running and not self._held:
                if self._debugger is not None:
                    self._debugger.interrupt()
                self._changed.wait(_AGAIN)
        try:
            yield
        finally:
            with self._changed:
                self._holders -= 1
                self._changed.notify_all()
