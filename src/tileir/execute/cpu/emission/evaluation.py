"""Evaluation of expressions at an index of a nest, and into buffers."""

from __future__ import annotations

from tileir.execute.cpu.emission import accesses, pointers
from tileir.execute.cpu.emission.context import Emission
from tileir.execute.cpu.emission.nests import FIRST, Axis, Index, LoopNest, Stretch, row_major_terms
from tileir.execute.cpu.loops.expressions import (
    Applied,
    Buffer,
    Count,
    Expression,
    Gathered,
    Mapped,
    Shape,
    Splat,
    Stored,
    Table,
    Viewed,
    row_major,
)
from tileir.execute.cpu.vector import instructions
from tileir.execute.cpu.vector.builder import Number
from tileir.execute.cpu.vector.casting import cast
from tileir.execute.cpu.vector.llvm import Register, literal
from tileir.ir.values import Value


class NestEmission(LoopNest):
    """A nest that evaluates every kind of expression."""

    def __init__(
        self, emission: Emission, shape: Shape, lanes: int, masked: bool, stretch: Stretch | None = None
    ) -> None:
        super().__init__(emission, shape, lanes, masked, stretch)
        self._moved: dict[tuple[Value, Number, bool, int], Axis] = {}

    def _evaluate(self, expression: Expression, index: Index) -> tuple[Register, int]:
        if isinstance(expression, Applied):
            pairs = [self.at(operand, index) for operand in expression.arguments]
            level = max([level for _, level in pairs], default=0)
            with self.at_level(level):
                registers = [register for register, _ in pairs]
                return instructions.emit_operation(self.builder, expression.operation, registers), level
        if isinstance(expression, Mapped):
            return self.at(expression.source, self._mapped(expression, index))
        if isinstance(expression, Splat):
            return self.emission.scalars[expression.scalar], 0
        if isinstance(expression, Table):
            if expression.array.size == 1:
                return literal(expression.array.reshape(-1)[0], expression.dtype), 0
            with self.at_level(0):
                table = self.builder.module.table(expression.array)
            return self.stored(table, expression.dtype, expression.shape, index, "")
        if isinstance(expression, Count):
            axes = [axis for axis, extent in zip(index, expression.shape, strict=True) if extent != 1]
            return self.number(axes[0] if axes else FIRST, expression.dtype)
        if isinstance(expression, Stored):
            pointer = self.emission.buffer(expression.buffer)
            return self.stored(pointer, expression.dtype, expression.shape, index, self.emission.arena_suffix)
        if isinstance(expression, Viewed):
            return accesses.load_view(self, expression, index)
        assert isinstance(expression, Gathered)
        return pointers.load_pointers(self, expression, index)

    def _mapped(self, expression: Mapped, index: Index) -> Index:
        axes = []
        for place, (axis, scalar) in enumerate(expression.mapping):
            found = index[axis] if axis is not None else FIRST
            if scalar is not None:
                found = self._shifted(found, scalar, expression.shape[place])
            axes.append(found)
        return tuple(axes)

    def _shifted(self, axis: Axis, scalar: Value, part: int) -> Axis:
        """An axis moved to a sub-tile, counted by a scalar."""
        key = (scalar, axis.base, axis.lanes, part)
        found = self._moved.get(key)
        if found is None:
            with self.at_level(0):
                origin = self.builder.multiply(self.emission.whole(scalar), part)
            with self.at_level(axis.level):
                found = self._moved[key] = Axis(self.builder.add(origin, axis.base), axis.lanes, axis.level)
        return found

    def keep(
        self,
        expression: Expression,
        buffer: Buffer,
        origin: list[Number] | None,
        whole: Shape,
        index: Index | None = None,
    ) -> None:
        """Put the elements of an expression into a buffer of shape `whole`, at an origin."""
        index = self.index_for(expression) if index is None else index
        register, _ = self.at(expression, index)
        with self.at_level(self.depth):
            register = cast(self.builder, register, buffer.dtype)
        size = buffer.dtype.itemsize
        pointer = self.emission.buffer(buffer)
        if origin is not None:
            with self.at_level(0):
                start: Number = 0
                for place, stride in zip(origin, row_major(whole), strict=True):
                    start = self.builder.add(start, self.builder.multiply(place, stride * size))
                pointer = self.builder.moved(pointer, start)
        self.store(pointer, row_major_terms(index, whole, size), register, self.emission.arena_suffix)
