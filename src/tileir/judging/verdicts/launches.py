"""The program of an item, the launches of its kernels, what their arrays hold then, and results side by side."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy

from tileir.analyze.random_arguments import random_launch
from tileir.analyze.smith.program import SmithProgram
from tileir.bytecode import is_bytecode
from tileir.dialect.types import PointerType, TileType
from tileir.execute.analysis.values import leaves_bits_open
from tileir.execute.arguments.argument_text import LaunchArguments, LaunchDescription, stated_instances, stated_launch
from tileir.execute.arguments.binding import Pointer
from tileir.execute.array_difference import exact_numbers, near, same_bits
from tileir.execute.dtypes import Array
from tileir.execute.engine.registry import find_engine
from tileir.execute.errors import LaunchError
from tileir.execute.launching.entries import entries_of
from tileir.execute.launching.kernel import Kernel, compile
from tileir.interface import load, load_cpp, verify
from tileir.ir.core import Operation
from tileir.ir.traversal import pre_order
from tileir.ir.types import FloatType, Type
from tileir.judging.model import JudgeStage, SweepInput, seed_program
from tileir.judging.verdicts.causes import DIFFERENT


class Launch(NamedTuple):
    """A kernel, and what it is launched with."""

    entry: str
    grid: tuple[int, ...]
    arguments: Callable[[], list[Any]]
    """New ones for each launch, as kernels write to arrays."""


@dataclass(slots=True)
class Subject:
    """A program that is judged."""

    module: Operation
    text: str = ""
    smith: SmithProgram | None = None
    _launches: list[Launch] | LaunchError | None = None

    def launches(self, seed: int) -> list[Launch]:
        """A launch of each kernel: its own, the one that the text states, or a random one."""
        if self._launches is None:
            try:
                self._launches = [self._launch(*entry, seed) for entry in entries_of(self.module).items()]
            except LaunchError as error:
                # Arguments that are not found take seconds to look for: once, not again in each step.
                self._launches = error
        if isinstance(self._launches, LaunchError):
            raise self._launches
        if not self._launches:
            raise LaunchError("the module has no entry, so nothing to launch")
        return self._launches

    def _launch(self, name: str, entry: Operation, seed: int) -> Launch:
        if self.smith is not None:
            launch = LaunchArguments(self.smith.grid, self.smith.arguments, LaunchDescription(self.smith.grid, ()))
        else:
            words = stated_launch(self.text, name) if self.text else None
            launch = words.launch(entry) if words is not None else random_launch(entry, seed)
        return Launch(name, launch.grid, launch.copies)


def subject_of(item: SweepInput) -> Subject:
    """The program of an item, verified; raises what is wrong with it."""
    if item.kind == "seed":
        made = seed_program(item.content)
        verify(made.module)
        return Subject(made.module, smith=made)
    text = "" if is_bytecode(item.content) else item.content.decode("utf-8", "replace")
    if item.kind == "cpp":
        return Subject(load_cpp(item.content, item.name, instances=stated_instances(text)), text)
    return Subject(load(item.content, item.name), text)


class Result(NamedTuple):
    """An array of a launch when that is over."""

    argument: int
    element: Type
    array: Array

    @property
    def patterns(self) -> Array:
        """The bits of its elements, in a row."""
        flat = numpy.ascontiguousarray(self.array).reshape(-1)
        return flat.view(f"u{flat.itemsize}")

    @property
    def nans(self) -> Array:
        """Which of its elements are NaNs."""
        flat = self.array.reshape(-1)
        # One float type has no dtype of its own.
        if not isinstance(self.element, FloatType) or flat.dtype.kind == "u":
            return numpy.zeros(flat.size, numpy.bool_)
        with numpy.errstate(all="ignore"):
            found: Array = numpy.isnan(flat)
        return found


class Results(NamedTuple):
    """The arrays of a launch when it is over."""

    entry: str
    arrays: list[Result]

    @property
    def digest(self) -> str:
        """What the arrays hold, by which tables of results can be compared; all NaNs are one."""
        found = hashlib.blake2b(digest_size=16)
        for result in self.arrays:
            patterns, nans = result.patterns, result.nans
            if nans.any():
                patterns = numpy.where(nans, patterns.dtype.type(0), patterns)
                found.update(numpy.packbits(nans).tobytes())
            found.update(f"{result.argument} {result.element.spelling} {result.array.shape} ".encode())
            found.update(patterns.astype(patterns.dtype.newbyteorder("<"), copy=False).tobytes())
        return found.hexdigest()


def _options_of(engine: str, threads: int) -> dict[str, Any]:
    return {"threads": threads} if "threads" in find_engine(engine).options else {}


def ready(module: Operation, launch: Launch, engine: str) -> Kernel:
    """A kernel ready to run, bit for bit where engines can be."""
    return compile(module, entry=launch.entry, backend=engine, exact=True)


def run(module: Operation, launches: list[Launch], engine: str, threads: int) -> list[Results]:
    """What comes of the launches on an engine; each begins with the same arguments."""
    found = []
    for each in launches:
        kernel, arguments = ready(module, each, engine), each.arguments()
        kernel.launch(each.grid, arguments, **_options_of(engine, threads))
        found.append(Results(each.entry, arrays_of(kernel.entry, arguments)))
    return found


def time_launches(module: Operation, launches: list[Launch], engine: str, threads: int) -> float:
    """Seconds that the launches take, one after the other."""
    options = _options_of(engine, threads)
    timings = [ready(module, each, engine).time(each.grid, each.arguments(), **options) for each in launches]
    return sum([timing.median for timing in timings])


def arrays_of(entry: Operation, arguments: list[Any]) -> list[Result]:
    """The arrays among the arguments of a launch that is over."""
    found = []
    for number, (parameter, value) in enumerate(zip(entry.regions[0].blocks[0].arguments, arguments, strict=True)):
        value = value.array if isinstance(value, Pointer) else value
        if isinstance(value, numpy.ndarray) and value.shape and isinstance(parameter.type, TileType):
            element = parameter.type.element
            found.append(Result(number, element.pointee if isinstance(element, PointerType) else element, value))
    return found


# --- results side by side: which elements have other bits, and whether they may (docs/reference/numerics.md) ---
#
# Which NaN an element is may differ everywhere.  Last bits may differ: on the CPU backend, of operations that round
# `approx`; on a GPU, also of functions, matmuls, sums of floats and atomics, whose last bits the dialect leaves open.
# Where bits may differ, numbers must be near each other.

_NEAR: Final = {"f64": 1e-9, "f32": 1e-3, "f16": 2e-2, "bf16": 1e-1, "tf32": 1e-2, "f8E4M3FN": 0.3, "f8E5M2": 0.5}
"""Relative distances within which numbers of a type are near each other."""


def open_operations(module: Operation, engine: str) -> list[str]:
    """The operations of a program whose last bits an engine may choose, each once."""
    on_gpu = find_engine(engine).on_gpu

    def is_open(operation: Operation) -> bool:
        return leaves_bits_open(operation) if on_gpu else operation.keyword("rounding_mode") == "approx"

    return sorted({each.declaration.mnemonic for each in pre_order(module) if is_open(each)})


def compare_results(
    step: JudgeStage, expected: list[Results], found: list[Results], names: tuple[str, str], open_bits: list[str]
) -> None:
    """Report in a step where results differ; it passes if they do not, or only as they may."""
    free = 0
    for left, right in zip(expected, found, strict=True):
        for before, after in zip(left.arrays, right.arrays, strict=True):
            different = before.patterns != after.patterns
            allowed = different & same_bits(before.array, after.array).reshape(-1)
            if open_bits:
                allowed |= different & _near(before, after)
            free += int(allowed.sum())
            places = numpy.flatnonzero(different & ~allowed)
            if places.size:
                _describe(step, left.entry, before, after, places, names)
    if open_bits:
        step.details["open_operations"] = sorted({*step.details.get("open_operations", ()), *open_bits})
    if free:
        # Measured, as it is another number on another processor, which makes other NaNs, or rounds otherwise.
        step.measured["open"] = step.measured.get("open", 0.0) + free


def _describe(
    step: JudgeStage, entry: str, before: Result, after: Result, places: Array, names: tuple[str, str]
) -> None:
    count = int(places.size)
    step.details.setdefault("different", {})[f"@{entry} argument {before.argument}"] = count
    if step.outcome == "failed":
        # The message is about the first.
        return
    place = int(places[0])
    step.outcome, step.cause = "failed", f"{DIFFERENT}: {before.element.spelling}"
    elements = f"{count} of {before.array.size} elements of type {before.element.spelling} differ"
    first = f"{names[0]} has {_shown(before, place)}, {names[1]} has {_shown(after, place)}"
    step.message = f"@{entry}, argument {before.argument}: {elements}, the first is number {place}: {first}"


def _near(before: Result, after: Result) -> Array:
    element = before.element
    if not isinstance(element, FloatType) or element.name not in _NEAR or before.array.dtype.kind == "u":
        return numpy.zeros(before.array.size, numpy.bool_)
    left, right = (exact_numbers(element, each.array).reshape(-1) for each in (before, after))
    with numpy.errstate(all="ignore"):
        sizes = numpy.abs(left)
        finite = sizes[numpy.isfinite(sizes)]
        # What nearly cancels out is judged by what is typical.
        typical = float(numpy.median(finite)) if finite.size else 0.0
        return near(right, left, 0.0, _NEAR[element.name] * numpy.maximum(sizes, typical))


def _shown(result: Result, place: int) -> str:
    return f"{result.array.reshape(-1)[place]} ({int(result.patterns[place]):#x})"
