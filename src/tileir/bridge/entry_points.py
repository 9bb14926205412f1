"""cuTile's own functions that need a GPU or its driver, and what they do in a context.

A launch runs here.  Queries about the GPU describe the emulated one.  Measurements, for `cuda.tile.tune`, are those of
this machine.  A function that has no meaning without a GPU raises an error with its name.
"""

from __future__ import annotations

import functools
import itertools
import sys
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, Final
from weakref import WeakKeyDictionary

from tileir.bridge.contexts import CAPTURE, LAUNCHES, Emulation, active, innermost, torch_functions_off, watched_launch
from tileir.bridge.hooks import hook
from tileir.bridge.kernel_kinds import is_cutile_kernel
from tileir.bridge.launch import constraints, launch
from tileir.bridge.parameters import wrong_type, wrong_value
from tileir.bridge.uninitialized import launching_frame
from tileir.execute.arguments.binding import EMULATED_STORAGE, PINNED_STORAGE, is_array
from tileir.execute.errors import LaunchError
from tileir.ir.quoting import type_text
from tileir.processes.time_limit import TimeIsOver, time_limit


def perform(context: Emulation, grid: Any, kernel: Any, arguments: Any, **stream: Any) -> None:
    """A launch, as a context has it."""
    if context.is_real:
        LAUNCHES.natively += 1
    else:
        LAUNCHES.here += 1
    options = context.options | stream
    if context.watching is not None:
        watched_launch(context, kernel, grid, arguments, options)
    else:
        launch(kernel, grid, arguments, **options)


def _launch_somewhere(original: Any, *arguments: Any, **keywords: Any) -> Any:
    context = innermost()
    # A dispatcher that is no kernel has code for a GPU of its own.
    dispatcher: Any = getattr(sys.modules.get("cuda.tile._cext"), "TileDispatcher", ())
    is_real = context is None or context.is_real
    if context is None or (is_real and isinstance(arguments[2], dispatcher) and not is_cutile_kernel(arguments[2])):
        LAUNCHES.natively += 1
        return original(*arguments, **keywords)
    return _launch(context, *arguments, **keywords)


def _launch(
    context: Emulation,
    stream: object,
    grid: tuple[int, ...],
    kernel: Any,
    kernel_args: tuple[object, ...],
    /,
    *,
    programmatic_dependent_launch: bool = False,
) -> None:
    """A launch in a context.

    One that may overlap with the launch before it comes after it instead, which is right and takes a little longer.
    """
    grid = _checked_grid(grid)
    if context.is_process and not context.is_real:
        function = getattr(kernel, "_annotated_function", None)
        _check_devices([] if function is None else list(function.pysig.parameters), kernel_args)
    is_tuple = isinstance(kernel_args, (tuple, list))
    if is_tuple and any(isinstance(argument, list) for argument in kernel_args) and _is_capturing(context, stream):
        # cuTile's message.
        raise RuntimeError("List argument in CUDAGraph isn't supported yet")
    if context.is_real:
        perform(context, grid, kernel, kernel_args, **({} if _is_current(stream, kernel_args) else {"stream": stream}))
    else:
        _perform_or_capture(context, grid, kernel, kernel_args)


def _perform_or_capture(context: Emulation, grid: Any, kernel: Any, arguments: Any) -> None:
    """A launch on the emulated GPU: at once, or when the graph that is being captured is replayed."""
    if CAPTURE.recorder is not None:
        CAPTURE.recorder.work.append(functools.partial(perform, context, grid, kernel, arguments))
    else:
        perform(context, grid, kernel, arguments)


def hook_triton(triton: Any) -> None:
    """Have what Triton does with a GPU come by here."""
    # Imported here: few have Triton.
    from tileir.bridge.triton import entry_points

    entry_points.hook_triton(triton, _launch_triton)


def _launch_triton(context: Emulation, grid: tuple[int, ...], kernel: Any, arguments: tuple[object, ...]) -> None:
    """A launch of a `TritonKernel` in a context."""
    if context.is_real:
        perform(context, grid, kernel, arguments)
        return
    if context.is_process:
        _check_devices(list(kernel.src.signature), arguments)
    _perform_or_capture(context, grid, kernel, arguments)


