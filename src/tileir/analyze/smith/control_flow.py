"""Statements with regions: branches and loops that end, with values and the order of memory passed through them."""

from __future__ import annotations

from tileir.analyze.smith.tiles import Tile, either
from tileir.analyze.smith.writer import DEEPEST, SIGNED, Loop, Scope, Statement, Writer
from tileir.dialect import ops
from tileir.dialect.enums import COMPARISON_PREDICATE
from tileir.dialect.types import TOKEN, TileType, scalar_tile
from tileir.ir.attributes import UNIT, Attribute
from tileir.ir.core import Block, Region
from tileir.ir.types import I1, I32, I64, FloatType, IntegerType, Type
from tileir.ir.values import Value
from tileir.ir.versions import V13_2

_MOST_CARRIED = 3
_MOST_STATEMENTS = 6


def _types(writer: Writer, scopes: list[Scope] | None = None) -> list[TileType]:
    """Types of values to pass on: of those that are there."""
    found: list[TileType] = []
    known = [
        tile.type
        for scope in scopes or writer.scopes
        for tile in scope.all
        if isinstance(tile.element, (IntegerType, FloatType)) and tile.element in (*writer.stored, I1)
    ]
    for _ in range(writer.bits.below(_MOST_CARRIED + 1)):
        if known:
            found.append(writer.bits.recent(known))
    return found


def _wanted(writer: Writer, types: list[TileType]) -> list[Tile]:
    """Values to pass on, mostly those that were computed here."""
    found: list[Tile] = []
    for type in types:
        here = writer.scope.tiles.get(type)
        inside = bool(here) and len(writer.scopes) > 1 and writer.bits.chance(80)
        found.append(writer.bits.recent(here) if here and inside else writer.want(type.shape, type.element))
    return found


def _inside(writer: Writer, block: Block) -> Scope:
    scope = Scope(block)
    writer.scopes.append(scope)
    return scope


def _body(writer: Writer) -> None:
    writer.fill(writer.bits.between(2, _MOST_STATEMENTS))


# --- branches ---


def _if(writer: Writer) -> None:
    if len(writer.scopes) > DEEPEST:
        return
    condition = writer.condition()
    before = [memory.state for memory in writer.memories]
    leaves = bool(writer.loops) and writer.bits.chance(25)
    scopes = []
    after = []
    for number in range(2):
        scopes.append(_inside(writer, Block()))
        _body(writer)
        if number == 0 and leaves:
            _leave(writer)
        after.append([memory.state for memory in writer.memories])
        writer.scopes.pop()
        for memory, state in zip(writer.memories, before, strict=True):
            memory.state = state
    types = _types(writer, scopes)
    touched = [
        memory
        for memory, *states in zip(writer.memories, before, *after, strict=True)
        if any(state is not states[0] for state in states[1:])
    ]
    yielded = []
    for number, scope in enumerate(scopes):
        if number == 0 and leaves:
            continue
        for memory, state in zip(writer.memories, after[number], strict=True):
            memory.state = state
        writer.scopes.append(scope)
        tiles = _wanted(writer, types)
        yielded.append(tiles)
        writer.add(ops.YIELD, [*[tile.value for tile in tiles], *[writer.token(memory) for memory in touched]], [])
        writer.scopes.pop()
    regions = [Region([scope.block]) for scope in scopes]
    results = writer.add(ops.IF, [condition.value], [*types, *[TOKEN] * len(touched)], regions=regions).results
    for memory, state in zip(writer.memories, before, strict=True):
        memory.state = state
    for memory, token in zip(touched, results[len(types) :], strict=True):
        memory.was_written(token)
    for place, value in enumerate(results[: len(types)]):
        ways = [tiles[place] for tiles in yielded]
        writer.know(either(ways[0], ways[-1], value))


def _leave(writer: Writer) -> None:
    """Go on with the next turn of the innermost loop, or end it."""
    loop = writer.loops[-1]
    if loop.counter is not None and writer.bits.chance(40):
        _end(writer, loop, loop.results, is_break=True)
    else:
        _end(writer, loop, loop.carried)


def _end(writer: Writer, loop: Loop, types: list[TileType], is_break: bool = False) -> None:
    values: list[Value] = []
    if loop.counter is not None and not is_break:
        one = writer.constant((), I32, 1)
        values.append(writer.apply(ops.ADDI, loop.counter, one).value)
    values += [tile.value for tile in _wanted(writer, types)]
    values += [writer.token(memory) for memory in loop.memories]
    writer.add(ops.BREAK if is_break else ops.CONTINUE, values, [])


# --- loops ---


