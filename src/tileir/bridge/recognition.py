"""Launches that are like one before: the second time, kernel and arguments are recognized at once.

`parameters.describe` says what a kernel is compiled for and what it runs with, and takes many times as long as a small
kernel runs.  What it finds follows from little: of an array, from its dtype, shape, strides, and whether it may be
written to and begins at a multiple of 16 bytes; of a constant, from its type and value; of a number, from its type.
So there is a table from each of those to what was found (`ArrayKinds`), and for each kernel one from the kinds of all
arguments to the compiled kernel (`KnownLaunches`).

A function written for the types of the arguments inspects each of them once, and makes both the key of that table and
the numbers that go into the record of a launch.  It takes no argument on trust: arrays may have been resized, tensors
may have lost their memory.  Whatever it does not know is left to `describe`, which has the words for all mistakes.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Callable, Hashable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Final

import numpy

from tileir.bridge.contexts import ENTERED, torch_functions_off
from tileir.bridge.parameters import (
    ALIGNMENT,
    ArrayFacts,
    ArrayParameter,
    Description,
    ListParameter,
    Parameter,
    ScalarParameter,
    TupleParameter,
    memory_of,
)
from tileir.execute.arguments import array_memory
from tileir.execute.arguments.array_memory import address_expression
from tileir.execute.arguments.binding import HOST_ARRAY, TORCH_DTYPES, Buffer, tensor_dtype
from tileir.execute.binder import ArgumentCode
from tileir.execute.engine.interface import DirectLaunches, Given
from tileir.execute.errors import LaunchError
from tileir.execute.launching.kernel import Kernel

MOST_KEPT: Final = 4096
"""How many kinds of arrays, or launches, are remembered at a time; then all are forgotten."""

Variant = tuple[Any, ...]
"""What else a launch asks for that has kernels of its own: backend, exact, fast, and options where they were given."""

Inspected = tuple[Any, tuple[Any, ...], tuple[int, ...], object]
"""Of arguments: the key of their kinds; the numbers for the record of a launch; three words for each array that is
reached through a list (`DirectLaunches.launch`); and what keeps the tables of lists alive."""

Inspect = Callable[[Sequence[object]], "Inspected | None"]
"""Of arguments; None if there is one of another type."""

_UNKNOWN_ARGUMENTS: Final = (KeyError, TypeError, ValueError, AttributeError, RuntimeError)
"""What the inspection of arguments raises that are not known, or out of the ordinary."""

# --- arrays ---

_numbers: Final[dict[tuple[ArrayParameter, bool], int]] = {}
"""A number for each kind of array, which is quicker to look up than the kind."""


class ArrayKinds(dict[tuple[Any, ...], tuple[int, bytes, int]]):
    """What is known of arrays with an annotation, by dtype, shape, strides, for NumPy's whether they may be written to,
    and whether they begin where they should: the number of their kind, extents and strides as a kernel takes them, and
    their size.  Tensors of torch have their own dtype, and strides in elements."""

    def __init__(self, annotation: Any) -> None:
        super().__init__()
        self._annotation: Any = annotation

    def __missing__(self, key: tuple[Any, ...]) -> tuple[int, bytes, int]:
        dtype, shape, strides, *flags, aligned = key
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
            facts = ArrayFacts(buffer, self._annotation, "")
            parameter = facts.parameter([facts])
        except LaunchError:
            # Reported elsewhere, with the name of the argument.
            raise KeyError(key) from None
        number = _numbers.setdefault((parameter, writable), len(_numbers))
        words = struct.pack(f"<{2 * len(shape)}Q", *shape, *facts.strides)
        if len(self) >= MOST_KEPT:
            self.clear()
        found = self[key] = (number, words, buffer.high - buffer.low)
        return found


_without_annotation: Final = ArrayKinds(None)


def _is_tensor(kind: Any) -> bool:
    """Whether a class is one of torch's own: the data of others may be elsewhere."""
    torch: Any = sys.modules.get("torch")
    return torch is not None and kind in (torch.Tensor, torch.nn.Parameter) and hasattr(kind, "untyped_storage")


# --- the types of arguments ---

Structure = tuple[Any, ...]
"""The types of arguments; of a tuple those of its items."""


