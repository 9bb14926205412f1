"""Launches that are like one before: the second time, kernel and arguments are recognized at once.

`parameters.describe` finds what a kernel is compiled for and what it runs with, and takes many times as long as a small
kernel runs.  What it finds follows from little: of an array, from its dtype, shape, strides, and whether it may be
written to and begins at a multiple of 16 bytes; of a constant, from its type and value; of a number, from its type.
So there is a table from each of those to what was found (`ArrayKinds`), and for each kernel one from the kinds of all
arguments to the compiled kernel (`KnownLaunches`), whose engine packs numbers with the binder (`execute/binder.py`).

`_inspect` looks at each argument once, and makes both the key of that table and the numbers that go into the record
of a launch.  It takes no argument on trust: arrays may have been resized, tensors may have lost their memory.  Whatever
it does not know is left to `describe`, which reports every error in arguments.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final

import numpy

from tileir.bridge.contexts import ENTERED, torch_functions_off
from tileir.bridge.parameters import (
    ALIGNMENT,
    ArrayParameter,
    array_parameter,
    constant_key,
    integer_width,
    item_annotations,
    strides_of,
)
from tileir.execute.arguments.array_memory import DATA_OFFSET, READS_HEADERS, word_at
from tileir.execute.arguments.binding import HOST_ARRAY, TORCH_DTYPES, Buffer, tensor_dtype
from tileir.execute.binder import torch_classes
from tileir.execute.engine.interface import ArgumentKind, DirectLaunches
from tileir.execute.errors import LaunchError
from tileir.execute.launching.kernel import Kernel

MOST_KEPT: Final = 4096  # Kinds of arrays, or launches, that are remembered at a time; then all are forgotten.
Variant = tuple[Any, ...]
"""Other options of a launch that need kernels of their own: backend, exact, fast, and options if set."""
_COMPILED_FOR: Final = 3  # Items of a `Variant` that a kernel is compiled for; the others are those of `Kernel.direct`.

_UNKNOWN_ARGUMENTS: Final = (KeyError, TypeError, ValueError, AttributeError, RuntimeError, LaunchError)
"""What the inspection raises for arguments that are unknown or unusual."""
_MISALIGNMENT: Final = ALIGNMENT - 1
_NDARRAY: Final[Any] = numpy.ndarray if READS_HEADERS else None
_word: Final = struct.Struct("<Q").pack

_numbers: Final[dict[tuple[ArrayParameter, bool], int]] = {}
_kinds: Final[dict[int, tuple[ArrayParameter, bool]]] = {}
"""Numbers for kinds of arrays, and whether they may be written to, which are quicker to look up; and the reverse."""


class ArrayKinds(dict[tuple[Any, ...], tuple[int, bytes, int]]):
    """What is known of arrays with an annotation, by dtype, shape, strides, for NumPy's whether they may be written to,
    and how far after a multiple of `ALIGNMENT` they begin: the number of their kind, extents and strides as a kernel
    takes them, and their size.  Tensors of torch have their own dtype, and strides in elements."""

    def __init__(self, annotation: Any) -> None:
        super().__init__()
        self._annotation: Any = annotation

    def __missing__(self, key: tuple[Any, ...]) -> tuple[int, bytes, int]:
        dtype, shape, strides, *flags, misalignment = key
        writable = True
        if flags:
            [writable] = flags
        else:
            name = str(dtype).removeprefix("torch.")
            if name not in TORCH_DTYPES:
                raise KeyError(key)
            dtype = tensor_dtype(name)
            strides = tuple([dtype.itemsize * each for each in strides])
        buffer = Buffer(ALIGNMENT + misalignment, tuple(shape), strides, dtype, writable, None, "array")
        elements = strides_of(buffer, self._annotation, "")
        parameter = array_parameter(buffer, elements, self._annotation, "")
        number = _numbers.setdefault((parameter, writable), len(_numbers))
        _kinds[number] = parameter, writable
        words = struct.pack(f"<{2 * len(shape)}Q", *shape, *elements)
        if len(self) >= MOST_KEPT:
            self.clear()
        found = self[key] = (number, words, buffer.high - buffer.low)
        return found


_without_annotation: Final = ArrayKinds(None)
_TENSORS: Final[set[object]] = set()
"""torch's own classes of tensors, once one was launched with: the data of others may be elsewhere."""

Parameter = tuple[Any, ArrayKinds, bool, int]
"""The annotation, known arrays of this parameter, whether it is a constant, the least int that is too large."""


def _parameter(annotation: Any) -> Parameter:
    of_array = getattr(annotation, "array", None)
    kinds = _without_annotation if of_array is None else ArrayKinds(of_array)
    limit = 1 << integer_width(getattr(annotation, "scalar", None)) - 1
    return annotation, kinds, getattr(annotation, "constant", False), limit


Inspected = tuple[list[Any], Any, list[tuple[Any, list[int]]]]
"""Of arguments: their key, with the number of an array's kind, the type of a number, numbers for a list, pairs of
others; the numbers for the record of a launch; and of each list the table of its arrays, which is to be kept alive, and
three words for each (`memory` of `DirectLaunches.launch`)."""


