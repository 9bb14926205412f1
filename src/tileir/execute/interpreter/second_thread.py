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
from typing import Any, Final

import numpy

from tileir.processors import processors

_LIMITS: Final = ("TILEIR_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")

Call = tuple[Callable[..., object], tuple[Any, ...]]


class _Second:
    """A thread that makes one call at a time."""

    def __init__(self) -> None:
        self.taken: Final = _thread.allocate_lock()
        self._asked: Final = _thread.allocate_lock()
        self._answered: Final = _thread.allocate_lock()
        self._asked.acquire()
        self._answered.acquire()
        self._call: Call | None = None
        self._error: BaseException | None = None
        threading.Thread(target=self._serve, name="tileir products", daemon=True).start()

    def begin(self, call: Call) -> None:
        self._call = call
        self._asked.release()

    def wait(self) -> None:
        """Until the call is done, even if this thread is interrupted: its arrays are the caller's again then."""
        interrupt: BaseException | None = None
        while True:
            try:
                self._answered.acquire()
                break
            except BaseException as error:
                interrupt = error
        raised, self._error = self._error or interrupt, None
        if raised is not None:
            raise raised

    def _serve(self) -> None:
        # Infinities and NaNs are values here; each thread has to say so itself.
        with numpy.errstate(all="ignore"):
            while True:
                self._asked.acquire()
                call, self._call = self._call, None
                assert call is not None, "it was asked for"
                try:
                    call[0](*call[1])
                except BaseException as error:
                    self._error = error
                # What it holds would be freed by whoever asks next.
                del call
                self._answered.release()


_second: _Second | None = None
_is_alone: bool | None = None


def together(function: Callable[..., object], first: tuple[Any, ...], second: tuple[Any, ...]) -> None:
    """Call a function of NumPy's twice, both at a time where that can be."""
    found = _taken()
    if found is None:
        function(*first)
        function(*second)
        return
    try:
        found.begin((function, second))
        try:
            function(*first)
        finally:
            found.wait()
    finally:
        found.taken.release()


def _taken() -> _Second | None:
    """The second thread, until it is released; None if there is none, or another thread has it."""
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
    return _second if _second.taken.acquire(False) else None


def _forget() -> None:
    """Only the thread that forks lives on in the new process."""
    global _second, _is_alone
    _second = _is_alone = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
