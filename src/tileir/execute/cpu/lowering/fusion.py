"""What is computed together, and what breaks fusion: all rules are here.

A tile stays an expression, computed inside the loop nests that use it, until one of these requires a buffer:

1. several loop nests use it and computing it again costs more than `CHEAP` (the first nest keeps it on the way, or
   keeps it rounded where an `ftof` alone uses it later).  A plain load, through a view, is as cheap as a buffer;
2. it is used through an index map that repeats or reorders elements (broadcast, permute, extract, a reshape that moves
   elements), and costs more than `CHEAP`, or is repeated and takes longer alone than in a vector; a plain load under a
   map is read in place;
3. it is carried by a loop, the result of an `if`, printed, scanned, or the accumulator of a matmul;
4. it is used inside a loop that does not compute it, unless it is pointers or integers counted up from scalars;
5. it reads memory that a store or atomic ahead of its use may change (`aliasing`), or the operation ahead orders
   memory for other tile blocks;
6. the fused work has grown past `LARGEST`, which limits loop nests, registers and compile time;
7. `cat`, `insert`, `pack` and `unpack` go through a buffer by their nature.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Final

from tileir.dialect import ops
from tileir.dialect.types import GatherScatterViewType
from tileir.execute.analysis.values import dtype_of, is_scalar
from tileir.execute.cpu.ir import expressions as ex
from tileir.execute.dtypes import plain_memory
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.values import Value

CHEAP: Final = 3
LARGEST: Final = 160

_LARGEST_INDEX: Final = 12
_INDEX_OPS: Final = frozenset({ops.ADDI, ops.SUBI, ops.MULI, ops.EXTI, ops.OFFSET, ops.CMPI, ops.ANDI})
_COUNTED_OPS: Final = _INDEX_OPS | {ops.REMI}

_SLOW_ALONE: Final = frozenset({ops.MAXF, ops.MINF})
"""What takes one number several instructions that wait for each other, and a vector about one for each."""


def cost_of(operation: Operation) -> int:
    """The work of an operation on one element, an addition being one."""
    cost = operation.declaration.cost.work
    mode = operation.attributes.get("rounding_mode")
    if mode is not None and getattr(mode, "keyword", "nearest_even") not in ("nearest_even", "approx", "full"):
        cost += 10
    return cost


def is_plain_load(node: ex.Expression) -> bool:
    """Whether reading a tile again from the caller's memory is as good as a buffer."""
    if not isinstance(node, ex.ViewLoad) or not plain_memory(node.element):
        return False
    return not isinstance(node.operation.view.type, GatherScatterViewType)


def is_index(node: ex.Expression) -> bool:
    """Whether a tile is counted up from scalars: its elements are mostly neighbors in memory, so the first suffices."""
    return node.cost <= _LARGEST_INDEX and _consists_of(node, _INDEX_OPS)


def is_counted(node: ex.Expression) -> bool:
    """Whether a tile is counted up from scalars, if no remainder changes it."""
    return _consists_of(node, _COUNTED_OPS)


def _consists_of(node: ex.Expression, operations: frozenset[OperationDeclaration]) -> bool:
    for each in ex.nodes([node]):
        if isinstance(each, ex.Elementwise):
            if each.operation.declaration not in operations:
                return False
        elif isinstance(each, ex.Table):
            if each.array.size > 1:
                return False
        elif isinstance(each, ex.BufferRead):
            if each.counted is None:
                return False
        elif not isinstance(each, (ex.Iota, ex.Mapped, ex.Splat)):
            return False
    return True


class FusedNodes:
    """The nodes that a loop nest evaluates, and how."""

    def __init__(self, roots: list[ex.Expression], shape: tuple[int, ...], users: Iterable[Operation]) -> None:
        self.order: list[ex.Expression] = list(ex.nodes(roots))
        self.count: int = prod(shape)
        # Nodes of which the nest visits every element once, in its own order.
        self.straight: dict[int, bool] = {}
        space = ex.squeezed(shape)
        for root in roots:
            self.straight[id(root)] = ex.squeezed(root.shape) == space and self.straight.get(id(root), True)
        for node in reversed(self.order):
            straight = self.straight.setdefault(id(node), True)
            if isinstance(node, ex.Mapped):
                straight = straight and node.keeps_order
            for operand in node.operands:
                self.straight[id(operand)] = self.straight.get(id(operand), True) and straight
        self.operations: set[Operation] = set(users)
        self.operations.update([node.defining_operation for node in self.order if node.defining_operation is not None])

    def is_straight(self, node: ex.Expression) -> bool:
        return self.straight[id(node)]


def must_be_stored_first(node: ex.Expression, fused: FusedNodes) -> bool:
    """Rule 2: used through a map that moves elements, and not cheap to compute there."""
    if fused.is_straight(node) or not isinstance(node, (ex.Elementwise, ex.PointerLoad, ex.ViewLoad)):
        return False
    if (
        isinstance(node, ex.Elementwise)
        and node.operation.declaration in _SLOW_ALONE
        and prod(node.shape) < fused.count
    ):
        return True
    return node.cost > CHEAP and not is_plain_load(node)


def must_be_kept(node: ex.Expression, fused: FusedNodes, done: set[Operation]) -> bool:
    """Rule 1: used by a later loop nest too.  A scalar is in no memory, and what rounds it later is no nest."""
    if node.cost <= CHEAP or not isinstance(node, (ex.Elementwise, ex.PointerLoad, ex.ViewLoad)) or is_plain_load(node):
        return False
    if node.value is None or is_scalar(node.value):
        return False
    return any(user not in fused.operations and user not in done for user in node.value.users)


def rounded_later(value: Value, user: Operation | None, fused: FusedNodes, done: set[Operation]) -> Operation | None:
    """The `ftof` to a narrower type that alone uses a value after a loop nest for `user`: it is kept rounded then."""
    later = [each for each in value.users if each not in fused.operations and each not in done]
    if user is None or len(later) != 1 or later[0].declaration is not ops.FTOF or later[0].parent is not user.parent:
        return None
    is_narrower = dtype_of(later[0].results[0]).itemsize < dtype_of(value).itemsize
    return later[0] if is_narrower else None


def finished(fused: FusedNodes, kept: set[Value], users: Iterable[Operation], done: set[Operation]) -> set[Operation]:
    """The operations that are not needed again once the nest has run: kept, or used by finished ones alone."""
    found: set[Operation] = set(users)
    for node in reversed(fused.order):
        value = node.value
        if value is None or node.defining_operation is None:
            continue
        if value in kept or all(user in found or user in done for user in value.users):
            found.add(node.defining_operation)
    return found