def _inspect(parameters: Sequence[Parameter], arguments: Sequence[Any], found: Inspected) -> None:
    key, numbers, _ = found
    if len(arguments) != len(parameters):
        raise KeyError
    for (annotation, kinds, is_constant, limit), value in zip(parameters, arguments):  # noqa: B905
        kind = type(value)
        if is_constant:
            if kind is tuple:
                _inspect_tuple(annotation, value, found)
            else:
                key.append((kind, value) if kind is int else constant_key(value))
        elif kind is _NDARRAY:
            address = word_at(id(value) + DATA_OFFSET).value
            number, words, size = kinds[
                value.dtype, value.shape, value.strides, value.flags.writeable, address & _MISALIGNMENT
            ]
            key.append(number)
            numbers += (address, words, size)
        elif kind in _TENSORS:
            # Tensors that are nested, sparse or inside a transformation raise at one of these.
            address = value.data_ptr()
            number, words, size = kinds[value.dtype, value.shape, value.stride(), address & _MISALIGNMENT]
            key.append(number)
            numbers += (address, words, size)
            if value.is_cpu:
                # A tensor whose memory was released has less than its shape needs.
                storage = value.untyped_storage()
                if address + size > storage.data_ptr() + len(storage):
                    raise KeyError
            else:
                # One that is empty, or whose memory was given back, is nowhere.
                key.append(("device", value.get_device()))
                if not address or not value.is_cuda:
                    raise KeyError
            if value.is_neg():
                raise KeyError
        elif kind is float or kind is bool:
            key.append(kind)
            numbers.append(value)
        elif kind is int:
            if not -limit <= value < limit:
                raise KeyError
            key.append(kind)
            numbers.append(value)
        elif kind is tuple:
            _inspect_tuple(annotation, value, found)
        elif kind is list:
            _inspect_list(annotation.list, value, found)
        elif hasattr(kind, HOST_ARRAY):
            # An array of an emulated device, which has its memory in one of NumPy.
            _inspect(((annotation, kinds, is_constant, limit),), (getattr(kind, HOST_ARRAY)(value),), found)
        elif isinstance(value, numpy.generic) and not isinstance(item := value.item(), numpy.generic):
            _inspect(((annotation, kinds, is_constant, limit),), (item,), found)
        elif "torch" in sys.modules and kind in torch_classes():
            _TENSORS.add(kind)
            _inspect(((annotation, kinds, is_constant, limit),), (value,), found)
        else:
            raise KeyError


def _inspect_tuple(annotation: Any, items: tuple[Any, ...], found: Inspected) -> None:
    found[0].append(("tuple", len(items)))
    _inspect([_parameter(inner) for inner in item_annotations(annotation, len(items))], items, found)


def _inspect_list(annotation: Any, items: list[Any], found: Inspected) -> None:
    """Make the table of a list of arrays: a row with the address, extents and strides of each."""
    kinds = _without_annotation if annotation is None or annotation.element is None else ArrayKinds(annotation.element)
    inner_key: list[Any] = []
    inner_numbers: list[Any] = []
    _inspect([(None, kinds, False, 0)] * len(items), items, (inner_key, inner_numbers, []))
    if len(inner_numbers) != 3 * len(inner_key):
        # Not only arrays on the host.
        raise KeyError
    rows: list[bytes] = []
    memory: list[int] = []
    columns = [inner_numbers[place::3] for place in range(3)]
    for number, address, words, size in zip(inner_key, *columns, strict=True):
        rows += (_word(address), words)
        memory += (address, address + size, _kinds[number][1])
    table = array("Q", b"".join(rows))
    begin, count = table.buffer_info()
    key, numbers, tables = found
    key.append(tuple(inner_key))
    numbers += (begin, _word(len(items)), count * table.itemsize)
    tables.append((table, memory))


def _given(key: Sequence[Any]) -> list[ArgumentKind]:
    """The kind of each argument in a record."""
    found: list[ArgumentKind] = []
    for item in key:
        if isinstance(item, int):
            parameter, writable = _kinds[item]
            found.append((2 * parameter.rank, writable))
        elif isinstance(item, type):
            found.append(None)
        elif isinstance(item[0], int):
            # A list: its table, and the number of rows.
            found.append((1, True))
    return found


# --- the launches of a kernel ---


class KnownLaunches:
    """What is known of a kernel: what it was compiled for, and launches that are recognized."""

    def __init__(self, kernel: Callable[[], Any], annotations: Sequence[Any]) -> None:
        self.kernel: Callable[[], Any] = kernel  # A weak reference.
        self.compiled: dict[Hashable, Kernel] = {}
        self._parameters: list[Parameter] = [_parameter(annotation) for annotation in annotations]
        self._direct: dict[tuple[Any, ...], DirectLaunches] = {}

    def find(self, arguments: Sequence[object], variant: Variant) -> tuple[DirectLaunches, Inspected] | None:
        """How to launch with such arguments, and what was seen of them, which is to be kept meanwhile."""
        found: Inspected = ([variant], [], [])
        try:
            if not ENTERED:
                _inspect(self._parameters, arguments, found)
            else:
                with torch_functions_off():
                    _inspect(self._parameters, arguments, found)
            return self._direct[tuple(found[0])], found
        except _UNKNOWN_ARGUMENTS:
            return None

    def learn(self, arguments: Sequence[object], values: Sequence[object], compiled: Kernel, variant: Variant) -> None:
        """Recognize launches like this one from now on, if its kernel has a short way for them."""
        found: Inspected = ([variant], [], [])
        with torch_functions_off():
            try:
                _inspect(self._parameters, arguments, found)
            except _UNKNOWN_ARGUMENTS:
                return
            direct = compiled.direct(_given(found[0][1:]), tuple(values), *variant[_COMPILED_FOR:])
        if direct is not None:
            if len(self._direct) >= MOST_KEPT:
                self._direct.clear()
            self._direct[tuple(found[0])] = direct
