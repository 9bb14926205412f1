"""The loop form, its sinks: what becomes of the elements that a nest goes through."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tileir.dialect.ops import ATOMIC_CAS_TKO
from tileir.execute.analysis.values import pointee_of
from tileir.execute.cpu.loops.expressions import Buffer, Expression, Shape
from tileir.execute.dtypes import memory_bytes
from tileir.ir.core import Operation
from tileir.ir.types import FloatType
from tileir.ir.values import Value

if TYPE_CHECKING:
    from tileir.execute.cpu.runtime.target import Target


@dataclass(eq=False, repr=False, slots=True)
class Sink:
    expression: Expression

    @property
    def expressions(self) -> list[Expression]:
        return [self.expression]


@dataclass(eq=False, repr=False, slots=True)
class StoreBuffer(Sink):
    """Into scratch memory, converted to the buffer's dtype; `window` places a part inside a larger tile."""

    buffer: Buffer
    window: Window | None = None


@dataclass(eq=False, repr=False, slots=True)
class Window:
    """A sub-tile of a tile: how far along each dimension it begins, a constant or a scalar that counts sub-tiles."""

    whole: Shape
    part: Shape
    origins: tuple[int | Value, ...]


@dataclass(eq=False, repr=False, slots=True)
class StoreScalar(Sink):
    """The only element, as a scalar."""

    value: Value


@dataclass(eq=False, repr=False, slots=True)
class StoreView(Sink):
    """Into the caller's memory through a view."""

    operation: Operation
    positions: Expression | None

    @property
    def expressions(self) -> list[Expression]:
        return [self.expression] if self.positions is None else [self.expression, self.positions]

    def with_expressions(self, expressions: list[Expression]) -> StoreView:
        return StoreView(expressions[0], self.operation, expressions[1] if self.positions is not None else None)


@dataclass(eq=False, repr=False, slots=True)
class StorePointers(Sink):
    """Into the caller's memory through pointers."""

    operation: Operation
    pointers: Expression
    mask: Expression | None

    @property
    def expressions(self) -> list[Expression]:
        return [node for node in (self.expression, self.pointers, self.mask) if node is not None]

    def with_expressions(self, expressions: list[Expression]) -> StorePointers:
        mask = expressions[2] if self.mask is not None else None
        return StorePointers(expressions[0], self.operation, expressions[1], mask)


@dataclass(eq=False, repr=False, slots=True)
class CheckAll(Sink):
    """`assert` of a tile: the first false element fails."""

    operation: Operation


@dataclass(eq=False, repr=False, slots=True)
class Update(Sink):
    """An atomic on each element, in row-major order; old values go to a buffer, or a scalar for one element."""

    operation: Operation
    pointers: Expression | None
    mask: Expression | None
    others: list[Expression]
    buffer: Buffer | None

    @property
    def expressions(self) -> list[Expression]:
        found = [node for node in (self.expression, self.pointers, self.mask) if node is not None]
        return [*found, *self.others]


EXCHANGED_BYTES: Final = 8
"""What a machine compares and exchanges at once.  Twice as much takes two and a half times as long (Skylake)."""


def updated_together(operation: Operation, pointers: Expression, target: Target) -> int:
    """How many elements of an atomic operation are looked at in one go, since they may be neighbours; 0 where elements
    go one by one: their old values are wanted, or pointers come from memory and may be any."""
    if operation.declaration is ATOMIC_CAS_TKO or operation.results[0].has_uses:
        return 0
    if pointers.reads or pointers.buffers:
        return 0
    element = pointee_of(operation.operands[0])
    size = memory_bytes(element)
    # An integer of eight bytes has no neighbour to be exchanged with, and instructions that are better alone.
    together = size in (2, 4) or (size == 8 and isinstance(element, FloatType))
    return target.vector_bytes // size if together else 0


def operation_of(sink: Sink) -> Operation | None:
    """The operation that a sink does the work of, or keeps the result of."""
    if isinstance(sink, (StoreView, StorePointers, CheckAll, Update)):
        return sink.operation
    value = sink.value if isinstance(sink, StoreScalar) else sink.expression.value
    return value.defining_operation if value is not None else None
