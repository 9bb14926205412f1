"""Calls that no interrupt can stop half way.

Python runs signal handlers on the main thread, between any two of its steps, and an exception in one ends whatever was
under way.  llvmlite cannot handle that: it frees objects after their context, or twice, or never releases a lock.  So
all calls of LLVM run on a separate thread, where no signal handlers run, while the caller waits.  An interrupted caller
stops waiting; the call runs to its end.

One call runs at a time, with `NO_FORK` held: in a forked process each call is done or not begun.  This thread also
frees all objects of LLVM (`give_back_after`).
"""

from __future__ import annotations

import _thread
import atexit
import os
import traceback
from _queue import SimpleQueue  # `queue` itself imports more than it is
from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeVar, cast
from weakref import ref

from tileir.execute.errors import LaunchError
from tileir.forking import NO_FORK, is_owned, release_binding_lock

_Result = TypeVar("_Result")

_PAUSE: Final = 0.05  # Seconds after which a caller looks whether the thread that it waits for is still there.


class _Call:
    """A function to be called, and what came of it."""

    def __init__(self, function: Callable[..., object], arguments: tuple[object, ...]) -> None:
        self.call: Callable[[], object] = partial(function, *arguments)
        self.result: object = None
        self.error: BaseException | None = None
        self.is_cancelled: bool = False
        self.is_over: bool = False
        self.process: object = None
        self.over: _thread.LockType = _thread.allocate_lock()
        self.over.acquire()

    def run(self) -> None:
        with NO_FORK:
            if self.is_over or self.is_cancelled:
                return
            try:
                self.result = self.call()
            except BaseException as error:
                found: BaseException | None = error
                self.error = error
                # What the functions held that it came through is of LLVM, and the error goes elsewhere.
                while found is not None:
                    traceback.clear_frames(found.__traceback__)
                    found = found.__context__
            self.is_over = True
        self.over.release()


def uninterrupted(function: Callable[..., _Result], *arguments: object) -> _Result:
    """Call a function where no signal handler runs; what it raises is raised here."""
    # Within such a call, and in a handler that interrupts a fork: no other call runs, and none could.
    if is_owned(NO_FORK):
        return function(*arguments)
    if release_binding_lock():
        raise LaunchError("this signal handler interrupts another use of llvmlite, and cannot compile or load a kernel")
    call = _Call(function, arguments)
    try:
        _hand_over(call)
        _wait(call)
    except BaseException:
        call.is_cancelled = True
        raise
    if call.error is not None:
        try:
            raise call.error
        finally:
            # It knows this frame, which knows the call.
            call.error = None
    return cast(_Result, call.result)


def give_back_after(owner: object, resource: Any) -> None:
    """Close something of LLVM's when its owner is gone, uninterrupted."""
    # One step in C, which may come between any two others: no interrupt finds it half done.
    reference = ref(owner, _queue.put)
    _resources[id(reference)] = (reference, resource)


_queue: SimpleQueue[Any] = SimpleQueue()  # Calls to be made, and references whose objects are gone.
_resources: Final[dict[int, tuple[ref[Any], Any]]] = {}
_serving: _thread.LockType = _thread.allocate_lock()  # Held by the thread as long as it is there.
_process: object = object()  # Another one in each process.


def _serve() -> None:
    serving = _serving
    if not serving.acquire(False):
        # Two were started at the same time.
        return
    try:
        while True:
            item = _queue.get()
            if isinstance(item, _Call):
                item.run()
            else:
                _close(item)
            # Not to keep what a kernel was compiled from until the next one.
            del item
    finally:
        serving.release()


def _hand_over(call: _Call) -> None:
    call.process = _process
    if not _serving.locked():
        try:
            _thread.start_new_thread(_serve, ())
        except RuntimeError:
            # The system starts no more threads for this process, or the interpreter is about to exit.
            call.run()
            return
    _queue.put(call)


def _wait(call: _Call) -> None:
    while not call.over.acquire(True, _PAUSE):
        if call.is_over:
            return
        if call.process is not _process or not _serving.locked():
            # A signal handler has forked, and this is the new process; or the thread was ended.
            _hand_over(call)


def _close(reference: object) -> None:
    with NO_FORK:
        _reference, resource = _resources.pop(id(reference))
        try:
            resource.close()
        except RuntimeError:
            # There is no remedy for an error of LLVM here.
            pass


def _forget_thread() -> None:
    """In a process made by a fork, which has one thread.  The queue goes with the thread that waited for it."""
    global _process, _queue, _serving
    _serving = _thread.allocate_lock()
    _queue = SimpleQueue()
    _process = object()
    for key, (reference, resource) in list(_resources.items()):
        owner = reference()
        if owner is None:
            _queue.put(reference)
        else:
            give_back_after(owner, resource)
            del _resources[key]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_thread)


def _finish() -> None:
    """Wait for calls that interrupted callers have left: LLVM must not be at work while the process ends."""
    interrupt: BaseException | None = None
    call = _Call(int, ())
    while _serving.locked() and not call.is_over:
        try:
            _hand_over(call)
            _wait(call)
        except BaseException as error:
            interrupt = error
    if interrupt is not None:
        raise interrupt


atexit.register(_finish)
