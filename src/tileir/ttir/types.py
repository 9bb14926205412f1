"""Types and attributes of TTIR: `tensor<64x!tt.ptr<f32>>` is a tile of pointers, a scalar a tile without dimensions."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from tileir.dialect.types import TileType, pointer_type, scalar_tile, tile_type
from tileir.ir import attributes
from tileir.ir.attributes import Attribute
from tileir.ir.types import FLOAT_TYPES, Type, integer_type

_POINTER: Final = re.compile(r'!tt\.ptr<(.*?)(?:, *(?:\d+|"\w+"))?>')
_DESCRIPTOR: Final = re.compile(r"!tt\.tensordesc<(tensor<[^<>]*>|[^<>]*)>")
_TENSOR: Final = re.compile(r"tensor<((?:\d+x)*)(.*)>")
_INTEGER: Final = re.compile(r"[su]?i(\d+)")

I1: Final = integer_type(1)
I32: Final = integer_type(32)
I64: Final = integer_type(64)


def element_type(text: str) -> Type | None:
    """An element type by its name in TTIR, None if there is no such element in Tile IR."""
    if text in FLOAT_TYPES:
        return FLOAT_TYPES[text]
    if found := _INTEGER.fullmatch(text):
        width = int(found[1])
        return integer_type(width) if width in (1, 8, 16, 32, 64) else None
    if found := _POINTER.fullmatch(text):
        # Memory has no pointers: a pointer to pointers points to their 64 bits.
        pointee = I64 if found[1].startswith("!tt.ptr") else element_type(found[1])
        return None if pointee is None else pointer_type(pointee)
    return None


@lru_cache(maxsize=4096)
def tile_of(text: str) -> TileType | None:
    """The tile that stands for a scalar or a tensor, None for another type."""
    found = _TENSOR.fullmatch(text)
    if found is None:
        element = element_type(text)
        return None if element is None else scalar_tile(element)
    element = element_type(found[2])
    return None if element is None else tile_type(tuple([int(each) for each in found[1].split("x")[:-1]]), element)


class DescriptorType(NamedTuple):
    """The type of a tensor descriptor."""

    block: TileType
    is_signed: bool

    @property
    def parts(self) -> tuple[TileType, ...]:
        """The types of its values: the pointer, whether it pads with NaN, the extents, the strides."""
        rank = len(self.block.shape)
        pointer = scalar_tile(pointer_type(self.block.element))
        return (pointer, scalar_tile(I1), *[scalar_tile(I32)] * rank, *[scalar_tile(I64)] * rank)


@lru_cache(maxsize=256)
def descriptor_of(text: str) -> DescriptorType | None:
    """The type of a tensor descriptor, None for another type."""
    found = _DESCRIPTOR.fullmatch(text)
    if found is None:
        return None
    tensor = found[1] if found[1].startswith("tensor") else f"tensor<{found[1]}>"
    block = tile_of(tensor)
    return None if block is None else DescriptorType(block, "xui" not in tensor)


def plain(attribute: Attribute) -> object:
    """An attribute as a Python value: a number, a string, a list; others as their text."""
    if isinstance(attribute, attributes.IntegerAttribute):
        return attribute.value
    if isinstance(attribute, attributes.StringAttribute):
        return attribute.value
    if isinstance(attribute, attributes.DenseArrayAttribute):
        return list(attribute.values)
    if isinstance(attribute, attributes.ArrayAttribute):
        return [plain(each) for each in attribute.elements]
    return attribute.text
