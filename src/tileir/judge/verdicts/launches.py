"""The program of an item, the launches of its kernels, and what their arrays hold then."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import numpy

from tileir.analyze.random_arguments import random_launch
from tileir.analyze.smith.program import SmithProgram
from tileir.bytecode import is_bytecode
from tileir.dialect.types import PointerType, TileType
from tileir.execute.arguments.argument_text import stated_launch
from tileir.execute.arguments.binding import Pointer
from tileir.execute.dtypes import Array
from tileir.execute.engine.registry import find_engine
from tileir.execute.errors import LaunchError
from tileir.execute.launching.entries import entries_of
from tileir.execute.launching.kernel import Kernel, compile
from tileir.interface import load, verify
from tileir.ir.core import Operation
from tileir.ir.types import FloatType, Type
from tileir.judge.items import Item, seed_program


class Launch(NamedTuple):
    """A kernel, and what it is launched with."""

    entry: str
    grid: tuple[int, ...]
    arguments: list[Any]
    """Copied before each launch, as kernels write to arrays."""


class Subject:
    """A program that is judged."""

    def __init__(self, module: Operation, text: str = "", smith: SmithProgram | None = None) -> None:
        self.module: Operation = module
        self._text: str = text
        self._smith: SmithProgram | None = smith
        self._launches: list[Launch] | None = None
        self._refusal: LaunchError | None = None

    def launches(self, seed: int) -> list[Launch]:
        """A launch of each kernel: its own, the one that the text states, or a random one."""
        if self._refusal is not None:
            # Arguments that are not found take seconds to look for: once, not again in each step.
            raise self._refusal
        if self._launches is None:
            try:
                self._launches = self._made(seed)
            except LaunchError as error:
                self._refusal = error
                raise
        return self._launches

    def _made(self, seed: int) -> list[Launch]:
        entries = entries_of(self.module)
        if not entries:
            raise LaunchError("the module has no entry, so nothing to launch")
        return [self._launch(name, entry, seed) for name, entry in entries.items()]

    def _launch(self, name: str, entry: Operation, seed: int) -> Launch:
        if self._smith is not None:
            return Launch(name, self._smith.grid, self._smith.arguments)
        words = stated_launch(self._text, name) if self._text else None
        launch = words.launch(entry) if words is not None else random_launch(entry, seed)
        return Launch(name, launch.grid, launch.arguments)


def subject_of(item: Item) -> Subject:
    """The program of an item, verified; raises what is wrong with it."""
    if item.kind == "seed":
        made = seed_program(item.content)
        verify(made.module)
        return Subject(made.module, smith=made)
    if is_bytecode(item.content):
        return Subject(load(item.content, item.name))
    return Subject(load(item.content, item.name), item.content.decode("utf-8", "replace"))


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
        flat = numpy.ascontiguousarray(self.array).reshape(-1)
        # One float type has no dtype of its own.
        found: Array = numpy.zeros(flat.size, numpy.bool_)
        if isinstance(self.element, FloatType) and flat.dtype.kind != "u":
            with numpy.errstate(all="ignore"):
                found = numpy.isnan(flat)
        return found


class Results(NamedTuple):
    """The arrays of a launch when it is over."""

    entry: str
    arrays: list[Result]

    @property
    def digest(self) -> str:
        """What the arrays hold, in few characters, by which tables of results can be compared: which NaN an element is
        is not specified, and may be another one on another machine."""
        found = hashlib.blake2b(digest_size=16)
        for result in self.arrays:
            patterns, nans = result.patterns, result.nans
            if nans.any():
                patterns = numpy.where(nans, patterns.dtype.type(0), patterns)
                found.update(numpy.packbits(nans).tobytes())
            found.update(f"{result.argument} {result.element.spelling} {result.array.shape} ".encode())
            found.update(patterns.astype(patterns.dtype.newbyteorder("<"), copy=False).tobytes())
        return found.hexdigest()


def copies(arguments: list[Any]) -> list[Any]:
    """Arguments for one launch."""
    return [value.copy() if isinstance(value, numpy.ndarray) else value for value in arguments]


def options_of(engine: str, threads: int) -> dict[str, Any]:
    """What a launch on an engine is asked for."""
    return {"num_threads": threads} if "num_threads" in find_engine(engine).options else {}


def ready(module: Operation, launch: Launch, engine: str) -> Kernel:
    """A kernel ready to run, bit for bit where engines can be."""
    return compile(module, launch.entry, engine, exact=True)


def run(module: Operation, launches: list[Launch], engine: str, threads: int) -> list[Results]:
    """What comes of the launches on an engine; each begins with the same arguments."""
    found = []
    for each in launches:
        kernel = ready(module, each, engine)
        arguments = copies(each.arguments)
        kernel.launch(each.grid, *arguments, **options_of(engine, threads))
        found.append(Results(each.entry, arrays_of(kernel.entry, arguments)))
    return found


def time_launches(module: Operation, launches: list[Launch], engine: str, threads: int) -> float:
    """Seconds that the launches take, one after the other."""
    return sum(
        [
            ready(module, each, engine)
            .time(each.grid, *copies(each.arguments), **options_of(engine, threads))
            .median
            for each in launches
        ]
    )  # fmt: skip


def arrays_of(entry: Operation, arguments: list[Any]) -> list[Result]:
    """The arrays among the arguments of a launch that is over."""
    found = []
    for number, (parameter, value) in enumerate(zip(entry.regions[0].blocks[0].arguments, arguments, strict=True)):
        value = value.array if isinstance(value, Pointer) else value
        if isinstance(value, numpy.ndarray) and value.shape and isinstance(parameter.type, TileType):
            element = parameter.type.element
            found.append(Result(number, element.pointee if isinstance(element, PointerType) else element, value))
    return found
