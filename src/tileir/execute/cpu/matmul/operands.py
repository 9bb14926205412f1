"""The matrices of a matmul in memory: where each tile of A and B lies and how much of it, and where C is stored.

    view        tiles of a view whose rows lie in memory, read or packed where they lie
    pointers    tiles of pointers that a loop advances by constant steps; packed always where they are converted
    buffer      A in scratch memory
    computed    anything else (converted, transposed, computed, scaled): packed tile by tile, without a pointer

A result that is stored as it is goes to its memory without a copy in scratch memory.  Where something is still computed
from each element, the store at least determines which rows and columns lie over an edge, and need no multiplication.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import NamedTuple

from tileir.dialect.ops import EXTRACT, INSERT
from tileir.dialect.types import PartitionViewType
from tileir.execute.analysis.aliasing import Origins
from tileir.execute.cpu.codegen import view_access
from tileir.execute.cpu.codegen.affine_tiles import Affine, AffineReader
from tileir.execute.cpu.codegen.bounds import is_in_array
from tileir.execute.cpu.codegen.context import FAR, Emission, TileView
from tileir.execute.cpu.codegen.nontemporal import moves_much
from tileir.execute.cpu.ir import expressions as ex
from tileir.execute.cpu.ir import statements
from tileir.execute.cpu.ir.memory_hints import is_apart, may_change_order
from tileir.execute.cpu.ir.statements import LoopNest, Matmul, Program, Statement, StoreTarget, StoreView
from tileir.execute.cpu.matmul.plan import Plan, Rows
from tileir.execute.cpu.vector.builder import Builder, Number
from tileir.execute.dtypes import memory_bytes, plain_memory
from tileir.ir.core import Operation
from tileir.ir.values import Value


@dataclass(slots=True)
class Operand:
    """An operand whose tiles lie in memory, `step` bytes apart; or one that is computed."""

    pointer: str  # To the tile of the first iteration; empty if it is computed.
    row: Number  # The row stride in bytes.
    step: Number = 0
    along: Number = FAR  # The valid extent along k, from the first iteration on.
    across: Number = FAR  # The valid extent in the other dimension.
    room: Number = FAR  # How many iterations have tiles that are valid along k.
    in_rows: str = "true"  # An i1: what is valid of a tile lies in memory, in rows of neighbors.
    is_whole: str = "true"  # An i1: `in_rows`, and all of a tile is valid in the other dimension.
    is_row_major: bool = True  # Known at compile time: then a tile that is not whole lies over an edge
    is_zero_padded: bool = True  # Whether a tile has zeros over an edge.
    load: Operation | None = None  # What reads it, where that may fail.
    keys: list[Number] = field(default_factory=list)  # What it is found by packed, if not the indices of its tiles

    def at(self, builder: Builder, iteration: Number) -> str:
        """A pointer to the tile of an iteration."""
        return builder.moved(self.pointer, builder.multiply(iteration, self.step))


def view_operand(emission: Emission, load: ex.ViewLoad, side: int, first: Number, batch: Number, plan: Plan) -> Operand:
    """A (side 0) or B through a view; dimensions before its matrix are 1 or a batch; iterations count from `first`."""
    builder, along, across = emission.builder, 1 - side, side
    access = view_access.tile_access(emission, load.operation)
    view = access.view
    size = memory_bytes(view.tensor.element)
    strides, pointer, outer = view.strides[-2:], access.pointer, access.starts[:-2]
    if outer and batch != 0:
        outer[0] = builder.add(outer[0], batch)
        pointer = builder.moved(pointer, builder.multiply(batch, builder.multiply(view.strides[0], size)))
    lengths = [builder.remaining(view.extents[axis], access.starts[axis]) for axis in (-2, -1)]
    inside = [builder.compared("ult", *pair) for pair in zip(outer, view.extents[:-2], strict=True)]
    if any(condition != "true" for condition in inside):
        # Of a matrix that the tensor does not have no row and no column is valid.
        lengths[across] = builder.select(builder.all_of(inside), lengths[across], 0)
    # Indices are unsigned, but a counter below zero that is advanced is not.
    conditions = [builder.compared("sge", first, 0), view.tensor.fits(load.operation)]
    in_rows = builder.all_of([*conditions, builder.compared("eq", strides[1], 1)])
    fits = builder.compared("uge", lengths[across], view.shape[-2:][across])
    return Operand(
        pointer,
        builder.multiply(strides[0], size),
        builder.multiply(builder.multiply(strides[along], size), plan.k),
        along=lengths[along],
        across=lengths[across],
        room=builder.divided(lengths[along], plan.k)[0],
        in_rows=in_rows,
        is_whole=builder.all_of([in_rows, fits]),
        is_row_major=strides[1] == 1,
        is_zero_padded=view.is_zero_outside,
        load=load.operation,
    )


def pointer_tile(reader: AffineReader, load: ex.PointerLoad) -> tuple[Affine, list[Affine]] | None:
    """The addresses of a load, and numbers not negative where its mask is true; None if unknown or not zero-padded."""
    addresses, limits = reader.of(load.pointers), [] if load.mask is None else reader.limits(load.mask)
    is_padded = load.mask is None or (load.padding is not None and ex.is_zero(load.padding))
    if addresses is None or limits is None or not is_padded:
        return None
    return addresses, limits


def pointer_operand(emission: Emission, load: ex.PointerLoad, side: int, reader: AffineReader, plan: Plan) -> Operand:
    """A (side 0) or B through pointers; the reader's conditions make sure that rows are neighbors, tiles lie side by
    side, and all that masks leave in lies in the array of the pointers."""
    builder, along = emission.builder, 1 - side
    size, extent = memory_bytes(load.element), (plan.m, plan.n)[side]
    tile = pointer_tile(reader, load)
    assert tile is not None
    address, limits = tile
    row, column = address.steps
    reader.need("eq", column, size)
    reader.need("eq", address.iteration, reader.exact("mul", address.steps[along], plan.k))
    length = reader.exact("mul", reader.iterations, plan.k)
    found = Operand(builder.pointer(address.first), row, address.iteration, length, extent)
    for limit in limits:
        _end_at(found, limit, reader, side, plan.k)
    found.is_whole = builder.compared("uge", found.across, extent)
    reader.need("sge", found.across, 1)
    reader.need("sge", found.along, 1)
    found.keys = [address.first, row, found.along, found.across]
    # All that is read lies in the array that it most likely does.
    last = [builder.subtract(valid, 1) for valid in (found.across, found.along)]
    ends = reader.ends(address, last[::-1] if side else last)
    reader.conditions += [is_in_array(emission, load.operation, end, size) for end in ends]
    return found


def _end_at(operand: Operand, limit: Affine, reader: AffineReader, side: int, k: int) -> None:
    """End the valid extent of an operand where a number becomes negative."""
    builder = reader.builder
    if limit.is_uniform:
        reader.need("sge", limit.first, 0)
        return
    along, across = limit.steps[1 - side], limit.steps[side]
    goes_along = along != 0 or limit.iteration != 0
    reader.need("eq", along if goes_along else across, -1)
    left = builder.larger(reader.exact("add", limit.first, 1), 0, signed=True)
    if not goes_along:
        operand.across = builder.smaller(operand.across, left)
        return
    reader.need("eq", across, 0)
    reader.need("eq", limit.iteration, -k)
    operand.along = builder.smaller(operand.along, left)
    operand.room = builder.divided(operand.along, k)[0]


# --- where C is stored ---


def choose_stores(program: Program, overlapping: bool) -> None:
    """Find the store of each matmul; with `overlapping`, arguments may share memory."""
    bodies = [program.body]
    for body in bodies:
        for statement in list(body):
            if not isinstance(statement, Matmul):
                bodies.extend(statement.bodies)
                continue
            # A matmul in the general version of a k-loop has no store of its own.
            target = _target(program, body, statement, overlapping)
            if target is not None:
                _move_between(body, statement, target.user)
                program.store_targets[statement] = target


def _target(program: Program, body: list[Statement], matmul: Matmul, overlapping: bool) -> StoreTarget | None:
    plan, buffer = matmul.plan, matmul.accumulator
    # Inside a loop it may begin with the result of the iteration before.
    if (body is not program.body and not matmul.zero_init) or prod(matmul.lhs.shape[:-2]) != 1:
        return None
    rest = body[body.index(matmul) + 1 :]
    readers = [
        each for each in statements.statements(program.body) if any(buffer in root.buffers for root in each.roots)
    ]
    users = [each for each in rest if any(inner in readers for inner in statements.statements([each]))]
    inside = [*statements.statements([matmul]), *statements.statements(users)]
    if len(users) != 1 or any(each not in inside for each in readers):
        return None
    (user,) = users
    nest = user.fused if isinstance(user, statements.VersionedLoopNest) else user
    store = nest.stores[0] if isinstance(nest, LoopNest) and len(nest.stores) == 1 else None
    type = store.operation.view.type if isinstance(store, StoreView) else None
    if not isinstance(store, StoreView) or not isinstance(type, PartitionViewType):
        return None
    if prod(type.tile_shape[:-2]) != 1 or type.tile_shape[-2:] != (plan.m, plan.n):
        return None
    # Each element of a tile is computed from the element of the buffer at the same index.
    shape = ex.squeezed((plan.m, plan.n))
    for node in ex.nodes([store.expression]):
        is_straight = isinstance(node, (ex.Elementwise, ex.BufferRead)) and ex.squeezed(node.shape) == shape
        if buffer in node.buffers and not is_straight:
            return None
    between = rest[: rest.index(user)]
    is_copy = not overlapping and nest is user and _is_plain(between) and _is_copy(program, matmul, store)
    return StoreTarget(user, store, is_copy)


def _move_between(body: list[Statement], matmul: Matmul, user: Statement) -> None:
    """Move what lies between a matmul and its store, and uses no result of it, before the matmul."""
    first, last = body.index(matmul), body.index(user)
    if not _is_plain(body[first + 1 : last]):
        return
    late: set[Value] = set((matmul.loop or matmul.operation).results)
    before: list[Statement] = []
    behind: list[Statement] = []
    for statement in body[first + 1 : last]:
        if isinstance(statement, statements.Alias):
            made, used = [statement.value], [statement.source]
        else:
            assert isinstance(statement, statements.ScalarOp)
            made, used = [*statement.operation.results], statement.operation.operands
        is_late = any(value in late for value in used)
        late.update(made if is_late else ())
        (behind if is_late else before).append(statement)
    body[first:last] = [*before, matmul, *behind]


def _is_plain(between: list[Statement]) -> bool:
    """Whether statements are nothing but scalars and views.  Not windows that are not there: whatever the matmul does
    comes before that."""
    return all(
        isinstance(each, statements.Alias)
        or (isinstance(each, statements.ScalarOp) and each.operation.declaration not in (EXTRACT, INSERT))
        for each in between
    )


def _is_copy(program: Program, matmul: Matmul, store: StoreView) -> bool:
    """Whether a matmul may write its result where a loop nest stores it, if nothing is between them."""
    root, buffer = store.expression, matmul.accumulator
    if not isinstance(root, ex.BufferRead) or matmul.plan.kind != "fma" or not may_change_order(program.entry):
        return False
    view = store.operation.view.type
    assert isinstance(view, PartitionViewType)
    if not plain_memory(root.element) or root.dtype != buffer.dtype or view.tensor.strides[view.dim_map[-1]] != 1:
        return False
    origins = Origins(program.entry, False)
    reads = [load for root in matmul.roots for load in root.reads]
    return is_apart(store, origins, frozenset().union(*[origins.provenance(load.address) for load in reads]))


# --- rows of C ---


class Destination(NamedTuple):
    """The rows in memory that a tile is stored to."""

    rows: Rows
    extents: tuple[Number, Number]  # The rows and columns of the tile that lie in its tensor.
    target: StoreTarget
    direct: str = "false"  # An i1: the whole tile lies in its tensor, and the matmul may write it as it is


def destination_of(emission: Emission, matmul: Matmul) -> Destination | None:
    """Where the result of a matmul is stored; None where that is not known yet."""
    target = emission.program.store_targets.get(matmul)
    if target is None or emission.sanitize:
        return None
    builder, operation = emission.builder, target.store.operation
    view = emission.views.get(operation.view)
    if not isinstance(view, TileView) or any(index not in emission.scalars for index in operation.index):
        return None
    access = view_access.tile_access(emission, operation)
    size = memory_bytes(view.tensor.element)
    row = builder.multiply(view.strides[-2], size)
    rows, columns = (
        builder.smaller(builder.remaining(view.extents[axis], access.starts[axis]), view.shape[axis])
        for axis in (-2, -1)
    )
    found = Destination(Rows(access.pointer, row), (rows, columns), target)
    if not target.is_copy:
        return found
    cached = "true"
    if target.store in emission.program.nontemporal.values():
        is_nontemporal = builder.all_of(moves_much(emission, prod(view.shape[-2:]) * size))
        cached = builder.emit(f"xor i1 {is_nontemporal}, true")
    # Rows that overlap are written in order.
    apart = builder.emit(f"icmp sge i64 {row}, {view.shape[-1] * size}")
    return found._replace(direct=builder.all_of([cached, view_access.is_inside(emission, access), apart]))
