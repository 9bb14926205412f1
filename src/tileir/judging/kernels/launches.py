"""The launches of a module: counted, and kept with their bytecode and arguments, to be done again elsewhere."""

from __future__ import annotations

import ctypes
import hashlib
import sys
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy

from tileir.bridge.emulate import emulate_process
from tileir.bridge.kernel_kinds import is_triton_kernel, kernel_name
from tileir.bridge.launch import BYTECODE_VERSION, launch, prepared
from tileir.bridge.settings import Settings
from tileir.bridge.uninitialized import watch_allocations
from tileir.execute.arguments.binding import Pointer, buffer_of, is_array
from tileir.execute.dtypes import Array
from tileir.execute.errors import LaunchError
from tileir.execute.launching.entries import check_grid
from tileir.execute.launching.kernel import Kernel, compile
from tileir.interface import from_bytecode, to_bytecode
from tileir.ir.core import Operation
from tileir.judging.kernels.values import NotCarried, dtype_named, dump, load, read_foreign, results_of
from tileir.judging.model import JudgeStage
from tileir.judging.tasks.input_sets import InputSet
from tileir.judging.verdicts.launches import Launch

_MOST_KEPT: Final = 32
_MOST_RECORDED: Final = 900
"""Launches whose order and data are recorded, of all runs."""
_ALIGNMENT: Final = 256
_PERTURB: Final = -6
"""The option of glibc's `mallopt` for what new memory holds: the complement of a byte."""
UNWRITTEN_BYTE: Final = 0xFE
"""As a float this is -1.7e38 or not a number, as an integer negative."""


@dataclass(slots=True)
class ModuleReport:
    """What a child with foreign code reports of what it did: anything, where the code forges it."""

    inputs: list[InputSet] = field(default_factory=list)
    tolerance: dict[str, list[float]] | None = None
    """Relative and absolute, by element type; "" for all others."""
    speedup: float | None = None
    """The least that the reference's module requires."""
    required: dict[str, Any] = field(default_factory=dict)
    """What a task requires of the programs: `precision`, `operations`, `frameworks`."""
    seed: int = 0
    seconds: list[float] = field(default_factory=list)
    launches: dict[str, int] = field(default_factory=dict)
    """How often each kernel was launched."""
    frameworks: dict[str, str] = field(default_factory=dict)
    """What each kernel is written in: `cutile` or `triton`."""
    kept: dict[str, int] = field(default_factory=dict)
    """Files of launches, and how often each was made."""
    not_kept: dict[str, str] = field(default_factory=dict)
    recorded: dict[str, list[str]] = field(default_factory=dict)
    """By the file of a run's results, the files of its launches in order; "" for one that is not recorded."""
    not_from_kernels: list[int] = field(default_factory=list)
    """Results in memory that no kernel was given."""
    torch: dict[str, int] = field(default_factory=dict)
    """Operators of torch that compute something, and how often each was called."""
    failed: JudgeStage | None = None
    """The step that failed, if one did."""
    secret: str = ""
    """What the report of a candidate's run must have."""


