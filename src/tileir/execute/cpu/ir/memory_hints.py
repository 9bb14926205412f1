"""Hints about memory: which stores are non-temporal, and what is prefetched.

A plain store to uncached memory reads it first and evicts something else.  A **non-temporal** store does neither, but
leaves its result in no cache.  A store is non-temporal if

1. the launch writes at least `STREAMED_BYTES`, and reads and writes more than the caches hold: every launch checks both
   (`codegen.nontemporal`, `runtime.target`);
2. nothing in the kernel reads memory that may alias, and nothing orders memory between tile blocks: others see
   non-temporal stores in no particular order, until the worker is done and has waited for them;
3. it is outside of loops and branches and has a loop nest of its own with little to compute;
4. its tile has at least `TILE_BYTES`, in rows of at least `ROW_BYTES` whose elements are neighbors in memory; every
   tile checks its alignment (`codegen.nontemporal`).

A read of a tile that is in the cache **prefetches** the tile of the thread's next tile block, if that is a fixed
distance away; a read in a loop prefetches for its next iteration, as rows are often too short and too far apart for the
machine's prefetcher.  The reads of a loop nest with non-temporal stores prefetch along their rows.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Final, TypeAlias, cast

from tileir.dialect.ops import ADDI, ASSUME, FOR, GET_TILE_BLOCK_ID, MULI
from tileir.dialect.types import PartitionViewType, StridedViewType, TileViewType
from tileir.execute.analysis.aliasing import Origin, Origins
from tileir.execute.analysis.values import ordering_of, scalar_constant
from tileir.execute.cpu.ir import statements as st
from tileir.execute.cpu.ir.expressions import Expression, ViewLoad, strides_along
from tileir.execute.cpu.runtime.target import Target
from tileir.execute.dtypes import memory_bytes
from tileir.ir.core import Operation
from tileir.ir.traits import ATOMIC, BLOCK_ORDER
from tileir.ir.traversal import is_memory_effect_free
from tileir.ir.values import Value

STREAMED_BYTES: Final = 16 << 20
"""What a launch has to write for non-temporal stores.  Measured on an addition and a sum of its result: up to 8 MiB
both together take longer with them, since the result is in a cache without; from 16 MiB on less."""
SMALLEST_VECTOR: Final = 16  # The bytes that one instruction stores, at least.
TILE_BYTES: Final = 1024
ROW_BYTES: Final = 128
MOST_WORK: Final = 64  # The cost of an element (`fusion`) above which a loop nest does not wait for memory.
MOST_NESTS: Final = 4  # Each nest with non-temporal stores has two more versions to compile
PREFETCHED_BYTES: Final = 256 << 10  # The largest tile to prefetch: it shares a processor's caches


def choose(program: st.Program, target: Target, overlapping: bool) -> None:
    """Choose non-temporal stores and prefetches; with `overlapping`, arguments may share memory."""
    # Elsewhere than on x86 it is another instruction that waits for non-temporal stores.
    if target.is_x86 and not overlapping:
        program.nontemporal = _nontemporal(program, target.vector_bytes)
        if program.nontemporal:
            program.moved_bytes = _moved_bytes(program.entry)
    _prefetch_blocks(program)
    for loop in st.statements(program.body):
        if isinstance(loop, st.LoopStatement) and loop.operation.declaration is FOR:
            _prefetch_iterations(program, loop)


def may_change_order(entry: Operation) -> bool:
    """Whether tile blocks may run in any order: none waits for another, prints or asserts."""
    for operation in entry.walk():
        declaration = operation.declaration
        if declaration.has_trait(BLOCK_ORDER | ATOMIC):
            return False
        if declaration.accesses_memory and ordering_of(operation) != "weak":
            return False
    return True


def row_axis(type: TileViewType) -> int:
    """The dimension of a view's tile that its vectors go along: the last that has more than one element, or -1."""
    return max([axis for axis, extent in enumerate(type.tile_shape) if extent != 1], default=-1)


def _nontemporal(program: st.Program, vector_bytes: int) -> dict[st.Statement, st.StoreView]:
    found: dict[st.Statement, st.StoreView] = {}
    for statement in program.body:
        nests: list[st.Statement | None] = [statement]
        if isinstance(statement, st.VersionedLoopNest):
            nests = [statement.fused, *statement.parts[-1:]]
        for nest in nests:
            # Elements at the ends of rows are computed twice, which must have no effect but that of the store.
            if isinstance(nest, st.LoopNest) and len(nest.stores) == 1:
                (store,) = nest.stores
                if isinstance(store, st.StoreView) and _is_large(store, vector_bytes):
                    found[nest] = store
    if not found or not may_change_order(program.entry):
        return {}
    origins = Origins(program.entry, False)
    read: set[object] = set()
    for operation in program.entry.walk():
        group = operation.declaration.reads
        if group is not None:
            read |= origins.provenance(operation.operand_group(group)[0])
    unread = [nest for nest, store in found.items() if is_apart(store, origins, frozenset(read))]
    return {nest: found[nest] for nest in unread[:MOST_NESTS]}


