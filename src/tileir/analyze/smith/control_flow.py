"""Statements with regions: branches and loops that end, with values and the order of memory passed through them.

Also what a program states about itself, all of it true: asserts, assumptions, sizes of the grid, what it prints.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tileir.analyze.smith.tiles import State, Tile, either
from tileir.analyze.smith.writer import DEEPEST, Loop, Scope, Statement, Writer, statements
from tileir.dialect import ops
from tileir.dialect.attributes import bounded, div_by, same_elements
from tileir.dialect.types import TOKEN, TileType, scalar_tile
from tileir.ir.attributes import Attribute
from tileir.ir.core import Block, Region
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.types import I1, I32, I64, FloatType, IntegerType, Type
from tileir.ir.values import Value
from tileir.ir.versions import V13_2

_MOST_CARRIED = 3
_MOST_STATEMENTS = 6


def _types(writer: Writer, scopes: list[Scope] | None = None) -> list[TileType]:
    """Types of values to pass on: of those that are there."""
    stored = (*writer.stored, I1)
    known = [tile.type for scope in scopes or writer.scopes for tile in scope.all if tile.element in stored]
    count = writer.bits.below(_MOST_CARRIED + 1)
    return [writer.bits.recent(known) for _ in range(count if known else 0)]


def _values_of(writer: Writer, types: list[TileType]) -> list[Tile]:
    """Values to pass on, mostly those that were computed here."""
    found: list[Tile] = []
    for type in types:
        here = writer.scope.tiles.get(type)
        inside = bool(here) and len(writer.scopes) > 1 and writer.bits.chance(80)
        found.append(writer.bits.recent(here) if here and inside else writer.want(type.shape, type.element))
    return found


def _if(writer: Writer) -> None:
    if len(writer.scopes) > DEEPEST:
        return
    condition = writer.condition()
    before = writer.states
    leaves = bool(writer.loops) and writer.bits.chance(25)
    branches: list[tuple[Scope, list[State]]] = []
    for number in range(2):
        with writer.inside(Block()) as scope:
            writer.fill(writer.bits.between(2, _MOST_STATEMENTS))
            if number == 0 and leaves:
                _end(writer, writer.loops[-1].counter is not None and writer.bits.chance(40))
        branches.append((scope, writer.states))
        writer.states = before
    scopes = [scope for scope, _ in branches]
    types = _types(writer, scopes)
    states = zip(writer.memories, before, *[after for _, after in branches], strict=True)
    touched = [memory for memory, old, *new in states if any(state is not old for state in new)]
    yielded = []
    for scope, after in branches[leaves:]:
        writer.states = after
        writer.scopes.append(scope)
        tiles = _values_of(writer, types)
        yielded.append(tiles)
        writer.op(ops.YIELD, [*tiles, *[writer.token(memory) for memory in touched]])
        writer.scopes.pop()
    regions = [Region([scope.block]) for scope in scopes]
    results = writer.op(ops.IF, condition, types=[*types, *[TOKEN] * len(touched)], regions=regions).results
    writer.states = before
    for memory, token in zip(touched, results[len(types) :], strict=True):
        memory.was_written(token)
    for place, value in enumerate(results[: len(types)]):
        writer.know(either(yielded[0][place], yielded[-1][place], value))


def _end(writer: Writer, is_break: bool = False) -> None:
    """Go on with the next iteration of the innermost loop, or end it."""
    loop = writer.loops[-1]
    values: list[Value | Tile] = []
    if loop.counter is not None and not is_break:
        values.append(writer.apply(ops.ADDI, loop.counter, writer.constant((), I32, 1)))
    values += _values_of(writer, loop.results if is_break else loop.carried)
    values += [writer.token(memory) for memory in writer.memories]
    writer.op(ops.BREAK if is_break else ops.CONTINUE, values)


@contextmanager
def _inside_loop(writer: Writer, first: Type, carried: list[TileType]) -> Iterator[tuple[Block, list[Value]]]:
    """Write into the block of a loop, its carried values in sight; with what those begin with."""
    initial = [tile.value for tile in _values_of(writer, carried)]
    initial += [writer.token(memory) for memory in writer.memories]
    block = Block([first, *carried, *[TOKEN] * len(writer.memories)])
    with writer.inside(block):
        _know_carried(writer, block.arguments[1:], carried)
        yield block, initial


def _know_carried(writer: Writer, values: Sequence[Value], types: list[TileType]) -> None:
    """What a loop hands on: values of these types, and a token for each memory."""
    for value in values[: len(types)]:
        writer.know(Tile(value, numeric=False))
    for memory, token in zip(writer.memories, values[len(types) :], strict=True):
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
    with _inside_loop(writer, scalar_tile(element), types) as (block, initial):
        writer.know(Tile(block.arguments[0], low.low, max(low.low, high.high - 1)))
        writer.loops.append(Loop(types, types, None))
        writer.fill(writer.bits.between(2, _MOST_STATEMENTS))
        _end(writer)
        writer.loops.pop()
    unsigned = writer.version >= V13_2 and bits.chance(20)
    operation = writer.op(ops.FOR, low, high, step, initial, unsignedCmp=unsigned, regions=[Region([block])])
    _know_carried(writer, operation.results, types)


def _loop(writer: Writer) -> None:
    """A loop that counts its iterations.  It checks first whether it ends: its body may `continue` early."""
    if len(writer.scopes) > DEEPEST:
        return
    types, results = _types(writer), _types(writer)
    zero = writer.constant((), I32, 0)
    limit = writer.constant((), I32, writer.bits.between(0, 3))
    with _inside_loop(writer, scalar_tile(I32), types) as (block, initial):
        counter = writer.know(Tile(block.arguments[0], 0, limit.high))
        writer.loops.append(Loop(types, results, counter))
        enough = writer.compare("greater_than_or_equal", counter, limit)
        before = writer.states
        with writer.inside(Block()) as last:
            _end(writer, is_break=True)
        writer.states = before
        writer.op(ops.IF, enough, regions=[Region([last.block]), Region()])
        writer.fill(writer.bits.between(2, _MOST_STATEMENTS))
        _end(writer)
        writer.loops.pop()
    found = [*results, *[TOKEN] * len(writer.memories)]
    operation = writer.op(ops.LOOP, [zero, *initial], types=found, regions=[Region([block])])
    _know_carried(writer, operation.results, results)


def _return(writer: Writer) -> None:
    """Some tile blocks are done early, and leave zeros behind."""
    if len(writer.scopes) > 1 or writer.blocks == 1:
        _if(writer)
        return
    last = writer.constant((), I32, writer.blocks - 1)
    condition = writer.compare("equal", writer.place, last)
    with writer.inside(Block()) as scope:
        writer.op(ops.RETURN)
    writer.op(ops.IF, condition, regions=[Region([scope.block]), Region()])


BRANCHES = (Statement(ops.IF, _if), Statement(ops.FOR, _for), Statement(ops.LOOP, _loop))
TERMINATORS = (
    Statement(ops.YIELD, _if), Statement(ops.CONTINUE, _for), Statement(ops.BREAK, _loop),
    Statement(ops.RETURN, _return),
)  # fmt: skip


def _assert(writer: Writer) -> None:
    """Assert the known bounds of a value."""
    tile = writer.below(writer.some(writer.integers), 16)
    limit = writer.constant(tile.shape, tile.element, tile.high)
    writer.op(ops.ASSERT, writer.compare("less_than_or_equal", tile, limit), "within bounds")


def _assume(writer: Writer) -> None:
    bits = writer.bits
    kind = bits.below(3)
    source = writer.some(writer.integers)
    predicate: Attribute
    if kind == 0:
        source = writer.below(source, 16)
        predicate = bounded(source.low, None if bits.chance(30) else source.high)
    elif kind == 1:
        divisor = bits.choice((2, 4, 8))
        source = writer.apply(ops.MULI, source, writer.constant(source.shape, source.element, divisor))
        predicate = div_by(divisor)
        source = Tile(source.value)
    else:
        scalar = writer.want((), source.element)
        source = writer.filled(scalar, source.shape)
        predicate = same_elements(source.shape)
    writer.know(source.moved(writer.value(ops.ASSUME, source, predicate)))


def _grid(writer: Writer, declaration: OperationDeclaration) -> None:
    for value, extent in zip(writer.op(declaration).results, writer.grid, strict=True):
        writer.know(Tile(value, *((0, extent - 1) if declaration is ops.GET_TILE_BLOCK_ID else (extent, extent))))


def _print(writer: Writer) -> None:
    """One value, where there is one tile block: what several print has no order."""
    tile = writer.numeric(writer.some([*writer.integers, *writer.floats], most=8))
    assert isinstance(tile.element, (IntegerType, FloatType))
    text = "%f\n" if isinstance(tile.element, FloatType) else "%d\n" if tile.element.width <= 32 else "%lld\n"
    token = writer.value(ops.MAKE_TOKEN) if writer.version >= V13_2 else None
    writer.op(ops.PRINT_TKO, [tile], token, f"value {text}")


PROMISES = (
    Statement(ops.ASSERT, _assert), Statement(ops.ASSUME, _assume),
    *statements(_grid, ops.GET_NUM_TILE_BLOCKS, ops.GET_TILE_BLOCK_ID),
)  # fmt: skip
PRINTING = (Statement(ops.PRINT_TKO, _print),)
