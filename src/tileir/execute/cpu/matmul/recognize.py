"""Recognition of k-loops: loops over k that do nothing but add matmuls.

The tiles that a k-loop multiplies lie side by side in memory, so many matmuls of short tiles are one of long ones, a
k-block.  The result is the same: its terms are added in the same order.  Accumulators stay in registers from the first
term to the last, and B is packed in k-blocks that fill a good part of the second cache, whatever the tiles are.

Pointers of a k-loop advance by constant steps, as far as the program says (`affine`); its scalars decide whether tiles
lie side by side then, and all of them in their arrays.  Where they do not, the loop runs as it is: so an access outside
is found where the program makes it.
"""

from __future__ import annotations

import dataclasses
from typing import Final

from tileir.dialect.ops import FOR, JOIN_TOKENS, MAKE_TOKEN
from tileir.dialect.types import PartitionViewType
from tileir.execute.analysis.values import is_scalar, is_tile, scalar_constant
from tileir.execute.cpu.ir.expressions import BufferRead, PointerLoad, ViewLoad, matrix_in_memory
from tileir.execute.cpu.ir.statements import (
    Alias,
    LoopNest,
    LoopStatement,
    Matmul,
    ScalarOp,
    Statement,
    StoreBuffer,
    Terminator,
)
from tileir.execute.cpu.lowering.context import Lowering, source_of
from tileir.execute.cpu.matmul.affine import AffineReader, Exact, is_index_arithmetic
from tileir.execute.cpu.matmul.mma import cache_keys, cache_slots, has_dtype, is_zero
from tileir.execute.cpu.matmul.plan import Plan
from tileir.execute.dtypes import plain_memory
from tileir.ir.core import Operation

_K_BLOCK: Final[dict[str, int]] = {"amx": 1024, "dots": 1024}
"""About how many terms are a k-block; 2048 for other kinds: small register tiles are read and written for each k-block,
and wait for it.  Twice as many k-blocks of half as many terms took 4 % longer."""
_PANEL_PARTS: Final[dict[str, int]] = {"dots": 4}
"""How large packed B of a k-block may be: such a part of the second cache, else half.  It is read once for every few
rows, and should stay there beside the rest."""
_COPY_PARTS: Final = 4
"""How large A of a k-block may be where it is computed: such a part of the second cache."""
_COPY_LENGTH: Final = 1024
"""About how many terms are a k-block then: many rows are to be cached."""
_TOKENS: Final = (MAKE_TOKEN, JOIN_TOKENS)


def from_loop(lowering: Lowering, loop: LoopStatement) -> list[Matmul]:
    """The k-loops that a loop is, one for each accumulator; none where it is something else, or nothing is gained."""
    operation = loop.operation
    if operation.declaration is not FOR or operation.unsigned_cmp:
        return []
    *matmuls, end = loop.body
    if any(isinstance(each, Matmul) and isinstance(each.lhs, PointerLoad) for each in matmuls):
        return _from_pointers(lowering, loop)
    if not isinstance(end, Terminator) or not matmuls or len(matmuls) != len(operation.results):
        return []
    block = operation.regions[0].blocks[0]
    found: list[Matmul] = []
    for matmul in matmuls:
        if not isinstance(matmul, Matmul):
            return []
        start, result = matmul.operation.operands[2], matmul.operation.results[0]
        places = [number for number, value in enumerate(end.operation.operands) if value is result]
        if len(places) != 1 or block.arguments[1 + places[0]] is not start:
            return []
        if not _suits(lowering, operation, matmul):
            return []
        if len(matmuls) > 1 and not _stays_in_arrays(lowering, matmul):
            return []
        found.append(matmul)
    for matmul in found:
        _become_loop(lowering, operation, matmul)
    _take_zeros(lowering, found)
    return found


def _stays_in_arrays(lowering: Lowering, matmul: Matmul) -> bool:
    """Whether no load of a matmul can fail: of several errors a loop finds that of the first iteration, whatever
    accumulator it belongs to, and k-loops that follow each other would not."""
    return all(
        isinstance(read, ViewLoad) and lowering.origins.stays_in_array(source_of(read))
        for read in matmul.lhs.reads | matmul.rhs.reads
    )


