"""cuTile's own functions that need a GPU or its driver, and what they do in a context.

A launch runs here.  What asks about the GPU is told of the emulated one.  What measures, for `cuda.tile.tune`,
measures on this machine.  What has no meaning without a GPU says so by name.
"""

from __future__ import annotations

import functools
import itertools
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, cast
from weakref import WeakKeyDictionary

from tileir.bridge.argument_errors import wrong_type, wrong_value
from tileir.bridge.contexts import CAPTURE, Emulation, active, innermost, torch_functions_off, watched_launch
from tileir.bridge.hooks import Hook, hook
from tileir.bridge.launch import constraints, launch
from tileir.execute.arguments.binding import EMULATED_STORAGE, PINNED_STORAGE, is_array
from tileir.execute.errors import LaunchError
from tileir.ir.quoting import type_text


class _Launches:
    """How many launches were made: here, and on a GPU since the first context."""

    def __init__(self) -> None:
        self.here: int = 0
        self.natively: int = 0


LAUNCHES: Final = _Launches()


def perform(context: Emulation, grid: Any, kernel: Any, arguments: Any) -> None:
    """A launch, as a context has it."""
    LAUNCHES.here += 1
    if context.watching is not None:
        watched_launch(context, kernel, grid, arguments, context.options)
    else:
        launch(kernel, grid, arguments, **context.options)


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
    grid = _checked_grid(grid)
    if context.is_process:
        _check_devices(kernel, kernel_args)
    if CAPTURE.recorder is not None and _has_list(kernel_args):
        raise RuntimeError(_LIST_IN_GRAPH)
    # A launch is over when it returns, so one that depends on another finds it done.
    if CAPTURE.recorder is not None:
        CAPTURE.recorder.record(functools.partial(perform, context, grid, kernel, kernel_args))
    else:
        perform(context, grid, kernel, kernel_args)


_LIST_IN_GRAPH: Final = "List argument in CUDAGraph isn't supported yet"
"""cuTile's message."""


def _has_list(arguments: Any) -> bool:
    return any(isinstance(argument, list) for argument in arguments)


def _launch_on_gpu(
    context: Emulation,
    stream: object,
    grid: tuple[int, ...],
    kernel: Any,
    kernel_args: tuple[object, ...],
    /,
    *,
    programmatic_dependent_launch: bool = False,
) -> None:
    """A launch of a script that works on a GPU, by the engine of the context.

    One that may overlap with the launch before it comes after it instead, which is right and takes a little longer.
    """
    if _has_list(kernel_args):
        # Imported here: without a GPU nothing of its engines is.
        from tileir.execute.gpu.arrays import is_capturing, stream_handle

        if is_capturing(stream_handle(stream)):
            raise RuntimeError(_LIST_IN_GRAPH)
    options = context.options
    if not _is_current(stream, kernel_args):
        options = {**options, "stream": stream}
    if context.watching is not None:
        watched_launch(context, kernel, _checked_grid(grid), kernel_args, options)
    else:
        launch(kernel, _checked_grid(grid), kernel_args, **options)


def _is_current(stream: Any, arguments: Any) -> bool:
    """Whether a stream is torch's current one, to which launches with its tensors go without being told."""
    torch: Any = sys.modules.get("torch")
    if torch is None or not any(type(argument) is torch.Tensor for argument in arguments):
        return False
    current = torch._C._cuda_getCurrentRawStream(torch._C._cuda_getDevice())
    return bool(getattr(stream, "cuda_stream", stream) == current)


def _check_devices(kernel: Any, arguments: Any) -> None:
    """Refuse tensors of the CPU: a script that forgets `.cuda()` ends on a GPU in an illegal access, later.

    Arrays of NumPy, which cuTile itself refuses, are taken: there may be no torch on this machine.
    """
    torch: Any = sys.modules.get("torch")
    if torch is None or not isinstance(arguments, (tuple, list)):
        return
    for number, value in enumerate(arguments):
        for item in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(item, torch.Tensor) and not _is_reachable(item):
                raise wrong_value(
                    f"argument {_parameter(kernel, number)} is a tensor of the CPU, whose memory a GPU does not reach: "
                    "move it, as tensor.cuda()"
                )


