"""Helper threads, which stay from launch to launch, and jobs for them.

Where there is something better for it than Python (`posting`), idle helpers wait in native code, and launches are
posted to them there.  Everything else is a **job**, for which a helper comes back to Python.
"""

from __future__ import annotations

import _thread
import itertools
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, Final

from tileir.execute.cpu.native import posting
from tileir.execute.cpu.native.posting import Mailbox, Post
from tileir.execute.cpu.native.scratch import Arena, Scratch, arena_of
from tileir.execute.launching.release import release_with


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


class Helper(Scratch):
    """A thread that waits for work as long as the process lives.

    It enters itself among the idle ones, after each job and when it begins: no interrupt reaches it, so none is lost.
    """

    __slots__ = ("_post", "box", "job", "ready", "wake")

    def __init__(self) -> None:
        super().__init__()
        self.job: Job | None = None
        self._post: Post | None = posting.post()
        self.box: Mailbox | None = None if self._post is None else Mailbox(self._post)
        self.wake: _thread.LockType = _thread.allocate_lock()
        self.wake.acquire()
        self.ready: _thread.LockType = _thread.allocate_lock()
        self.ready.acquire()
        # One step, other than starting a thread of `threading`, which an interrupt may divide.
        _thread.start_new_thread(self._serve, ())

    def reserve(self, size: int) -> Arena:
        # There may not be so much.
        _forget_team()
        self.arena = None
        arena = arena_of(size)
        # First: after an interrupt in between, the mailbox must not name other memory than is there.
        if self.box is not None:
            self.box.give(arena.address)
        self.arena = arena
        return arena

    def clear(self) -> None:
        _forget_team()
        super().clear()

    def box_for(self, size: int) -> int:
        """The address of its mailbox, for a launch with so much scratch memory."""
        arena = self.arena
        if arena is None or arena.size < size:
            self.reserve(size)
        assert self.box is not None
        return self.box.address

    def _serve(self) -> None:
        global _helper_count
        with _lock:
            _helper_count += 1
        _idle.append(self)
        self.ready.release()
        while True:
            if self._post is not None and self.box is not None:
                self._post.wait(self.box)
            else:
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


def take_helpers(wanted: int, taken: list[Helper], most: int = 0) -> None:
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


def take_one_more(taken: list[Helper]) -> None:
    """Take a helper that is there or not."""
    take_helpers(1, taken, _helper_count + 1)


def give_back(taken: list[Helper]) -> None:
    """Put helpers back among the idle ones, in the order they had; all of them or none."""
    _idle.extend(itertools.islice(iter(taken.pop, None), len(taken)))


_team: tuple[list[Helper], int, list[int]] = ([], 0, [])
"""Helpers that were posted to, how much scratch memory each has at least, and their mailboxes."""


def _forget_team() -> None:
    global _team
    _team = ([], 0, [])


def boxes_of(taken: list[Helper], size: int) -> list[int]:
    """The mailboxes of helpers, for a launch with so much scratch memory.

    Mostly they are those of the launch before, and the list is the same object: nothing is asked of each.
    """
    global _team
    team, known, boxes = _team
    if size > known or team != taken:
        boxes = [helper.box_for(size) for helper in taken]
        _team = (taken.copy(), size, boxes)
    return boxes


_RELEASE: Final[Callable[[Any], None]] = _thread.LockType.release


def waking(helpers: list[Helper]) -> Iterator[Any]:
    """What wakes helpers for their jobs, one with each step; nothing comes in between where C takes the steps."""
    boxes = [helper.box for helper in helpers if helper.box is not None]
    post = posting.post()
    return map(_RELEASE, [helper.wake for helper in helpers]) if post is None else post.calling(boxes)


def lend(job: Job, most: int) -> bool:
    """Have a helper do a job, of which there are `most` at most; False if none is to be had."""
    helpers: list[Helper] = []
    try:
        take_helpers(1, helpers, most)
        for helper in helpers:
            helper.job = job
        # One call: an interrupt finds the helper woken or not.
        job.started.extend(waking(helpers))
    finally:
        if not job.started:
            _idle.extend(helpers)
    return bool(job.started)


def _release_memory() -> None:
    """Give scratch memory of idle helpers back to the system."""
    taken: list[Helper] = []
    try:
        # Taken, as by a launch: one that begins meanwhile must not lose the memory it works in.
        taken.extend(itertools.islice(iter(_idle.pop, None), len(_idle)))
    except IndexError:
        pass
    finally:
        for helper in taken:
            helper.arena = None
        _forget_team()
        give_back(taken)


release_with(_release_memory)


def _forget_threads() -> None:
    """In a process made by a fork the threads are gone, and their scratch memory was in use."""
    global _helper_count, _lock
    _idle.clear()
    _forget_team()
    _helper_count = 0
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)