def _is_large(store: st.StoreView, vector_bytes: int) -> bool:
    """Whether a store is worth it: there is little to compute, and each element follows its neighbor in memory."""
    type = store.operation.view.type
    if not isinstance(type, (PartitionViewType, StridedViewType)) or store.expression.cost > MOST_WORK:
        return False
    axis = row_axis(type)
    if axis < 0 or type.tensor.strides[type.dim_map[axis]] != 1 or not _reads_rows(store.expression, axis):
        return False
    size = memory_bytes(type.tensor.element)
    # A loop nest has as many lanes as there are elements of four bytes in a vector, at most.
    if vector_bytes // 4 * size < SMALLEST_VECTOR:
        return False
    return type.tile_shape[axis] * size >= ROW_BYTES and prod(type.tile_shape) * size >= TILE_BYTES


def _reads_rows(expression: Expression, axis: int) -> bool:
    """Whether vectors along a dimension read no row-major tile across its rows, which took three times as long."""
    return all(step in (0, 1) or 1 not in strides for step, strides in strides_along(expression, axis))


def is_apart(store: st.StoreView, origins: Origins, read: Origin) -> bool:
    # The nest itself does not read what leaves its array, which is what matters (`VersionedLoopNest`).
    origin = origins.provenance(store.operation.view)
    # An `alloca` is scratch memory, and small.
    return origins.never_alias(origin, read) and not any(isinstance(source, Operation) for source in origin)


def _moved_bytes(entry: Operation) -> int:
    """What a tile block reads and writes through views outside of loops and branches, each tile once."""
    found: dict[tuple[Value, ...], int] = {}
    for operation in entry.regions[0].blocks[0]:
        if "view" in (operation.declaration.reads, operation.declaration.writes):
            type = cast(TileViewType, operation.view.type)
            found[(operation.view, *operation.index)] = prod(type.tile_shape) * memory_bytes(type.tensor.element)
    return sum(found.values())


def _prefetch_blocks(program: st.Program) -> None:
    # By what is read: whether it is prefetched.
    seen: dict[tuple[Value, ...], bool] = {}
    for statement in program.body:
        tiles: dict[tuple[Value, ...], list[Operation]] = {}
        for operation in _loads(statement):
            tiles.setdefault((operation.view, *operation.index), []).append(operation)
        for tile, operations in tiles.items():
            if seen.get(tile) is False and len(operations) == 1 and isinstance(statement, (st.LoopNest, st.Reduce)):
                seen[tile] = True
                _add_prefetch(program, statement, operations[0], _from_block_to_block, False)
            seen.setdefault(tile, False)


def _prefetch_iterations(program: st.Program, loop: st.LoopStatement) -> None:
    step = scalar_constant(loop.operation.operands[2])
    block = loop.operation.regions[0].blocks[0]

    def from_iteration_to_iteration(value: Value) -> int | None:
        if value is block.arguments[0]:
            return step
        return None if value.parent_block is block else 0

    for each in loop.body if step is not None else []:
        statement = each.fused if isinstance(each, st.VersionedLoopNest) else each
        if isinstance(statement, (st.LoopNest, st.Reduce)):
            for operation in _loads(statement):
                _add_prefetch(program, statement, operation, from_iteration_to_iteration, True)


def _loads(statement: st.Statement) -> list[Operation]:
    reads = {node.operation: None for root in statement.roots for node in root.reads if isinstance(node, ViewLoad)}
    return list(reads)


_Step: TypeAlias = Callable[[Value], "int | None"]
"""How much a value grows from one tile block, or iteration of a loop, to the next; None for one that is computed."""


def _from_block_to_block(value: Value) -> int | None:
    """To the next tile block along the first dimension of the grid."""
    operation = value.defining_operation
    if operation is None:
        # What a loop carries is not known outside of it, so this is a parameter.
        return 0
    return int(value is operation.results[0]) if operation.declaration is GET_TILE_BLOCK_ID else None


def _add_prefetch(
    program: st.Program, statement: st.Statement, operation: Operation, step: _Step, is_iteration: bool
) -> None:
    """Prefetch the tile of a load whose indices are so much larger, if it is small and that is known."""
    type = cast(TileViewType, operation.view.type)
    if not isinstance(type, (PartitionViewType, StridedViewType)):
        return
    if prod(type.tile_shape) * memory_bytes(type.tensor.element) > PREFETCHED_BYTES:
        return
    steps = [_growth(value, step) for value in operation.index]
    if _growth(operation.view, step) == 0 and None not in steps and any(steps):
        prefetch = st.Prefetch(tuple([each or 0 for each in steps]), is_iteration)
        program.prefetches.setdefault(statement, {})[operation] = prefetch


_DEEPEST: Final = 6


def _growth(value: Value, step: _Step, depth: int = 0) -> int | None:
    """How much a scalar grows; 0 for a view that stays the same, None where it is not known."""
    found = step(value)
    operation = value.defining_operation
    if found is not None or operation is None:
        return found
    declaration = operation.declaration
    if depth == _DEEPEST or operation.regions or declaration.accesses_memory:
        return None
    steps = [_growth(operand, step, depth + 1) for operand in operation.operands]
    if None in steps:
        return None
    known = [each or 0 for each in steps]
    if not any(known):
        return 0 if is_memory_effect_free(operation) else None
    if declaration in (ASSUME, ADDI):
        return sum(known)
    if declaration is MULI:
        moving = 0 if known[0] else 1
        factor = scalar_constant(operation.operands[1 - moving])
        return None if factor is None else known[moving] * factor
    return None
