"""Work that a fork waits for.

A process made by a fork has one thread, and a copy of whatever the others were in the middle of: a lock that one of
them held stays locked, what LLVM was writing stays half written, a module that was being imported is never there.  So
a fork waits until no other thread is in the middle of such work, which is done with `NO_FORK` held.

The lock may be taken again by the thread that has it, as a signal handler does that comes while its thread forks.
"""

from __future__ import annotations

# Every use of this package comes by here: nothing that takes time to import.
import _imp
import _thread
import os
import sys
import time

# Type checkers know the name.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from functools import cached_property as cached_property
    from typing import Any, Final
else:

    class cached_property:
        """As in `functools`, without the lock of Python 3.11 and earlier: a forked process would wait for it forever.

        Two threads may compute a value at the same time.
        """

        def __init__(self, function):
            self._function = function
            self.__doc__ = function.__doc__

        def __set_name__(self, owner, name):
            self._name = name

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            return instance.__dict__.setdefault(self._name, self._function(instance))


NO_FORK: Final = _thread.RLock()

_PAUSE: Final = 0.002
_PATIENCE: Final = 10_000

_taken: list[Any] = []
"""The locks that a fork under way holds."""


def _binding_lock() -> Any:
    """The lock that llvmlite holds while LLVM runs, for this package and for others; None if it is not there."""
    library = getattr(sys.modules.get("llvmlite.binding.ffi"), "lib", None)
    return getattr(getattr(library, "_lock", None), "_lock", None)


def is_owned(lock: Any) -> bool:
    """Whether this thread has a lock that it may take again."""
    question = getattr(lock, "_is_owned", None)
    return question is not None and bool(question())


def release_binding_lock() -> bool:
    """Give back llvmlite's lock if this thread has it though no call is under way; True if one is.

    It is taken by a function in Python, so that an interrupt of another package's call may come after the lock is taken
    and before the code that releases it: all other threads would wait forever.
    """
    lock = _binding_lock()
    if not is_owned(lock):
        return False
    here = getattr(sys.modules.get("llvmlite.binding.ffi"), "__file__", None)
    frame: Any = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == here:
            return True
        frame = frame.f_back
    while is_owned(lock):
        lock.release()
    return False


class _Imports:
    """The lock of Python's that an import begins with."""

    acquire, release = staticmethod(_imp.acquire_lock), staticmethod(_imp.release_lock)


def _is_importing() -> bool:
    """Whether another thread imports a module of this package, and with it those that it needs."""
    locks = getattr(sys.modules.get("_frozen_importlib"), "_module_locks", {})
    this = _thread.get_ident()
    found = [reference() for name, reference in list(locks.items()) if name.startswith("tileir")]
    # One that nobody owns yet is about to be taken.
    return any(lock is not None and getattr(lock, "owner", None) != this for lock in found)


def _before() -> None:
    interrupt: BaseException | None = None
    # An importing thread may need a lock, or may be stuck for an unknown reason: retry a limited number of times.
    for attempt in range(_PATIENCE):
        interrupt = _take(NO_FORK) or interrupt
        lock = _binding_lock()
        if lock is not None:
            interrupt = _take(lock) or interrupt
        # The last one: while this is held no import begins.
        interrupt = _take(_Imports) or interrupt
        if attempt == _PATIENCE - 1 or not _is_importing():
            break
        try:
            _after()
            time.sleep(_PAUSE)
        except BaseException as error:
            interrupt = error
    if interrupt is not None:
        raise interrupt


def _take(lock: Any) -> BaseException | None:
    """Take a lock despite interrupts, and return the last one: the fork happens anyway, so it is raised afterwards."""
    interrupt: BaseException | None = None
    while True:
        try:
            lock.acquire()
            _taken.append(lock)
            return interrupt
        except BaseException as error:
            interrupt = error


def _after() -> None:
    while _taken:
        _taken.pop().release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after)
