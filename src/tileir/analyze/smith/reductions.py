"""Statements of reductions, scans and matmuls whose result does not depend on the order of the additions.

The dialect leaves the order open, so combinations are associative and commutative in every bit: of integers, of the
larger and the smaller, of the first position of the largest, and of float sums that do not round.
"""

from __future__ import annotations

from collections.abc import Callable

from tileir.analyze.smith.conversions import known_in
from tileir.analyze.smith.tiles import FLOATS, Shape, Tile, range_of
from tileir.analyze.smith.writer import Statement, Writer, statements
from tileir.dialect import ops
from tileir.dialect.literals import number_attribute
from tileir.dialect.types import scalar_tile
from tileir.ir.attributes import array_attribute
from tileir.ir.core import Block, Region
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.types import F16, F32, F64, FLOAT_TYPES, I8, I32, FloatType, Type
from tileir.ir.values import Value

Body = Callable[[Writer, list[Tile]], list[Value]]
"""Combines two elements of each tile: x, y, then those of the next tile."""
# Sums of that many integers of this magnitude are exact.
_EXACT = {F16: 2047, F32: (1 << 24) - 1, F64: (1 << 53) - 1}


def _aggregate(
    writer: Writer, declaration: OperationDeclaration, tiles: list[Tile], axis: int, identities: list[float], body: Body
) -> list[Value]:
    block = Block([scalar_tile(tile.element) for tile in tiles for _ in range(2)])
    with writer.inside(block):
        writer.op(ops.YIELD, body(writer, [Tile(argument) for argument in block.arguments]))
    named: dict[str, object] = {"reverse": writer.bits.chance(40)} if declaration is ops.SCAN else {}
    numbers = [number_attribute(number, tile.element) for number, tile in zip(identities, tiles, strict=True)]
    named["identities"] = array_attribute(tuple(numbers))
    return list(writer.op(declaration, tiles, dim=axis, regions=[Region([block])], **named).results)


def _one(declaration: OperationDeclaration, *arguments: str) -> Body:
    """A combination that is one operation."""
    return lambda writer, xs: [writer.value(declaration, *xs, *arguments)]


def _integers(writer: Writer, declaration: OperationDeclaration) -> None:
    tile = writer.some(writer.integers, 1)
    least, most = range_of(tile.element)
    choices: list[tuple[int, Body]] = [
        (0, _one(ops.ADDI)), (1, _one(ops.MULI)), (-1, _one(ops.ANDI)), (0, _one(ops.ORI)), (0, _one(ops.XORI)),
        (least, _one(ops.MAXI, "signed")), (0, _one(ops.MAXI, "unsigned")),
        (most, _one(ops.MINI, "signed")), (-1, _one(ops.MINI, "unsigned")), (0, _both_and_product),
    ]  # fmt: skip
    identity, body = writer.bits.choice(choices)
    axis = writer.bits.below(len(tile.shape))
    (value,) = _aggregate(writer, declaration, [tile], axis, [identity], body)
    writer.know(Tile(value))


def _both_and_product(writer: Writer, xs: list[Tile]) -> list[Value]:
    """x + y + x y, which is (1 + x)(1 + y) - 1: associative, commutative, with the identity 0."""
    product = writer.value(ops.MULI, *xs)
    return [writer.value(ops.ADDI, writer.value(ops.ADDI, *xs), product)]


def _float_extremes(writer: Writer, declaration: OperationDeclaration) -> None:
    tile = writer.numeric(writer.some(writer.floats, 1))
    infinity, extreme = (float("-inf"), ops.MAXF) if writer.bits.chance(50) else (float("inf"), ops.MINF)
    axis = writer.bits.below(len(tile.shape))
    (value,) = _aggregate(writer, declaration, [tile], axis, [infinity], _one(extreme))
    writer.know(Tile(value))


def _float_sums(writer: Writer, declaration: OperationDeclaration) -> None:
    """Sums of integers that are far from where floats round."""
    element = writer.bits.choice([kind for kind in writer.floats if kind in _EXACT] or [F32])
    shape = writer.some_shape(1)
    axis = writer.bits.below(len(shape))
    if writer.is_open and len(writer.scopes) == 1 and element is not F16:
        rounded = writer.clamped(writer.want(shape, element), -8.0, 8.0)
        (value,) = _aggregate(writer, declaration, [rounded], axis, [0.0], _one(ops.ADDF))
        writer.loose.append(Tile(value))
    tile = writer.whole(shape, element, 7)
    bound = max(-tile.low, tile.high) * shape[axis]
    if bound > _EXACT[element]:
        return
    (value,) = _aggregate(writer, declaration, [tile], axis, [0.0], _one(ops.ADDF))
    writer.know(Tile(value, -bound, bound, whole=True))