class Launches:
    """Looks at every launch of a process; while it `keeps`, each kind of launch is written to a file once."""

    def __init__(self, most_bytes: int, prefix: str) -> None:
        self.keeps: bool = False
        self.counts: bool = True
        """Whether launches that are kept are counted."""
        self.runs: bool = True
        """Whether launches are run, and not only recorded."""
        self.run: str = ""
        """The run whose launches are recorded; none if empty."""
        self.report: ModuleReport = ModuleReport()
        self._ranges: list[tuple[int, int]] = []
        """The memory of arrays that kernels were given."""
        self._left: int = most_bytes
        self._prefix: str = prefix
        self._files: dict[str, str] = {}
        """By contents."""
        self._kinds: dict[str, str] = {}
        """Of the run that is kept, by program, grid and layout."""
        self._programs: dict[int, tuple[Kernel, Array]] = {}
        """Kernels, so that their numbers stay theirs, and their bytecode."""

    def launch(self, kernel: Any, grid: Any, args: Any, options: dict[str, Any]) -> None:
        """Record a call of `tileir.launch`, and run it if `runs`."""
        name = kernel_name(kernel) or "?"
        if self.keeps or self.run:
            self._keep(name, kernel, grid, args, options)
        if self.runs:
            launch(kernel, grid, args, **options)
        self.report.frameworks[name] = "triton" if is_triton_kernel(kernel) else "cutile"
        self.report.launches[name] = self.report.launches.get(name, 0) + 1

    def _keep(self, name: str, kernel: Any, grid: Any, args: Any, options: dict[str, Any]) -> None:
        compiled, description = prepared(kernel, args, options["backend"], options["exact"], options["fast"])
        for value in [*description.values, *description.memory]:
            if isinstance(value, Pointer):
                buffer = buffer_of(value.array, value.name)
                self._ranges.append((buffer.low, buffer.high))
        if description.memory:
            is_triton = is_triton_kernel(kernel)
            self.report.not_kept[name] = "it takes parts of tensors" if is_triton else "it takes lists of arrays"
            if self.run:
                self.report.recorded.setdefault(self.run, []).append("")
            return
        if id(compiled) not in self._programs:
            self._programs[id(compiled)] = compiled, bytecode_of(compiled)
        kept = described_launch(compiled, check_grid(grid), description.values, self._programs[id(compiled)][1])
        size = sum([region.nbytes for region in kept["regions"]])
        kind = hashlib.blake2b(repr((kept["grid"], kept["values"])).encode() + kept["bytecode"].tobytes())
        key = kind.copy()
        for region in kept["regions"]:
            key.update(region.tobytes())
        # Without a record each kind of launch is written once.
        file = self._write((key if self.run else kind).hexdigest(), kept, size)
        if self.run:
            self.report.recorded.setdefault(self.run, []).append(file)
        if not self.keeps:
            return
        if kind.hexdigest() not in self._kinds:
            if not file or len(self._kinds) == _MOST_KEPT:
                many = f"more than {_MOST_KEPT} kinds of launches"
                self.report.not_kept[name] = "too large" if size > self._left else many
                return
            self._kinds[kind.hexdigest()] = file
        kept_file = self._kinds[kind.hexdigest()]
        self.report.kept[kept_file] = self.report.kept.get(kept_file, 0) + self.counts

    def _write(self, key: str, kept: dict[str, Any], size: int) -> str:
        """The file of a launch; empty if there is no room for it."""
        if key not in self._files:
            if len(self._files) == _MOST_RECORDED or size > self._left:
                return ""
            self._left -= size
            self._files[key] = f"{self._prefix}{len(self._files)}.bin"
            Path(self._files[key]).write_bytes(dump(kept))
        return self._files[key]

    def watch(self, function: Callable[[Any], Any], inputs: Any) -> Any:
        """Call a function, and note what it does beside launches."""
        with _counting(self.report.torch) if "torch" in sys.modules else nullcontext():
            found = function(inputs)
        for number, value in enumerate(results_of(found)):
            if is_array(value) and not self._is_known(value):
                self.report.not_from_kernels.append(number)
        return found

    def _is_known(self, value: object) -> bool:
        with suppress(LaunchError):
            found = buffer_of(value, "a result")
            return found.low == found.high or any(low < found.high and found.low < high for low, high in self._ranges)
        return True


def emulate(backend: str, watcher: Launches) -> None:
    """Have this process find a GPU from now on, watch its launches, and fill memory that nobody has written to."""
    settings = Settings()
    settings.backend = backend
    # What is judged must not depend on the processor.  The interpreter would take many times as long for it.
    settings.exact = backend != "interpreter"
    fill_fresh_memory()
    emulate_process(settings, None, watcher)


def fill_fresh_memory() -> None:
    """Have memory that nobody has written to yet hold what no result is, and the same each time, for good.

    A kernel that leaves a part of its output unwritten would otherwise return what happened to be there: right by luck,
    when that is the output of the run before, or wrong in another way each time."""
    watch_allocations(everywhere=True)
    _fill_in_c()


