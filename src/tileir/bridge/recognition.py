"""Launches that are like one before: the second time, kernel and arguments are recognized at once.

`parameters.describe` says what a kernel is compiled for and what it runs with, and takes many times as long as a small
kernel runs.  What it finds follows from little: of an array, from its dtype, shape, strides, and whether it may be
written to and begins at a multiple of 16 bytes; of a constant, from its type and value; of a number, from its type.
So there is a table from each of those to what was found (`ArrayKinds`), and for each kernel one from the kinds of all
arguments to the compiled kernel (`KnownLaunches`), whose engine packs numbers with the binder (`execute/binder.py`).

`Inspection` looks at each argument once, and makes both the key of that table and the numbers that go into the record
of a launch.  It takes no argument on trust: arrays may have been resized, tensors may have lost their memory.  Whatever
it does not know is left to `describe`, which has the words for all mistakes.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Callable, Hashable, Sequence
from contextlib import nullcontext
from typing import Any, Final

import numpy

from tileir.bridge.contexts import ENTERED, torch_functions_off
from tileir.bridge.parameters import (
    ALIGNMENT,
    ArrayFacts,
    ArrayParameter,
    constant_key,
    integer_width,
    item_annotations,
)
from tileir.execute.arguments.array_memory import address_of
from tileir.execute.arguments.binding import HOST_ARRAY, TORCH_DTYPES, Buffer, tensor_dtype
from tileir.execute.engine.interface import DirectLaunches, Given
from tileir.execute.errors import LaunchError
from tileir.execute.launching.kernel import Kernel

MOST_KEPT: Final = 4096
"""How many kinds of arrays, or launches, are remembered at a time; then all are forgotten."""

Variant = tuple[Any, ...]
"""What else a launch asks for that has kernels of its own: backend, exact, fast, and options where they were given."""
_COMPILED_FOR: Final = 3
"""How many items of a `Variant` a kernel is compiled for; the others are those of `Kernel.direct`."""

_UNKNOWN_ARGUMENTS: Final = (KeyError, TypeError, ValueError, AttributeError, RuntimeError)
"""What the inspection of arguments raises that are not known, or out of the ordinary."""
_word: Final = struct.Struct("<Q").pack

# --- arrays ---

_array_kinds: Final[dict[tuple[ArrayParameter, bool], int]] = {}
"""A number for each kind of array, and whether it may be written to: quicker to look up than these."""


class ArrayKinds(dict[tuple[Any, ...], tuple[int, bytes, int]]):
    """What is known of arrays, by annotation, dtype, shape, strides, for NumPy's whether they may be written to, and
    whether they begin where they should: the number of their kind, extents and strides as a kernel takes them, and
    their size.  Tensors of torch have their own dtype, and strides in elements."""

    def __missing__(self, key: tuple[Any, ...]) -> tuple[int, bytes, int]:
        annotation, dtype, shape, strides, *flags, aligned = key
        writable = True
        if flags:
            [writable] = flags
        else:
            name = str(dtype).removeprefix("torch.")
            if name not in TORCH_DTYPES:
                raise KeyError(key)
            dtype = tensor_dtype(name)
            strides = tuple([dtype.itemsize * each for each in strides])
        buffer = Buffer(ALIGNMENT if aligned else 1, tuple(shape), strides, dtype, writable, None, "array")
        try:
            facts = ArrayFacts(buffer, annotation, "")
            parameter = facts.parameter([facts])
        except LaunchError:
            # Reported elsewhere, with the name of the argument.
            raise KeyError(key) from None
        number = _array_kinds.setdefault((parameter, writable), len(_array_kinds))
        words = struct.pack(f"<{2 * len(shape)}Q", *shape, *facts.strides)
        if len(self) >= MOST_KEPT:
            self.clear()
        found = self[key] = (number, words, buffer.high - buffer.low)
        return found


_KINDS: Final = ArrayKinds()


def _is_tensor(kind: Any) -> bool:
    """Whether a class is one of torch's own: the data of others may be elsewhere."""
    torch: Any = sys.modules.get("torch")
    return torch is not None and kind in (torch.Tensor, torch.nn.Parameter) and hasattr(kind, "untyped_storage")


# --- arguments ---


