"""Traffic between memory and the caches: stores that pass the caches by, and reads that fetch for the next tile block.

A plain store to memory that is in no cache first reads it, and then drives something else out of the cache.  A
**streaming** store does neither, but what it wrote is in no cache for whoever reads it next.  So a store streams if

1. the launch writes at least `STREAMED_BYTES`, and reads and writes more than the caches hold, where it says how much
   that is: every launch checks both (`emission.streaming`, `runtime.target`);
2. nothing in the kernel reads memory that may alias (`aliasing`), and nothing orders memory between tile blocks:
   others see streaming stores in no particular order, until the worker is done and has waited for them;
3. it is outside of loops and branches and has a nest of its own with little to compute;
4. its tile has at least `TILE_BYTES`, in rows of at least `ROW_BYTES` whose elements are neighbours in memory; where
   they lie is checked for every tile (`emission.streaming`).

A tile that a second statement reads comes from the cache then, and memory has nothing to do.  This read **fetches
ahead** what the next tile block of the thread is going to read, if that is a fixed distance away.  So does every read
in a loop for its next turn: the rows of a tile are often shorter than pages and far apart, where no machine looks ahead
by itself.  What is read for a store that streams is fetched along its row.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Final, TypeAlias, cast

from tileir.dialect.ops import ADDI, ASSUME, FOR, GET_TILE_BLOCK_ID, MULI
from tileir.dialect.types import PartitionViewType, StridedViewType, TileViewType
from tileir.execute.analysis.aliasing import Origin, Origins
from tileir.execute.analysis.values import scalar_constant
from tileir.execute.cpu.loops.expressions import Expression, Mapped, Viewed
from tileir.execute.cpu.loops.repeatable import may_change_order
from tileir.execute.cpu.loops.sinks import StoreView
from tileir.execute.cpu.loops.statements import (
    Ahead,
    Nest,
    Program,
    Reduce,
    Repeat,
    Statement,
    VersionedNest,
    statements,
)
from tileir.execute.cpu.runtime.target import Target
from tileir.execute.dtypes import memory_bytes
from tileir.ir.core import Operation
from tileir.ir.traversal import is_memory_effect_free
from tileir.ir.values import Value

STREAMED_BYTES: Final = 16 << 20
"""What a launch has to write for its stores to stream.  Measured on an addition and a sum of its result: up to 8 MiB
both together take longer with streaming, since the result is in a cache without; from 16 MiB on less.  A constant,
because nobody can say how much of a cache that others share is ours."""
SMALLEST_VECTOR: Final = 16
"""The bytes that one instruction streams, at least."""
TILE_BYTES: Final = 1024
ROW_BYTES: Final = 128
MOST_WORK: Final = 64
"""The cost of an element (`fusion`) above which it is not memory that a nest waits for."""
MOST_NESTS: Final = 4
"""How many nests of a kernel stream: each has two more versions, which take time to compile."""
FETCHED_BYTES: Final = 256 << 10
"""The largest tile that is fetched ahead: it has to fit into the caches of one processor beside the present one."""


def choose(program: Program, target: Target, overlapping: bool) -> None:
    """Find out what streams and what is fetched ahead; with `overlapping`, arguments may share memory."""
    # Elsewhere than on x86 it is another instruction that waits for streaming stores.
    if target.is_x86 and not overlapping:
        program.streams = _streaming(program, target.vector_bytes)
        if program.streams:
            program.moved_bytes = _moved_bytes(program.entry)
    program.fetches = _fetching(program)


def row_axis(type: TileViewType) -> int:
    """The dimension of a view's tile that its vectors go along: the last that has more than one element, or -1."""
    return max([axis for axis, extent in enumerate(type.tile_shape) if extent != 1], default=-1)


# --- streaming stores ---


