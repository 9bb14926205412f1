"""The loop form, its sinks: what becomes of the elements that a nest goes through."""

from __future__ import annotations

from tileir.execute.cpu.loops.expressions import Buffer, Expression, Shape
from tileir.ir.core import Operation, Value


class Sink:
    __slots__ = ("expression",)

    def __init__(self, expression: Expression) -> None:
        self.expression: Expression = expression

    @property
    def expressions(self) -> list[Expression]:
        return [self.expression]


class StoreBuffer(Sink):
    """Into scratch memory, converted to the buffer's dtype; `window` places a part inside a larger tile."""

    __slots__ = ("buffer", "window")

    def __init__(self, expression: Expression, buffer: Buffer, window: Window | None = None) -> None:
        super().__init__(expression)
        self.buffer: Buffer = buffer
        self.window: Window | None = window


class Window:
    """A sub-tile of a tile: how far along each dimension it begins, a constant or a scalar that counts sub-tiles."""

    __slots__ = ("origins", "part", "whole")

    def __init__(self, whole: Shape, part: Shape, origins: tuple[int | Value, ...]) -> None:
        self.whole: Shape = whole
        self.part: Shape = part
        self.origins: tuple[int | Value, ...] = origins


class StoreScalar(Sink):
    """The only element, as a scalar."""

    __slots__ = ("value",)

    def __init__(self, expression: Expression, value: Value) -> None:
        super().__init__(expression)
        self.value: Value = value


class StoreView(Sink):
    """Into the caller's memory through a view."""

    __slots__ = ("operation", "positions")

    def __init__(self, expression: Expression, operation: Operation, positions: Expression | None) -> None:
        super().__init__(expression)
        self.operation: Operation = operation
        self.positions: Expression | None = positions

    @property
    def expressions(self) -> list[Expression]:
        return [self.expression] if self.positions is None else [self.expression, self.positions]

    def with_expressions(self, expressions: list[Expression]) -> StoreView:
        return StoreView(expressions[0], self.operation, expressions[1] if self.positions is not None else None)


class StorePointers(Sink):
    """Into the caller's memory through pointers."""

    __slots__ = ("mask", "operation", "pointers")

    def __init__(
        self, expression: Expression, operation: Operation, pointers: Expression, mask: Expression | None
    ) -> None:
        super().__init__(expression)
        self.operation: Operation = operation
        self.pointers: Expression = pointers
        self.mask: Expression | None = mask

    @property
    def expressions(self) -> list[Expression]:
        return [node for node in (self.expression, self.pointers, self.mask) if node is not None]

    def with_expressions(self, expressions: list[Expression]) -> StorePointers:
        mask = expressions[2] if self.mask is not None else None
        return StorePointers(expressions[0], self.operation, expressions[1], mask)


class CheckAll(Sink):
    """`assert` of a tile: the first false element fails."""

    __slots__ = ("operation",)

    def __init__(self, expression: Expression, operation: Operation) -> None:
        super().__init__(expression)
        self.operation: Operation = operation


class Update(Sink):
    """An atomic on each element, in row-major order; old values go to a buffer, or a scalar for one element."""

    __slots__ = ("buffer", "mask", "operation", "others", "pointers")

    def __init__(
        self,
        expression: Expression,
        operation: Operation,
        pointers: Expression | None,
        mask: Expression | None,
        others: list[Expression],
        buffer: Buffer | None,
    ) -> None:
        super().__init__(expression)
        self.operation: Operation = operation
        self.pointers: Expression | None = pointers
        self.mask: Expression | None = mask
        self.others: list[Expression] = others
        self.buffer: Buffer | None = buffer

    @property
    def expressions(self) -> list[Expression]:
        found = [node for node in (self.expression, self.pointers, self.mask) if node is not None]
        return [*found, *self.others]
