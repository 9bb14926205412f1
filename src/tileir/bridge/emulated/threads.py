"""The threads that see the emulated device: those on which torch's calls go through the mode of `device`.

torch keeps modes for each thread.  A thread has the mode while it is in a context of `emulate`, and so have threads
that are started, and functions that are submitted to a thread pool, within one.  A thread that was started before the
context by other means sees no device.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from tileir.bridge.contexts import active
from tileir.bridge.hooks import replace


class _Thread(threading.local):
    contexts: int = 0
    mode: Any = None


THREAD: Final = _Thread()
"""How many contexts this thread is in, and its mode once torch is imported."""
MODE: Final[list[Callable[[], Any]]] = []
"""The class of modes, once torch is imported."""


def enter_device() -> None:
    THREAD.contexts += 1
    push_mode()


def leave_device() -> None:
    # A context may end in another thread than that in which it began.
    THREAD.contexts = max(THREAD.contexts - 1, 0)
    if not THREAD.contexts and THREAD.mode is not None:
        THREAD.mode.__exit__(None, None, None)
        THREAD.mode = None


def push_mode() -> None:
    """Give this thread the mode, if it is in a context and torch is imported."""
    if THREAD.contexts and THREAD.mode is None and MODE:
        THREAD.mode = MODE[0]()
        THREAD.mode.__enter__()


def _in_device(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        enter_device()
        try:
            return function(*arguments, **keywords)
        finally:
            leave_device()

    return call


@functools.cache
def hook_threads() -> None:
    """Have threads and functions of thread pools that are started within a context see the device."""
    replace(threading.Thread, "start", _start)
    replace(ThreadPoolExecutor, "submit", _submit)


def _start(original: Any, self: Any) -> None:
    if active() is not None:
        self.run = _in_device(self.run)
    original(self)


def _submit(original: Any, self: Any, fn: Any, /, *arguments: Any, **keywords: Any) -> Any:
    return original(self, fn if active() is None else _in_device(fn), *arguments, **keywords)
