"""Recognition of matmuls: the `Matmul` statement of an operation, or of a loop over k that only adds matmuls.

The tiles that a k-loop multiplies lie side by side in memory, so many matmuls of short tiles are one of long ones, a
k-block, with the terms added in the same order.  Accumulators stay in registers, and B is packed in k-blocks that fill
a good part of the second cache, whatever the tiles are.

Pointers of a k-loop advance by constant steps (`AffineReader`); at run time its scalars decide whether tiles lie side
by side and in their arrays.  Otherwise the loop runs as it is and finds an access outside where the program makes it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import prod
from typing import Final

import numpy

from tileir.dialect.ops import FOR, JOIN_TOKENS, MAKE_TOKEN, MMAF_SCALED
from tileir.dialect.types import PartitionViewType, tile_type
from tileir.execute.analysis.values import dtype_of, is_inside, is_scalar, is_tile, scalar_constant, tile_of
from tileir.execute.cpu.codegen.affine_tiles import AffineReader, is_index_arithmetic
from tileir.execute.cpu.ir import expressions as ex
from tileir.execute.cpu.ir import statements
from tileir.execute.cpu.ir.expressions import Buffer, BufferRead, Expression, ViewLoad, matrix_in_memory, pointer_load
from tileir.execute.cpu.ir.statements import LoopNest, Matmul, Program, Statement, StoreBuffer
from tileir.execute.cpu.lowering import fusion
from tileir.execute.cpu.lowering.context import Lowering
from tileir.execute.cpu.matmul.operands import pointer_tile
from tileir.execute.cpu.matmul.plan import Plan, make_plan, make_scaled_plan
from tileir.execute.dtypes import plain_memory, value_dtype
from tileir.ir.core import Operation
from tileir.ir.types import F32, TF32
from tileir.ir.values import Value

_CACHE_BYTES: Final = 1 << 23
"""How much memory the packed operands of one matmul may take.  They pay as long as those of a whole row of tile blocks
are cached, also far beyond a thread's own caches: packing takes longer than reading from the next ones."""
_CACHE_SLOTS: Final = 256
_POINTER_KEYS: Final = 4  # What operands behind pointers are found by (`operands.pointer_operand`).
_LARGEST_BATCH: Final = 8  # Matmuls of one operation whose packed A are cached side by side.
_K_BLOCK: Final[dict[str, int]] = {"amx": 1024, "dots": 1024}
"""About how many terms are a k-block; 2048 for other kinds: half as many took 4 % longer, as small register tiles are
read and written for each k-block."""
_PANEL_PARTS: Final[dict[str, int]] = {"dots": 4}  # Packed B of a k-block takes a part of the second cache, else half.
_COPY_PARTS: Final = 4  # Where A is computed, its part of a k-block may fill this part of the second cache.
_COPY_LENGTH: Final = 1024  # About how many terms are a k-block then: many rows are to be cached.


# --- one matmul ---


def lower_mma(lowering: Lowering, operation: Operation) -> None:
    result, type = operation.results[0], tile_of(operation.results[0])
    plan, roots = _plan(lowering, operation), _operands(lowering, operation)
    # The operands are read while the accumulator is written.
    busy = frozenset().union(*[root.buffers for root in roots])
    buffer, zero_init = _accumulator(lowering, operation, plan, busy)
    left, right, *scales = lowering.resolved(roots)
    computed = [side for side, operand in enumerate((left, right)) if scales or not _is_in_memory(plan, side, operand)]
    a_keys: list[Value] = []
    load = matrix_in_memory(left)
    if plan.kind == "amx" and load is not None and load.operation.parent is not operation.parent and not computed:
        # A from before the loop is packed once for all iterations.
        a_keys = cache_keys(lowering, [left]) if prod(left.shape[:-2]) <= _LARGEST_BATCH else []
    keys = a_keys, cache_keys(lowering, [right, *scales[1:]])
    found = Matmul(operation, plan, left, right, scales, buffer, frozenset(computed), keys, zero_init)
    lowering.body.append(found)
    lowering.finish({operation})
    is_wide = plan.acc_dtype != value_dtype(type.element)
    held = BufferRead(tile_type(type.shape, F32) if is_wide else type, None, buffer)
    if is_scalar(result):
        lowering.body.append(LoopNest(type.shape, [statements.StoreScalar(held, result)]))
        return
    if is_wide:
        buffer = lowering.new_buffer(value_dtype(type.element), type.count)
        lowering.body.append(LoopNest(type.shape, [StoreBuffer(held, buffer)]))
    lowering.stored(result, buffer)


