"""`emulate`: cuTile's own launches, run here.

The first context puts a function in the place of `cuda.tile.launch`, for good: it runs a kernel here where a context
says so, and does what the original does elsewhere.  So contexts of threads and tasks may overlap in any way.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, cast

from tileir.bridge.launch import cutile, launch
from tileir.forking import NO_FORK


class _Emulation:
    """A context: how its launches are run, and the one around it."""

    __slots__ = ("is_open", "options", "outer", "thread")

    def __init__(self, outer: _Emulation | None, options: dict[str, Any]) -> None:
        self.outer: _Emulation | None = outer
        self.options: dict[str, Any] = options
        self.thread: int = threading.get_ident()
        self.is_open: bool = True


_current: ContextVar[_Emulation | None] = ContextVar("tileir.emulate", default=None)

_everywhere: Final[list[_Emulation]] = []
"""Open contexts of the main thread, which hold for threads that have none of their own."""


def _active() -> _Emulation | None:
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
    return found


@contextmanager
def emulate(backend: str = "auto", *, exact: bool = False, **options: Any) -> Iterator[None]:
    """Within this context `cuda.tile.launch(stream, grid, kernel, args)` runs kernels here instead of on a GPU.

    Streams are ignored: a launch is over when it returns.  Where torch has no GPU, `torch.cuda.current_stream()` and
    `torch.cuda.synchronize()` do nothing instead of failing, so that a script needs no change but the device of its
    tensors.  The arguments are those of `tileir.launch`, and hold for each launch.  Contexts may be nested; the
    innermost one counts.  It also works as a decorator of a function.

    A context holds for the thread or asyncio task that entered it, and tasks started within it.  One that the main
    thread enters outside of a coroutine holds for threads without a context of their own as well.
    """
    tile = cutile()
    _hook(tile)
    _hook_torch()
    before = _current.get()
    context = _Emulation(before, {"backend": backend, "exact": exact, **options})
    is_everywhere = threading.current_thread() is threading.main_thread() and not _is_in_coroutine()
    try:
        _current.set(context)
        if is_everywhere:
            _everywhere.append(context)
        yield
    finally:
        context.is_open = False
        if context in _everywhere:
            _everywhere.remove(context)
        if _current.get() is context:
            _current.set(before)


def _is_in_coroutine() -> bool:
    asyncio: Any = sys.modules.get("asyncio")
    return asyncio is not None and asyncio._get_running_loop() is not None


# --- the functions in the place of others' ---


class _Hooked:
    """A function in the place of another, `original`."""

    __name__: str

    def __init__(self, original: Callable[..., Any]) -> None:
        self.original: Callable[..., Any] = original
        functools.update_wrapper(cast(Any, self), original)

    def __reduce__(self) -> str:
        # Pickled by name, as the original.
        return str(self.__name__)


class _Launch(_Hooked):
    """In the place of `cuda.tile.launch`."""

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        context = _active()
        if context is None:
            return self.original(*arguments, **keywords)
        return _emulated(context.options, *arguments, **keywords)


def _emulated(
    options: dict[str, Any],
    stream: object,
    grid: tuple[int, ...],
    kernel: Any,
    kernel_args: tuple[object, ...],
    /,
    *,
    programmatic_dependent_launch: bool = False,
) -> None:
    launch(kernel, grid, kernel_args, **options)


class _Stream(_Hooked):
    """In the place of a function for streams of torch."""

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        if _active() is None:
            return self.original(*arguments, **keywords)
        return None


def _hook(tile: Any) -> None:
    """Have launches come by here, also those of modules that have imported the function by whatever name."""
    if isinstance(tile.launch, _Launch):
        return
    with NO_FORK:
        original = tile.launch
        if isinstance(original, _Launch):
            return
        # A new one each time: where somebody has replaced the last one, theirs may lead to it.
        hook = _Launch(original)
        for module in list(sys.modules.values()):
            names = getattr(module, "__dict__", None)
            if not isinstance(names, dict) or module is tile:
                continue
            for name, value in list(names.items()):
                if value is original:
                    names[name] = hook
        # Last: where an interrupt comes before this, the next context begins once more.
        tile.launch = hook


def _hook_torch() -> None:
    """The functions for streams of a torch that was imported and has no GPU, made harmless within contexts."""
    module: Any = getattr(sys.modules.get("torch"), "cuda", None)
    if module is None:
        return
    names = [name for name in ("current_stream", "synchronize") if not isinstance(getattr(module, name), _Stream)]
    if not names or module.is_available():
        return
    with NO_FORK:
        for name in names:
            function = getattr(module, name)
            if not isinstance(function, _Stream):
                setattr(module, name, _Stream(function))
