"""Building a large program without the garbage collector looking through it over and over."""

from __future__ import annotations

# Not `threading`, which takes longer to import than a small file to read.
import _thread
import gc
import os

from tileir.annotations import Final

_RARELY: Final = 1_000_000
"""New objects after which the collector looks at them in spite of a pause, which few files have: looking takes a
sixteenth of the time that building them takes.  A pause whose end is lost to an interrupt cannot do harm for long."""


class _Pauses:
    """The pauses under way in this process: the collector goes on when the last of them ends."""

    def __init__(self) -> None:
        # One that a signal handler may take again on the thread that holds it: every step below leaves the rest right.
        self.lock: _thread.RLock = _thread.RLock()
        self.depths: dict[int, int] = {}
        """How many there are on each thread that has one."""
        self.before: tuple[int, int, int] = (0, 0, 0)
        """When the collector is to look, without a pause."""

    def begin(self, thread: int) -> None:
        with self.lock:
            is_first = not self.depths
            if is_first:
                self.before = gc.get_threshold()
            self.depths[thread] = self.depths.get(thread, 0) + 1
            if is_first and 0 < self.before[0] < _RARELY:
                gc.set_threshold(_RARELY, self.before[1], self.before[2])

    def end(self, thread: int) -> None:
        with self.lock:
            depth = self.depths.get(thread, 0)
            if depth == 1 and len(self.depths) == 1:
                # Before the pause is forgotten: one that begins in between must not take this for the user's wish.
                self._go_on()
            if depth > 1:
                self.depths[thread] = depth - 1
            else:
                self.depths.pop(thread, None)

    def _go_on(self) -> None:
        # What somebody has set meanwhile stays.
        if gc.get_threshold() == (_RARELY, self.before[1], self.before[2]):
            gc.set_threshold(*self.before)

    def after_fork(self) -> None:
        """In a process made by a fork, which has none of the other threads and none of their pauses."""
        self.lock = _thread.RLock()
        if not self.depths:
            return
        thread = _thread.get_ident()
        own = self.depths.get(thread, 0)
        self.depths.clear()
        if own:
            self.depths[thread] = own
        else:
            self._go_on()


_PAUSES = _Pauses()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_PAUSES.after_fork)


class CollectorPaused:
    """All but stops the cyclic collector for the extent of a `with`; threads may do so at the same time.

    A program under construction is all live: each collection walks everything built so far and frees nothing, which
    doubles the time of reading a large file.  A collector that the user has switched off stays off.

    It is not switched off: an interrupt before the first step of `__exit__` comes with a traceback that knows this
    pause, and where that is part of a cycle only the collector ends both.
    """

    def __init__(self) -> None:
        self.thread: int = 0
        """The thread whose pause this is, while it is one."""

    def __enter__(self) -> None:
        thread = _thread.get_ident()
        # First: an interrupt that comes before the pause begins ends one that never was, which does nothing.
        self.thread = thread
        _PAUSES.begin(thread)

    def __exit__(self, *exception: object) -> None:
        self._end()

    def _end(self) -> None:
        # An interrupt may come before the first step of `__init__` too.
        thread = getattr(self, "thread", 0)
        self.thread = 0
        if thread:
            _PAUSES.end(thread)

    def __del__(self) -> None:
        # An interrupt may come before the first step of `__exit__`.
        self._end()
