"""Values and types of TTIR, the language that Triton compiles, as text has them."""

from __future__ import annotations

from typing import Final, NamedTuple

from tileir.dialect.types import PointerType, TileType
from tileir.ir.types import Type

_OTHER_ELEMENTS: Final = {"tf32": "f32", "i4": "i8", "f8E8M0FNU": "i8", "f4E2M1FN": "i8", "fnv8E5M3FNU": "i8"}
"""Elements that Triton does not have: a tf32 is the 32 bits that hold it, others are their bits, four in a byte."""
_BITS: Final = {
    "i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "f16": 16, "bf16": 16, "f32": 32, "f64": 64, "f8E4M3FN": 8,
    "f8E5M2": 8,
}  # fmt: skip
PREDICATES: Final = {
    "equal": "eq", "not_equal": "ne", "less_than": "lt", "less_than_or_equal": "le", "greater_than": "gt",
    "greater_than_or_equal": "ge",
}  # fmt: skip
Shape = tuple[int, ...]


class TtirValue(NamedTuple):
    """A value with its type: a scalar where the shape is empty."""

    name: str
    element: str
    shape: Shape = ()

    @property
    def type(self) -> str:
        return type_text(self.element, self.shape)

    @property
    def is_float(self) -> bool:
        return is_float(self.element)

    @property
    def bits(self) -> int:
        """How wide an element is; pointers have 64."""
        return bits_of(self.element)


def type_text(element: str, shape: Shape) -> str:
    return f"tensor<{'x'.join([*map(str, shape), element])}>" if shape else element


def bits_of(element: str) -> int:
    return _BITS.get(element, 64)


def is_float(element: str) -> bool:
    return element[0] in "fb"


def pointer_to(element: str) -> str:
    return f"!tt.ptr<{element}>"


def pointee_of(element: str) -> str:
    """What a pointer points to: `f32` of `!tt.ptr<f32>`."""
    return element.removeprefix("!tt.ptr<").removesuffix(">")


def value_element(element: Type) -> str:
    if isinstance(element, PointerType):
        return pointer_to(memory_element(element.pointee))
    return _OTHER_ELEMENTS.get(element.text, element.text)


def memory_element(element: Type) -> str:
    """What they are in memory, where a bit takes a byte."""
    if isinstance(element, PointerType):
        # A pointer in memory is a number: Triton has no pointers to pointers.
        return "i64"
    found = value_element(element)
    return "i8" if found == "i1" else found


def value_type(type: TileType) -> tuple[str, Shape]:
    """A tile in TTIR: without dimensions of one element, so that 64x1 and 64 share a layout; 1x1 is a scalar."""
    return value_element(type.element), squeezed(type.shape)


def squeezed(shape: Shape) -> Shape:
    return tuple([extent for extent in shape if extent != 1])


def squeezed_axis(shape: Shape, axis: int) -> int:
    """The number that a dimension has without those of one element before it."""
    return len(squeezed(shape[:axis]))