def _operands(lowering: Lowering, operation: Operation) -> list[Expression]:
    """A, B and their scales, without tiles that are large or that others use too."""
    values = [*operation.operands[:2], *operation.operands[3:5]]
    roots = [lowering.expression(value) for value in values]
    for value, expression in zip(values, roots, strict=True):
        if is_tile(value) and expression.cost > fusion.LARGEST // 2:
            lowering.store(value)
    roots = lowering.resolved(roots)
    # Copying A takes a loop nest of its own: tiles that others use too are stored first.
    for root in roots:
        fused = fusion.FusedNodes([root], root.shape, [operation])
        for node in fused.order:
            if fusion.must_be_kept(node, fused, lowering.done) and node.value is not None:
                lowering.store(node.value)
    prepared = [lowering.prepare([root], root.shape, operation) for root in lowering.resolved(roots)]
    assert not any(kept for _, kept in prepared)
    return lowering.resolved([root for (root,), _ in prepared])


def _plan(lowering: Lowering, operation: Operation) -> Plan:
    lhs, rhs, accumulator = [tile_of(value) for value in operation.operands[:3]]
    shape = lhs.shape[-2], rhs.shape[-1], lhs.shape[-1]
    if operation.declaration is MMAF_SCALED:
        return make_scaled_plan(lowering.target, tile_of(operation.operands[3]).element, shape)
    a, b = (operation.keyword(f"signedness_{side}") != "unsigned" for side in ("lhs", "rhs"))
    elements = lhs.element, rhs.element, accumulator.element
    return make_plan(lowering.target, *elements, shape, lowering.options.exact, (a, b))


def _accumulator(lowering: Lowering, operation: Operation, plan: Plan, busy: frozenset[Buffer]) -> tuple[Buffer, bool]:
    """The buffer of the result, which is the addend's if nothing else needs it, and whether the matmul has to start
    from zeros."""
    value, result = operation.operands[2], operation.results[0]
    type = tile_of(result)
    start = lowering.expression(value)
    if plan.acc_dtype != value_dtype(type.element):
        buffer = lowering.new_buffer(plan.acc_dtype, type.count)
        lowering.nest(start, operation, lambda root: StoreBuffer(root, buffer))
        return buffer, False
    if isinstance(start, BufferRead) and value.parent_block is operation.parent and start.buffer not in busy:
        alone = all(user is operation or user in lowering.done for user in value.users)
        if alone and not lowering.shares(start.buffer, value, operation):
            return start.buffer, False
    fused = fusion.FusedNodes([start], type.shape, [operation])
    finished = fusion.finished(fused, set(), [operation], lowering.done)
    buffer = lowering.buffer_for(result, fused, finished)
    if buffer in busy:
        buffer = lowering.new_buffer(plan.acc_dtype, type.count)
    (start,), kept = lowering.prepare([start], start.shape, operation)
    if ex.is_zero(start) and not kept:
        return buffer, True
    lowering.body.append(LoopNest(start.shape, [*kept, StoreBuffer(start, buffer)]))
    return buffer, False


# --- operands ---


def has_dtype(plan: Plan, side: int, operand: Expression) -> bool:
    """Whether an operand has the elements that the kernel reads; of TF32 some bits do not count."""
    return operand.dtype == (plan.a_dtype, plan.b_dtype)[side] and operand.element is not TF32


def _is_in_memory(plan: Plan, side: int, operand: Expression) -> bool:
    """Whether an operand is read or packed where it lies."""
    load = matrix_in_memory(operand)
    is_buffer = side == 0 and isinstance(operand, BufferRead)
    return (is_buffer or (load is not None and fusion.is_plain_load(load))) and has_dtype(plan, side, operand)


def cache_keys(lowering: Lowering, roots: list[Expression]) -> list[Value]:
    """The scalars that identify operands while memory stays as it is; empty if they depend on anything else."""
    keys: dict[Value, None] = {}
    origins = lowering.origins
    for node in ex.nodes(roots):
        if isinstance(node, ViewLoad):
            view = node.operation.view
            if node.positions is not None or not origins.is_launch_constant(view):
                return []
            if not lowering.is_never_written(origins.of(view)):
                return []
            keys |= dict.fromkeys(node.operation.index)
        elif isinstance(node, ex.Splat):
            keys[node.scalar] = None
        elif isinstance(node, ex.Mapped):
            keys |= {scalar: None for _, scalar in node.mapping if scalar is not None}
        elif not isinstance(node, (ex.Elementwise, ex.Table, ex.Iota)):
            return []
    return list(keys) if all(dtype_of(key).kind in "iub" for key in keys) else []


