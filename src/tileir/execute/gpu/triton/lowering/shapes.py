"""Lowering of operations that rearrange tiles.

Tiles have no dimensions of one element in TTIR (`value_type`), so what only adds or drops such dimensions is nothing.
"""

from __future__ import annotations

from typing import cast

from tileir.dialect.types import TileType
from tileir.execute.gpu.triton.lowering.context import Lowering
from tileir.execute.gpu.triton.ttir.values import Shape, TtirValue, squeezed, squeezed_axis
from tileir.ir.core import Operation
from tileir.ir.values import Value


def lower_nothing(lowering: Lowering, operation: Operation) -> None:
    """What has no equal in TTIR: tokens, which order what is in order anyway."""


def lower_broadcast(lowering: Lowering, operation: Operation) -> None:
    before, after = _shape(operation.operands[0]), _shape(operation.results[0])
    value = lowering.value(operation.operands[0])
    lowering.result(operation, _spread(lowering, value, before, after))


def _spread(lowering: Lowering, value: TtirValue, before: Shape, after: Shape) -> TtirValue:
    """A tile of the shape `before`, repeated along dimensions of one element."""
    build = lowering.build
    if not value.shape:
        return build.splat(value, squeezed(after))
    for axis, (extent, wanted) in enumerate(zip(before, after, strict=True)):
        if extent != wanted:
            value = build.expand(value, squeezed_axis(after, axis))
    return build.broadcast(value, squeezed(after))


def lower_reshape(lowering: Lowering, operation: Operation) -> None:
    _, shape = lowering.type_of(operation.results[0])
    lowering.result(operation, lowering.build.reshape(lowering.value(operation.operands[0]), shape))


def lower_cat(lowering: Lowering, operation: Operation) -> None:
    """Two tiles side by side; of one shape, since all extents are powers of two."""
    build = lowering.build
    left, right = [lowering.value(operand) for operand in operation.operands]
    if not left.shape:
        # Two scalars, and no tensor of one element for `join`: by their places.
        first = build.compare("eq", build.range(2), build.integer(0, "i32", (2,)))
        lowering.result(operation, build.select(first, build.splat(left, (2,)), build.splat(right, (2,))))
        return
    dim = operation.dim
    axis = squeezed_axis(_shape(operation.operands[0]), dim)
    joined = build.join(left, right)
    rank = len(left.shape)
    joined = build.transpose(joined, [*range(axis), rank, *range(axis, rank)])
    lowering.result(operation, build.reshape(joined, lowering.type_of(operation.results[0])[1]))


# --- parts of tiles ---


def lower_extract(lowering: Lowering, operation: Operation) -> None:
    """A part of a tile, dimension by dimension."""
    build = lowering.build
    whole, part = _shape(operation.operands[0]), _shape(operation.results[0])
    value = lowering.value(operation.operands[0])
    shape = list(whole)
    axes = [axis for axis in range(len(whole)) if whole[axis] != part[axis]]
    # What is known to be where is taken apart by halves; of the rest, all but one part is dropped.
    for axis in sorted(axes, key=lambda axis: lowering.facts.integer(operation.operands[1 + axis]) is None):
        index = operation.operands[1 + axis]
        place = squeezed_axis(tuple(shape), axis)
        count = whole[axis] // part[axis]
        constant = lowering.facts.integer(index)
        value = build.reshape(value, (*value.shape[:place], count, *squeezed((part[axis],)), *value.shape[place + 1 :]))
        if constant is not None:
            value = _taken(lowering, value, place, constant % count)
        else:
            value = _picked(lowering, value, place, lowering.value(index))
        shape[axis] = part[axis]
    lowering.result(operation, value)


def _taken(lowering: Lowering, value: TtirValue, axis: int, index: int) -> TtirValue:
    """The part of a known number along a dimension, which goes."""
    build = lowering.build
    if value.shape == (value.shape[axis],):
        # Halves of a vector would end in scalars, which `split` does not give.
        return _picked(lowering, value, axis, build.integer(index))
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


def _picked(lowering: Lowering, value: TtirValue, axis: int, index: TtirValue) -> TtirValue:
    """The part of a number that the kernel computes: of all the others, no bit counts."""
    build = lowering.build
    bits = as_bits(lowering, value)
    chosen = _is_at(lowering, value.shape, axis, index)
    kept = build.select(chosen, bits, build.integer(0, bits.element, bits.shape))
    (found,) = build.reduce([kept], axis, lambda a, b: [build.binary("arith.ori", a[0], b[0])])
    return from_bits(lowering, found, value.element)


def as_bits(lowering: Lowering, value: TtirValue) -> TtirValue:
    """Elements as integers."""
    build = lowering.build
    if value.element.startswith("!tt.ptr"):
        return build.reinterpret("tt.ptr_to_int", value, "i64")
    if value.element == "i1":
        return build.convert("arith.extui", value, "i32")
    return build.bitcast(value, f"i{value.bits}")


def from_bits(lowering: Lowering, bits: TtirValue, element: str) -> TtirValue:
    """Elements of integers that are their bits."""
    build = lowering.build
    if bits.element == element:
        return bits
    if element.startswith("!tt.ptr"):
        return build.reinterpret("tt.int_to_ptr", bits, element)
    if element == "i1":
        return build.compare("ne", bits, build.integer(0, "i32", bits.shape))
    return build.bitcast(bits, element)


def _is_at(lowering: Lowering, shape: Shape, axis: int, index: TtirValue) -> TtirValue:
    """Which elements have the index along a dimension."""
    build = lowering.build
    along = build.range(shape[axis])
    found = build.compare("eq", along, build.splat(index, along.shape))
    for other in range(len(shape)):
        if other != axis:
            found = build.expand(found, other)
    return build.broadcast(found, shape)


def lower_insert(lowering: Lowering, operation: Operation) -> None:
    """A tile with a part replaced: the part is repeated, and chosen where it belongs."""
    build = lowering.build
    part, whole = _shape(operation.operands[0]), _shape(operation.results[0])
    value, target = [lowering.value(operand) for operand in operation.operands[:2]]
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
            found = _is_at(lowering, shape, place, lowering.value(index))
            mask = found if mask is None else build.binary("arith.andi", mask, found)
    if mask is None:
        lowering.result(operation, value)
        return
    spread = _spread(lowering, value, tuple(narrow), tuple(grid))
    chosen = build.select(mask, spread, build.reshape(target, shape))
    lowering.result(operation, build.reshape(chosen, squeezed(whole)))


def _shape(value: Value) -> Shape:
    return cast(TileType, value.type).shape
