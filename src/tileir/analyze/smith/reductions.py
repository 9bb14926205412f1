"""Statements of reductions and scans whose result does not depend on the order in which elements are combined.

The dialect leaves the order open, so combinations are associative and commutative in every bit: of integers, of the
larger and the smaller, of the first position of the largest, and of float sums that do not round.
"""

from __future__ import annotations

from collections.abc import Callable

from tileir.analyze.smith.tiles import Shape, Tile, range_of
from tileir.analyze.smith.writer import SIGNED, UNSIGNED, Scope, Statement, Writer
from tileir.dialect import ops
from tileir.dialect.enums import COMPARISON_ORDERING, COMPARISON_PREDICATE
from tileir.dialect.types import scalar_tile, tile_type
from tileir.ir.attributes import Attribute, array_attribute, bool_attribute, float_attribute, integer_attribute
from tileir.ir.core import Block, Region
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.floats import FORMATS, from_double
from tileir.ir.types import F16, F32, F64, I1, I32, FloatType, IntegerType, Type
from tileir.ir.values import Value

Body = Callable[[Writer, list[Tile]], list[Value]]
"""Combines two elements of each tile: x, y, then those of the next tile."""
# Sums of that many integers of this magnitude are exact.
_EXACT = {F16: 2047, F32: (1 << 24) - 1, F64: (1 << 53) - 1}


def _aggregate(
    writer: Writer,
    declaration: OperationDeclaration,
    tiles: list[Tile],
    axis: int,
    identities: list[Attribute],
    body: Body,
) -> list[Value]:
    types: list[Type] = []
    for tile in tiles:
        types += [scalar_tile(tile.element)] * 2
    block = Block(types)
    writer.scopes.append(Scope(block))
    results = body(writer, [Tile(argument) for argument in block.arguments])
    writer.add(ops.YIELD, results, [])
    writer.scopes.pop()
    attributes: dict[str, Attribute] = {
        "dim": integer_attribute(I32, axis),
        "identities": array_attribute(tuple(identities)),
    }
    shape = tiles[0].shape
    if declaration is ops.SCAN:
        attributes["reverse"] = bool_attribute(writer.bits.chance(40))
    else:
        shape = (*shape[:axis], *shape[axis + 1 :])
    found = [tile_type(shape, tile.element) for tile in tiles]
    operation = writer.add(declaration, [tile.value for tile in tiles], found, attributes, [Region([block])])
    return list(operation.results)


def _integer(element: Type, value: int) -> Attribute:
    assert isinstance(element, IntegerType)
    return integer_attribute(element, value)


def _float(element: Type, value: float) -> Attribute:
    assert isinstance(element, FloatType)
    return float_attribute(element, from_double(FORMATS[element.name], value))


def _one(declaration: OperationDeclaration, attributes: dict[str, Attribute] | None = None) -> Body:
    """A combination that is one operation."""
    return lambda writer, xs: [writer.apply(declaration, xs[0], xs[1], attributes=attributes or {}).value]


def _integers(writer: Writer, declaration: OperationDeclaration) -> None:
    tile = writer.some(writer.integers, 1)
    element = tile.element
    least, most = range_of(element)
    choices: list[tuple[int, Body]] = [
        (0, _one(ops.ADDI)),
        (1, _one(ops.MULI)),
        (-1, _one(ops.ANDI)),
        (0, _one(ops.ORI)),
        (0, _one(ops.XORI)),
        (least, _one(ops.MAXI, SIGNED)),
        (0, _one(ops.MAXI, UNSIGNED)),
        (most, _one(ops.MINI, SIGNED)),
        (-1, _one(ops.MINI, UNSIGNED)),
        (0, _both_and_product),
    ]
    identity, body = writer.bits.choice(choices)
    axis = writer.bits.below(len(tile.shape))
    (value,) = _aggregate(writer, declaration, [tile], axis, [_integer(element, identity)], body)
    writer.know(Tile(value))


def _both_and_product(writer: Writer, xs: list[Tile]) -> list[Value]:
    """x + y + x y, which is (1 + x)(1 + y) - 1: associative, commutative, with the identity 0."""
    product = writer.apply(ops.MULI, xs[0], xs[1])
    return [writer.apply(ops.ADDI, writer.apply(ops.ADDI, xs[0], xs[1]), product).value]