def _fill_in_c() -> None:
    """What is allocated without those functions; glibc hands out some memory as it is, other libraries lack this."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).mallopt(_PERTURB, UNWRITTEN_BYTE ^ 0xFF)


def bytecode_of(kernel: Kernel) -> Array:
    module = kernel.entry.parent_operation
    assert module is not None, "a kernel stands in a module"
    return numpy.frombuffer(to_bytecode(module, version=BYTECODE_VERSION), numpy.uint8)


def described_launch(kernel: Kernel, grid: tuple[int, ...], values: list[object], bytecode: Array) -> dict[str, Any]:
    """A launch as values that can be carried; arrays that share memory do so in what is kept."""
    buffers = [buffer_of(value.array, value.name) if isinstance(value, Pointer) else None for value in values]
    ranges: list[tuple[int, int]] = []
    for low, high in sorted({(buffer.low, buffer.high) for buffer in buffers if buffer is not None}):
        if ranges and low < ranges[-1][1]:
            low, end = ranges.pop()
            high = max(high, end)
        ranges.append((low, high))
    kept_values: list[dict[str, object]] = []
    for value, buffer in zip(values, buffers, strict=True):
        if buffer is None or not isinstance(value, Pointer):
            kept_values.append({"number": value})
            continue
        region = next(number for number, (low, high) in enumerate(ranges) if low <= buffer.low and buffer.high <= high)
        layout = {"offset": buffer.address - ranges[region][0], "shape": buffer.shape, "strides": buffer.strides}
        kept_values.append({"region": region, **layout, "dtype": buffer.dtype.name, "name": value.name})
    return {
        "kernel": str(kernel.entry.symbol_name),
        "grid": list(grid),
        "bytecode": bytecode,
        "regions": [numpy.frombuffer(ctypes.string_at(low, high - low), numpy.uint8) for low, high in ranges],
        "alignments": [low % _ALIGNMENT for low, _ in ranges],
        "values": kept_values,
    }


class KeptLaunch(NamedTuple):
    """A launch that was kept, to be done again."""

    bytecode: bytes
    launch: Launch

    @property
    def module(self) -> Operation:
        """The program, which is not to be changed."""
        return _module_of(self.bytecode)

    def kernel(self, engine: str, *, exact: bool = True) -> Kernel:
        """Its kernel, ready to run."""
        return kernel_of(self.bytecode, self.launch.entry, engine, exact)


@lru_cache(_MOST_KEPT)
def _module_of(bytecode: bytes) -> Operation:
    return from_bytecode(bytecode)


@lru_cache(_MOST_KEPT)
def kernel_of(bytecode: bytes, entry: str, engine: str, exact: bool) -> Kernel:
    return compile(_module_of(bytecode), entry=entry, backend=engine, exact=exact)


def kept_launch(data: bytes) -> KeptLaunch:
    """A launch from its file; raises `NotCarried` for what is none."""
    held = load(data, as_numpy=True)
    try:
        x, y, z = [int(extent) for extent in held["grid"]]
        arguments_of(held)
        launch = Launch(str(held["kernel"]), (x, y, z), lambda: arguments_of(held)[0])
        return KeptLaunch(held["bytecode"].tobytes(), launch)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise NotCarried(f"the launch is damaged ({type(error).__name__})") from None


def read_launch(directory: str, file: str, most: int) -> dict[str, Any]:
    """What is recorded of a launch; raises `NotCarried` for what is none."""
    data = read_foreign(directory, file, most)
    kept_launch(data)
    held: dict[str, Any] = load(data, as_numpy=True)
    return held


def arguments_of(held: dict[str, Any]) -> tuple[list[Any], list[Array]]:
    """New arguments of a launch, and the memory that they are in."""
    pairs = zip(held["regions"], held["alignments"], strict=True)
    regions = [_region(region, int(alignment)) for region, alignment in pairs]
    return [_argument(value, regions) for value in held["values"]], regions


def _region(data: Array, alignment: int) -> Array:
    """Bytes at an address that is as divisible as the one they come from."""
    room = numpy.empty(data.nbytes + 2 * _ALIGNMENT, numpy.uint8)
    start = -int(room.ctypes.data) % _ALIGNMENT + alignment % _ALIGNMENT
    room[start : start + data.nbytes] = data.reshape(-1)
    return room[start : start + data.nbytes]


def _argument(value: dict[str, Any], regions: list[Array]) -> object:
    if "number" in value:
        return value["number"]
    dtype, region = dtype_named(str(value["dtype"]), "an argument"), regions[value["region"]]
    array: Array = numpy.ndarray(value["shape"], dtype, region, value["offset"], value["strides"])
    return Pointer(array, str(value["name"]))


# Operators that compute nothing: they make tensors, move them, or look at them in another way.
_NOTHING: Final = frozenset(
    (
        "empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "zeros", "zeros_like", "new_zeros",
        "ones", "ones_like", "new_ones", "full", "full_like", "new_full", "fill_", "zero_", "arange", "scalar_tensor",
        "view", "_unsafe_view", "reshape", "_reshape_alias", "t", "transpose", "permute", "expand", "as_strided",
        "slice", "select", "narrow", "unsqueeze", "squeeze", "detach", "alias", "unbind", "split", "chunk", "flatten",
        "copy_", "clone", "contiguous", "_to_copy", "to", "lift_fresh", "_local_scalar_dense", "item", "resize_",
        "randn", "rand", "random_", "normal_", "uniform_",
    )
)  # fmt: skip


def _counting(operators: dict[str, int]) -> Any:
    """A context in which torch's operators are counted."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Counting(TorchDispatchMode):  # type: ignore[misc]
        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            """Else torch imports its compiler at the first operator, in each child anew, which takes seconds."""
            return False

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            name = str(func.overloadpacket.__name__)
            if name not in _NOTHING:
                operators[name] = operators.get(name, 0) + 1
            return func(*args, **(kwargs or {}))

    return Counting()
