"""Loop nests: loops over the elements of a shape, with vectors along the last dimension.

Code goes to levels: level 0 before all loops, level n into the body of the n-th.  What does not depend on the index of
an inner loop is emitted at the level of the outermost loop it depends on, so nothing invariant is computed twice.

An expression is evaluated at an index: one `Axis` per dimension.  The axis of the innermost loop has lanes: it stands
for `lanes` successive positions, and what depends on it is a vector.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final

from tileir.execute.cpu.codegen.context import Emission, Guard
from tileir.execute.cpu.ir import expressions as ex
from tileir.execute.cpu.ir.statements import Window
from tileir.execute.cpu.vector import instructions, llvm
from tileir.execute.cpu.vector.builder import Builder, CountedLoop, Number
from tileir.execute.cpu.vector.casting import BOOL, INT64, UINT8, cast, from_storage, to_storage
from tileir.execute.cpu.vector.llvm import Register, literal, scalar_type, storage_type, suffix_of, wrapped
from tileir.execute.dtypes import DType
from tileir.ir.values import Value


@dataclass(eq=False, repr=False, slots=True)
class Axis:
    """The index along one dimension: its position, whether it has lanes, and the level at which it is known."""

    base: Number
    lanes: bool
    level: int


FIRST: Final = Axis(0, False, 0)

Index = tuple[Axis, ...]
Term = tuple[Axis, Number]  # A part of an offset: the position along an axis times a distance.


@dataclass(eq=False, repr=False, slots=True)
class RowPart:
    """The positions in each row where some vectors begin, and how they are stored.  Non-temporal ones begin at an
    aligned address; of the two at the ends only the lanes before the `head`, or after it, are stored."""

    start: Number
    end: int
    step: int
    head: str
    is_nontemporal: bool


def row_major_terms(index: Index, shape: ex.Shape, size: int = 1) -> list[Term]:
    return [(axis, stride * size) for axis, stride in zip(index, ex.row_major(shape), strict=True)]


class NestEmitter:
    """One loop nest being emitted.  `masked` is the version for tiles that reach over the edge of their tensor."""

    def __init__(
        self, emission: Emission, shape: ex.Shape, lanes: int, masked: bool, row_part: RowPart | None = None
    ) -> None:
        self.emission: Emission = emission
        self.builder: Builder = emission.builder
        self.masked: bool = masked
        self.shape: ex.Shape = shape
        self.levels: list[list[str]] = [[]]
        # What follows an inner loop in the body of an outer one.
        self.after: list[list[str]] = [[]]
        self._loops: list[CountedLoop] = []
        self._known: dict[tuple[int, tuple[tuple[Number, bool], ...]], tuple[Register, int]] = {}
        self._products: dict[tuple[int, Number, Number], Number] = {}
        self._shifted: dict[tuple[Value, Number, bool, int], Axis] = {}
        self._previous: list[str] = self.builder.lines
        self.lanes: int = lanes
        self.row_part: RowPart | None = row_part
        self.offset: int = 0  # Of several vectors in an iteration: the first element of the present one
        self.index: Index = self._open(shape)

    def _open(self, shape: ex.Shape) -> Index:
        """A loop for each dimension, the last one in steps of the lanes."""
        wide = max([axis for axis, extent in enumerate(shape) if extent != 1], default=-1)
        if wide >= 0:
            self.lanes = min(self.lanes, shape[wide])
        index = []
        for axis, extent in enumerate(shape):
            part = self.row_part
            if axis != wide:
                index.append(self.open_loop(extent))
            elif part is not None:
                index.append(self.open_loop(part.end, part.step, True, part.start))
            else:
                index.append(self.open_loop(extent, self.lanes or 1, self.lanes > 0))
        return tuple(index)

    def open_loop(self, extent: int, step: int = 1, lanes: bool = False, start: Number = 0) -> Axis:
        """Enter a loop; one of a single iteration is none."""
        if start == 0 and extent in (step, 1):
            return Axis(0, lanes, 0)
        loop = CountedLoop(self.builder, start, extent, step)
        self._loops.append(loop)
        self.levels.append([])
        self.after.append([])
        return Axis(loop.index, lanes, len(self._loops))

    @property
    def innermost(self) -> CountedLoop:
        return self._loops[-1]

    @property
    def depth(self) -> int:
        return len(self._loops)

    def at_level(self, level: int, after: bool = False) -> AbstractContextManager[list[str]]:
        """While this is entered, code goes to a level."""
        return self.builder.into(self.after[level] if after else self.levels[level])

    def close(self) -> None:
        """Put the levels together, into the lines that were current before."""
        with self.builder.into(self._previous):
            self._write(0)

    def _write(self, level: int) -> None:
        self.builder.lines.extend(self.levels[level])
        if level < self.depth:
            self._loops[level].fill(lambda: self._write(level + 1))
        self.builder.lines.extend(self.after[level])

    def _number(self, axis: Axis, dtype: DType) -> tuple[Register, int]:
        """The position along an axis as a value."""
        with self.at_level(axis.level):
            base = Register(str(axis.base), INT64)
            if dtype != INT64 and isinstance(axis.base, int):
                base = literal(wrapped(axis.base, 1 if dtype == BOOL else 8 * dtype.itemsize), dtype)
            elif dtype != INT64:
                base = self.builder.value(f"trunc i64 {base.name} to {scalar_type(dtype)}", dtype)
            if not axis.lanes:
                return base, axis.level
            lanes = self.lane_numbers(dtype)
            if axis.base == 0:
                return lanes, axis.level
            spread = self.builder.splat(base, self.lanes)
            return self.builder.value(f"add {spread.typed}, {lanes.name}", dtype, self.lanes), axis.level

    def lane_numbers(self, dtype: DType) -> Register:
        width = 1 if dtype == BOOL else 8 * dtype.itemsize
        texts = [llvm.literal_text(wrapped(lane, width), dtype) for lane in range(self.lanes)]
        numbers = [f"{scalar_type(dtype)} {text}" for text in texts]
        return Register(f"<{', '.join(numbers)}>", dtype, self.lanes)

    def sum_of(self, terms: list[Term]) -> tuple[Number, int]:
        """The sum of position * distance, added up from the outermost level inwards; lanes are left out."""
        total: Number = 0
        level = 0
        for axis, distance in sorted(terms, key=lambda term: term[0].level):
            level = max(level, axis.level)
            with self.at_level(level):
                key = (level, axis.base, distance)
                if key not in self._products:
                    self._products[key] = self.builder.multiply(axis.base, distance)
                total = self.builder.add(total, self._products[key])
        return total, level

    def at(self, expression: ex.Expression, index: Index) -> tuple[Register, int]:
        """An expression at an index: its value, and the level where it is known."""
        key = (id(expression), tuple([(axis.base, axis.lanes) for axis in index]))
        found = self._known.get(key)
        if found is None and self.emission.provenance is None:
            found = self._known[key] = self._evaluate(expression, index)
        elif found is None:
            # What was computed before is not computed here.
            source = None if isinstance(expression, ex.BufferRead) else expression.defining_operation
            with self.emission.working_for(source):
                found = self._known[key] = self._evaluate(expression, index)
        return found

    def value(self, expression: ex.Expression) -> Register:
        """An expression at the index of the nest: a vector, if the nest has lanes."""
        return self.at(expression, self.index_for(expression))[0]

    def index_for(self, expression: ex.Expression) -> Index:
        """The index of the nest for a tile of its own shape, which may have other unit dimensions."""
        return self.index_of(expression, self.shape, self.index)

    def index_of(self, expression: ex.Expression, shape: ex.Shape, index: Index) -> Index:
        """An index into a shape, for a tile that differs in unit dimensions at most."""
        if expression.shape == shape:
            return index
        axes = iter([axis for axis, extent in zip(index, shape, strict=True) if extent != 1])
        return tuple([next(axes) if extent != 1 else FIRST for extent in expression.shape])

    def spread_lanes(self, register: Register, axis: Axis) -> Register:
        """A value in all lanes, if the axis has any."""
        if not axis.lanes or not self.lanes:
            return register
        with self.at_level(self.depth):
            return self.builder.splat(register, self.lanes)

    def _evaluate(self, expression: ex.Expression, index: Index) -> tuple[Register, int]:
        if isinstance(expression, ex.Elementwise):
            pairs = [self.at(operand, index) for operand in expression.operands]
            level = max([level for _, level in pairs], default=0)
            with self.at_level(level):
                registers = [register for register, _ in pairs]
                return instructions.emit_operation(self.builder, expression.operation, registers), level
        if isinstance(expression, ex.Mapped):
            return self.at(expression.source, self._mapped(expression, index))
        if isinstance(expression, ex.Splat):
            return self.emission.scalars[expression.scalar], 0
        if isinstance(expression, ex.Table):
            if expression.array.size == 1:
                return literal(expression.array.reshape(-1)[0], expression.dtype), 0
            with self.at_level(0):
                table = self.builder.module.table(expression.array)
            return self._row_major(table, expression.dtype, expression.shape, index, "")
        if isinstance(expression, ex.Iota):
            axes = [axis for axis, extent in zip(index, expression.shape, strict=True) if extent != 1]
            return self._number(axes[0] if axes else FIRST, expression.dtype)
        if isinstance(expression, ex.BufferRead):
            pointer = self.emission.buffer(expression.buffer)
            return self._row_major(pointer, expression.dtype, expression.shape, index, self.emission.scratch_suffix)
        register, level = self.emission.emitters[type(expression)](self, expression, index)
        return register, level

    def _mapped(self, expression: ex.Mapped, index: Index) -> Index:
        axes = []
        for number, (axis, scalar) in enumerate(expression.mapping):
            found = index[axis] if axis is not None else FIRST
            axes.append(found if scalar is None else self._sub_tile(found, scalar, expression.shape[number]))
        return tuple(axes)

    def _sub_tile(self, axis: Axis, scalar: Value, part: int) -> Axis:
        """An axis moved to a sub-tile, counted by a scalar."""
        key = (scalar, axis.base, axis.lanes, part)
        if key not in self._shifted:
            with self.at_level(0):
                origin = self.builder.multiply(self.emission.whole(scalar), part)
            with self.at_level(axis.level):
                self._shifted[key] = Axis(self.builder.add(origin, axis.base), axis.lanes, axis.level)
        return self._shifted[key]

    def keep(
        self, expression: ex.Expression, buffer: ex.Buffer, window: Window | None = None, index: Index | None = None
    ) -> None:
        """Put the elements of an expression into a buffer, or into a part of it."""
        builder, size = self.builder, buffer.dtype.itemsize
        index = self.index_for(expression) if index is None else index
        register, _ = self.at(expression, index)
        with self.at_level(self.depth):
            register = cast(builder, register, buffer.dtype)
        pointer, shape = self.emission.buffer(buffer), expression.shape
        if window is not None:
            shape = window.whole
            with self.at_level(0):
                for origin, part, stride in zip(window.origins, window.part, ex.row_major(shape), strict=True):
                    start = origin if isinstance(origin, int) else builder.multiply(self.emission.whole(origin), part)
                    pointer = builder.moved(pointer, builder.multiply(start, stride * size))
        self.store(pointer, row_major_terms(index, shape, size), register, self.emission.scratch_suffix)

    def guard(self, guard: Guard, shape: ex.Shape, index: Index) -> tuple[Register, int]:
        """Which elements of an access may be touched: those the sanitizer left, all if it found nothing."""
        pointer = self.emission.buffer(guard.buffer)
        allowed, level = self._row_major(pointer, BOOL, shape, index, self.emission.scratch_suffix)
        with self.at_level(level):
            fine = self.builder.splat(Register(guard.fine, BOOL), allowed.width)
            return self.builder.value(f"or {allowed.typed}, {fine.name}", BOOL, allowed.width), level

    def place(self, pointer: str, terms: list[Term]) -> tuple[str, Number | None, int]:
        """The pointer to the first lane, the distance of lanes in bytes (None without lanes), and the level."""
        offset, level = self.sum_of(terms)
        wide = [distance for axis, distance in terms if axis.lanes]
        with self.at_level(level):
            return self.builder.moved(pointer, offset), wide[0] if wide else None, level

    def _row_major(
        self, pointer: str, dtype: DType, shape: ex.Shape, index: Index, suffix: str
    ) -> tuple[Register, int]:
        where, distance, level = self.place(pointer, row_major_terms(index, shape, dtype.itemsize))
        with self.at_level(level):
            return self.load_at(where, distance, dtype, suffix), level

    def load_at(
        self, where: str, distance: Number | None, dtype: DType, suffix: str, mask: Register | None = None
    ) -> Register:
        """Load one element, or lanes that are so many bytes apart."""
        builder, element, size = self.builder, storage_type(dtype), dtype.itemsize
        if distance is None:
            text = f"load {element}, ptr {where}, align {size}{suffix}"
            loaded = builder.where(mask, element, lambda: builder.emit(text))
            return from_storage(builder, loaded, dtype)
        if distance != size:
            loaded = self.gather(self._lane_pointers(where, distance), element, size, mask, suffix)
        else:
            loaded = builder.load(UINT8 if dtype == BOOL else dtype, self.lanes, where, size, suffix, mask).name
        return from_storage(builder, loaded, dtype, self.lanes)

    def _lane_pointers(self, where: str, distance: Number) -> str:
        if isinstance(distance, int):
            offsets = f"<{', '.join([f'i64 {lane * distance}' for lane in range(self.lanes)])}>"
        else:
            spread = self.builder.splat(Register(distance, INT64), self.lanes)
            offsets = self.builder.emit(f"mul {spread.typed}, {self.lane_numbers(INT64).name}")
        return self.builder.emit(f"getelementptr i8, ptr {where}, <{self.lanes} x i64> {offsets}")

    def gather(self, pointers: str, element: str, size: int, mask: Register | None, suffix: str) -> str:
        vector = f"<{self.lanes} x {element}>"
        function = f"llvm.masked.gather.{suffix_of(element, self.lanes)}.v{self.lanes}p0"
        operands = [f"<{self.lanes} x ptr> {pointers}", f"i32 {size}", self._lane_mask(mask)]
        return self.builder.call(vector, function, [*operands, f"{vector} zeroinitializer"], suffix)

    def _lane_mask(self, mask: Register | None) -> str:
        chosen = self.builder.splat(mask, self.lanes).name if mask is not None else "splat (i1 true)"
        return f"<{self.lanes} x i1> {chosen}"

    def store(
        self, pointer: str, terms: list[Term], register: Register, suffix: str, mask: Register | None = None
    ) -> None:
        """Store the elements of the innermost level."""
        where, distance, _ = self.place(pointer, terms)
        with self.at_level(self.depth):
            self.store_at(where, distance, register, suffix, mask)

    def store_at(
        self,
        where: str,
        distance: Number | None,
        register: Register,
        suffix: str,
        mask: Register | None = None,
        alignment: int = 0,
    ) -> None:
        """Store one element, or lanes that are so many bytes apart."""
        builder, size = self.builder, register.dtype.itemsize
        if distance is not None:
            register = builder.splat(register, self.lanes)
        register = to_storage(builder, register)
        if distance is None:
            text = f"store {register.typed}, ptr {where}, align {size}{suffix}"
            builder.where(mask, "", lambda: builder.do(text))
        elif distance != size:
            self.scatter(self._lane_pointers(where, distance), register, size, mask, suffix)
        elif mask is None:
            builder.do(f"store {register.typed}, ptr {where}, align {alignment or size}{suffix}")
        else:
            function = f"llvm.masked.store.{suffix_of(scalar_type(register.dtype), self.lanes)}.p0"
            operands = [register.typed, f"ptr {where}", f"i32 {size}", builder.splat(mask, self.lanes).typed]
            builder.call("void", function, operands, suffix)

    def scatter(self, pointers: str, register: Register, size: int, mask: Register | None, suffix: str) -> None:
        """One element to each pointer of a vector, in order of lanes."""
        function = f"llvm.masked.scatter.{suffix_of(scalar_type(register.dtype), self.lanes)}.v{self.lanes}p0"
        operands = [register.typed, f"<{self.lanes} x ptr> {pointers}", f"i32 {size}", self._lane_mask(mask)]
        self.builder.call("void", function, operands, suffix)
