"""A small program with what it is given: what is compared between an engine and a GPU.

Memory is listed apart from the arguments that point into it, as arrays may overlap and may hold addresses.
"""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import numpy

from tileir.execute.dtypes import memory_dtype
from tileir.ir.types import FLOAT_TYPES, Type, integer_type


class Pointer(NamedTuple):
    """An argument that points into one of the memories, and what kind of elements are there."""

    memory: int
    start: int
    """In bytes."""
    element: str
    length: int


class Number(NamedTuple):
    element: str
    bits: int


class Address(NamedTuple):
    """A place in memory that holds the address of another."""

    memory: int
    start: int
    target: int
    target_start: int


Argument = Pointer | Number


class Program:
    """A kernel `@k`, its grid and its arguments; `details` says what the rules need to know to judge a difference."""

    def __init__(
        self,
        name: str,
        text: str,
        grid: tuple[int, int, int],
        memories: list[bytes],
        arguments: list[Argument],
        details: dict[str, Any] | None = None,
        addresses: list[Address] | None = None,
    ) -> None:
        self.name = name
        self.text = text
        self.grid = grid
        self.memories = memories
        self.arguments = arguments
        self.details = details or {}
        self.addresses = addresses or []

    @property
    def family(self) -> str:
        return self.name.partition(":")[0]

    def __repr__(self) -> str:
        return f"<Program {self.name}>"


def element_of(name: str) -> Type:
    """The element type of a name; a pointer in memory is an i64."""
    if name.startswith("ptr"):
        return integer_type(64)
    return FLOAT_TYPES[name] if name in FLOAT_TYPES else integer_type(int(name[1:]))


def dtype_of(name: str) -> Any:
    return memory_dtype(element_of(name))


def generator(*words: object) -> Any:
    """Random numbers that only these words decide, on every machine."""
    digest = hashlib.sha256("\0".join([str(word) for word in words]).encode()).digest()
    return numpy.random.default_rng(int.from_bytes(digest[:8], "little"))


def simple(
    name: str,
    text: str,
    arrays: list[tuple[str, Any] | Number],
    grid: tuple[int, int, int] = (1, 1, 1),
    details: dict[str, Any] | None = None,
) -> Program:
    """A program each of whose arrays has memory of its own; an array is given as its element type and its values."""
    memories: list[bytes] = []
    arguments: list[Argument] = []
    for given in arrays:
        if isinstance(given, Number):
            arguments.append(given)
            continue
        element, array = given
        array = numpy.ascontiguousarray(array)
        assert array.dtype.itemsize == dtype_of(element).itemsize, (name, element, array.dtype)
        arguments.append(Pointer(len(memories), 0, element, array.size))
        memories.append(array.tobytes())
    return Program(name, text, grid, memories, arguments, details)


def bits_of(element: str, data: bytes) -> Any:
    """The patterns of elements in memory."""
    return numpy.frombuffer(data, f"u{dtype_of(element).itemsize}")