@dataclass(frozen=True, slots=True)
class _OnGpu:
    """The type of tensors that are on a GPU."""

    kind: type


@dataclass(frozen=True, slots=True)
class _ListOf:
    """The type of a list whose items have these types."""

    items: Structure


def _kind_of(value: Any) -> Any:
    kind = type(value)
    if kind is tuple:
        return structure_of(value)
    if kind is list:
        return _ListOf(structure_of(value))
    return _OnGpu(kind) if getattr(value, "is_cuda", False) is True and _is_tensor(kind) else kind


def structure_of(arguments: Sequence[object]) -> Structure:
    return tuple([_kind_of(each) for each in arguments])


# --- the function written for them ---


class _Unknown(Exception):
    """There is no short way for arguments of these types."""


class InspectionCode(ArgumentCode):
    """The code that inspects arguments: its values are the numbers for the record of a launch."""

    def __init__(self) -> None:
        super().__init__()
        self.names |= array_memory.NAMES | {"array": array, "kind_of": _kind_of, "ndarray": numpy.ndarray}
        self.names |= {"bits_of": struct.Struct("=d").pack, "word": _word}
        self.key: list[str] = []
        self.memory: list[str] = []
        self.tables: list[str] = []
        self.on_gpu: bool = False
        """Whether there are tensors on a GPU, all of them on the same."""

    def inspect(self, annotations: Sequence[Any], structure: Structure) -> Inspect:
        self.inputs += [f"a{number}" for number in range(len(structure))]
        for name, kind in zip(self.inputs, structure, strict=True):
            self._check_type(name, kind)
        for name, annotation, kind in zip(self.inputs, annotations, structure, strict=True):
            self._argument(name, annotation, kind)
        key = [*self.key, *(["device"] if self.on_gpu else [])]
        found = f"return {_joined(key)}, {_joined(self.values)}, {_joined(self.memory)}, {_joined(self.tables)}"
        return self.function("arguments", [*self.lines, found])

    def _check_type(self, name: str, kind: Any) -> None:
        """Have an argument of another type refused, and a tuple or a list of other items."""
        if isinstance(kind, (tuple, _ListOf)):
            self.names[f"kind_{name}"] = kind
            self.checks.append(f"if kind_of({name}) != kind_{name}: return None")
        else:
            self.names[f"type_{name}"] = getattr(kind, "kind", kind)
            self.checks.append(f"if type({name}) is not type_{name}: return None")

    def _argument(self, name: str, annotation: Any, kind: Any) -> None:
        if isinstance(kind, tuple):
            self._tuple(name, annotation, kind)
        elif annotation.KIND != "leaf":
            raise _Unknown
        elif annotation.constant:
            self._number(name, kind)
            # -0.0 is not 0.0, and a NaN is itself.
            self.key.append(f"bits_of({name})" if issubclass(kind, (float, numpy.floating)) else name)
        elif _is_array(kind):
            self._array(name, annotation.array, kind)
            self._add(name, f"k_{name}")
        elif isinstance(kind, _ListOf):
            self._list(name, annotation.list, kind.items)
        else:
            self._scalar(name, annotation.scalar, kind)

    def _add(self, name: str, *keys: str) -> None:
        self.key += keys
        self.values += [f"p_{name}", f"b_{name}", f"n_{name}"]

    def _unpack(self, name: str, count: int) -> list[str]:
        items = [f"{name}_{number}" for number in range(count)]
        self.checks.append(f"[{', '.join(items)}] = {name}")
        return items

    def _tuple(self, name: str, annotation: Any, kinds: Structure) -> None:
        if annotation.KIND == "heterogeneous_tuple":
            annotations = annotation.items
        else:
            annotations = [annotation if annotation.KIND == "leaf" else annotation.each] * len(kinds)
        if len(annotations) != len(kinds):
            raise _Unknown
        for item, inner, kind in zip(self._unpack(name, len(kinds)), annotations, kinds, strict=True):
            self._argument(item, inner, kind)

    def _list(self, name: str, annotation: Any, kinds: Structure) -> None:
        """Make the table of a list of arrays: a row with the address, extents and strides of each."""
        if not 0 < len(kinds) <= _LONGEST_LIST or not all(_is_array(kind) for kind in kinds):
            raise _Unknown
        items = self._unpack(name, len(kinds))
        for item, kind in zip(items, kinds, strict=True):
            if isinstance(kind, _OnGpu):
                raise _Unknown
            self._array(item, None if annotation is None else annotation.element, kind)
            writable = "True" if _is_tensor(kind) else f"{item}.flags.writeable"
            self.memory += [f"p_{item}", f"p_{item} + n_{item}", writable]
        rows = _joined([f"word(p_{item}), b_{item}" for item in items])
        self.checks += [
            f"t_{name} = array('Q', b''.join({rows}))",
            f"p_{name}, n_{name} = t_{name}.buffer_info()",
            f"n_{name} *= t_{name}.itemsize",
        ]
        self.names[f"b_{name}"] = _word(len(items))
        self._add(name, *[f"k_{item}" for item in items])
        self.tables.append(f"t_{name}")

    def _array(self, name: str, annotation: Any, kind: Any) -> None:
        """Find the kind of an array, its address, its extents and strides, and its size: k, p, b and n."""
        self.names[f"kinds_{name}"] = _without_annotation if annotation is None else ArrayKinds(annotation)
        if isinstance(kind, _OnGpu):
            lines = _TENSOR + _IN_GPU_MEMORY
            lines += _ON_SAME_GPU if self.on_gpu else _ON_GPU
            self.on_gpu = True
        elif _is_tensor(kind):
            lines = _TENSOR + _IN_HOST_MEMORY
        else:
            lines = _ARRAY
            if kind is not numpy.ndarray:
                # An array of an emulated device, which has its memory in one of NumPy.
                self.names[f"host_{name}"] = getattr(kind, HOST_ARRAY)
                lines = _EMULATED_ARRAY + lines
        self.checks += lines.format(name=name, address=address_expression(name)).splitlines()

    def _number(self, name: str, kind: Any) -> None:
        """Have a number of Python in the place of one of NumPy."""
        if not isinstance(kind, type) or (issubclass(kind, numpy.generic) and not issubclass(kind, _NUMPY_NUMBERS)):
            raise _Unknown
        if issubclass(kind, numpy.generic):
            self.checks.append(f"{name} = {name}.item()")

    def _scalar(self, name: str, annotation: Any, kind: Any) -> None:
        self._number(name, kind)
        if kind is int or issubclass(kind, numpy.integer):
            width = 32 if annotation is None else int(annotation.dtype.name.removeprefix("int"))
            self.checks.append(f"if not {-(1 << (width - 1))} <= {name} < {1 << (width - 1)}: raise KeyError")
        elif kind not in (float, bool) and not issubclass(kind, _NUMPY_NUMBERS):
            raise _Unknown
        self.values.append(name)