def _is_reachable(tensor: Any) -> bool:
    """Whether the GPU reaches the memory of a tensor: it is on a GPU, emulated or not, or pinned."""
    with torch_functions_off():
        if not tensor.is_cpu:
            return True
        storage = tensor.untyped_storage()
        return hasattr(storage, EMULATED_STORAGE) or hasattr(storage, PINNED_STORAGE) or bool(tensor.is_pinned())


def _parameter(kernel: Any, number: int) -> str:
    names = list(kernel._annotated_function.pysig.parameters) if hasattr(kernel, "_annotated_function") else []
    return f"'{names[number]}'" if number < len(names) else str(number)


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


# --- about the GPU and its driver ---

# The driver of CUDA 13.4, which knows all that the bytecode of this version can say.
_DRIVER_VERSION: Final = (13, 4)
_MOST_TILE_BLOCKS: Final = (2**31 - 1, 65535, 65535)
_streams: Final = itertools.count(0x7E11, 0x10)


# --- measuring, for cuda.tile.tune ---


class _Measured:
    """How long launches of one kind take: the first one is compiled, the second one counts."""

    __slots__ = ("microseconds", "runs")

    def __init__(self) -> None:
        self.runs: int = 0
        self.microseconds: float = 0.0


_ENOUGH_RUNS: Final = 2
_measured: Final[WeakKeyDictionary[Any, dict[Any, _Measured]]] = WeakKeyDictionary()


def _benchmark(
    context: Emulation, stream: object, grid: Any, kernel: Any, arguments: Any, flush_l2: bool = True, /
) -> float:
    """Microseconds of a launch on this machine.

    The tuner repeats a measurement until it trusts it, on a GPU a matter of milliseconds.  A repetition is answered
    with what was measured before, so each configuration runs twice.
    """
    if not _is_asked_by_tuner():
        return _timed(context, (grid, kernel, arguments))
    kinds = _measured.setdefault(kernel, {}) if hasattr(kernel, "_pyfunc") else {}
    found = kinds.setdefault(_kind(grid, arguments), _Measured())
    if found.runs < _ENOUGH_RUNS:
        begin = time.perf_counter()
        perform(context, grid, kernel, arguments)
        found.microseconds = (time.perf_counter() - begin) * 1e6
        found.runs += 1
    return found.microseconds


def _is_asked_by_tuner() -> bool:
    frame = sys._getframe(1)
    while frame.f_globals is globals() and frame.f_back is not None:
        frame = frame.f_back
    return str(frame.f_globals.get("__name__")).startswith("cuda.tile.tune")


def _kind(grid: Any, arguments: Any) -> object:
    return grid, tuple([tuple(value.shape) if is_array(value) else repr(value) for value in arguments])


_payloads: Final[dict[bytes, tuple[Any, ...]]] = {}
_payload_numbers: Final = itertools.count()


def _export_ipc_benchmark_payload(
    context: Emulation, stream: object, grid: Any, kernel: Any, arguments: Any, flush_l2: bool = True, /
) -> bytes:
    """What the tuner hands to the process that measures with a time limit: here, the name of a launch of this one."""
    payload = f"tileir {next(_payload_numbers)}".encode()
    _payloads[payload] = (grid, kernel, arguments)
    return payload


def _benchmark_with_ipc_payload(context: Emulation, payload: bytes, /) -> float:
    return _timed(context, _payloads.pop(payload))


def _timed(context: Emulation, launch_asked: tuple[Any, ...]) -> float:
    begin = time.perf_counter()
    perform(context, *launch_asked)
    return (time.perf_counter() - begin) * 1e6


def _run_timed(context: Emulation, runner: object, payload: bytes, timeout_sec: float) -> tuple[float, float]:
    """In the place of the method that has another process measure: this one does, for no longer than it may."""
    begin = time.perf_counter()
    launch_asked = _payloads.pop(payload)
    # The first attempt may have spent its time on compiling the kernel, which a GPU does before the time begins.
    for _ in range(2):
        try:
            with _limit(timeout_sec):
                return _timed(context, launch_asked), time.perf_counter() - begin
        except _TooLong:
            pass
    utilities: Any = sys.modules["cuda.tile.tune._tune_utils"]
    raise utilities.TileLaunchTimeoutError(f"CUDA kernel launch exceeded timeout {timeout_sec} sec")


class _TooLong(BaseException):
    """Not an `Exception`, so that nobody takes it for a failure of the kernel."""


