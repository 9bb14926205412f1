"""`emulate`: the launches of cuTile and Triton, run here.

The first context replaces their functions for good (`hooks`): these work here where a context is active, and elsewhere
as the originals.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from contextlib import AbstractContextManager, ContextDecorator
from functools import partial
from typing import Any, Final

from tileir.bridge.contexts import Emulation, Watcher, enter_for_good, entered, innermost, runs_on_gpu
from tileir.bridge.emulated.installation import enter_device, install, leave_device
from tileir.bridge.entry_points import hook_cutile, hook_triton
from tileir.bridge.hooks import after_import
from tileir.bridge.launch import cutile
from tileir.bridge.settings import InvalidSettings, Settings, names_of, trace_block_of
from tileir.bridge.uninitialized import watch_allocations
from tileir.bridge.watching import Findings, watcher_of
from tileir.execute.engine.registry import AUTO, find_engine
from tileir.execute.errors import LaunchError
from tileir.execute.gpu.gpus import DEFAULT as DEFAULT_GPU
from tileir.execute.gpu.gpus import gpu_named
from tileir.execute.launching.options import LAUNCH_OPTIONS, check_options


def emulate(
    backend: str = "auto",
    *,
    exact: bool = False,
    target: str = DEFAULT_GPU,
    sanitize: bool | str = False,
    watch_nan: bool = False,
    trace: str | int | tuple[int, ...] | None = None,
    pdb: bool = False,
    names: str = "script",
    **options: Any,
) -> EmulationContext:
    """Within this context `cuda.tile.launch(stream, grid, kernel, args)` and Triton's `kernel[grid](..)` run kernels
    here instead of on a GPU.

    Streams are ignored: a launch is over when it returns.  torch's CUDA device is emulated, with its tensors in main
    memory: `device="cuda"` works in any call of torch, and `torch.cuda` describes the GPU named `target`.  The other
    arguments are those of `tileir.launch`, and hold for each launch.  Contexts may be nested; the innermost one
    counts.  It also works as a decorator of a function.

    With a backend for GPUs, `backend="tileiras"`, nothing is emulated: the script works on the GPU that is there, in
    its streams, and its kernels are compiled and launched by that backend.

    `sanitize` looks for errors, `watch_nan` for operations that make a NaN or an infinity: a launch with findings ends
    in a `SanitizerError`.  `trace` writes each value that a tile block computes to standard error, for every kernel
    (`(0, 1)`) or for one (`"matmul:0,1"`).  `pdb` opens Python's debugger at a launch that fails.  All use the script's
    lines and variables, or with `names="tile"` the tile program's operations and values.  With `TILEIR_DEBUG=1` in the
    environment launches stop in the debugger of kernels (docs/tools/debug.md).

    A context holds for the thread or asyncio task that entered it, and tasks started within it.  One that the main
    thread enters outside of a coroutine holds for threads without a context of their own as well.

    >>> with tileir.emulate(target="b200"):
    ...     tileir.launch(vector_add, 8, (a[:128], b[:128], c[:128]))
    """
    check_options("emulate", options, {*LAUNCH_OPTIONS, *_OPTIONS})
    if backend != AUTO:
        find_engine(backend)
    settings = Settings()
    settings.sanitize, settings.watch_nan, settings.pdb = sanitize, watch_nan, pdb
    try:
        settings.names = names_of(names)
        if trace is not None:
            numbers = trace if isinstance(trace, tuple) else (trace,)
            settings.trace = trace_block_of(",".join([str(number) for number in numbers]))
    except InvalidSettings as mistake:
        raise LaunchError(str(mistake)) from None
    options = {"backend": backend, "exact": exact, **options}
    return EmulationContext(partial(_context, target, options, watcher_of(settings), bool(sanitize)))


_OPTIONS: Final = ("backend", "exact", "fast", "target", "watch_nan", "trace", "pdb", "names")
"""Options of `emulate` beside those of launches."""


class EmulationContext(ContextDecorator):
    """What `tileir.emulate` returns: a context, and a decorator.  It may be entered again, also within itself."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make: Callable[[], Emulation] = make
        self._entered: list[tuple[Emulation, AbstractContextManager[Emulation]]] = []

    def __enter__(self) -> None:
        if importlib.util.find_spec("triton") is None:
            cutile()
        manager = entered(self._make())
        context = manager.__enter__()
        self._entered.append((context, manager))
        if not context.is_real:
            enter_device()

    def __exit__(self, *error: Any) -> None:
        # The context of this thread or task, where others have entered it too.
        own = innermost()
        place = max([number for number, (each, _) in enumerate(self._entered) if each is own], default=-1)
        context, manager = self._entered.pop(place)
        if not context.is_real:
            leave_device()
        manager.__exit__(*error)


def emulate_process(settings: Settings, findings: Findings | None, watcher: Watcher | None = None) -> None:
    """Emulate all of this process from now on, where no context is active.

    Findings go to `findings`; without it, a finding is an error of its launch.  A `watcher` takes every launch instead.
    """
    options = {"backend": settings.backend, "exact": settings.exact, "fast": settings.fast}
    watching = watcher or watcher_of(settings, findings)
    context = _context(settings.target or DEFAULT_GPU, options, watching, bool(settings.sanitize))
    enter_for_good(context)
    if not context.is_real:
        enter_device()


def _context(gpu: str, options: dict[str, Any], watching: Watcher | None, sanitizes: bool) -> Emulation:
    """A new context, with what it needs installed."""
    # Each time: somebody may have replaced the functions since the last one.
    after_import("cuda.tile", hook_cutile)
    after_import("triton", hook_triton)
    is_real = runs_on_gpu(options["backend"])
    found = gpu_named(gpu) if is_real else install(gpu)
    if sanitizes:
        watch_allocations()
    return Emulation(found, options, watching, is_real, sanitizes)