def _begun(writer: Writer, first: Type, carried: list[TileType]) -> tuple[Block, list[Value]]:
    """The block of a loop with its carried values in sight, and what those begin with."""
    memories = list(writer.memories)
    initial = [tile.value for tile in _wanted(writer, carried)]
    initial += [writer.token(memory) for memory in memories]
    block = Block([first, *carried, *[TOKEN] * len(memories)])
    _inside(writer, block)
    arguments = block.arguments[1:]
    for argument in arguments[: len(carried)]:
        writer.know(Tile(argument, numeric=False))
    for memory, argument in zip(memories, arguments[len(carried) :], strict=True):
        memory.was_written(argument)
    return block, initial


def _ended(writer: Writer, loop: Loop, results: list[Value], types: list[TileType]) -> None:
    for value in results[: len(types)]:
        writer.know(Tile(value, numeric=False))
    for memory, token in zip(loop.memories, results[len(types) :], strict=True):
        memory.was_written(token)


def _for(writer: Writer) -> None:
    if len(writer.scopes) > DEEPEST:
        return
    bits = writer.bits
    element = bits.choice((I32, I32, I64))
    low = writer.constant((), element, bits.below(3))
    kind = bits.below(4)
    if kind == 0:
        high = writer.number(element, bits.between(1, 4))
    elif kind == 1:
        high = writer.below(writer.want((), element), 4)
    else:
        high = writer.constant((), element, bits.between(1, 5))
    step = writer.constant((), element, bits.choice((1, 1, 2)))
    types = _types(writer)
    block, initial = _begun(writer, scalar_tile(element), types)
    writer.know(Tile(block.arguments[0], low.low, max(low.low, high.high - 1)))
    loop = Loop(types, types, None, list(writer.memories))
    writer.loops.append(loop)
    _body(writer)
    _end(writer, loop, types)
    writer.loops.pop()
    writer.scopes.pop()
    attributes: dict[str, Attribute] = {}
    if writer.version >= V13_2 and bits.chance(20):
        attributes["unsignedCmp"] = UNIT
    operands = [low.value, high.value, step.value, *initial]
    found = [*types, *[TOKEN] * len(loop.memories)]
    operation = writer.add(ops.FOR, operands, found, attributes, [Region([block])])
    _ended(writer, loop, list(operation.results), types)


def _loop(writer: Writer) -> None:
    """A loop that counts its turns.  Whether it ends is asked first: its body may go on with the next one early."""
    if len(writer.scopes) > DEEPEST:
        return
    types, results = _types(writer), _types(writer)
    zero = writer.constant((), I32, 0)
    limit = writer.constant((), I32, writer.bits.between(0, 3))
    block, initial = _begun(writer, scalar_tile(I32), types)
    counter = writer.know(Tile(block.arguments[0], 0, limit.high))
    loop = Loop(types, results, counter, list(writer.memories))
    writer.loops.append(loop)
    attributes: dict[str, Attribute] = {
        "comparison_predicate": COMPARISON_PREDICATE["greater_than_or_equal"],
        **SIGNED,
    }
    enough = writer.apply(ops.CMPI, counter, limit, element=I1, attributes=attributes)
    before = [memory.state for memory in writer.memories]
    last = Block()
    _inside(writer, last)
    _end(writer, loop, results, is_break=True)
    writer.scopes.pop()
    for memory, state in zip(writer.memories, before, strict=True):
        memory.state = state
    writer.add(ops.IF, [enough.value], [], regions=[Region([last]), Region()])
    _body(writer)
    _end(writer, loop, types)
    writer.loops.pop()
    writer.scopes.pop()
    found = [*results, *[TOKEN] * len(loop.memories)]
    operation = writer.add(ops.LOOP, [zero.value, *initial], found, regions=[Region([block])])
    _ended(writer, loop, list(operation.results), results)


def _return(writer: Writer) -> None:
    """Some tile blocks are done early, and leave zeros behind."""
    if len(writer.scopes) > 1 or writer.blocks == 1:
        _if(writer)
        return
    last = writer.constant((), I32, writer.blocks - 1)
    attributes: dict[str, Attribute] = {"comparison_predicate": COMPARISON_PREDICATE["equal"], **SIGNED}
    condition = writer.apply(ops.CMPI, writer.place, last, element=I1, attributes=attributes)
    block = Block()
    _inside(writer, block)
    writer.add(ops.RETURN, [], [])
    writer.scopes.pop()
    writer.add(ops.IF, [condition.value], [], regions=[Region([block]), Region()])


STATEMENTS = (
    Statement(ops.IF, _if),
    Statement(ops.FOR, _for),
    Statement(ops.LOOP, _loop),
)
TERMINATORS = (
    Statement(ops.YIELD, _if),
    Statement(ops.CONTINUE, _for),
    Statement(ops.BREAK, _loop),
    Statement(ops.RETURN, _return),
)