@contextmanager
def _limit(seconds: float) -> Iterator[None]:
    """Ends what runs too long, as an interrupt does.  On other threads than the main one nothing can."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return
    is_over = False

    def end(number: int, frame: object) -> None:
        if not is_over:
            raise _TooLong

    before = signal.signal(signal.SIGALRM, end)
    rest, interval = signal.setitimer(signal.ITIMER_REAL, seconds, 0.5)
    try:
        yield
    finally:
        is_over = True
        signal.setitimer(signal.ITIMER_REAL, rest, interval)
        signal.signal(signal.SIGALRM, before)


# --- what needs a GPU ---


def _refused(name: str, why: str) -> Callable[..., Any]:
    def refuse(context: Emulation, *arguments: object, **keywords: object) -> None:
        raise LaunchError(f"{name} {why}")

    return refuse


_IN_CEXT: Final[dict[str, Callable[..., Any]]] = {
    "launch": _launch,
    "get_compute_capability": lambda context, device_id=0: context.gpu.capability,
    "get_driver_version": lambda context: _DRIVER_VERSION,
    "_get_max_grid_size": lambda context, device_id: _MOST_TILE_BLOCKS,
    "get_parameter_constraints_from_pyargs": lambda context, kernel, arguments, convention: constraints(
        kernel, arguments
    ),
    "_create_stream": lambda context: next(_streams),
    # Work is over when the call that asked for it returns: there is nothing to wait for, and nothing to give back.
    "_destroy_stream": lambda context, *arguments: None,
    "_synchronize_context": lambda context, *arguments: None,
    "_benchmark": _benchmark,
    "_export_ipc_benchmark_payload": _export_ipc_benchmark_payload,
    "_benchmark_with_ipc_payload": _benchmark_with_ipc_payload,
    "launch_extended": _refused(
        "cuda.tile's launch_extended", "launches threads of a GPU, which cannot be emulated: launch a tile kernel"
    ),
    "_spy_on_cuLaunchKernel_begin": _refused("_spy_on_cuLaunchKernel_begin", "watches the CUDA driver: there is none"),
}


class _Answered(Hook):
    """A function of cuTile's that is answered here in contexts."""

    answer: Callable[..., Any]

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        context = active()
        if context is None:
            if type(self).answer is _launch:
                LAUNCHES.natively += 1
                real = innermost()
                if real is not None:
                    return _launch_on_gpu(real, *arguments, **keywords)
            return self.original(*arguments, **keywords)
        return type(self).answer(context, *arguments, **keywords)


def _kind_of_hook(name: str, answer: Callable[..., Any]) -> type[Hook]:
    return cast(type[Hook], type(f"_{name}", (_Answered,), {"answer": staticmethod(answer)}))


_HOOKS: Final = {name: _kind_of_hook(name, answer) for name, answer in _IN_CEXT.items()}

_HOOK_OF_ARCHITECTURE: Final = _kind_of_hook("get_sm_arch", lambda context, device_id=0: context.gpu.architecture)


def hook_cutile(tile: Any) -> None:
    """Have what cuTile does with a GPU come by here; `tile` is `cuda.tile`."""
    hook(tile, "launch", _HOOKS["launch"])
    extension: Any = sys.modules.get("cuda.tile._cext")
    if extension is not None:
        for name, kind in _HOOKS.items():
            if hasattr(extension, name):
                hook(extension, name, kind)
    compiler: Any = sys.modules.get("cuda.tile._compile")
    if hasattr(compiler, "get_sm_arch"):
        # It remembers what it was told first.
        hook(compiler, "get_sm_arch", _HOOK_OF_ARCHITECTURE)
    utilities: Any = sys.modules.get("cuda.tile.tune._tune_utils")
    runner = getattr(utilities, "_TimedBenchmarkRunner", None)
    if runner is not None:
        _hook_runner(runner)


def _hook_runner(runner: Any) -> None:
    original = runner.run
    if getattr(original, "is_of_tileir", False):
        return

    def run(self: object, payload: bytes, timeout_sec: float) -> Any:
        context = active()
        if context is None or payload not in _payloads:
            return original(self, payload, timeout_sec)
        return _run_timed(context, self, payload, timeout_sec)

    run.is_of_tileir = True  # type: ignore[attr-defined]
    runner.run = run