def _joined(items: list[str]) -> str:
    """Python code for a tuple of these."""
    return f"({''.join([f'{item}, ' for item in items])})"


def _is_array(kind: Any) -> bool:
    return kind is numpy.ndarray or isinstance(kind, _OnGpu) or hasattr(kind, HOST_ARRAY) or _is_tensor(kind)


_word: Final = struct.Struct("<Q").pack
_LONGEST_LIST: Final = 64
_NUMPY_NUMBERS: Final = (numpy.integer, numpy.bool_, numpy.float16, numpy.float32, numpy.float64)

_EMULATED_ARRAY: Final = """\
{name} = host_{name}({name})
if type({name}) is not ndarray: raise KeyError
"""
_ARRAY: Final = f"""\
p_{{name}} = {{address}}
k_{{name}}, b_{{name}}, n_{{name}} = kinds_{{name}}[{{name}}.dtype, {{name}}.shape, {{name}}.strides, \
  {{name}}.flags.writeable, not p_{{name}} & {ALIGNMENT - 1}]
"""
# Tensors that are nested, sparse or inside a transformation raise at one of these.
_TENSOR: Final = f"""\
p_{{name}} = {{name}}.data_ptr()
k_{{name}}, b_{{name}}, n_{{name}} = kinds_{{name}}[\
  {{name}}.dtype, {{name}}.shape, {{name}}.stride(), not p_{{name}} & {ALIGNMENT - 1}]
"""
# Of one whose memory was given back there is less than it says.
_IN_HOST_MEMORY: Final = """\
s_{name} = {name}.untyped_storage()
if not {name}.is_cpu: return None
if p_{name} + n_{name} > s_{name}.data_ptr() + len(s_{name}) or {name}.is_neg(): raise KeyError
"""
# One that is empty, or whose memory was given back, is nowhere.
_IN_GPU_MEMORY: Final = "if not p_{name} or {name}.is_neg(): raise KeyError\n"
_ON_GPU: Final = "if (device := {name}.get_device()) < 0: return None\n"
_ON_SAME_GPU: Final = "if {name}.get_device() != device: return None\n"


