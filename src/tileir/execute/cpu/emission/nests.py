"""Nests: loops over the elements of a shape, vectors along the last dimension.

Code goes to levels: level 0 before all loops, level n into the body of the n-th.  What does not depend on the index of
an inner loop is emitted at the level of the outermost loop it depends on, so nothing invariant is computed twice.

An expression is evaluated at an index: one `Axis` per dimension.  The axis of the innermost loop has lanes: it stands
for `lanes` successive positions, and what depends on it is a vector.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

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
from tileir.execute.cpu.vector.casting import BOOL, INT64, UINT8
from tileir.execute.cpu.vector.llvm import Register, literal, scalar_type, storage_type, value_type
from tileir.execute.dtypes import DType
from tileir.ir.core import Value

if TYPE_CHECKING:
    from tileir.execute.cpu.emission.worker import Emission


Number = int | str
"""An i64: a constant, or the name of a register."""


class Guard:
    """What the sanitizer says about an access: `fine` is an i1, `buffer` has an answer for each element where not."""

    __slots__ = ("buffer", "fine")

    def __init__(self, buffer: Buffer, fine: str) -> None:
        self.buffer: Buffer = buffer
        self.fine: str = fine


class Axis:
    """The index along one dimension: where it is, whether it has lanes, and the level at which it is known."""

    __slots__ = ("base", "lanes", "level")

    def __init__(self, base: Number, lanes: bool, level: int) -> None:
        self.base: Number = base
        self.lanes: bool = lanes
        self.level: int = level


FIRST: Final = Axis(0, False, 0)


class Stretch:
    """A part of each row of a nest: the positions where its vectors begin.  `streams` says how it is stored.

    What streams begins at an address that suits whole vectors.  The rest is the two ends of a row, vectors of which
    only the lanes before the `head` are stored at the beginning, and only those after it at the end.
    """

    __slots__ = ("end", "head", "start", "step", "streams")

    def __init__(self, start: Number, end: int, step: int, head: str, streams: bool) -> None:
        self.start: Number = start
        self.end: int = end
        self.step: int = step
        self.head: str = head
        self.streams: bool = streams


Index = tuple[Axis, ...]
Term = tuple[Axis, Number]


class NestEmission:
    """One nest being emitted.  `masked` is the version for tiles that reach over the edge of their tensor."""

    def __init__(
        self, emission: Emission, shape: Shape, lanes: int, masked: bool, stretch: Stretch | None = None
    ) -> None:
        self.emission: Emission = emission
        self.builder = emission.builder
        self.masked: bool = masked
        self.shape: Shape = shape
        self.levels: list[list[str]] = [[]]
        # What follows an inner loop in the body of an outer one.
        self.after: list[list[str]] = [[]]
        self._loops: list[tuple[str, Number, int, int]] = []
        # By level: the registers a loop carries, where they begin, and what they become.
        self._carried: dict[int, list[tuple[Register, Register, Register]]] = {}
        self._known: dict[tuple[int, tuple[tuple[Number, bool], ...]], tuple[Register, int]] = {}
        self._moved: dict[tuple[Value, Number, bool, int], Axis] = {}
        self._previous: list[str] = self.builder.lines
        self.lanes: int = lanes
        self.stretch: Stretch | None = stretch
        self.offset: int = 0
        """Of vectors that one turn of a loop has several of: which element the one at hand begins with."""
        self.index: Index = self._open(shape)

    # --- loops ---

    def _open(self, shape: Shape) -> Index:
        """A loop for each dimension, the last one in steps of the lanes."""
        wide = max([axis for axis, extent in enumerate(shape) if extent != 1], default=-1)
        if wide >= 0 and self.lanes > shape[wide]:
            self.lanes = shape[wide]
        index = []
        for axis, extent in enumerate(shape):
            if axis == wide and self.stretch is not None:
                stretch = self.stretch
                index.append(self.open_loop(stretch.end, stretch.step, True, stretch.start))
                continue
            step = self.lanes if axis == wide and self.lanes else 1
            index.append(self.open_loop(extent, step, axis == wide and self.lanes > 0))
        return tuple(index)

    def open_loop(self, extent: int, step: int = 1, lanes: bool = False, start: Number = 0) -> Axis:
        """Go into a loop; one that turns once only is none."""
        if start == 0 and (extent == step or extent == 1):
            return Axis(0, lanes, 0)
        name = self.builder.fresh("i")
        self._loops.append((name, start, extent, step))
        self.levels.append([])
        self.after.append([])
        return Axis(f"%{name}", lanes, len(self._loops))

    def carry(self, level: int, registers: list[tuple[Register, Register, Register]]) -> None:
        """Let a loop carry registers: each with its first value and what a turn makes of it."""
        self._carried[level] = registers

    @property
    def depth(self) -> int:
        return len(self._loops)

    @contextmanager
    def at_level(self, level: int, after: bool = False) -> Iterator[None]:
        """Emit into a level."""
        builder = self.builder
        outer = builder.lines
        builder.lines = self.after[level] if after else self.levels[level]
        try:
            yield
        finally:
            builder.lines = outer

    def close(self) -> None:
        """Put the levels together, into the lines that were current before."""
        builder = self.builder
        lines = self._previous
        builder.lines = lines
        lines.extend(self.levels[0])
        for number, (name, start, _, _) in enumerate(self._loops):
            lines.append(f"  br label %{name}.before")
            lines.append(f"{name}.before:")
            lines.append(f"  br label %{name}.head")
            lines.append(f"{name}.head:")
            lines.append(f"  %{name} = phi i64 [ {start}, %{name}.before ], [ %{name}.next, %{name}.latch ]")
            for old, initial, new in self._carried.get(number + 1, []):
                lines.append(
                    f"  {old.name} = phi {old.type} [ {initial.name}, %{name}.before ], [ {new.name}, %{name}.latch ]"
                )
            lines.extend(self.levels[number + 1])
        for number in range(len(self._loops) - 1, -1, -1):
            name, _, extent, step = self._loops[number]
            lines.extend(self.after[number + 1])
            lines.append(f"  br label %{name}.latch")
            lines.append(f"{name}.latch:")
            lines.append(f"  %{name}.next = add nuw nsw i64 %{name}, {step}")
            lines.append(f"  %{name}.more = icmp ult i64 %{name}.next, {extent}")
            lines.append(f"  br i1 %{name}.more, label %{name}.head, label %{name}.end")
            lines.append(f"{name}.end:")
        lines.extend(self.after[0])

    # --- arithmetic of indices ---

    def number(self, axis: Axis, dtype: DType) -> tuple[Register, int]:
        """The position along an axis as a value."""
        with self.at_level(axis.level):
            base = Register(str(axis.base), INT64)
            if dtype != INT64:
                base = self.narrowed(base, dtype)
            if not axis.lanes:
                return base, axis.level
            lanes = self.lane_numbers(dtype)
            if axis.base == 0:
                return lanes, axis.level
            spread = self.builder.splat(base, self.lanes)
            return self.builder.value(f"add {spread.typed}, {lanes.name}", dtype, self.lanes), axis.level

    def narrowed(self, number: Register, dtype: DType) -> Register:
        wanted = scalar_type(dtype)
        if not number.name.startswith("%"):
            if dtype == BOOL:
                return literal(int(number.name) & 1, dtype)
            width = dtype.itemsize * 8
            value = int(number.name) & ((1 << width) - 1)
            return Register(str(value - (1 << width) if value >> (width - 1) else value), dtype)
        return self.builder.value(f"trunc i64 {number.name} to {wanted}", dtype)

    def lane_numbers(self, dtype: DType) -> Register:
        """0, 1, 2 and on, one in each lane."""
        element = scalar_type(dtype)
        if dtype == BOOL:
            text = ", ".join([f"i1 {'true' if lane & 1 else 'false'}" for lane in range(self.lanes)])
        else:
            limit = 1 << (8 * dtype.itemsize - 1)
            text = ", ".join([f"{element} {(lane + limit) % (2 * limit) - limit}" for lane in range(self.lanes)])
        return Register(f"<{text}>", dtype, self.lanes)

    def sum_of(self, base: Number, terms: list[Term]) -> tuple[Number, int]:
        """base + sum of position * distance, added up from the outermost level inwards; lanes are left out."""
        total, level = base, 0
        for axis, distance in sorted(terms, key=lambda term: term[0].level):
            level = max(level, axis.level)
            with self.at_level(level):
                total = self.emission.add(total, self.emission.multiply(axis.base, distance))
        return total, level

    # --- evaluation ---

    def at(self, expression: Expression, index: Index) -> tuple[Register, int]:
        """An expression at an index: its value, and the level where it is known."""
        key = (id(expression), tuple([(axis.base, axis.lanes) for axis in index]))
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._evaluate(expression, index)
        return found

    def value(self, expression: Expression, index: Index | None = None) -> Register:
        """An expression at an index, by default at that of the nest: a vector, if the nest has lanes."""
        register, _ = self.at(expression, self.index_for(expression) if index is None else index)
        return register

    def index_for(self, expression: Expression) -> Index:
        """The index of the nest for a tile of its own shape, which may have other unit dimensions."""
        return self.index_of(expression, self.shape, self.index)

    def index_of(self, expression: Expression, shape: Shape, index: Index) -> Index:
        """An index into a shape, for a tile that differs in unit dimensions at most."""
        if expression.shape == shape:
            return index
        axes = iter([axis for axis, extent in zip(index, shape, strict=True) if extent != 1])
        return tuple([next(axes) if extent != 1 else FIRST for extent in expression.shape])

    def spread(self, register: Register) -> Register:
        """A value in all lanes of the innermost level."""
        if register.width or not self.lanes or not any(axis.lanes for axis in self.index):
            return register
        with self.at_level(self.depth):
            return self.builder.splat(register, self.lanes)

    def spread_lanes(self, register: Register, axis: Axis) -> Register:
        """A value in all lanes, if the axis has any."""
        if not axis.lanes or not self.lanes:
            return register
        with self.at_level(self.depth):
            return self.builder.splat(register, self.lanes)

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
            return self._stored(table, expression.dtype, expression.shape, index, "")
        if isinstance(expression, Count):
            axes = [axis for axis, extent in zip(index, expression.shape, strict=True) if extent != 1]
            return self.number(axes[0] if axes else FIRST, expression.dtype)
        if isinstance(expression, Stored):
            pointer = self.emission.buffer(expression.buffer)
            return self._stored(pointer, expression.dtype, expression.shape, index, self.emission.arena_suffix)
        assert isinstance(expression, (Viewed, Gathered))
        return self.emission.load(self, expression, index)

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
                origin = self.emission.multiply(self.emission.whole(scalar), part)
            with self.at_level(axis.level):
                found = self._moved[key] = Axis(self.emission.add(origin, axis.base), axis.lanes, axis.level)
        return found

    def _stored(self, pointer: str, dtype: DType, shape: Shape, index: Index, suffix: str) -> tuple[Register, int]:
        terms: list[Term] = [
            (axis, stride * dtype.itemsize) for axis, stride in zip(index, row_major(shape), strict=True)
        ]
        return self.load(pointer, terms, dtype, suffix)

    def guard(self, guard: Guard, shape: Shape, index: Index) -> tuple[Register, int]:
        """Which elements of an access may be touched: those the sanitizer left, all if it found nothing."""
        pointer = self.emission.buffer(guard.buffer)
        allowed, level = self._stored(pointer, BOOL, shape, index, self.emission.arena_suffix)
        with self.at_level(level):
            fine = self.builder.splat(Register(guard.fine, BOOL), allowed.width)
            return self.builder.value(f"or {allowed.typed}, {fine.name}", BOOL, allowed.width), level

    # --- memory by position ---

    def place(self, pointer: str, terms: list[Term]) -> tuple[str, Number | None, int]:
        """The pointer to the first lane, the distance of lanes in bytes (None without lanes), and the level."""
        offset, level = self.sum_of(0, terms)
        wide = [distance for axis, distance in terms if axis.lanes]
        with self.at_level(level):
            return self.emission.shifted(pointer, offset), wide[0] if wide else None, level

    def load(
        self, pointer: str, terms: list[Term], dtype: DType, suffix: str, mask: Register | None = None, level: int = 0
    ) -> tuple[Register, int]:
        """Load elements as they lie in memory: truth values are bytes there, but come as truth from scratch memory."""
        where, distance, known = self.place(pointer, terms)
        level = max(level, known)
        with self.at_level(level):
            return self.load_at(where, distance, dtype, suffix, mask), level

    def load_at(
        self, where: str, distance: Number | None, dtype: DType, suffix: str, mask: Register | None = None
    ) -> Register:
        builder = self.builder
        element = storage_type(dtype)
        size = dtype.itemsize
        if distance is None:
            text = f"load {element}, ptr {where}, align {size}{suffix}"
            loaded = self.emission.conditional(mask, element, lambda: builder.emit(text))
            return self._truth(loaded, dtype, 0)
        vector = f"<{self.lanes} x {element}>"
        if distance == size:
            if mask is None:
                loaded = builder.emit(f"load {vector}, ptr {where}, align {size}{suffix}")
            else:
                loaded = builder.call(
                    vector,
                    f"llvm.masked.load.v{self.lanes}{_suffix(element)}.p0",
                    [f"ptr {where}", f"i32 {size}", self.lane_mask(mask).typed, f"{vector} zeroinitializer"],
                    suffix,
                )
        else:
            loaded = self.gather(self._lane_pointers(where, distance), element, size, mask, suffix)
        return self._truth(loaded, dtype, self.lanes)

    def lane_mask(self, mask: Register) -> Register:
        return self.builder.splat(mask, self.lanes)

    def _lane_pointers(self, where: str, distance: Number) -> str:
        lanes = self.lane_numbers(INT64)
        if isinstance(distance, int):
            text = ", ".join([f"i64 {lane * distance}" for lane in range(self.lanes)])
            offsets = f"<{self.lanes} x i64> <{text}>"
        else:
            spread = self.builder.splat(Register(distance, INT64), self.lanes)
            offsets = f"<{self.lanes} x i64> " + self.builder.emit(f"mul {spread.typed}, {lanes.name}")
        return self.builder.emit(f"getelementptr i8, ptr {where}, {offsets}")

    def gather(self, pointers: str, element: str, size: int, mask: Register | None, suffix: str) -> str:
        """One element from each pointer of a vector."""
        vector = f"<{self.lanes} x {element}>"
        chosen = self.lane_mask(mask).name if mask is not None else "splat (i1 true)"
        return self.builder.call(
            vector,
            f"llvm.masked.gather.v{self.lanes}{_suffix(element)}.v{self.lanes}p0",
            [f"<{self.lanes} x ptr> {pointers}", f"i32 {size}", f"<{self.lanes} x i1> {chosen}",
             f"{vector} zeroinitializer"],
            suffix,
        )  # fmt: skip

    def _truth(self, loaded: str, dtype: DType, width: int) -> Register:
        if dtype != BOOL:
            return Register(loaded, dtype, width)
        zero = "zeroinitializer" if width else "0"
        bytes_type = value_type(UINT8, width)
        return self.builder.value(f"icmp ne {bytes_type} {loaded}, {zero}", BOOL, width)

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
        alignment: int | None = None,
    ) -> None:
        builder = self.builder
        dtype = register.dtype
        size = dtype.itemsize
        if distance is not None:
            register = builder.splat(register, self.lanes)
        if dtype == BOOL:
            text = f"zext {register.typed} to {value_type(UINT8, register.width)}"
            register = builder.value(text, UINT8, register.width)
        if distance is None:
            text = f"store {register.typed}, ptr {where}, align {size}{suffix}"
            self.emission.conditional(mask, "", lambda: builder.do(text))
        elif distance == size:
            if mask is None:
                builder.do(f"store {register.typed}, ptr {where}, align {alignment or size}{suffix}")
                return
            builder.call(
                "void",
                f"llvm.masked.store.v{self.lanes}{_suffix(scalar_type(register.dtype))}.p0",
                [register.typed, f"ptr {where}", f"i32 {size}", self.lane_mask(mask).typed],
                suffix,
            )
        else:
            self.scatter(self._lane_pointers(where, distance), register, size, mask, suffix)

    def scatter(self, pointers: str, register: Register, size: int, mask: Register | None, suffix: str) -> None:
        """One element to each pointer of a vector, in order of lanes."""
        chosen = self.lane_mask(mask).name if mask is not None else "splat (i1 true)"
        self.builder.call(
            "void",
            f"llvm.masked.scatter.v{self.lanes}{_suffix(scalar_type(register.dtype))}.v{self.lanes}p0",
            [register.typed, f"<{self.lanes} x ptr> {pointers}", f"i32 {size}", f"<{self.lanes} x i1> {chosen}"],
            suffix,
        )

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
            register = self.emission.converted(register, buffer.dtype)
        size = buffer.dtype.itemsize
        strides = row_major(whole)
        terms: list[Term] = [(axis, stride * size) for axis, stride in zip(index, strides, strict=True)]
        pointer = self.emission.buffer(buffer)
        if origin is not None:
            with self.at_level(0):
                start: Number = 0
                for place, stride in zip(origin, strides, strict=True):
                    start = self.emission.add(start, self.emission.multiply(place, stride * size))
                pointer = self.emission.shifted(pointer, start)
        self.store(pointer, terms, register, self.emission.arena_suffix)


def _suffix(element: str) -> str:
    """How an intrinsic's name spells an element type."""
    return {"half": "f16", "float": "f32", "double": "f64"}.get(element, element)


def lanes_for(vector_bytes: int, dtypes: list[Any]) -> int:
    """How many lanes suit a nest: those of its widest memory element, four bytes at least."""
    widest = max([dtype.itemsize for dtype in dtypes], default=4)
    return vector_bytes // max(widest, 4)
