"""Dense constants: the elements of a tile as bytes, and their literals."""

from __future__ import annotations

import sys

from tileir.annotations import Any, Final, cast
from tileir.ir.attributes import Attribute
from tileir.ir.floats import FORMATS, format_float
from tileir.ir.interning import BYTES_PER_OBJECT, LEAF, intern, register
from tileir.ir.types import FloatType, IntegerType, Type

# How `memoryview` calls unsigned integers of so many bytes.
_MEMORY_FORMATS: Final[dict[int, str]] = {1: "B", 2: "H", 4: "I", 8: "Q"}


class DenseAttribute(Attribute):
    """The elements of a tile or of another shaped type, as raw little-endian bytes.

    Each element takes `element_bytes(type)` bytes (i1 and the 4-bit types one, tf32 three).  A splat is held as one
    element for any shape, so equal contents are one attribute.  Bytecode may set bits of
    a tf32 or a 4-bit element that it does not have: `data` keeps them, and they mean nothing.
    """

    __slots__ = ("_literal", "data", "element_type", "shape", "type")

    def __init__(self, type: Type, shape: tuple[int, ...], element_type: Type, data: bytes) -> None:
        self._literal: str | None = None
        self.type: Type = type
        self.shape: tuple[int, ...] = shape
        self.element_type: Type = element_type
        self.data: bytes = data

    @property
    def count(self) -> int:
        total = 1
        for extent in self.shape:
            total *= extent
        return total

    @property
    def is_splat(self) -> bool:
        return len(self.data) == element_bytes(self.element_type)

    def bits(self, index: int) -> int:
        """The bit pattern of one element, without sign."""
        size = element_bytes(self.element_type)
        start = 0 if len(self.data) == size else index * size
        return int.from_bytes(self.data[start : start + size], "little") & element_mask(self.element_type)

    def values(self) -> list[int]:
        """The bit patterns of all elements (of the one element of a splat)."""
        size = element_bytes(self.element_type)
        mask = element_mask(self.element_type)
        data = self.data
        code = _MEMORY_FORMATS.get(size)
        if code is not None and sys.byteorder == "little" and mask == (1 << (8 * size)) - 1 and len(data) % size == 0:
            # In one step on a little-endian machine, if the last element is complete.
            view: Any = memoryview(data)
            return cast("list[int]", view.cast(code).tolist())
        return [int.from_bytes(data[i : i + size], "little") & mask for i in range(0, len(data), size)]

    @property
    def literal(self) -> str:
        """The text between `<f32: ` and `>` (docs/reference/printing.md section 6)."""
        found = self._literal
        if found is None:
            found = self._spell()
            if len(found) < 64:
                self._literal = found
        return found

    def _spell(self) -> str:
        if self.is_splat:
            return element_literal(self.element_type, self.bits(0))
        if self.count > 100:
            return '"0x' + self.data.hex().upper() + '"'
        return _nested([element_literal(self.element_type, bits) for bits in self.values()], self.shape)

    @property
    def text(self) -> str:
        return f"dense<{self.literal}> : {self.type.text}"

    def __repr__(self) -> str:
        if self.is_splat or self.count <= 100:
            return super().__repr__()
        # The literal may be megabytes long.
        return f"dense<{self.count} elements> : {self.type!r}"

    @property
    def debug_text(self) -> str:
        """The printer draft's log form: comma separated values, no type, no shape.  It does not parse."""
        return "/* not parseable */ " + ", ".join([element_literal(self.element_type, b) for b in self.values()])


def _nested(literals: list[str], shape: tuple[int, ...]) -> str:
    """Bracket literals by shape, innermost dimension first."""
    level = literals
    for extent in reversed(shape):
        level = ["[" + ", ".join(level[i : i + extent]) + "]" for i in range(0, len(level), extent)]
    return level[0]


def element_bytes(type: Type) -> int:
    """Bytes one element takes in a dense constant."""
    if isinstance(type, (IntegerType, FloatType)):
        return (type.width + 7) // 8
    return 8


def element_mask(type: Type) -> int:
    """The bits of its bytes that an element has."""
    return (1 << type.width) - 1 if isinstance(type, (IntegerType, FloatType)) else (1 << 64) - 1


def signed_value(width: int, bits: int) -> int:
    """Two's complement reading of a bit pattern."""
    return bits - (1 << width) if width > 1 and bits >> (width - 1) & 1 else bits


def element_literal(type: Type, bits: int) -> str:
    """One element of a dense constant."""
    if isinstance(type, IntegerType):
        if type.width == 1:
            return "true" if bits & 1 else "false"
        return str(signed_value(type.width, bits))
    if isinstance(type, FloatType):
        return format_float(FORMATS[type.name], bits)
    return str(bits)


_dense: Final[dict[tuple[Type, bytes], DenseAttribute]] = {}
register(_dense, LEAF, lambda attribute: len(attribute.data) // BYTES_PER_OBJECT)


def dense_attribute(type: Type, shape: tuple[int, ...], element_type: Type, data: bytes) -> DenseAttribute:
    """The dense attribute of these bytes (all elements, or one for a splat); equal elements become a splat."""
    size = element_bytes(element_type)
    if len(data) > size and data == data[:size] * (len(data) // size):
        data = data[:size]
    key = (type, data)
    return _dense.get(key) or intern(
        _dense, key, DenseAttribute(type, shape, element_type, data), 1 + len(data) // BYTES_PER_OBJECT
    )