# --- the launches of a kernel ---


class KnownLaunches:
    """What is known of a kernel: what it was compiled for, and launches that are recognized."""

    __slots__ = ("_last", "_recognizers", "annotations", "compiled", "kernel")

    def __init__(self, kernel: Callable[[], Any], annotations: Sequence[Any]) -> None:
        self.kernel: Callable[[], Any] = kernel
        """A weak reference."""
        self.annotations: Sequence[Any] = annotations
        self.compiled: dict[Hashable, Kernel] = {}
        self._recognizers: dict[Structure, Recognizer | None] = {}
        """By the types of the arguments; None if there is no short way for them."""
        self._last: Recognizer = (lambda arguments: None, {})
        """That of the last launch, which is likely to be that of the next."""

    def find(
        self, arguments: Sequence[object], variant: Variant
    ) -> tuple[DirectLaunches, tuple[Any, ...], tuple[int, ...], object] | None:
        """How to launch with such arguments, what `DirectLaunches.launch` takes, and what to keep alive meanwhile."""
        with torch_functions_off() if ENTERED else _NOTHING:
            try:
                inspect, known = self._last
                inspected = inspect(arguments)
                if inspected is None:
                    recognizer = self._recognizers.get(structure_of(arguments))
                    if recognizer is None:
                        return None
                    self._last = inspect, known = recognizer
                    inspected = inspect(arguments)
                return None if inspected is None else (known[inspected[0], variant], *inspected[1:])
            except _UNKNOWN_ARGUMENTS:
                return None

    def learn(self, arguments: Sequence[object], description: Description, compiled: Kernel, variant: Variant) -> None:
        """Recognize launches like this one from now on, if its kernel has a short way for them."""
        with torch_functions_off():
            structure = structure_of(arguments)
            if structure not in self._recognizers:
                try:
                    self._recognizers[structure] = (InspectionCode().inspect(self.annotations, structure), {})
                except _Unknown:
                    self._recognizers[structure] = None
            recognizer = self._recognizers[structure]
            if recognizer is None:
                return
            kind: list[Given] = []
            for parameter, value in zip(description.parameters, arguments, strict=True):
                _add_kind(kind, parameter, value)
            direct = compiled.direct(kind, tuple(description.values), *variant[_COMPILED_FOR:])
            inspect, known = recognizer
            try:
                inspected = inspect(arguments)
            except _UNKNOWN_ARGUMENTS:
                return
        if direct is None or inspected is None:
            return
        if len(known) >= MOST_KEPT:
            known.clear()
        known[inspected[0], variant] = direct
        self._last = recognizer


Recognizer = tuple[Inspect, dict[tuple[Any, Variant], DirectLaunches]]
"""How arguments of some types are looked at, and the launches that are known with them."""
_NOTHING: Final = nullcontext()
_COMPILED_FOR: Final = 3
"""How many items of a `Variant` a kernel is compiled for; the others are those of `Kernel.direct`."""


def _add_kind(kind: list[Given], parameter: Parameter, value: Any) -> None:
    """What of a parameter stands in a record."""
    if isinstance(parameter, ArrayParameter):
        kind.append((2 * parameter.rank, memory_of(value, "").writable))
    elif isinstance(parameter, ListParameter):
        # The table, and the number of its rows.
        kind.append((1, True))
    elif isinstance(parameter, ScalarParameter):
        kind.append(None)
    elif isinstance(parameter, TupleParameter):
        for item, inner in zip(parameter.items, value, strict=True):
            _add_kind(kind, item, inner)