def _is_capturing(context: Emulation, stream: object) -> bool:
    if not context.is_real:
        return CAPTURE.recorder is not None
    # Imported here: without a GPU nothing of its engines is.
    from tileir.execute.gpu.arrays import is_capturing, stream_handle

    return is_capturing(stream_handle(stream))


def _is_current(stream: Any, arguments: Any) -> bool:
    """Whether a stream is torch's current one, which launches with its tensors use by default."""
    torch: Any = sys.modules.get("torch")
    if torch is None or not any(type(argument) is torch.Tensor for argument in arguments):
        return False
    current = torch._C._cuda_getCurrentRawStream(torch._C._cuda_getDevice())
    return bool(getattr(stream, "cuda_stream", stream) == current)


def _check_devices(names: list[str], arguments: Any) -> None:
    """Refuse tensors of the CPU: a script that forgets `.cuda()` ends on a GPU in an illegal access, later.

    Arrays of NumPy, which cuTile itself refuses, are taken: there may be no torch on this machine.
    """
    torch: Any = sys.modules.get("torch")
    if torch is None or not isinstance(arguments, (tuple, list)):
        return
    for number, value in enumerate(arguments):
        for item in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(item, torch.Tensor) and not _is_reachable(item):
                name = f"'{names[number]}'" if number < len(names) else str(number)
                raise wrong_value(
                    f"argument {name} is a tensor of the CPU, whose memory a GPU does not reach: "
                    "move it, as tensor.cuda()"
                )


def _is_reachable(tensor: Any) -> bool:
    """Whether the GPU reaches the memory of a tensor: it is on a GPU, emulated or not, or pinned."""
    with torch_functions_off():
        if not tensor.is_cpu:
            return True
        storage = tensor.untyped_storage()
        return hasattr(storage, EMULATED_STORAGE) or hasattr(storage, PINNED_STORAGE) or bool(tensor.is_pinned())


_MOST_OF_A_GRID: Final = 2**24 - 1


def _checked_grid(grid: Any) -> tuple[int, ...]:
    """A grid as cuTile takes it: a tuple of up to three extents, those that are left out being 1."""
    if not isinstance(grid, tuple):
        message = f"a grid is a tuple, but {type_text(grid)} was given: pass (x,)"
        raise wrong_type(message, "Grid must be a tuple")
    for axis, extent in enumerate(grid):
        if isinstance(extent, int) and extent > _MOST_OF_A_GRID:
            words = f"Grid[{axis}] exceeds 24-bit limit: max={_MOST_OF_A_GRID}, got={extent}. "
            words += "Use multiple kernel launches for larger workloads."
            raise wrong_value(f"extent {axis} of the grid is {extent}", words)
    return grid or (1,)


# --- measuring, for cuda.tile.tune ---

_ENOUGH_RUNS: Final = 2
_measured: Final[WeakKeyDictionary[Any, dict[Any, list[float]]]] = WeakKeyDictionary()
"""How long launches of each kind took: the first one is compiled, the second one counts."""


def _benchmark(
    context: Emulation, stream: object, grid: Any, kernel: Any, arguments: Any, flush_l2: bool = True, /
) -> float:
    """Microseconds of a launch on this machine.

    The tuner repeats a measurement until it trusts it, on a GPU a matter of milliseconds.  A repetition is answered
    with what was measured before, so each configuration runs twice.
    """
    caller = launching_frame()
    if caller is None or not str(caller.f_globals.get("__name__")).startswith("cuda.tile.tune"):
        return _timed(context, grid, kernel, arguments)
    kinds = _measured.setdefault(kernel, {}) if hasattr(kernel, "_pyfunc") else {}
    kind = grid, tuple([tuple(value.shape) if is_array(value) else repr(value) for value in arguments])
    found = kinds.setdefault(kind, [])
    if len(found) < _ENOUGH_RUNS:
        found.append(_timed(context, grid, kernel, arguments))
    return found[-1]