def _float_extremes(writer: Writer, declaration: OperationDeclaration) -> None:
    tile = writer.numeric(writer.some(writer.floats, 1))
    largest = writer.bits.chance(50)
    infinity = float("-inf") if largest else float("inf")
    axis = writer.bits.below(len(tile.shape))
    body = _one(ops.MAXF if largest else ops.MINF)
    (value,) = _aggregate(writer, declaration, [tile], axis, [_float(tile.element, infinity)], body)
    writer.know(Tile(value))


def _float_sums(writer: Writer, declaration: OperationDeclaration) -> None:
    """Sums of integers that are far from where floats round."""
    element = writer.bits.choice([kind for kind in writer.floats if kind in _EXACT] or [F32])
    shape = writer.some_shape(1)
    axis = writer.bits.below(len(shape))
    if writer.is_open and len(writer.scopes) == 1 and element is not F16:
        rounded = writer.clamped(writer.want(shape, element), -8.0, 8.0)
        (value,) = _aggregate(writer, declaration, [rounded], axis, [_float(element, 0.0)], _one(ops.ADDF))
        writer.loose.append(Tile(value))
    tile = writer.whole(shape, element, 7)
    if max(-tile.low, tile.high) * shape[axis] > _EXACT[element]:
        return
    (value,) = _aggregate(writer, declaration, [tile], axis, [_float(element, 0.0)], _one(ops.ADDF))
    bound = max(-tile.low, tile.high) * shape[axis]
    writer.know(Tile(value, -bound, bound, whole=True))


def _first_of_the_largest(writer: Writer, declaration: OperationDeclaration) -> None:
    """The largest element and where it is; of equal ones the first, so that the order does not matter."""
    tile = writer.numeric(writer.some([*writer.floats, *writer.integers], 1))
    axis = writer.bits.below(len(tile.shape))
    places = _along(writer, tile.shape, axis)
    floating = isinstance(tile.element, FloatType)

    def body(writer: Writer, xs: list[Tile]) -> list[Value]:
        x, y, i, j = xs
        greater, equal = _compare(writer, "greater_than", x, y), _compare(writer, "equal", x, y)
        before = _compare(writer, "less_than", i, j)
        left = writer.apply(ops.ORI, greater, writer.apply(ops.ANDI, equal, before))
        chosen = [
            writer.add(ops.SELECT, [left.value, one.value, other.value], [one.type]).results[0]
            for one, other in ((x, y), (i, j))
        ]
        return list(chosen)

    least = _float(tile.element, float("-inf")) if floating else _integer(tile.element, range_of(tile.element)[0])
    identities = [least, _integer(I32, range_of(I32)[1])]
    value, place = _aggregate(writer, declaration, [tile, places], axis, identities, body)
    # Both zeros compare equal: which of them comes out is told by its place, and both orders agree.
    writer.know(Tile(value))
    writer.know(Tile(place, 0, tile.shape[axis] - 1))


def _along(writer: Writer, shape: Shape, axis: int) -> Tile:
    """The position of each element along a dimension."""
    lanes = writer.lanes(shape[axis])
    flat = tuple([extent if place == axis else 1 for place, extent in enumerate(shape)])
    found = writer.reshaped(lanes, flat)
    if flat != shape:
        found = found.moved(writer.add(ops.BROADCAST, [found.value], [tile_type(shape, I32)]).results[0])
    return found


def _compare(writer: Writer, predicate: str, left: Tile, right: Tile) -> Tile:
    attributes: dict[str, Attribute] = {"comparison_predicate": COMPARISON_PREDICATE[predicate]}
    if isinstance(left.element, FloatType):
        attributes["comparison_ordering"] = COMPARISON_ORDERING["ordered"]
        return writer.apply(ops.CMPF, left, right, element=I1, attributes=attributes)
    return writer.apply(ops.CMPI, left, right, element=I1, attributes={**attributes, **SIGNED})


_KINDS = (_integers, _integers, _float_extremes, _float_sums, _first_of_the_largest)


def _any(declaration: OperationDeclaration) -> Callable[[Writer], None]:
    return lambda writer: writer.bits.choice(_KINDS)(writer, declaration)


STATEMENTS = (Statement(ops.REDUCE, _any(ops.REDUCE)), Statement(ops.SCAN, _any(ops.SCAN)))
