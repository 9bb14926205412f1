"""Where the results of products go.

A chain of products, or a product alone, writes its **destination**, which its result is stored to as it is, without a
copy in scratch memory.  Where something is still computed from each element, the destination says at least how much of
the result is wanted: rows and columns that lie behind the edge of a tensor are not stored, so that nobody has to
multiply for them.
"""

from __future__ import annotations

from math import prod

from tileir.dialect.ops import EXTRACT, INSERT
from tileir.dialect.types import PartitionViewType
from tileir.execute.analysis.aliasing import Origins
from tileir.execute.cpu.loops.expressions import Applied, Buffer, Expression, Gathered, Stored, Viewed, nodes, squeezed
from tileir.execute.cpu.loops.order import block_axis, may_change_order
from tileir.execute.cpu.loops.sinks import StoreView
from tileir.execute.cpu.loops.statements import (
    Alias,
    Chain,
    Goal,
    Let,
    Multiply,
    Nest,
    Program,
    Statement,
    VersionedNest,
    statements,
)
from tileir.execute.cpu.loops.traffic import is_apart
from tileir.execute.dtypes import plain_memory
from tileir.ir.values import Value


def choose(program: Program, overlapping: bool) -> None:
    """Find out where the results of products go; with `overlapping`, arguments may share memory."""
    # A product within a chain is the chain's.
    chained = {
        id(each) for chain in statements(program.body) if isinstance(chain, Chain) for each in statements([chain])
    }
    bodies = [program.body, *[body for each in statements(program.body) for body in each.bodies]]
    for body in bodies:
        found: list[tuple[Chain | Multiply, Goal]] = []
        for statement in body:
            if isinstance(statement, Chain) or (isinstance(statement, Multiply) and id(statement) not in chained):
                goal = _goal(program, body, statement, overlapping)
                if goal is not None:
                    found.append((statement, goal))
        for statement, goal in found:
            _make_place(body, statement, goal)
            program.destinations[statement] = goal


def _goal(program: Program, body: list[Statement], source: Chain | Multiply, overlapping: bool) -> Goal | None:
    product = source.product if isinstance(source, Chain) else source
    plan, buffer = product.plan, product.accumulator
    is_fresh = source.clearing is not None if isinstance(source, Chain) else source.zero_init
    if body is not program.body and not is_fresh:
        # What it begins with may be the result of the turn before.
        return None
    if prod(product.lhs.shape[:-2]) != 1:
        return None
    place = body.index(source)
    users = [statement for statement in body[place + 1 :] if _reads(statement, buffer)]
    if len(users) != 1:
        return None
    inside = {id(each) for each in (*statements([source]), *statements(users))}
    if any(id(each) not in inside and _takes(each, buffer) for each in statements(program.body)):
        return None
    (user,) = users
    nest = user.fused if isinstance(user, VersionedNest) else user
    if not isinstance(nest, Nest) or len(nest.sinks) != 1:
        return None
    (sink,) = nest.sinks
    if not isinstance(sink, StoreView) or sink.positions is not None:
        return None
    type = sink.operation.view.type
    if not isinstance(type, PartitionViewType):
        return None
    if prod(type.tile_shape[:-2]) != 1 or type.tile_shape[-2:] != (plan.m, plan.n):
        return None
    if not _is_elementwise(sink.expression, buffer, (plan.m, plan.n)):
        return None
    between = body[place + 1 : body.index(user)]
    is_copy = not overlapping and nest is user and _is_plain(between) and _is_copy(program, product, sink)
    # In a branch or a loop a neighbour may never come to where it would store its own.
    is_shared = False
    if is_copy and isinstance(source, Chain) and body is program.body:
        is_shared = _is_shared(program, source, sink)
    return Goal(user, sink, is_copy, is_shared)


def _takes(statement: Statement, buffer: Buffer) -> bool:
    """Whether a statement itself reads scratch memory."""
    return any(buffer in root.buffers for root in statement.roots)


def _reads(statement: Statement, buffer: Buffer) -> bool:
    """Whether a statement reads scratch memory, or one inside it does."""
    return any(_takes(each, buffer) for each in statements([statement]))


def _is_elementwise(root: Expression, buffer: Buffer, shape: tuple[int, int]) -> bool:
    """Whether each element of a tile is made of the element of scratch memory in the same place."""
    for node in nodes([root]):
        if buffer in node.buffers and not isinstance(node, (Applied, Stored)):
            return False
        if buffer in node.buffers and squeezed(node.shape) != squeezed(shape):
            return False
    return True


def _make_place(body: list[Statement], source: Chain | Multiply, goal: Goal) -> None:
    """Have the scalars and views between a product and the nest behind it before the product: so it knows where its
    result goes.  What is made of its own results stays."""
    first = body.index(source)
    between = body[first + 1 : body.index(goal.user)]
    if not _is_plain(between):
        return
    late: set[Value] = set((source.loop if isinstance(source, Chain) else source).operation.results)
    before: list[Statement] = []
    behind: list[Statement] = []
    for statement in between:
        if isinstance(statement, Alias):
            made, used = [statement.value], [statement.source]
        else:
            assert isinstance(statement, Let)
            made, used = [*statement.operation.results], statement.operation.operands
        if any(value in late for value in used):
            late.update(made)
            behind.append(statement)
        else:
            before.append(statement)
    body[first : first + 1 + len(before) + len(behind)] = [*before, source, *behind]


def _is_plain(between: list[Statement]) -> bool:
    """Whether statements are nothing but scalars and views."""
    if not all(isinstance(each, (Let, Alias)) for each in between):
        return False
    # Windows that are not there: whatever the chain does comes before that.
    return not any(isinstance(each, Let) and each.operation.declaration in (EXTRACT, INSERT) for each in between)


def _is_copy(program: Program, product: Multiply, sink: StoreView) -> bool:
    """Whether a product may write its result where a nest puts it, if nothing is between them."""
    root, buffer = sink.expression, product.accumulator
    if not isinstance(root, Stored) or product.plan.kind != "fma" or not may_change_order(program.entry):
        return False
    if not plain_memory(root.element) or root.dtype != buffer.dtype:
        return False
    view = sink.operation.view.type
    assert isinstance(view, PartitionViewType)
    if view.tensor.strides[view.dim_map[-1]] != 1:
        return False
    origins = Origins(program.entry, False)
    read: set[object] = set()
    for root in product.roots:
        for load in root.reads:
            assert isinstance(load, (Viewed, Gathered))
            source = load.operation.declaration.reads
            assert source is not None
            read |= origins.provenance(load.operation.operand_group(source)[0])
    return is_apart(sink, origins, frozenset(read))


def _is_shared(program: Program, chain: Chain, sink: StoreView) -> bool:
    """Whether a tile block may write the results of its neighbours: they add as many products, their tiles lie side by
    side, and nobody else reads or writes this memory."""
    view, *indices = [sink.operation.view, *sink.operation.index]
    bounds = chain.loop.operation.operands[:2]
    if chain.group is None or tuple([block_axis(index) for index in indices]) != chain.group.axes:
        return False
    if not isinstance(view.type, PartitionViewType) or view.type.dim_map != (0, 1):
        return False
    origins = Origins(program.entry, False)
    if not all(origins.is_launch_constant(value) for value in (view, *bounds)):
        return False
    written = origins.provenance(view)
    for operation in program.entry.walk():
        place = operation.declaration.reads or operation.declaration.writes
        if place is not None and operation is not sink.operation:
            if not origins.never_alias(written, origins.provenance(operation.operand_group(place)[0])):
                return False
    return True