def _timed(context: Emulation, grid: Any, kernel: Any, arguments: Any) -> float:
    begin = time.perf_counter()
    perform(context, grid, kernel, arguments)
    return (time.perf_counter() - begin) * 1e6


def _benchmark_with_timeout(
    context: Emulation, stream: object, grid: Any, kernel: Any, arguments: Any, timeout_sec: float, flush_l2: bool
) -> tuple[float, float]:
    """Microseconds of a launch that may not take longer, and seconds in all.  On a GPU another process measures."""
    begin = time.perf_counter()
    # The first attempt may have spent its time on compiling the kernel, which a GPU does before the time begins.
    for _ in range(2):
        try:
            # Other threads get no signals: nothing can end them.
            is_main = threading.current_thread() is threading.main_thread()
            with time_limit(timeout_sec) if is_main else nullcontext():
                return _timed(context, grid, kernel, arguments), time.perf_counter() - begin
        except TimeIsOver:
            pass
    utilities: Any = sys.modules[_TUNER]
    raise utilities.TileLaunchTimeoutError(f"CUDA kernel launch exceeded timeout {timeout_sec} sec")


# --- the functions ---


def _answering(answer: Callable[..., Any]) -> Callable[..., Any]:
    """The replacement for a function of cuTile's that is answered here in contexts."""

    def replacement(original: Any, *arguments: Any, **keywords: Any) -> Any:
        context = active()
        return original(*arguments, **keywords) if context is None else answer(context, *arguments, **keywords)

    return replacement


def _refused(name: str, why: str) -> Callable[..., Any]:
    def refuse(context: Emulation, *arguments: object, **keywords: object) -> None:
        raise LaunchError(f"{name} {why}")

    return refuse


# The driver of CUDA 13.4, which reads all bytecode of this version.
_DRIVER_VERSION: Final = (13, 4)
_MOST_TILE_BLOCKS: Final = (2**31 - 1, 65535, 65535)
_streams: Final = itertools.count(0x7E11, 0x10)
_TUNER: Final = "cuda.tile.tune._tune_utils"
_ANSWERS: Final[dict[str, dict[str, Callable[..., Any]]]] = {
    "cuda.tile._cext": {
        "get_compute_capability": lambda context, device_id=0: context.gpu.capability,
        "get_driver_version": lambda context: _DRIVER_VERSION,
        "_get_max_grid_size": lambda context, device_id: _MOST_TILE_BLOCKS,
        "get_parameter_constraints_from_pyargs": lambda context, kernel, arguments, convention: constraints(
            kernel, arguments
        ),
        "_create_stream": lambda context: next(_streams),
        # Every call returns after its work is done: there is nothing to wait for, and nothing to release.
        "_destroy_stream": lambda context, *arguments: None,
        "_synchronize_context": lambda context, *arguments: None,
        "_benchmark": _benchmark,
        "launch_extended": _refused(
            "cuda.tile's launch_extended", "launches threads of a GPU, which cannot be emulated: launch a tile kernel"
        ),
        "_spy_on_cuLaunchKernel_begin": _refused(
            "_spy_on_cuLaunchKernel_begin", "watches the CUDA driver: there is none"
        ),
    },
    # cuTile caches the first architecture.
    "cuda.tile._compile": {"get_sm_arch": lambda context, device_id=0: context.gpu.architecture},
    _TUNER: {"benchmark_with_timeout": _benchmark_with_timeout},
}
"""The functions of modules of cuTile that are answered here in contexts."""
_REPLACEMENTS: Final = {
    module: {name: _answering(answer) for name, answer in table.items()} for module, table in _ANSWERS.items()
}
_REPLACEMENTS["cuda.tile._cext"]["launch"] = _launch_somewhere


def hook_cutile(tile: Any) -> None:
    """Have what cuTile does with a GPU come by here; `tile` is `cuda.tile`."""
    hook(tile, "launch", _launch_somewhere)
    for name, replacements in _REPLACEMENTS.items():
        module: Any = sys.modules.get(name)
        for function, replacement in replacements.items():
            if hasattr(module, function):
                hook(module, function, replacement)
