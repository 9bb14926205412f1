"""Which context of `emulate` the caller is in.

Most emulate a GPU (`active`).  With an engine for GPUs there is one, nothing is emulated, and only launches
are taken over (`innermost`).

A context holds for the thread or asyncio task that entered it, and tasks started within it; one that the main thread
enters outside of a coroutine holds for threads without a context of their own as well.  A process that is emulated from
its start to its end has one for all that is in no other.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

if TYPE_CHECKING:
    from tileir.execute.gpu.gpus import Gpu


class Watcher(Protocol):
    """Observes the launches of a context."""

    def launch(self, kernel: Any, grid: Any, args: Any, options: dict[str, Any]) -> None: ...


@dataclass(eq=False)
class Emulation:
    """A context: how its launches run and what observes them, the GPU it emulates, and the context around it."""

    gpu: Gpu
    options: dict[str, Any]
    watching: Watcher | None = None
    is_real: bool = False  # Whether launches go to a GPU that is there, and `gpu` does not matter.
    sanitizes: bool = False  # Whether its launches are sanitized.
    is_process: bool = False  # Whether it is that of a whole process: a script that is written for a GPU.
    outer: Emulation | None = None
    is_open: bool = True
    thread: int = field(default_factory=threading.get_ident)


_current: ContextVar[Emulation | None] = ContextVar("tileir.emulate", default=None)

_everywhere: Final[list[Emulation]] = []  # Open ones of the main thread, for threads that have none of their own.
_process: Final[list[Emulation]] = []  # The context of the whole process, if it has one.
ENTERED: Final[list[bool]] = []  # Empty until the first context: callers then skip `active`.


class LAUNCHES:
    """How many launches were made: here, and on a GPU since the first context."""

    here: int = 0
    natively: int = 0


class CAPTURE:
    """The graph that is being captured: it does work when it is replayed, instead of at once."""

    recorder: Any = None


def active() -> Emulation | None:
    """The innermost open context around the caller, if it emulates a GPU."""
    found = innermost()
    return None if found is None or found.is_real else found


def innermost() -> Emulation | None:
    """The innermost open context around the caller."""
    found = _current.get()
    # Contexts of generators may end in another order than that in which they began.
    while found is not None and not found.is_open:
        found = found.outer
    if found is None and _everywhere:
        thread = threading.get_ident()
        for context in reversed(list(_everywhere)):
            if context.is_open and context.thread != thread:
                return context
    return _process[0] if found is None and _process else found


@contextmanager
def entered(context: Emulation) -> Iterator[Emulation]:
    """Within this the caller is in a new context; an interrupt at any step leaves it."""
    ENTERED[:] = [True]
    context.outer = before = _current.get()
    is_everywhere = threading.current_thread() is threading.main_thread() and not _is_in_coroutine()
    try:
        _current.set(context)
        if is_everywhere:
            _everywhere.append(context)
        yield context
    finally:
        context.is_open = False
        if context in _everywhere:
            _everywhere.remove(context)
        if _current.get() is context:
            _current.set(before)


def enter_for_good(context: Emulation) -> None:
    """The process is in a new context from now on."""
    ENTERED[:] = [True]
    context.is_process = True
    _process[:] = [context]


def watched_launch(context: Emulation, kernel: Any, grid: Any, args: Any, options: dict[str, Any]) -> None:
    """Pass a launch to the watcher of a context, which launches in a copy of the context without a watcher."""
    assert context.watching is not None
    inner = replace(context, watching=None, outer=_current.get())
    before = _current.set(inner)
    try:
        context.watching.launch(kernel, grid, args, options)
    finally:
        inner.is_open = False
        _current.reset(before)


def torch_functions_off() -> AbstractContextManager[Any]:
    """Within this, tensors of an emulated device are the tensors of the CPU that they are."""
    torch: Any = sys.modules.get("torch")
    switch = getattr(getattr(torch, "_C", None), "DisableTorchFunction", None)
    return nullcontext() if switch is None else cast(AbstractContextManager[Any], switch())


def _is_in_coroutine() -> bool:
    asyncio: Any = sys.modules.get("asyncio")
    # Playwright's synchronous API keeps a loop running beside the caller, who is in no task of it.
    return asyncio is not None and asyncio._get_running_loop() is not None and asyncio.current_task() is not None


def runs_on_gpu(backend: str) -> bool:
    """Whether the kernels of an engine run on a GPU, of which there must be one then."""
    from tileir.execute.engine.registry import AUTO, find_engine, require

    if backend == AUTO or not find_engine(backend).on_gpu:
        return False
    if not _has_device_files():
        # Without a GPU a script would end with an error of its libraries, before it launches anything.
        require(find_engine(backend))
    return True


def _has_device_files() -> bool:
    """Whether there seems to be a GPU, without the driver: after a call of the driver, no fork of the process can use
    the GPU."""
    if sys.platform != "linux" or os.environ.get("TILEIR_LIBCUDA"):
        return True
    return any(os.path.exists(path) for path in ("/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg"))


def has_gpu() -> bool:
    """Whether the CUDA driver finds a device."""
    from tileir.execute.gpu.driver.devices import why_no_gpu

    return not why_no_gpu()
