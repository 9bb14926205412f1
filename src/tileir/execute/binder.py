"""The one binder of arguments: Python functions written for the signature of a kernel.

A loop over parameters takes twice the time of code that is written for them.  `Slots` is that code: it
packs parameters into a record for the CPU backend (`cpu/runtime/binder.py`) and for GPUs (`gpu/short_launches.py`).
Parameters come as objects that the caller passes, or as numbers: `bridge/recognition.py` extracts them for a cuTile
launch that is like one before (`engine.DirectLaunches`).

Each of them accepts a subset of what `arguments.bind` accepts and writes the same bits; `arguments.bind` handles the
rest, and has the messages.
"""

from __future__ import annotations

import functools
import struct
import sys
from collections.abc import Callable, Sequence, Set
from types import CodeType
from typing import Any, Final

import numpy

from tileir.dialect.types import PointerType, TileType
from tileir.execute.arguments.binding import TORCH_DTYPES, accepted_dtypes, tensor_dtype
from tileir.execute.engine.interface import ArgumentKind
from tileir.execute.errors import GENERATED
from tileir.ir.types import F32, F64, IntegerType, Type

SLOT_BYTES: Final = 8  # Of each parameter in a record.


@functools.lru_cache(256)
def _compiled(text: str) -> CodeType:
    """Most kernels have parameters like another's: what differs should be in the names."""
    return compile(text, GENERATED, "exec")


class Slots:
    """Code that packs parameters into a record, 8 bytes each."""

    def __init__(self, head: str) -> None:
        self.names: dict[str, Any] = {}  # What the code uses.
        self.inputs: list[str] = []  # The names of the arguments, or of the numbers.
        self.checks: list[str] = []
        """Lines that leave the function where something is out of the ordinary, and compute what is made of it."""
        self.values: list[str] = []  # What is made of the arguments, in order.
        self.given: list[str] = []  # The value of each parameter.
        self.keys: list[tuple[int, int, str]] = []
        """The number of a parameter, one, and its name; or the first of those after an array, how many, and a name."""
        self.arrays: dict[int, bool] = {}  # The pointers, by number: whether their memory may be written to.
        self._formats: list[str] = [head]

    @property
    def lines(self) -> list[str]:
        """What takes `arguments` apart and checks them."""
        return [f"[{', '.join(self.inputs)}] = arguments", *self.checks]

    def function(self, parameters: str, lines: list[str]) -> Callable[..., Any]:
        text = "\n    ".join([f"def run({parameters}):", *lines])
        exec(_compiled(text), self.names)
        found: Callable[..., Any] = self.names["run"]
        return found

    def add(self, value: str, format: str) -> None:
        self.values.append(value)
        self._formats.append(format)

    def pack(self) -> Callable[..., None]:
        """What packs the values into memory, behind those of the head."""
        return struct.Struct("".join(self._formats)).pack_into

    def add_parameter(self, number: int, name: str, value: str, format: str) -> None:
        self.add(value, format)
        self.given.append(name)
        self.keys.append((number, 1, name))

    def add_scalar(self, number: int, type: Type, refusal: str, is_object: bool) -> bool:
        """Pack a scalar; False if it is of a type that has no short way."""
        name = f"a{number}"
        element = type.element if isinstance(type, TileType) else None
        if isinstance(element, IntegerType):
            low, high = -(1 << (element.width - 1)), (1 << element.width) - 1
            kind = f"type({name}) is not int or " if is_object else ""
            self.checks.append(f"if {kind}not {low} <= {name} <= {high}: {refusal}")
            value, format = f"{name} & {high}", "Q"
        elif element is F32 or element is F64:
            if is_object:
                self.checks.append(f"if type({name}) is not float: {refusal}")
            value, format = name, "f4x" if element is F32 else "d"
        else:
            return False
        self.inputs.append(name)
        self.add_parameter(number, name, value, format)
        return True


def slots_of_objects(
    types: Sequence[Type], head: str, refusal: str, array_checks: Callable[[Slots, int, Type], list[str]]
) -> Slots | None:
    """The code for arguments as the caller passes them; None if there is no short way for parameters of these types.
    `array_checks` returns lines that check array a2 of parameter 2 and find its address, p2."""
    slots = Slots(head)
    for number, type in enumerate(types):
        pointee = pointee_of(type)
        if pointee is None:
            if not slots.add_scalar(number, type, refusal, is_object=True):
                return None
            continue
        slots.inputs.append(f"a{number}")
        slots.checks += array_checks(slots, number, pointee)
        slots.arrays[number] = True
        slots.add_parameter(number, f"p{number}", f"p{number}", "Q")
    return slots


def slots_of_numbers(types: Sequence[Type], kind: Sequence[ArgumentKind], head: str, refusal: str) -> Slots | None:
    """The code for arguments of a kind, given as numbers; None if they need `arguments.bind`.  For array 2 they are its
    address p2, the bytes b2 of its extents and strides, and its size n2 in bytes."""
    slots = Slots(head)
    number = 0
    for given in kind:
        if number >= len(types):
            return None
        if given is None:
            if not slots.add_scalar(number, types[number], refusal, is_object=False):
                return None
            number += 1
            continue
        words, slots.arrays[number] = given
        slots.inputs += [f"p{number}", f"b{number}", f"n{number}"]
        slots.add_parameter(number, f"p{number}", f"p{number}", "Q")
        slots.add(f"b{number}", f"{SLOT_BYTES * words}s")
        if words:
            slots.names[f"unpack{number}"] = struct.Struct(f"<{words}q").unpack
            slots.given.append(f"*unpack{number}(b{number})")
            slots.keys.append((number + 1, words, f"b{number}"))
        number += 1 + words
    return slots if number == len(types) else None


def pointee_of(type: Type) -> Type | None:
    if isinstance(type, TileType) and isinstance(type.element, PointerType):
        return type.element.pointee
    return None


def bits_of(value: Any) -> int:
    """A scalar by its bits, zero extended."""
    return int.from_bytes(numpy.asarray(value).tobytes(), "little")


# --- tensors of torch, which others have imported ---


def torch_dtypes(pointee: Type) -> Set[object]:
    torch: Any = sys.modules["torch"]
    accepted = accepted_dtypes(pointee)
    return frozenset([getattr(torch, name, None) for name in TORCH_DTYPES if tensor_dtype(name) in accepted])


def torch_classes() -> tuple[object, ...]:
    """These two and no other class: another one's data may be elsewhere."""
    torch: Any = sys.modules["torch"]
    return torch.Tensor, torch.nn.Parameter
