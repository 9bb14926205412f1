"""Kernels launched on an engine, and what their arrays hold then."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import numpy

from tileir.dialect.types import PointerType, TileType
from tileir.execute.arguments.binding import Pointer
from tileir.execute.dtypes import Array
from tileir.execute.engine.registry import find_engine
from tileir.execute.launching.kernel import Kernel, compile
from tileir.ir.core import Operation
from tileir.ir.types import FloatType, Type
from tileir.judge.judging.subjects import Launch


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