def _block_iterations(lowering: Lowering, plan: Plan) -> int:
    """How many iterations are a k-block; 0 where even one has too large a panel."""
    largest = lowering.target.second_cache_bytes // _PANEL_PARTS.get(plan.kind, 2)
    iterations = max(min(_K_BLOCK.get(plan.kind, 2048) // plan.k, largest // plan.packed_bytes), 1)
    return iterations if iterations * plan.packed_bytes <= largest else 0


def _suits(lowering: Lowering, loop: Operation, matmul: Matmul) -> bool:
    """Whether a loop over a matmul may be a k-loop."""
    if matmul.scales or matmul.zero_init or len(matmul.lhs.shape) != 2 or isinstance(matmul.lhs, BufferRead):
        return False
    # Packed B is found by the next tile blocks; A is not packed once for all iterations.
    a_keys, b_keys = matmul.keys
    if a_keys or not b_keys or cache_slots(matmul.plan.packed_bytes) == 1:
        return False
    if scalar_constant(loop.operands[2]) != 1 or not _block_iterations(lowering, matmul.plan):
        return False
    # What is copied in every iteration anyway may be copied for many, but not what lies in a buffer.
    return 0 not in _computed(lowering, loop, matmul) or not matmul.lhs.buffers


def _computed(lowering: Lowering, loop: Operation, matmul: Matmul) -> frozenset[int]:
    """The operands (0 and 1) that are not matrices in memory, tiles side by side: they are packed tile by tile."""
    found = set(matmul.computed)
    for side, operand in enumerate((matmul.lhs, matmul.rhs)):
        load = matrix_in_memory(operand)
        if load is None or not _advances(lowering, load, 1 - side, loop):
            found.add(side)
    return frozenset(found)


def _advances(lowering: Lowering, load: ViewLoad, axis: int, loop: Operation) -> bool:
    """Whether a load goes along one dimension with the loop's counter, and stays where it is in the other."""
    operation, counter = load.operation, loop.regions[0].blocks[0].arguments[0]
    if not isinstance(operation.view.type, PartitionViewType) or not plain_memory(load.element):
        return False
    *before, row, column = operation.index
    along, across = (row, column) if axis == 0 else (column, row)
    for other in (*before, across):
        made = other.defining_operation
        inside = made is not None and lowering.begins[loop] <= lowering.begins[made] <= lowering.ends[loop]
        if other is counter or inside:
            return False
    return along is counter


def _become_loop(lowering: Lowering, loop: Operation, matmul: Matmul) -> None:
    """Make a matmul the k-loop that it is the body of."""
    plan, counter = matmul.plan, loop.regions[0].blocks[0].arguments[0]
    matmul.loop, matmul.computed = loop, _computed(lowering, loop, matmul)
    iterations = _block_iterations(lowering, plan)
    if 0 in matmul.computed:
        limit = lowering.target.second_cache_bytes // _COPY_PARTS
        tile = plan.m * plan.k * plan.a_dtype.itemsize
        iterations = max(min(iterations, _COPY_LENGTH // plan.k, limit // tile), 1)
    matmul.iterations = iterations
    is_packed = 0 in matmul.computed or plan.kind == "amx"
    a_keys = cache_keys(lowering, [matmul.lhs]) if is_packed else []
    a_keys, b_keys = ([key for key in keys if key is not counter] for keys in (a_keys, matmul.keys[1]))
    matmul.keys = a_keys, b_keys


def _take_zeros(lowering: Lowering, matmuls: list[Matmul]) -> None:
    """Leave it to k-loops to begin with zeros, where the statements before do nothing but write them."""
    for matmul in reversed(matmuls):
        last = lowering.body[-1] if lowering.body else None
        if not isinstance(last, LoopNest) or len(last.stores) != 1:
            return
        sink = last.stores[0]
        if not isinstance(sink, StoreBuffer) or sink.buffer is not matmul.accumulator or not is_zero(sink.expression):
            return
        matmul.zero_init = True
        lowering.body.pop()


# --- k-loops through pointers ---


def _from_pointers(lowering: Lowering, loop: LoopStatement) -> list[Matmul]:
    """The k-loop that a loop is whose operands are read through pointers, if it is one."""
    operation, matmul = loop.operation, _only_matmul(loop)
    if matmul is None or matmul.plan.kind != "fma" or matmul.scales or matmul.zero_init:
        return []
    plan, lhs, rhs = matmul.plan, matmul.lhs, matmul.rhs
    if not isinstance(lhs, PointerLoad) or not isinstance(rhs, PointerLoad) or len(lhs.shape) != 2:
        return []
    if not has_dtype(plan, 0, lhs) or not has_dtype(plan, 1, rhs):
        return []
    if not lowering.is_never_written(lowering.origins.provenance(source_of(rhs))):
        return []
    reader = AffineReader(operation, Exact(None))
    right = reader.access(rhs)
    keys = [*reader.leaves]
    if right is None or reader.access(lhs) is None or not _carries_nothing_else(operation, matmul, reader):
        return []
    if any(reader.scalar(bound) is None for bound in operation.operands[:3]):
        return []
    iterations = _block_iterations(lowering, plan)
    if not iterations:
        return []
    found = dataclasses.replace(
        matmul,
        computed=frozenset(),
        keys=([], keys),
        loop=operation,
        iterations=iterations,
        general=loop,
        packed=[None, None],
    )
    _take_zeros(lowering, [found])
    return [found]


def _only_matmul(loop: LoopStatement) -> Matmul | None:
    """What a loop multiplies, where it does nothing else but count."""
    found: Matmul | None = None
    for statement in loop.body[:-1]:
        if isinstance(statement, Matmul):
            if found is not None:
                return None
            found = statement
        elif not _is_counting(statement):
            return None
    return found if loop.body and isinstance(loop.body[-1], Terminator) else None


def _is_counting(statement: Statement) -> bool:
    if isinstance(statement, ScalarOp):
        return is_index_arithmetic(statement.operation) or statement.operation.declaration in _TOKENS
    return isinstance(statement, Alias)


def _carries_nothing_else(loop: Operation, matmul: Matmul, reader: AffineReader) -> bool:
    """Whether a loop carries the accumulator, tokens, and integers that each iteration advances by as much."""
    block, start = loop.regions[0].blocks[0], matmul.operation.operands[2]
    end = block.last
    if end is None:
        return False
    for argument, following in zip(block.arguments[1:], end.operands, strict=True):
        if argument is start:
            if following is not matmul.operation.results[0]:
                return False
        elif is_tile(argument) or (is_scalar(argument) and reader.step_of(argument) is None):
            return False
    return any(argument is start for argument in block.arguments[1:])
