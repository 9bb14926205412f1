"""Lowering of operations that rearrange tiles.

Tiles have no dimensions of one element in TTIR (`value_type`), so adding or dropping these is nothing.  In loops,
elements are gathered by position: Triton's choice of layouts (3.5 to 3.9) does not end where a loop carries the
transpose of a small tile.

`pack` and `unpack` turn a tile of rank 1 into its bytes, little endian, and back.  Shifts take elements wider than a
byte apart, and joining the even and the odd halves interleaves them; shifts join narrower elements into a byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Final

from tileir.execute.analysis.values import tile_of
from tileir.execute.gpu.triton.lowering.constants import places
from tileir.execute.gpu.triton.lowering.context import Lowering
from tileir.execute.gpu.triton.lowering.ttir_builder import TtirBuilder
from tileir.execute.gpu.triton.lowering.ttir_values import Shape, TtirValue, squeezed, squeezed_axis
from tileir.ir.core import Operation
from tileir.ir.types import I1, I4, TF32, FloatType, IntegerType, Type

_MOST_GATHERED: Final = 512  # Tiles of more elements have layouts that are found.


def lower_broadcast(build: Lowering, operation: Operation) -> None:
    before, after = tile_of(operation.operands[0]).shape, tile_of(operation.results[0]).shape
    build.result(operation, _spread(build, build.value(operation.operands[0]), before, after))


def _spread(build: Lowering, value: TtirValue, before: Shape, after: Shape) -> TtirValue:
    """A tile of the shape `before`, repeated along dimensions of one element."""
    if not value.shape:
        return build.splat(value, squeezed(after))
    for axis, (extent, target) in enumerate(zip(before, after, strict=True)):
        if extent != target:
            value = build.expand(value, squeezed_axis(after, axis))
    return build.broadcast(value, squeezed(after))


def lower_reshape(build: Lowering, operation: Operation) -> None:
    _, shape = build.type_of(operation.results[0])
    build.result(operation, build.reshape(build.value(operation.operands[0]), shape))


def lower_cat(build: Lowering, operation: Operation) -> None:
    """Two tiles side by side; of one shape, since all extents are powers of two."""
    left, right = [build.value(operand) for operand in operation.operands]
    if not left.shape:
        # Two scalars, and no tensor of one element for `join`: by their places.
        first = build.compare("eq", build.range(2), 0)
        build.result(operation, build.select(first, build.splat(left, (2,)), build.splat(right, (2,))))
        return
    dim = operation.dim
    axis = squeezed_axis(tile_of(operation.operands[0]).shape, dim)
    joined = build.join(left, right)
    rank = len(left.shape)
    joined = build.transpose(joined, [*range(axis), rank, *range(axis, rank)])
    build.result(operation, build.reshape(joined, build.type_of(operation.results[0])[1]))


def lower_extract(build: Lowering, operation: Operation) -> None:
    whole, part = tile_of(operation.operands[0]).shape, tile_of(operation.results[0]).shape
    value = build.value(operation.operands[0])
    shape = list(whole)
    axes = [axis for axis in range(len(whole)) if whole[axis] != part[axis]]
    # What is known to be where is taken apart by halves; of the rest, all but one part is dropped.
    for axis in sorted(axes, key=lambda axis: build.facts.integer(operation.operands[1 + axis]) is None):
        index = operation.operands[1 + axis]
        place = squeezed_axis(tuple(shape), axis)
        count = whole[axis] // part[axis]
        constant = build.facts.integer(index)
        value = build.reshape(value, (*value.shape[:place], count, *squeezed((part[axis],)), *value.shape[place + 1 :]))
        if constant is not None:
            value = _taken(build, value, place, constant % count)
        else:
            value = _picked(build, value, place, build.value(index))
        shape[axis] = part[axis]
    build.result(operation, value)


def _taken(build: Lowering, value: TtirValue, axis: int, index: int) -> TtirValue:
    """The part of a known number along a dimension, which goes."""
    if value.shape == (value.shape[axis],):
        # Halves of a vector would end in scalars, which `split` does not give.
        return _picked(build, value, axis, build.integer(index))
    count = value.shape[axis]
    rank = len(value.shape)
    value = build.transpose(value, [*range(axis), *range(axis + 1, rank), axis])
    while count > 1:
        count //= 2
        value = build.reshape(value, (*value.shape[: rank - 1], 2, *squeezed((count,))))
        if count > 1:
            value = build.transpose(value, [*range(rank - 1), rank, rank - 1])
        low, high = build.split(value)
        value = high if index >= count else low
        index %= count
    return value


def _picked(build: Lowering, value: TtirValue, axis: int, index: TtirValue) -> TtirValue:
    """The part of a number that the kernel computes: of all the others, no bit counts."""
    bits = as_bits(build, value)
    chosen = _is_at(build, value.shape, axis, index)
    kept = build.select(chosen, bits, 0)
    (found,) = build.reduce([kept], axis, lambda a, b: [build.apply("arith.ori", a[0], b[0])])
    return from_bits(build, found, value.element)


def as_bits(build: Lowering, value: TtirValue) -> TtirValue:
    if value.element.startswith("!tt.ptr"):
        return build.reinterpret("tt.ptr_to_int", value, "i64")
    if value.element == "i1":
        return build.convert("arith.extui", value, "i32")
    return build.bitcast(value, f"i{value.bits}")


def from_bits(build: Lowering, bits: TtirValue, element: str) -> TtirValue:
    if bits.element == element:
        return bits
    if element.startswith("!tt.ptr"):
        return build.reinterpret("tt.int_to_ptr", bits, element)
    if element == "i1":
        return build.compare("ne", bits, 0)
    return build.bitcast(bits, element)


def _is_at(build: Lowering, shape: Shape, axis: int, index: TtirValue) -> TtirValue:
    along = build.range(shape[axis])
    found = build.compare("eq", along, build.splat(index, along.shape))
    return build.along(found, axis, shape)


def lower_insert(build: Lowering, operation: Operation) -> None:
    """A tile with a part replaced: the part is repeated, and chosen where it belongs."""
    part, whole = tile_of(operation.operands[0]).shape, tile_of(operation.results[0]).shape
    value, target = [build.value(operand) for operand in operation.operands[:2]]
    # Each dimension in two: the number of a part, and the place in it.
    grid: list[int] = []
    narrow: list[int] = []
    for extent, step in zip(whole, part, strict=True):
        grid += [extent // step, step]
        narrow += [1, step]
    shape = squeezed(tuple(grid))
    mask: TtirValue | None = None
    for axis, index in enumerate(operation.operands[2:]):
        if grid[2 * axis] > 1:
            place = squeezed_axis(tuple(grid), 2 * axis)
            found = _is_at(build, shape, place, build.value(index))
            mask = found if mask is None else build.apply("arith.andi", mask, found)
    if mask is None:
        build.result(operation, value)
        return
    spread = _spread(build, value, tuple(narrow), tuple(grid))
    chosen = build.select(mask, spread, build.reshape(target, shape))
    build.result(operation, build.reshape(chosen, squeezed(whole)))


def lower_permute(build: Lowering, operation: Operation) -> None:
    shape = tile_of(operation.operands[0]).shape
    order = [squeezed_axis(shape, axis) for axis in operation.permutation if shape[axis] != 1]
    value = build.value(operation.operands[0])
    is_small = prod(shape) <= _MOST_GATHERED and order != sorted(order)
    if not is_small or not _is_in_loop(operation):
        build.result(operation, build.transpose(value, order))
        return
    sources = build.transpose(places(build, value.shape), order)
    bits, numbers = [build.reshape(each, (prod(shape),)) for each in (as_bits(build, value), sources)]
    found = build.reshape(build.gather(bits, numbers), sources.shape)
    build.result(operation, from_bits(build, found, value.element))


def _is_in_loop(operation: Operation) -> bool:
    parent = operation.parent_operation
    return parent is not None and (parent.declaration.is_loop or _is_in_loop(parent))


def _width(element: Type) -> int:
    assert isinstance(element, (IntegerType, FloatType))
    return 32 if element is TF32 else element.width


def lower_pack(build: Lowering, operation: Operation) -> None:
    element = tile_of(operation.operands[0]).element
    value = build.whole(operation.operands[0])
    width = _width(element)
    if width >= 8:
        bits = build.bitcast(value, f"i{width}")
        shifted = [build.apply("arith.shrui", bits, place) if place else bits for place in range(0, width, 8)]
        parts = [build.convert("arith.trunci", each, "i8") for each in shifted]
        build.whole_result(operation, _interleaved(build, parts))
        return
    value = build.convert("arith.extui", value, "i8")
    fields = [build.apply("arith.andi", field, (1 << width) - 1) for field in _deinterleaved(build, value, 8 // width)]
    build.whole_result(operation, _joined(build, fields, width))


def lower_unpack(build: Lowering, operation: Operation) -> None:
    element = tile_of(operation.results[0]).element
    value = build.whole(operation.operands[0])
    target, _ = build.type_of(operation.results[0])
    width = _width(element)
    if width >= 8:
        parts = [build.convert("arith.extui", part, f"i{width}") for part in _deinterleaved(build, value, width // 8)]
        build.whole_result(operation, build.bitcast(_joined(build, parts, 8), target))
        return
    fields = [_field(build, value, place, element) for place in range(0, 8, width)]
    build.whole_result(operation, _interleaved(build, fields))


def _field(build: TtirBuilder, value: TtirValue, place: int, element: Type) -> TtirValue:
    """Elements that begin at a bit of each byte, as tiles hold them."""
    if element is I4:
        # With its sign.
        moved = build.apply("arith.shli", value, 4) if place == 0 else value
        return build.apply("arith.shrsi", moved, 4)
    shifted = build.apply("arith.shrui", value, place) if place else value
    return build.convert("arith.trunci", shifted, "i1") if element is I1 else build.apply("arith.andi", shifted, 15)


def _joined(build: TtirBuilder, fields: Sequence[TtirValue], width: int) -> TtirValue:
    """Fields of so many bits side by side, the first in the lowest bits."""
    made = fields[0]
    for number, field in enumerate(fields[1:], 1):
        made = build.apply("arith.ori", made, build.apply("arith.shli", field, number * width))
    return made


def _interleaved(build: TtirBuilder, parts: Sequence[TtirValue]) -> TtirValue:
    """One tile of the first elements of all, then their second ones, and so on."""
    count = parts[0].shape[0] * len(parts)
    return build.reshape(_nested(build, parts), (count,))


def _nested(build: TtirBuilder, parts: Sequence[TtirValue]) -> TtirValue:
    return parts[0] if len(parts) == 1 else build.join(_nested(build, parts[0::2]), _nested(build, parts[1::2]))


def _deinterleaved(build: TtirBuilder, value: TtirValue, count: int) -> list[TtirValue]:
    twos = (2,) * (count.bit_length() - 1)
    return _unnested(build, build.reshape(value, (value.shape[0] // count, *twos)), count)


def _unnested(build: TtirBuilder, value: TtirValue, count: int) -> list[TtirValue]:
    if count == 1:
        return [value]
    even, odd = [_unnested(build, half, count // 2) for half in build.split(value)]
    return [part for pair in zip(even, odd, strict=True) for part in pair]
