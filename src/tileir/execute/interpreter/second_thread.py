"""A second thread for NumPy's long calls.

The interpreter runs one operation after another, but NumPy lets others run while it multiplies: half of a stack of
products is made by a thread that waits for such work.  Which half makes no difference to any of them.  NumPy's own
products take all threads of the machine; where it is told to take one (OPENBLAS_NUM_THREADS and the like), or there is
one processor, or a thread cannot be had, everything is done by the one that asks.
"""

from __future__ import annotations

import _thread
import os
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Final

import numpy

from tileir.processors import processors

_LIMITS: Final = ("TILEIR_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")


class _Call:
    """A call that another thread is asked to make.

    Each has its own locks: one that an interrupted thread has not waited for is no answer to a later one.
    """

    def __init__(self, function: Callable[..., object], arguments: tuple[Any, ...]) -> None:
        self.function: Final = function
        self.arguments: tuple[Any, ...] = arguments
        self.begun: Final = _thread.allocate_lock()
        """Held by the one that makes the call, or sees to it that nobody does."""
        self.ended: Final = _thread.allocate_lock()
        """Held until the call is over."""
        self.ended.acquire()
        self.is_over: bool = False
        self.error: BaseException | None = None

    def make(self) -> None:
        if self.begun.acquire(False):
            try:
                self.function(*self.arguments)
            except BaseException as error:
                self.error = error
            # The second thread holds its last call until the next.
            self.arguments = ()
            self.end()

    def end(self) -> None:
        self.is_over = True
        self.ended.release()


class _Second:
    """A thread that makes one call at a time.

    Only it says whether it is free: whoever asks for a call may be interrupted before taking that back.
    """

    def __init__(self) -> None:
        self._last: _Call | None = None
        self.calls: Final[SimpleQueue[_Call]] = SimpleQueue()
        threading.Thread(target=self._serve, name="tileir products", daemon=True).start()

    @property
    def is_free(self) -> bool:
        return self.calls.empty() and (self._last is None or self._last.is_over)

    def _serve(self) -> None:
        # Infinities and NaNs are values here; each thread has to say so itself.
        with numpy.errstate(all="ignore"):
            while True:
                self._last = self.calls.get()
                self._last.make()


_second: _Second | None = None
_is_alone: bool | None = None


def together(function: Callable[..., object], first: tuple[Any, ...], second: tuple[Any, ...]) -> None:
    """Call a function of NumPy's twice, both at a time where that can be.

    Both calls are over afterwards, even if this thread is interrupted: their arrays are the caller's again then.
    """
    found = _free()
    if found is None:
        function(*first)
        function(*second)
        return
    call = _Call(function, second)
    raised: BaseException | None = None
    try:
        found.calls.put(call)
        function(*first)
    except BaseException as error:
        raised = error
        if call.begun.acquire(False):
            call.end()
    # An interrupt may come right after the lock was had: what is asked in each turn is whether the call is over.
    while not call.is_over:
        try:
            call.ended.acquire()
        except BaseException as error:
            raised = error
    raised = raised or call.error
    if raised is not None:
        raise raised


def _free() -> _Second | None:
    """The second thread; None if there is none, or it works for another thread."""
    global _second, _is_alone
    if _is_alone is None:
        _is_alone = processors() == 1 or any(os.environ.get(name) == "1" for name in _LIMITS)
    if _is_alone:
        return None
    if _second is None:
        try:
            _second = _Second()
        except RuntimeError:
            # The system gives no further thread.
            _is_alone = True
            return None
    return _second if _second.is_free else None


def _forget() -> None:
    """Only the thread that forks lives on in the new process."""
    global _second, _is_alone
    _second = _is_alone = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