def cache_slots(panel_bytes: int) -> int:
    """How many packed operands of a size are cached; 1 if caching does not pay."""
    return min(_CACHE_SLOTS, 1 << max(_CACHE_BYTES // panel_bytes, 1).bit_length() - 1)


# --- k-loops ---


def from_loop(lowering: Lowering, loop: statements.LoopStatement) -> list[Matmul]:
    """The k-loops that a loop consists of, one per accumulator; empty if it does more, or nothing is gained."""
    operation = loop.operation
    matmuls = [each for each in loop.body if isinstance(each, Matmul)]
    if operation.declaration is not FOR or operation.unsigned_cmp or not matmuls:
        return []
    has_pointers = any(pointer_load(each.lhs) is not None for each in matmuls)
    if len(matmuls) > 1 and (has_pointers or not all(_stays_in_arrays(lowering, each) for each in matmuls)):
        return []
    if any(each.scales or each.zero_init or len(each.lhs.shape) != 2 for each in matmuls):
        return []
    reader = AffineReader(None, operation) if has_pointers else None
    made = [_k_loop(lowering, loop, each, reader) for each in matmuls]
    found = [each for each in made if each is not None]
    if len(found) < len(made) or not _does_nothing_else(loop, matmuls, reader):
        return []
    _take_zeros(lowering, found)
    return found


def _stays_in_arrays(lowering: Lowering, matmul: Matmul) -> bool:
    """Whether no load of a matmul can fail: successive k-loops would not find the error of the first iteration."""
    return all(
        isinstance(read, ViewLoad) and lowering.origins.stays_in_array(read.address)
        for read in matmul.lhs.reads | matmul.rhs.reads
    )


def _does_nothing_else(loop: statements.LoopStatement, matmuls: list[Matmul], reader: AffineReader | None) -> bool:
    """Whether a loop carries only accumulators; with a reader also counts, tokens and integers that advance evenly."""
    *body, end = loop.body
    is_known = [isinstance(each, Matmul) or (reader is not None and _is_counting(each)) for each in body]
    if not isinstance(end, statements.Terminator) or not all(is_known):
        return False
    results: dict[Value, Value] = {matmul.operation.operands[2]: matmul.operation.results[0] for matmul in matmuls}
    arguments = loop.operation.regions[0].blocks[0].arguments[1:]
    for argument, following in zip(arguments, end.operation.operands, strict=True):
        if argument in results:
            if results.pop(argument) is not following:
                return False
        elif reader is None or is_tile(argument) or (is_scalar(argument) and reader.step_of(argument) is None):
            return False
    return not results and len(matmuls) <= len(arguments)


def _is_counting(statement: Statement) -> bool:
    if not isinstance(statement, statements.ScalarOp):
        return isinstance(statement, statements.Alias)
    return is_index_arithmetic(statement.operation) or statement.operation.declaration in (MAKE_TOKEN, JOIN_TOKENS)


def _block_iterations(lowering: Lowering, matmul: Matmul) -> int:
    """How many iterations make a k-block; 0 if packed B of a single one is too large."""
    plan, size = matmul.plan, matmul.plan.layout(1).bytes
    largest = lowering.target.second_cache_bytes // _PANEL_PARTS.get(plan.kind, 2)
    iterations = max(min(_K_BLOCK.get(plan.kind, 2048) // plan.k, largest // size), 1)
    return iterations if iterations * size <= largest else 0


def _k_loop(
    lowering: Lowering, loop: statements.LoopStatement, matmul: Matmul, reader: AffineReader | None
) -> Matmul | None:
    """The k-loop of a matmul in a loop, of pointers if there is a reader; None if it is none, or nothing is gained."""
    operation, plan, (a_keys, b_keys) = loop.operation, matmul.plan, matmul.keys
    iterations = _block_iterations(lowering, matmul)
    if not iterations:
        return None
    found = replace(matmul, loop=operation, iterations=iterations, packed=[None, None])
    if reader is not None:
        return _through_pointers(lowering, loop, found, reader)
    # Packed B is found by the next tile blocks; A is not packed once for all iterations, nor a buffer of the iteration.
    if a_keys or not b_keys or cache_slots(plan.layout(1).bytes) == 1 or matmul.lhs.buffers:
        return None
    if scalar_constant(operation.operands[2]) != 1:
        return None
    found.computed = _computed(operation, matmul)
    if 0 in found.computed:
        limit = lowering.target.second_cache_bytes // _COPY_PARTS
        tile = plan.m * plan.k * plan.a_dtype.itemsize
        found.iterations = max(min(iterations, _COPY_LENGTH // plan.k, limit // tile), 1)
    if 0 in found.computed or plan.kind == "amx":
        a_keys = cache_keys(lowering, [matmul.lhs])
    counter = operation.regions[0].blocks[0].arguments[0]
    found.keys = [key for key in a_keys if key is not counter], [key for key in b_keys if key is not counter]
    return found


def _through_pointers(
    lowering: Lowering, loop: statements.LoopStatement, matmul: Matmul, reader: AffineReader
) -> Matmul | None:
    """A k-loop whose tiles are those of pointers that the loop advances, and may be converted; None if it is none."""
    left, right = pointer_load(matmul.lhs), pointer_load(matmul.rhs)
    if left is None or right is None or matmul.plan.kind != "fma":
        return None
    if not lowering.is_never_written(lowering.origins.provenance(right[0].address)):
        return None
    tiles = [pointer_tile(reader, right[0])]
    matmul.keys, matmul.general = ([], list(reader.leaves)), loop
    tiles.append(pointer_tile(reader, left[0]))
    bounds = [reader.scalar(bound) for bound in loop.operation.operands[:3]]
    if None in tiles or None in bounds or not all(plain_memory(load.element) for load, _ in (left, right)):
        return None
    sides = enumerate((left, right))
    matmul.computed = frozenset(
        side for side, (load, conversions) in sides if conversions or not has_dtype(matmul.plan, side, load)
    )
    return matmul


def _computed(loop: Operation, matmul: Matmul) -> frozenset[int]:
    """The operands (0 and 1) that are not matrices in memory, tiles side by side: they are packed tile by tile."""
    loads = enumerate(map(matrix_in_memory, (matmul.lhs, matmul.rhs)))
    return matmul.computed | {side for side, load in loads if load is None or not _advances(load, 1 - side, loop)}


def _advances(load: ViewLoad, axis: int, loop: Operation) -> bool:
    """Whether the loop's counter is the index of a load in one dimension, and the other indices do not change."""
    others = [*load.operation.index]
    if not isinstance(load.operation.view.type, PartitionViewType) or not plain_memory(load.element):
        return False
    along = others.pop(axis - 2)
    return along is loop.regions[0].blocks[0].arguments[0] and not any(is_inside(other, loop) for other in others)


def _take_zeros(lowering: Lowering, matmuls: list[Matmul]) -> None:
    """Let k-loops start from zeros where the statements before only write zeros."""
    for matmul in reversed(matmuls):
        last = lowering.body[-1] if lowering.body else None
        store = last.stores[0] if isinstance(last, LoopNest) and len(last.stores) == 1 else None
        if not isinstance(store, StoreBuffer) or store.buffer is not matmul.accumulator:
            return
        if not ex.is_zero(store.expression):
            return
        matmul.zero_init = True
        lowering.body.pop()


# --- scratch memory ---


def allocate(program: Program) -> None:
    """Give all matmuls scratch memory for the packed operands of a k-block."""
    new_buffer = partial(ex.new_buffer, program.buffers)
    for matmul in [each for each in statements.statements(program.body) if isinstance(each, Matmul)]:
        for side, keys in enumerate(matmul.keys):
            layout = matmul.plan.layout(side)
            count = matmul.iterations * layout.elements
            is_lone_a = matmul.loop is None and side == 0
            slots = prod(matmul.lhs.shape[:-2]) if is_lone_a else cache_slots(matmul.iterations * layout.bytes)
            if keys and (slots > 1 or is_lone_a):
                panels = new_buffer(layout.dtype, slots * count, True)
                # A batch, a first iteration and an extent may come to the keys; the launch, and what packing returned.
                words = max(len(keys), _POINTER_KEYS) + 5
                tags = new_buffer(numpy.dtype(numpy.int64), slots * words, True)
                matmul.packed[side] = statements.PackCache(keys, slots, panels, tags)
            elif side == 1 or layout.is_tiled or 0 in matmul.computed or not isinstance(matmul.lhs, BufferRead):
                matmul.packed[side] = new_buffer(layout.dtype, count)
