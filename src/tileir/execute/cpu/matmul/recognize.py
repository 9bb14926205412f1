"""Recognition of k-loops: loops over k that do nothing but add matmuls.

The tiles that a k-loop multiplies lie side by side in memory, so many matmuls of short tiles are one of long ones, a
k-block.  The result is the same: its terms are added in the same order.  Accumulators stay in registers from the first
term to the last, and B is packed in k-blocks that fill a good part of the second cache, whatever the tiles are.

Pointers of a k-loop advance by constant steps, as far as the program says (`affine`); its scalars decide whether tiles
lie side by side then, and all of them in their arrays.  Where they do not, the loop runs as it is: so an access outside
is found where the program makes it.
"""

from __future__ import annotations

from dataclasses import replace
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
from tileir.execute.dtypes import plain_memory
from tileir.ir.core import Operation
from tileir.ir.values import Value

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


def from_loop(lowering: Lowering, loop: LoopStatement) -> list[Matmul]:
    """The k-loops that a loop is, one for each accumulator; none where it is something else, or nothing is gained."""
    operation = loop.operation
    matmuls = [each for each in loop.body if isinstance(each, Matmul)]
    if operation.declaration is not FOR or operation.unsigned_cmp or not matmuls:
        return []
    has_pointers = any(isinstance(each.lhs, PointerLoad) for each in matmuls)
    if len(matmuls) > 1 and (has_pointers or not all(_stays_in_arrays(lowering, each) for each in matmuls)):
        return []
    reader = AffineReader(operation, Exact(None))
    if not _does_nothing_else(loop, matmuls, reader if has_pointers else None):
        return []
    if not all(_block_iterations(lowering, each) and _suits(lowering, operation, each, reader) for each in matmuls):
        return []
    found = [_k_loop(lowering, loop, each) for each in matmuls]
    _take_zeros(lowering, found)
    return found


def _stays_in_arrays(lowering: Lowering, matmul: Matmul) -> bool:
    """Whether no load of a matmul can fail: of several errors a loop finds that of the first iteration, whatever
    accumulator it belongs to, and k-loops that follow each other would not."""
    return all(
        isinstance(read, ViewLoad) and lowering.origins.stays_in_array(source_of(read))
        for read in matmul.lhs.reads | matmul.rhs.reads
    )


def _does_nothing_else(loop: LoopStatement, matmuls: list[Matmul], reader: AffineReader | None) -> bool:
    """Whether a loop carries nothing but accumulators, and with a reader also counts and carries tokens, and integers
    that each iteration advances by as much."""
    *body, end = loop.body
    others = [each for each in body if not isinstance(each, Matmul)]
    if not isinstance(end, Terminator) or not all(reader is not None and _is_counting(each) for each in others):
        return False
    results = {matmul.operation.operands[2]: matmul.operation.results[0] for matmul in matmuls}
    arguments: list[Value] = [*loop.operation.regions[0].blocks[0].arguments[1:]]
    for argument, following in zip(arguments, end.operation.operands, strict=True):
        if argument in results:
            if results.pop(argument) is not following:
                return False
        elif reader is None or is_tile(argument) or (is_scalar(argument) and reader.step_of(argument) is None):
            return False
    return not results and len(matmuls) <= len(arguments)


def _is_counting(statement: Statement) -> bool:
    if isinstance(statement, ScalarOp):
        operation = statement.operation
        return is_index_arithmetic(operation) or operation.declaration in (MAKE_TOKEN, JOIN_TOKENS)
    return isinstance(statement, Alias)


def _block_iterations(lowering: Lowering, matmul: Matmul) -> int:
    """How many iterations are a k-block; 0 where even one has too large a panel."""
    plan = matmul.plan
    largest = lowering.target.second_cache_bytes // _PANEL_PARTS.get(plan.kind, 2)
    iterations = max(min(_K_BLOCK.get(plan.kind, 2048) // plan.k, largest // plan.packed_bytes), 1)
    return iterations if iterations * plan.packed_bytes <= largest else 0


def _suits(lowering: Lowering, loop: Operation, matmul: Matmul, reader: AffineReader) -> bool:
    """Whether a matmul in a loop may be a k-loop."""
    plan, lhs, rhs = matmul.plan, matmul.lhs, matmul.rhs
    if matmul.scales or matmul.zero_init or len(lhs.shape) != 2 or isinstance(lhs, BufferRead):
        return False
    if isinstance(lhs, PointerLoad):
        return (
            isinstance(rhs, PointerLoad)
            and plan.kind == "fma"
            and has_dtype(plan, 0, lhs)
            and has_dtype(plan, 1, rhs)
            and lowering.is_never_written(lowering.origins.provenance(source_of(rhs)))
            and reader.access(rhs) is not None
            and reader.access(lhs) is not None
            and all(reader.scalar(bound) is not None for bound in loop.operands[:3])
        )
    # Packed B is found by the next tile blocks; A is not packed once for all iterations.
    a_keys, b_keys = matmul.keys
    if a_keys or not b_keys or cache_slots(plan.packed_bytes) == 1 or scalar_constant(loop.operands[2]) != 1:
        return False
    # What is copied in every iteration anyway may be copied for many, but not what lies in a buffer.
    return 0 not in _computed(lowering, loop, matmul) or not lhs.buffers


def _computed(lowering: Lowering, loop: Operation, matmul: Matmul) -> frozenset[int]:
    """The operands (0 and 1) that are not matrices in memory, tiles side by side: they are packed tile by tile."""
    found = set(matmul.computed)
    for side, operand in enumerate((matmul.lhs, matmul.rhs)):
        load = matrix_in_memory(operand)
        if load is None or not _advances(lowering, load, 1 - side, loop):
            found.add(side)
    return frozenset(found)


def _advances(lowering: Lowering, load: ViewLoad, axis: int, loop: Operation) -> bool:
    """Whether a load goes along one dimension with the loop's counter, and stays where it is in the others."""
    operation, counter = load.operation, loop.regions[0].blocks[0].arguments[0]
    if not isinstance(operation.view.type, PartitionViewType) or not plain_memory(load.element):
        return False
    others = [*operation.index]
    along = others.pop(axis - 2)
    for other in others:
        made = other.defining_operation
        inside = made is not None and lowering.begins[loop] <= lowering.begins[made] <= lowering.ends[loop]
        if other is counter or inside:
            return False
    return along is counter


def _k_loop(lowering: Lowering, loop: LoopStatement, matmul: Matmul) -> Matmul:
    """The k-loop that a matmul is the body of."""
    operation, plan, iterations = loop.operation, matmul.plan, _block_iterations(lowering, matmul)
    if isinstance(matmul.rhs, PointerLoad):
        reader = AffineReader(operation, Exact(None))
        reader.access(matmul.rhs)
        keys = [], list(reader.leaves)
        found = replace(matmul, computed=frozenset(), keys=keys, packed=[None, None], general=loop)
    else:
        found, counter = matmul, operation.regions[0].blocks[0].arguments[0]
        found.computed = _computed(lowering, operation, matmul)
        if 0 in found.computed:
            limit = lowering.target.second_cache_bytes // _COPY_PARTS
            tile = plan.m * plan.k * plan.a_dtype.itemsize
            iterations = max(min(iterations, _COPY_LENGTH // plan.k, limit // tile), 1)
        a_keys = cache_keys(lowering, [matmul.lhs]) if 0 in found.computed or plan.kind == "amx" else []
        a_keys, b_keys = ([key for key in keys if key is not counter] for keys in (a_keys, matmul.keys[1]))
        found.keys = a_keys, b_keys
    found.loop, found.iterations = operation, iterations
    return found


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
