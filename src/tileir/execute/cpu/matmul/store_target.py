"""Where the result of a matmul is stored.

A matmul writes a result that is stored as it is without a copy in scratch memory.  Where something is still computed
from each element, the store at least says which rows and columns lie over an edge, and need no multiplication.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from tileir.dialect.ops import EXTRACT, INSERT
from tileir.dialect.types import PartitionViewType
from tileir.execute.analysis.aliasing import Origins
from tileir.execute.cpu.codegen import view_access
from tileir.execute.cpu.codegen.context import Emission, TileView
from tileir.execute.cpu.codegen.nontemporal import moves_much
from tileir.execute.cpu.ir import statements
from tileir.execute.cpu.ir.expressions import BufferRead, Elementwise, nodes, squeezed
from tileir.execute.cpu.ir.memory_hints import is_apart, may_change_order
from tileir.execute.cpu.ir.statements import LoopNest, Matmul, Program, Statement, StoreTarget, StoreView
from tileir.execute.cpu.matmul.plan import Rows
from tileir.execute.cpu.vector.builder import Number
from tileir.execute.dtypes import memory_bytes, plain_memory
from tileir.ir.values import Value


def choose(program: Program, overlapping: bool) -> None:
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
    sink = nest.stores[0] if isinstance(nest, LoopNest) and len(nest.stores) == 1 else None
    type = sink.operation.view.type if isinstance(sink, StoreView) else None
    if not isinstance(sink, StoreView) or not isinstance(type, PartitionViewType):
        return None
    if prod(type.tile_shape[:-2]) != 1 or type.tile_shape[-2:] != (plan.m, plan.n):
        return None
    # Each element of a tile is computed from the element of the buffer in the same place.
    for node in nodes([sink.expression]):
        if buffer in node.buffers and not (
            isinstance(node, (Elementwise, BufferRead)) and squeezed(node.shape) == squeezed((plan.m, plan.n))
        ):
            return None
    between = rest[: rest.index(user)]
    is_copy = not overlapping and nest is user and _is_plain(between) and _is_copy(program, matmul, sink)
    return StoreTarget(user, sink, is_copy)


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


def _is_copy(program: Program, matmul: Matmul, sink: StoreView) -> bool:
    """Whether a matmul may write its result where a nest stores it, if nothing is between them."""
    root, buffer = sink.expression, matmul.accumulator
    if not isinstance(root, BufferRead) or matmul.plan.kind != "fma" or not may_change_order(program.entry):
        return False
    view = sink.operation.view.type
    assert isinstance(view, PartitionViewType)
    if not plain_memory(root.element) or root.dtype != buffer.dtype or view.tensor.strides[view.dim_map[-1]] != 1:
        return False
    origins = Origins(program.entry, False)
    reads = [load for root in matmul.roots for load in root.reads]
    return is_apart(sink, origins, frozenset().union(*[origins.provenance(load.address) for load in reads]))


# --- code ---


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
        streams = builder.all_of(moves_much(emission, prod(view.shape[-2:]) * size))
        cached = builder.emit(f"xor i1 {streams}, true")
    # Rows that overlap are written in order.
    apart = builder.emit(f"icmp sge i64 {row}, {view.shape[-1] * size}")
    return found._replace(direct=builder.all_of([cached, view_access.is_inside(emission, access), apart]))
