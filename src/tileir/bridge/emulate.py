"""`emulate`: cuTile's own launches, run here.

The first context puts a function in the place of `cuda.tile.launch`, for good: it runs a kernel here where a context
says so, and does what the original does elsewhere.  So contexts of threads and tasks may overlap in any way.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

from tileir.bridge.contexts import active, entered
from tileir.bridge.launch import cutile, launch
from tileir.bridge.pretended import install
from tileir.bridge.pretended.gpus import DEFAULT as DEFAULT_GPU
from tileir.forking import NO_FORK


@contextmanager
def emulate(backend: str = "auto", *, exact: bool = False, gpu: str = DEFAULT_GPU, **options: Any) -> Iterator[None]:
    """Within this context `cuda.tile.launch(stream, grid, kernel, args)` runs kernels here instead of on a GPU.

    Streams are ignored: a launch is over when it returns.  torch's CUDA devices are pretended, with their tensors in
    main memory: `device="cuda"` works in any call of torch, and `torch.cuda` tells about the GPU named `gpu`.  The
    other arguments are those of `tileir.launch`, and hold for each launch.  Contexts may be nested; the innermost one
    counts.  It also works as a decorator of a function.

    A context holds for the thread or asyncio task that entered it, and tasks started within it.  One that the main
    thread enters outside of a coroutine holds for threads without a context of their own as well.
    """
    _hook(cutile())
    with entered(install(gpu), {"backend": backend, "exact": exact, **options}):
        yield


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
        context = active()
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
