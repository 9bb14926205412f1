"""LLVM IR as text: its types and its values.

A value is an SSA name or a literal with a NumPy dtype and a width: 0 is a scalar, n a vector of n lanes.  bool_ is i1,
integers are i8 .. i64, float16 is half, float32 and float64 are float and double; bfloat16 (i16) and the eight- and
four-bit floats (i8) are their bit patterns.

LLVM's own bfloat is never used: its conversion instruction flushes subnormal numbers on some machines and calls a
function that is not there on others.
"""

from __future__ import annotations

from typing import Any, Final

import numpy

from tileir.execute.dtypes import DType

_NAMED: Final = {"bool": "i1", "float16": "half", "float32": "float", "float64": "double"}  # Others are integers
_SCALARS: Final[dict[DType, str]] = {}


def scalar_type(dtype: DType) -> str:
    found = _SCALARS.get(dtype)
    if found is None:
        # NumPy builds the name of a dtype at each access.
        found = _SCALARS[dtype] = _NAMED.get(dtype.name, f"i{8 * dtype.itemsize}")
    return found


def value_type(dtype: DType, width: int) -> str:
    return f"<{width} x {scalar_type(dtype)}>" if width else scalar_type(dtype)


def storage_type(dtype: DType) -> str:
    """The LLVM type of one element in memory: truth values take a byte."""
    found = scalar_type(dtype)
    return "i8" if found == "i1" else found


class Register:
    """A value: SSA name or literal, dtype, width."""

    __slots__ = ("dtype", "name", "normal", "width")

    def __init__(self, name: str, dtype: DType, width: int = 0, normal: str = "false") -> None:
        self.name: str = name
        self.dtype: DType = dtype
        self.width: int = width
        self.normal: str = normal  # An i1: it is known that no element is a subnormal number.

    @property
    def type(self) -> str:
        return value_type(self.dtype, self.width)

    @property
    def typed(self) -> str:
        return f"{self.type} {self.name}"

    def __repr__(self) -> str:
        return self.typed


def index_register(number: int | str) -> Register:
    """An i64, a constant or the name of a register, as a value."""
    return Register(str(number), _INT64)


_INT64: Final = numpy.dtype(numpy.int64)


def wrapped(number: int, bits: int = 64) -> int:
    """A number as an integer of so many bits, which LLVM writes with a sign."""
    half = 1 << (bits - 1)
    return (number + half) % (2 * half) - half


def literal(value: Any, dtype: DType, width: int = 0) -> Register:
    """A constant, the same in all lanes.  Floats are written by their bits."""
    text = literal_text(value, dtype)
    if width:
        text = f"splat ({scalar_type(dtype)} {text})"
    return Register(text, dtype, width)


def literal_text(value: Any, dtype: DType) -> str:
    if dtype.kind in "iu":
        return str(int(value))
    name = dtype.name
    if name == "bool":
        return "true" if value else "false"
    if name == "float16":
        return f"0xH{int(numpy.float16(value).view(numpy.uint16)):04X}"
    if name == "float32" or name == "float64":
        # LLVM writes a float with the bits of the double that equals it.
        if name == "float32" and value != value:
            # Widened by hand: a conversion would make a signaling NaN quiet.
            pattern = int(numpy.asarray(value, numpy.float32).view(numpy.uint32))
            return f"0x{(pattern >> 31) << 63 | 0x7FF << 52 | (pattern & 0x7FFFFF) << 29:016X}"
        return f"0x{int(numpy.asarray(value, numpy.float64).view(numpy.uint64)):016X}"
    return str(int(numpy.asarray(value, dtype).view(f"u{dtype.itemsize}")))


_SUFFIXES: Final = {"half": "f16", "float": "f32", "double": "f64"}


def suffix_of(element: str, width: int = 0) -> str:
    """How the name of an intrinsic spells a type, of which there are several where the width is not 0."""
    suffix = _SUFFIXES.get(element, element)
    return f"v{width}{suffix}" if width else suffix


def operand_type(operand: str) -> str:
    return operand[: operand.index(">") + 1] if operand.startswith("<") else operand.split(" ", 1)[0]
