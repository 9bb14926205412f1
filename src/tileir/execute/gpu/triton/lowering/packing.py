"""Lowering of pack and unpack: a tile of rank 1 as its bytes, little endian, and back.

Elements wider than a byte are taken apart by shifts, and what belongs together is interleaved by joining halves: those
with even numbers and those with odd ones.  Of elements narrower than a byte, several are joined by shifts into one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from tileir.dialect.types import TileType
from tileir.execute.gpu.triton.lowering.context import Lowering
from tileir.execute.gpu.triton.ttir.operations import TtirOperations
from tileir.execute.gpu.triton.ttir.values import TtirValue
from tileir.ir.core import Operation
from tileir.ir.types import I1, I4, TF32, FloatType, IntegerType, Type


def _width(element: Type) -> int:
    """Bits of an element in memory without gaps."""
    assert isinstance(element, (IntegerType, FloatType))
    return 32 if element is TF32 else element.width


def lower_pack(lowering: Lowering, operation: Operation) -> None:
    build = lowering.build
    element = cast(TileType, operation.operands[0].type).element
    value = lowering.whole(operation.operands[0])
    width = _width(element)
    if width > 8:
        bits = build.bitcast(value, f"i{width}")
        parts = [_byte(build, bits, place) for place in range(0, width, 8)]
        lowering.whole_result(operation, _interleaved(build, parts))
        return
    value = build.convert("arith.extui", value, "i8")
    fields = [
        build.immediate("arith.andi", field, (1 << width) - 1) for field in _deinterleaved(build, value, 8 // width)
    ]
    lowering.whole_result(operation, _joined(build, fields, width))


def lower_unpack(lowering: Lowering, operation: Operation) -> None:
    build = lowering.build
    element = cast(TileType, operation.results[0].type).element
    value = lowering.whole(operation.operands[0])
    target, _ = lowering.type_of(operation.results[0])
    width = _width(element)
    if width > 8:
        parts = [build.convert("arith.extui", part, f"i{width}") for part in _deinterleaved(build, value, width // 8)]
        lowering.whole_result(operation, build.bitcast(_joined(build, parts, 8), target))
        return
    fields = [_field(build, value, place, element) for place in range(0, 8, width)]
    lowering.whole_result(operation, _interleaved(build, fields))


def _byte(build: TtirOperations, bits: TtirValue, place: int) -> TtirValue:
    shifted = build.immediate("arith.shrui", bits, place) if place else bits
    return build.convert("arith.trunci", shifted, "i8")


def _field(build: TtirOperations, value: TtirValue, place: int, element: Type) -> TtirValue:
    """Elements that begin at a bit of each byte, as tiles hold them."""
    if element is I4:
        # With its sign.
        moved = build.immediate("arith.shli", value, 4) if place == 0 else value
        return build.immediate("arith.shrsi", moved, 4)
    shifted = build.immediate("arith.shrui", value, place) if place else value
    return build.convert("arith.trunci", shifted, "i1") if element is I1 else build.immediate("arith.andi", shifted, 15)


def _joined(build: TtirOperations, fields: Sequence[TtirValue], width: int) -> TtirValue:
    """Fields of so many bits side by side, the first in the lowest bits."""
    made = fields[0]
    for number, field in enumerate(fields[1:], 1):
        made = build.binary("arith.ori", made, build.immediate("arith.shli", field, number * width))
    return made


def _interleaved(build: TtirOperations, parts: Sequence[TtirValue]) -> TtirValue:
    """One tile of the first elements of all, then their second ones, and so on."""
    count = parts[0].shape[0] * len(parts)
    return build.reshape(_nested(build, parts), (count,))


def _nested(build: TtirOperations, parts: Sequence[TtirValue]) -> TtirValue:
    if len(parts) == 1:
        return parts[0]
    return build.join(_nested(build, parts[0::2]), _nested(build, parts[1::2]))


def _deinterleaved(build: TtirOperations, value: TtirValue, count: int) -> list[TtirValue]:
    """The way back."""
    twos = (2,) * (count.bit_length() - 1)
    return _unnested(build, build.reshape(value, (value.shape[0] // count, *twos)), count)


def _unnested(build: TtirOperations, value: TtirValue, count: int) -> list[TtirValue]:
    if count == 1:
        return [value]
    even, odd = [_unnested(build, half, count // 2) for half in build.split(value)]
    return [part for pair in zip(even, odd, strict=True) for part in pair]
