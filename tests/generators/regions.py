"""Random operations with regions, and what ends a block."""

from __future__ import annotations

from collections.abc import Callable

from tests.generators.attributes import scalar
from tests.generators.body import Body
from tests.generators.operations import random_operation

from tileir.dialect.ops.aggregates import reduced_type
from tileir.dialect.types import PointerType, TileType, scalar_tile
from tileir.ir.attributes import UNIT, Attribute, array_attribute, bool_attribute, integer_attribute
from tileir.ir.core import Operation, Region
from tileir.ir.traits import REGION_EFFECTS, TERMINATOR
from tileir.ir.types import BF16, F4E2M1FN, F16, I1, I8, I16, I32, I64, Type
from tileir.ir.versions import V13_2, V13_4

_DEEPEST = 4


def fill(body: Body, count: int) -> None:
    """Append about `count` operations."""
    program = body.program
    for _ in range(count):
        if program.remaining <= 0:
            return
        program.remaining -= 1
        declaration = body.rng.choice(program.operations)
        if declaration.regions:
            _region_operation(body, declaration.mnemonic, bool(declaration.traits & REGION_EFFECTS))
        elif declaration.traits & TERMINATOR:
            # A terminator is drawn with a place for it: an if inside what it ends.
            _region_operation(body, "loop" if declaration.mnemonic in ("break", "continue") else "if", True)
        elif body.is_allowed(declaration):
            random_operation(body, declaration)


def _region_operation(body: Body, name: str, nests: bool) -> None:
    if not nests or body.depth >= _DEEPEST or name not in _BUILDERS:
        return
    if body.pure and (body.version < V13_4 or name in ("for", "loop")):
        return
    _BUILDERS[name](body)


def _fill_some(body: Body) -> None:
    fill(body, body.rng.choice((0, 0, 1, 2, 4, 6)))


def _end(body: Body, name: str, types: list[Type]) -> None:
    body.add(name, [body.value(type) for type in types], [])


def _types(body: Body) -> list[Type]:
    return [body.types.carried() for _ in range(body.rng.choice((0, 0, 1, 2, 3)))]


def _end_branch(body: Body, yielded: list[Type]) -> None:
    """Yield, or leave the loop or the kernel for good."""
    choices = ["yield", "yield"]
    if body.loop is not None:
        choices.append("continue")
        if body.loop[0] == "loop":
            choices.append("break")
    if body.may_return:
        choices.append("return")
    allowed = [name for name in choices if name == "yield" or name in body.program.allowed]
    _end_with(body, body.rng.choice(allowed), yielded)


def _end_with(body: Body, name: str, yielded: list[Type]) -> None:
    if name == "yield":
        _end(body, "yield", yielded)
    elif name == "return":
        _end(body, "return", [])
    else:
        assert body.loop is not None
        _end(body, name, body.loop[1] if name == "continue" else body.loop[2])


def _if(body: Body) -> Operation:
    types = _types(body)
    condition = body.value(scalar_tile(I1))
    regions: list[Region] = []
    for branch in range(2):
        if branch == 1 and not types and body.rng.random() < 0.4:
            regions.append(Region())
            continue
        child = body.child([])
        child.loop = body.loop
        child.may_return = body.may_return
        _fill_some(child)
        _end_branch(child, types)
        regions.append(Region([child.block]))
    return body.add("if", [condition], types, regions=regions)


def _for(body: Body) -> Operation:
    bound = scalar_tile(body.rng.choice((I1, I8, I16, I32, I32, I64)))
    types = _types(body)
    operands = [body.value(bound) for _ in range(3)] + [body.value(type) for type in types]
    child = body.child([bound, *types])
    child.loop = ("for", types, types)
    _fill_some(child)
    _end(child, "continue", types)
    attributes: dict[str, Attribute] = {}
    if body.version >= V13_2 and body.rng.random() < 0.3:
        attributes["unsignedCmp"] = UNIT
    return body.add("for", operands, types, attributes, [Region([child.block])])


def _loop(body: Body) -> Operation:
    types = _types(body)
    results = _types(body)
    operands = [body.value(type) for type in types]
    child = body.child(types)
    child.loop = ("loop", types, results)
    child.may_return = body.may_return and body.version >= V13_4
    _fill_some(child)
    if body.rng.random() < 0.5:
        _if(child)
    choices = ["continue", "break", *(["return"] if child.may_return else [])]
    _end_with(child, body.rng.choice(choices), [])
    return body.add("loop", operands, results, regions=[Region([child.block])])


def _aggregate(body: Body, name: str) -> Operation:
    rng = body.rng
    # Of an f4E2M1FN there is no scalar, of a pointer no identity.
    elements = [e for e in body.types.elements if e is not F4E2M1FN and not isinstance(e, PointerType)]
    shape = body.types.shape(1)
    tiles = [body.types.tile(elements, shape) for _ in range(rng.choice((1, 1, 2, 3)))]
    dim = rng.randrange(len(shape))
    arguments: list[Type] = []
    for tile in tiles:
        arguments += [scalar_tile(tile.element)] * 2
    child = body.child(arguments, pure=True)
    _fill_some(child)
    _end(child, "yield", [scalar_tile(tile.element) for tile in tiles])
    identities = [_identity(body, tile) for tile in tiles]
    attributes: dict[str, Attribute] = {
        "dim": integer_attribute(I32, dim),
        "identities": array_attribute(tuple(identities)),
    }
    if name == "scan":
        attributes["reverse"] = bool_attribute(rng.random() < 0.5)
    results: list[Type] = [reduced_type(tile, dim) if name == "reduce" else tile for tile in tiles]
    operands = [body.value(tile) for tile in tiles]
    return body.add(name, operands, results, attributes, [Region([child.block])])


def _identity(body: Body, tile: TileType) -> Attribute:
    """Of the element's type; the two 16-bit formats may stand for each other."""
    element = tile.element
    if element in (F16, BF16) and body.rng.random() < 0.3:
        element = body.rng.choice((F16, BF16))
    return scalar(body.rng, element)


_BUILDERS: dict[str, Callable[[Body], Operation]] = {
    "if": _if,
    "for": _for,
    "loop": _loop,
    "reduce": lambda body: _aggregate(body, "reduce"),
    "scan": lambda body: _aggregate(body, "scan"),
}