def _streaming(program: Program, vector_bytes: int) -> dict[Statement, StoreView]:
    found: dict[Statement, StoreView] = {}
    candidates = [each for statement in program.body for each in _nests(statement)]
    for statement in candidates:
        # Elements at the ends of rows are computed twice, which must not have any effect but that of the store.
        if isinstance(statement, Nest) and len(statement.sinks) == 1:
            (sink,) = statement.sinks
            if isinstance(sink, StoreView) and _is_large(sink, vector_bytes):
                found[statement] = sink
    if not found or not may_change_order(program.entry):
        return {}
    origins = Origins(program.entry, False)
    read: set[object] = set()
    for operation in program.entry.walk():
        place = operation.declaration.reads
        if place is not None:
            read |= origins.provenance(operation.operand_group(place)[0])
    everything = frozenset(read)
    unread = [statement for statement, sink in found.items() if is_apart(sink, origins, everything)]
    return {statement: found[statement] for statement in unread[:MOST_NESTS]}


def _nests(statement: Statement) -> list[Statement]:
    """The nest that a statement is, or those it is made of."""
    if not isinstance(statement, VersionedNest):
        return [statement]
    return [*([statement.fused] if statement.fused is not None else []), *statement.parts[-1:]]


def _is_large(sink: StoreView, vector_bytes: int) -> bool:
    """Whether a store is worth it: there is little to compute, and each element is after its neighbour in memory."""
    type = sink.operation.view.type
    if not isinstance(type, (PartitionViewType, StridedViewType)) or sink.expression.cost > MOST_WORK:
        return False
    axis = row_axis(type)
    if axis < 0 or type.tensor.strides[type.dim_map[axis]] != 1:
        return False
    if not _reads_rows(sink.expression, axis):
        return False
    size = memory_bytes(type.tensor.element)
    # A nest has as many lanes as there are elements of four bytes in a vector, at most.
    if vector_bytes // 4 * size < SMALLEST_VECTOR:
        return False
    return type.tile_shape[axis] * size >= ROW_BYTES and prod(type.tile_shape) * size >= TILE_BYTES


def _reads_rows(expression: Expression, axis: int) -> bool:
    """Whether nothing that lies in rows is read across them, where vectors go along a dimension of the tile.

    A nest that streams goes along whole rows of what it writes.  Of a tile that it turns it would read a cache line for
    each element, which took three times as long.
    """
    if isinstance(expression, Mapped):
        taken = [number for number, (source, _) in enumerate(expression.mapping) if source == axis]
        return all(_reads_rows(expression.source, number) for number in taken)
    if isinstance(expression, Viewed):
        type = cast(TileViewType, expression.operation.view.type)
        if not isinstance(type, (PartitionViewType, StridedViewType)):
            return True
        strides = [type.tensor.strides[dimension] for dimension in type.dim_map]
        return strides[axis] == 1 or 1 not in strides
    return all(_reads_rows(operand, axis) for operand in expression.operands)


def is_apart(sink: StoreView, origins: Origins, read: Origin) -> bool:
    """Whether a store writes no memory of some origins."""
    # What leaves its array is not read by the nest itself, which is what matters (`VersionedNest`).
    origin = origins.provenance(sink.operation.view)
    # An `alloca` is scratch memory, and small.
    return origins.never_alias(origin, read) and not any(isinstance(source, Operation) for source in origin)


def _moved_bytes(entry: Operation) -> int:
    """What a tile block reads and writes through views outside of loops and branches, each tile once."""
    found: dict[tuple[Value, ...], int] = {}
    for operation in entry.regions[0].blocks[0]:
        if "view" in (operation.declaration.reads, operation.declaration.writes):
            view = operation.view
            type = cast(TileViewType, view.type)
            size = prod(type.tile_shape) * memory_bytes(type.tensor.element)
            found[(view, *operation.index)] = size
    return sum(found.values())


# --- fetching ahead ---


def _fetching(program: Program) -> dict[Statement, dict[Operation, Ahead]]:
    """By statement the loads that fetch ahead."""
    found: dict[Statement, dict[Operation, Ahead]] = {}
    _fetching_blocks(program, found)
    for loop in statements(program.body):
        if isinstance(loop, Repeat) and loop.operation.declaration is FOR:
            _fetching_turns(loop, found)
    return found


