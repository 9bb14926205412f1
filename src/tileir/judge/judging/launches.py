"""What the kernels of a program are run with, and one run of them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy

from tileir.dialect.types import PointerType, TileType
from tileir.execute.dtypes import Array, value_dtype
from tileir.execute.engines import find_engine
from tileir.execute.entries import entries_of
from tileir.execute.errors import LaunchError
from tileir.execute.launch import Kernel, compile
from tileir.ir.core import Operation
from tileir.ir.types import Type


class Launch(NamedTuple):
    """A kernel, and what it is launched with."""

    entry: str
    grid: tuple[int, ...]
    arguments: list[Any]


class Results(NamedTuple):
    """The arrays of a launch when it is over, with the element types of the parameters they are for."""

    entry: str
    arrays: list[tuple[int, Type, Array]]

    @property
    def digest(self) -> str:
        """What the arrays hold, in few characters: two tables of results can be compared by it."""
        found = hashlib.blake2b(digest_size=16)
        for number, element, array in self.arrays:
            found.update(f"{number} {element.spelling} {array.shape} ".encode())
            found.update(numpy.ascontiguousarray(array).view(numpy.uint8).tobytes())
        return found.hexdigest()


def launches_of(module: Operation, seed: int) -> list[Launch]:
    """A launch of each kernel of a program."""
    found = [_plain_launch(name, entry, seed) for name, entry in entries_of(module).items()]
    if not found:
        raise LaunchError("the module has no entry, so nothing to launch")
    return found


def _plain_launch(name: str, entry: Operation, seed: int) -> Launch:
    generator = numpy.random.default_rng(seed)
    values: list[Any] = []
    for parameter in entry.regions[0].blocks[0].arguments:
        type = parameter.type
        assert isinstance(type, TileType)
        if isinstance(type.element, PointerType):
            dtype = value_dtype(type.element.pointee)
            values.append(generator.integers(0, 2, 1 << 16).astype(dtype))
        else:
            values.append(64)
    return Launch(name, (1,), values)


def run(
    module: Operation,
    launches: list[Launch],
    engine: str,
    threads: int,
    launch: Callable[[Kernel, Launch, list[Any], dict[str, Any]], None] | None = None,
) -> list[Results]:
    """What comes of the launches on an engine; each begins with the same arguments.

    Bit for bit where engines can be: `exact`.  `launch` does it in another way than once.
    """
    options: dict[str, Any] = {"num_threads": threads} if "num_threads" in find_engine(engine).options else {}
    found = []
    for each in launches:
        kernel = compile(module, each.entry, engine, exact=True)
        arguments = [value.copy() if isinstance(value, numpy.ndarray) else value for value in each.arguments]
        if launch is None:
            kernel.launch(each.grid, *arguments, **options)
        else:
            launch(kernel, each, arguments, options)
        found.append(Results(each.entry, _arrays(kernel.entry, arguments)))
    return found


def _arrays(entry: Operation, arguments: list[Any]) -> list[tuple[int, Type, Array]]:
    found = []
    for number, (parameter, value) in enumerate(zip(entry.regions[0].blocks[0].arguments, arguments, strict=True)):
        if isinstance(value, numpy.ndarray) and isinstance(parameter.type, TileType):
            element = parameter.type.element
            found.append((number, element.pointee if isinstance(element, PointerType) else element, value))
    return found