def _first_of_the_largest(writer: Writer, declaration: OperationDeclaration) -> None:
    """The largest element and where it is; of equal ones the first, so that the order does not matter."""
    tile = writer.numeric(writer.some([*writer.floats, *writer.integers], 1))
    axis = writer.bits.below(len(tile.shape))
    # The position of each element along the dimension.
    flat = tuple([extent if place == axis else 1 for place, extent in enumerate(tile.shape)])
    places = writer.reshaped(writer.lanes(tile.shape[axis]), flat)
    if flat != tile.shape:
        places = places.moved(writer.value(ops.BROADCAST, places, tile.shape))
    floating = isinstance(tile.element, FloatType)

    def body(writer: Writer, xs: list[Tile]) -> list[Value]:
        x, y, i, j = xs
        greater, equal = writer.compare("greater_than", x, y), writer.compare("equal", x, y)
        before = writer.compare("less_than", i, j)
        left = writer.value(ops.ORI, greater, writer.value(ops.ANDI, equal, before))
        return [writer.value(ops.SELECT, left, one, other) for one, other in ((x, y), (i, j))]

    identities = [float("-inf") if floating else range_of(tile.element)[0], range_of(I32)[1]]
    value, place = _aggregate(writer, declaration, [tile, places], axis, identities, body)
    # Both zeros compare equal: the position decides which of them comes out, and both orders agree.
    writer.know(Tile(value))
    writer.know(Tile(place, 0, tile.shape[axis] - 1))


def _any(writer: Writer, declaration: OperationDeclaration) -> None:
    kinds = (_integers, _integers, _float_extremes, _float_sums, _first_of_the_largest)
    writer.bits.choice(kinds)(writer, declaration)


REDUCTIONS = (*statements(_any, ops.REDUCE, ops.SCAN),)


# Operands of at most 3 and an accumulator of at most 255 stay below 2^11 with K up to 64: exact in f16, and in the 14
# bits that tensor cores keep of a sum of f8.
_FACTOR, _ACCUMULATOR = 3, 255
# Types of operands and accumulators.
_PAIRS = [
    [FLOAT_TYPES[name] for name in names.split()]
    for names in (
        "f32 f32", "f16 f32", "f16 f16", "bf16 f32", "f64 f64", "tf32 f32", "f8E4M3FN f32", "f8E5M2 f32",
        "f8E4M3FN f16",
    )
]  # fmt: skip
# Types of operands and scales, and how many elements share one scale.
_SCALED = [
    ([FLOAT_TYPES[name] for name in names.split()], block)
    for names, block in (
        ("f8E4M3FN f8E8M0FNU", 32), ("f8E5M2 f8E8M0FNU", 32), ("f4E2M1FN f8E4M3FN", 16), ("f4E2M1FN f8E8M0FNU", 32),
        ("f4E2M1FN fnv8E5M3FNU", 16),
    )
]  # fmt: skip


def _shapes(writer: Writer) -> tuple[Shape, int, int, int]:
    bits = writer.bits
    batch: Shape = (2,) if bits.chance(15) else ()
    m, n = (bits.choice((2, 4, 8, 16)) for _ in range(2))
    return batch, m, n, bits.choice((2, 4, 8, 16, 32))


def _factor(writer: Writer, shape: Shape, element: Type) -> Tile:
    """Small integers in a type that may have no conversion of its own."""
    if element in FLOATS:
        return writer.whole(shape, element, _FACTOR)
    source = writer.whole(shape, F32, _FACTOR)
    return Tile(writer.value(ops.FTOF, source, element))


def _float_product(writer: Writer) -> None:
    batch, m, n, k = _shapes(writer)
    element, total = writer.bits.choice(_PAIRS)
    left = _factor(writer, (*batch, m, k), element)
    right = _factor(writer, (*batch, k, n), element)
    added = writer.whole((*batch, m, n), total, _ACCUMULATOR)
    bound = _FACTOR * _FACTOR * k + max(-added.low, added.high)
    writer.know(Tile(writer.value(ops.MMAF, left, right, added), -bound, bound, whole=True))


def _integer_product(writer: Writer) -> None:
    """Sums that do not overflow: some hardware wraps, some saturates."""
    batch, m, n, k = _shapes(writer)
    left, right = writer.want((*batch, m, k), I8), writer.want((*batch, k, n), I8)
    source = writer.want((*batch, m, n), I32)
    added = source if max(-source.low, source.high) < 1 << 24 else writer.below(source, 1 << 16)
    words = [writer.bits.choice(("signed", "unsigned")) for _ in range(2)]
    bound = max(-added.low, added.high) + 255 * 255 * k
    writer.know(Tile(writer.value(ops.MMAI, left, right, added, *words), -bound, bound))


def _scaled_product(writer: Writer) -> None:
    known = [(types, block) for types, block in _SCALED if known_in(writer, types) == types]
    (element, scale), block = writer.bits.choice(known)
    batch, m, n, _ = _shapes(writer)
    count = writer.bits.choice((1, 2))
    k = block * count
    left, right = _factor(writer, (*batch, m, k), element), _factor(writer, (*batch, k, n), element)
    added = writer.whole((*batch, m, n), F32, _ACCUMULATOR)
    scales = [_scale(writer, (*batch, *shape), scale) for shape in ((m, count), (count, n))]
    value = writer.value(ops.MMAF_SCALED, left, right, added, *scales)
    # Scales of at most 2 each.
    bound = 4 * _FACTOR * _FACTOR * k + max(-added.low, added.high)
    writer.know(Tile(value, -bound, bound, whole=True))


def _scale(writer: Writer, shape: Shape, element: Type) -> Tile:
    """1 or 2, from integers that are 1 or 2."""
    source = writer.clamped(writer.whole(shape, F32, 3), 1.0, 2.0)
    rounding = "zero" if element.spelling == "f8E8M0FNU" else None
    return Tile(writer.value(ops.FTOF, source, element, rounding_mode=rounding))


PRODUCTS = (
    Statement(ops.MMAF, _float_product), Statement(ops.MMAI, _integer_product),
    Statement(ops.MMAF_SCALED, _scaled_product),
)  # fmt: skip
