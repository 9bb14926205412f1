"""Reductions and scans, and functions of one element.

TTIR has no identities.  A body of one known operation takes the identity of that.  Any other body gets one more operand
that marks elements, so that identities are never combined.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from tileir.dialect.types import TileType, tile_type, with_element
from tileir.ir.core import Operation
from tileir.ir.types import BF16, F16, F32, I32, FloatType, IntegerType, Type
from tileir.ir.values import Value
from tileir.ttir.rules.arithmetic import filled, splat
from tileir.ttir.rules.control import blocks
from tileir.ttir.translation import MEMORY, Translation, rule
from tileir.ttir.types import I1

_INFINITY: Final = float("inf")

# The neutral elements of operations; of integers by the number of bits.
_IDENTITIES: Final[dict[str, Callable[[int], float]]] = {
    "arith.addf": lambda bits: -0.0,
    "arith.mulf": lambda bits: 1.0,
    "arith.maxnumf": lambda bits: -_INFINITY,
    "arith.maximumf": lambda bits: -_INFINITY,
    "arith.minnumf": lambda bits: _INFINITY,
    "arith.minimumf": lambda bits: _INFINITY,
    "arith.addi": lambda bits: 0,
    "arith.ori": lambda bits: 0,
    "arith.xori": lambda bits: 0,
    "arith.maxui": lambda bits: 0,
    "arith.muli": lambda bits: 1,
    "arith.andi": lambda bits: (1 << bits) - 1,
    "arith.minui": lambda bits: (1 << bits) - 1,
    "arith.maxsi": lambda bits: -(1 << bits - 1),
    "arith.minsi": lambda bits: (1 << bits - 1) - 1,
}


@rule("tt.reduce")
def reduce(t: Translation, op: Operation) -> list[Value]:
    """The elements of a reduction have no order: of two, the body of TTIR gets the accumulated one first."""
    return _combine(t, op, t.operands(op), t.build.reduce, accumulated=1)


@rule("tt.scan")
def scan(t: Translation, op: Operation) -> list[Value]:
    """The body gets the accumulated element first, in TTIR as in Tile IR, also where the scan begins at the end.

    Sums and products of 16 bits are computed in f32.  Triton scans a tree, whose height is the number of roundings; a
    scan of one element after the other would round each time.
    """
    reverse = bool(t.attribute(op, "reverse"))
    type, function = t.result_type(op), next(iter(op.regions[0].blocks[0])).name
    is_narrow = function in ("arith.addf", "arith.mulf") and type.element in (BF16, F16)
    if not is_narrow or _identity(op, type.element) is None:
        return _combine(t, op, t.operands(op), t.build.scan, accumulated=0, reverse=reverse)
    (operand,) = t.operands(op)
    wide = t.build.ftof(operand, with_element(type, F32))
    (found,) = _combine(t, op, [wide], t.build.scan, accumulated=0, reverse=reverse)
    return [t.build.ftof(found, type)]


def _combine(
    t: Translation,
    op: Operation,
    operands: list[Value],
    build: Callable[..., Any],
    *,
    accumulated: int,
    **keywords: object,
) -> list[Value]:
    """Build a reduction or scan; `accumulated` is the position of the accumulated element in the pairs of its body.

    A body in Tile IR has no effects: whether its assertions hold is the result of one more operand for each.
    """
    axis, location = t.attribute(op, "axis"), t.build.location
    types, assertions = [t.type(each) for each in op.operands], _assertions(t, op)
    identity, count = _identity(op, types[0].element), len(types) + len(assertions)
    if identity is None:
        # Elements are there, identities are not.
        operands += [filled(t, 1, tile_type(types[0].shape, I1))] * (len(assertions) + 1)
    identities = [0] * len(operands) if identity is None else [identity]
    scope = build(operands, axis, identities, **keywords)
    with scope:
        first, second = scope.arguments[accumulated::2], scope.arguments[1 - accumulated :: 2]
        t.bind(op.regions[0].blocks[0].arguments, [*first[: len(types)], *second[: len(types)]])
        values = blocks(t, op.regions[0].blocks[0])
        if identity is None:
            for each, one, other in zip(assertions, first[len(types) :], second[len(types) :], strict=False):
                values.append(t.build.andi(t.values[each.operands[0]], t.build.andi(one, other)))
            values = [
                t.build.select(first[-1], t.build.select(second[-1], both, left), right)
                for both, left, right in zip(values, first, second, strict=False)
            ]
            values.append(t.build.ori(first[-1], second[-1]))
        t.build.yield_(*values)
    for each, holds in zip(assertions, scope.results[len(types) : count], strict=True):
        t.build.location = t.locations.of(each.location)
        t.build.assert_(holds, t.attribute(each, "message", ""))
    t.build.location = location
    return list(scope.results[: len(types)])


def _assertions(t: Translation, op: Operation) -> list[Operation]:
    """The assertions in the body of a reduction or scan, which are all executed."""
    found = [each for each in op.walk() if each.name == "tt.assert"]
    for each in found:
        if each.parent is not op.regions[0].blocks[0]:
            raise t.unsupported(each, f"it is in a branch in the body of '{op.name}'")
    return found


@rule("tt.map_elementwise")
def map_elements(t: Translation, op: Operation) -> list[Value]:
    """A function of elements, applied to tiles: both branches of a condition are computed, and selected from.

    With `pack` the function takes so many elements of each tile at once: here, those next to each other.
    """
    pack, first = t.attribute(op, "pack"), op.regions[0].blocks[0]
    arguments = [part for each in t.operands(op) for part in _parts(t, each, pack)]
    outside, shape = dict(t.values), t.element_shape
    assert isinstance(arguments[0].type, TileType)
    t.element_shape = arguments[0].type.shape
    try:
        for each in op.walk():
            if each is not op:
                _check_function_of_elements(t, each)
                # Scalars from outside of the function.
                t.values.update({x: splat(t, t.values[x], t.element_shape) for x in each.operands if x in outside})
        t.bind(first.arguments, arguments)
        values = blocks(t, first)
    finally:
        t.element_shape = shape
        t.values.update(outside)
    return [
        _joined(t, values[number * pack : (number + 1) * pack], t.type(result))
        for number, result in enumerate(op.results)
    ]


def _check_function_of_elements(t: Translation, op: Operation) -> None:
    if op.name in MEMORY | {"tt.assert", "tt.call"} or (op.regions and op.name != "scf.if"):
        raise t.unsupported(op, "a function that 'tt.map_elementwise' applies has neither loops nor effects")


def _parts(t: Translation, value: Value, count: int) -> list[Value]:
    """Every `count`-th element of a tile, from the first on, from the second on and so on."""
    assert isinstance(value.type, TileType)
    if count == 1:
        return [value]
    *outer, last = value.type.shape
    shape = (*outer, last // count, 1)
    whole = t.build.reshape(value, (*outer, last // count, count))
    numbers = [t.build.constant(each, I32) for each in range(count)]
    found = [t.build.extract(whole, [numbers[0]] * (len(shape) - 1) + [each], shape) for each in numbers]
    return [t.build.reshape(each, shape[:-1]) for each in found]


def _joined(t: Translation, parts: Sequence[Value], type: TileType) -> Value:
    """The tile that has these parts."""
    if len(parts) == 1:
        return parts[0]
    shape = (*type.shape[:-1], type.shape[-1] // len(parts), 1)
    tiles = [t.build.reshape(each, shape) for each in parts]
    while len(tiles) > 1:
        # Extents are powers of two: neighbors are joined first.
        tiles = [t.build.cat(tiles[at], tiles[at + 1], len(shape) - 1) for at in range(0, len(tiles), 2)]
    return t.build.reshape(tiles[0], type.shape)


def _identity(op: Operation, element: Type) -> float | None:
    """The neutral element of a body that is one operation on both its arguments."""
    block = op.regions[0].block
    first = next(iter(block))
    if len(op.operands) != 1 or len(list(block)) != 2 or set(first.operands) != set(block.arguments):
        return None
    found = _IDENTITIES.get(first.name)
    assert isinstance(element, (FloatType, IntegerType))
    return None if found is None else found(element.width)