def _fetching_blocks(program: Program, found: dict[Statement, dict[Operation, Ahead]]) -> None:
    """Add what is fetched for the next tile block."""
    # By what is read: whether it has been fetched ahead.
    seen: dict[tuple[Value, ...], bool] = {}
    for statement in program.body:
        tiles: dict[tuple[Value, ...], list[Operation]] = {}
        for operation in _loads(statement):
            view = operation.view
            tiles.setdefault((view, *operation.index), []).append(operation)
        for tile, operations in tiles.items():
            if seen.get(tile) is False and len(operations) == 1 and isinstance(statement, (Nest, Reduce)):
                seen[tile] = True
                steps = _steps(tile, _from_block_to_block)
                if any(steps):
                    found.setdefault(statement, {})[operations[0]] = Ahead(steps, False)
            seen.setdefault(tile, False)


def _fetching_turns(loop: Repeat, found: dict[Statement, dict[Operation, Ahead]]) -> None:
    """Add what is fetched for the next turn of a loop."""
    step = scalar_constant(loop.operation.operands[2])
    if step is None:
        return
    for each in loop.body:
        statement = each.fused if isinstance(each, VersionedNest) else each
        if isinstance(statement, (Nest, Reduce)):
            for operation in _loads(statement):
                tile = operation.view, *operation.index
                steps = _steps(tile, partial(_from_turn_to_turn, loop.operation, step))
                if any(steps):
                    found.setdefault(statement, {})[operation] = Ahead(steps, True)


def _loads(statement: Statement) -> list[Operation]:
    """The loads through views of a statement."""
    reads = {node.operation: None for root in statement.roots for node in root.reads if isinstance(node, Viewed)}
    return list(reads)


_Move: TypeAlias = Callable[[Value], "int | None"]
"""How much a value grows from one tile block, or turn of a loop, to the next; None for one that is computed."""


def _from_block_to_block(value: Value) -> int | None:
    """From a tile block to the next one, its neighbor along the first dimension of the grid."""
    operation = value.defining_operation
    if operation is None:
        # What a loop carries is not known outside of it, so this is a parameter.
        return 0
    return int(value is operation.results[0]) if operation.declaration is GET_TILE_BLOCK_ID else None


def _from_turn_to_turn(loop: Operation, step: int, value: Value) -> int | None:
    block = loop.regions[0].blocks[0]
    if value is block.arguments[0]:
        return step
    return None if value.parent_block is block else 0


def _steps(tile: tuple[Value, ...], move: _Move) -> tuple[int, ...]:
    """How much each index of a tile grows; nothing where it is not to be fetched."""
    view, *index = tile
    type = cast(TileViewType, view.type)
    if not isinstance(type, (PartitionViewType, StridedViewType)):
        return ()
    if prod(type.tile_shape) * memory_bytes(type.tensor.element) > FETCHED_BYTES:
        return ()
    steps = [_step(value, move) for value in index]
    if _step(view, move) != 0 or None in steps:
        return ()
    return tuple([step or 0 for step in steps])


def _step(value: Value, move: _Move, depth: int = 0) -> int | None:
    """How much a scalar grows; 0 for a view that stays the same, None where that takes more than a glance."""
    moved = move(value)
    operation = value.defining_operation
    if moved is not None or operation is None:
        return moved
    declaration = operation.declaration
    if depth == _GLANCE or operation.regions or operation.declaration.accesses_memory:
        return None
    steps = [_step(operand, move, depth + 1) for operand in operation.operands]
    if not any(steps) and None not in steps:
        return 0 if is_memory_effect_free(operation) else None
    if None in steps:
        return None
    known = [step or 0 for step in steps]
    if declaration is ASSUME:
        return known[0]
    if declaration is ADDI:
        return known[0] + known[1]
    if declaration is MULI:
        moving = 0 if known[0] else 1
        factor = scalar_constant(operation.operands[1 - moving])
        return None if factor is None else known[moving] * factor
    return None


_GLANCE: Final = 6