class Inspection:
    """What stands in the record of a launch, and the key of launches like it."""

    __slots__ = ("key", "memory", "numbers", "tables")

    def __init__(self, annotations: Sequence[Any], arguments: Sequence[object]) -> None:
        self.key: list[Any] = []
        """The number of an array's kind, the type of a number, numbers for a list; pairs of others."""
        self.numbers: list[Any] = []
        """What `DirectLaunches.launch` takes, and its `memory`."""
        self.memory: list[int] = []
        self.tables: list[Any] = []
        """Those of lists, to keep them alive."""
        for annotation, value in zip(annotations, arguments, strict=True):
            self._add(annotation, value)

    def _add(self, annotation: Any, value: Any) -> None:
        kind = type(value)
        if kind is tuple:
            self.key.append(("tuple", len(value)))
            for inner, item in zip(item_annotations(annotation, len(value)), value, strict=True):
                self._add(inner, item)
        elif annotation.KIND != "leaf":
            raise KeyError
        elif annotation.constant:
            self.key.append(constant_key(value.item() if isinstance(value, numpy.generic) else value))
        elif kind is list:
            self._add_list(annotation.list, value)
        elif kind is float:
            self.key.append(kind)
            self.numbers.append(value)
        elif kind is int or kind is bool or isinstance(value, numpy.generic):
            self._add_number(annotation.scalar, value)
        else:
            address, number, words, size, _, device = _inspect_array(annotation.array, value)
            self.key.append(number)
            if device is not None:
                self.key.append(("device", device))
            self.numbers += (address, words, size)

    def _add_number(self, annotation: Any, value: Any) -> None:
        if isinstance(value, numpy.generic):
            value = value.item()
        kind = type(value)
        if kind is int:
            limit = 1 << integer_width(annotation) - 1
            if not -limit <= value < limit:
                raise KeyError
        elif kind is not float and kind is not bool:
            raise KeyError
        self.key.append(kind)
        self.numbers.append(value)

    def _add_list(self, annotation: Any, items: list[Any]) -> None:
        """Make the table of a list of arrays: a row with the address, extents and strides of each."""
        element = None if annotation is None else annotation.element
        kinds: list[int] = []
        rows: list[bytes] = []
        for item in items:
            address, number, words, size, writable, device = _inspect_array(element, item)
            if device is not None:
                raise KeyError
            kinds.append(number)
            rows += (_word(address), words)
            self.memory += (address, address + size, writable)
        table = array("Q", b"".join(rows))
        begin, count = table.buffer_info()
        self.key.append(tuple(kinds))
        self.numbers += (begin, _word(len(items)), count * table.itemsize)
        self.tables.append(table)

    def given(self) -> list[Given]:
        """What of each argument stands in a record."""
        kinds = list(_array_kinds)
        found: list[Given] = []
        for item in self.key:
            if isinstance(item, int):
                parameter, writable = kinds[item]
                found.append((2 * parameter.rank, writable))
            elif isinstance(item, type):
                found.append(None)
            elif isinstance(item[0], int):
                # A list: its table, and the number of rows.
                found.append((1, True))
        return found


def _inspect_array(annotation: Any, value: Any) -> tuple[int, int, bytes, int, bool, int | None]:
    """The address of an array, what `ArrayKinds` has, whether it may be written to, and its GPU; `KeyError` for what is
    no array, or out of the ordinary."""
    kind = type(value)
    if kind is not numpy.ndarray and hasattr(kind, HOST_ARRAY):
        # An array of an emulated device, which has its memory in one of NumPy.
        value = getattr(kind, HOST_ARRAY)(value)
        kind = type(value)
    if kind is numpy.ndarray:
        address = address_of(value)
        writable = value.flags.writeable
        key = (annotation, value.dtype, value.shape, value.strides, writable, not address % ALIGNMENT)
        return address, *_KINDS[key], writable, None
    if not _is_tensor(kind):
        raise KeyError
    # Tensors that are nested, sparse or inside a transformation raise at one of these.
    address = value.data_ptr()
    found = _KINDS[annotation, value.dtype, value.shape, value.stride(), not address % ALIGNMENT]
    if value.is_neg():
        raise KeyError
    if value.is_cuda:
        # One that is empty, or whose memory was given back, is nowhere.
        if not address:
            raise KeyError
        return address, *found, True, value.get_device()
    # Of one whose memory was given back there is less than it says.
    storage = value.untyped_storage()
    if not value.is_cpu or address + found[2] > storage.data_ptr() + len(storage):
        raise KeyError
    return address, *found, True, None


# --- the launches of a kernel ---


class KnownLaunches:
    """What is known of a kernel: what it was compiled for, and launches that are recognized."""

    __slots__ = ("_direct", "annotations", "compiled", "kernel")

    def __init__(self, kernel: Callable[[], Any], annotations: Sequence[Any]) -> None:
        self.kernel: Callable[[], Any] = kernel
        """A weak reference."""
        self.annotations: Sequence[Any] = annotations
        self.compiled: dict[Hashable, Kernel] = {}
        self._direct: dict[tuple[tuple[Any, ...], Variant], DirectLaunches] = {}

    def find(self, arguments: Sequence[object], variant: Variant) -> tuple[DirectLaunches, Inspection] | None:
        """How to launch with such arguments, and what was seen of them, which is to be kept meanwhile."""
        with torch_functions_off() if ENTERED else _NOTHING:
            try:
                seen = Inspection(self.annotations, arguments)
                return self._direct[tuple(seen.key), variant], seen
            except _UNKNOWN_ARGUMENTS:
                return None

    def learn(self, arguments: Sequence[object], values: Sequence[object], compiled: Kernel, variant: Variant) -> None:
        """Recognize launches like this one from now on, if its kernel has a short way for them."""
        with torch_functions_off():
            try:
                seen = Inspection(self.annotations, arguments)
            except _UNKNOWN_ARGUMENTS:
                return
            direct = compiled.direct(seen.given(), tuple(values), *variant[_COMPILED_FOR:])
        if direct is not None:
            if len(self._direct) >= MOST_KEPT:
                self._direct.clear()
            self._direct[tuple(seen.key), variant] = direct


_NOTHING: Final = nullcontext()
