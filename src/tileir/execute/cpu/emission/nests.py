"""Nests: loops over the elements of a shape, vectors along the last dimension.

Code goes to levels: level 0 before all loops, level n into the body of the n-th.  What does not depend on the index of
an inner loop is emitted at the level of the outermost loop it depends on, so nothing invariant is computed twice.

An expression is evaluated at an index: one `Axis` per dimension.  The axis of the innermost loop has lanes: it stands
for `lanes` successive positions, and what depends on it is a vector.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final

from tileir.execute.cpu.emission.context import Emission, Guard
from tileir.execute.cpu.loops.expressions import Expression, Shape, computed_by, row_major
from tileir.execute.cpu.vector.builder import Builder, CountedLoop, Number
from tileir.execute.cpu.vector.casting import BOOL, INT64, from_storage, to_storage
from tileir.execute.cpu.vector.llvm import (
    Register,
    literal,
    literal_text,
    scalar_type,
    storage_type,
    suffix_of,
    wrapped,
)
from tileir.execute.dtypes import DType


@dataclass(eq=False, repr=False, slots=True)
class Axis:
    """The index along one dimension: where it is, whether it has lanes, and the level at which it is known."""

    base: Number
    lanes: bool
    level: int


FIRST: Final = Axis(0, False, 0)


@dataclass(eq=False, repr=False, slots=True)
class Stretch:
    """A part of each row of a nest: the positions where its vectors begin.  `streams` says how it is stored.

    What streams begins at an address that suits whole vectors.  The rest is the two ends of a row, vectors of which
    only the lanes before the `head` are stored at the beginning, and only those after it at the end.
    """

    start: Number
    end: int
    step: int
    head: str
    streams: bool


Index = tuple[Axis, ...]
Term = tuple[Axis, Number]


def row_major_terms(index: Index, shape: Shape, size: int = 1) -> list[Term]:
    """The terms of a place in row-major order, for elements of so many bytes."""
    return [(axis, stride * size) for axis, stride in zip(index, row_major(shape), strict=True)]


class LoopNest(ABC):
    """One nest being emitted.  `masked` is the version for tiles that reach over the edge of their tensor."""

    def __init__(
        self, emission: Emission, shape: Shape, lanes: int, masked: bool, stretch: Stretch | None = None
    ) -> None:
        self.emission: Emission = emission
        self.builder: Builder = emission.builder
        self.masked: bool = masked
        self.shape: Shape = shape
        self.levels: list[list[str]] = [[]]
        # What follows an inner loop in the body of an outer one.
        self.after: list[list[str]] = [[]]
        self._loops: list[CountedLoop] = []
        self._known: dict[tuple[int, tuple[tuple[Number, bool], ...]], tuple[Register, int]] = {}
        self._products: dict[tuple[int, Number, Number], Number] = {}
        """Distances of positions that are known, by level."""
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
        loop = CountedLoop(self.builder, start, extent, step)
        self._loops.append(loop)
        self.levels.append([])
        self.after.append([])
        return Axis(loop.index, lanes, len(self._loops))

    @property
    def innermost(self) -> CountedLoop:
        """The loop that was gone into last."""
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
        if not number.name.startswith("%"):
            return literal(wrapped(int(number.name), 1 if dtype == BOOL else 8 * dtype.itemsize), dtype)
        return self.builder.value(f"trunc i64 {number.name} to {scalar_type(dtype)}", dtype)

    def lane_numbers(self, dtype: DType) -> Register:
        """0, 1, 2 and on, one in each lane."""
        element = scalar_type(dtype)
        width = 1 if dtype == BOOL else 8 * dtype.itemsize
        numbers = [literal_text(wrapped(lane, width), dtype) for lane in range(self.lanes)]
        return Register(f"<{', '.join([f'{element} {number}' for number in numbers])}>", dtype, self.lanes)

    def sum_of(self, base: Number, terms: list[Term]) -> tuple[Number, int]:
        """base + sum of position * distance, added up from the outermost level inwards; lanes are left out."""
        total, level = base, 0
        for axis, distance in sorted(terms, key=lambda term: term[0].level):
            level = max(level, axis.level)
            with self.at_level(level):
                key = (level, axis.base, distance)
                product = self._products.get(key)
                if product is None:
                    product = self._products[key] = self.builder.multiply(axis.base, distance)
                total = self.builder.add(total, product)
        return total, level

    # --- evaluation ---

    def at(self, expression: Expression, index: Index) -> tuple[Register, int]:
        """An expression at an index: its value, and the level where it is known."""
        key = (id(expression), tuple([(axis.base, axis.lanes) for axis in index]))
        found = self._known.get(key)
        if found is None:
            provenance = self.emission.provenance
            if provenance is None:
                found = self._evaluate(expression, index)
            else:
                with provenance.working_for(computed_by(expression)):
                    found = self._evaluate(expression, index)
            self._known[key] = found
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

    def spread_lanes(self, register: Register, axis: Axis) -> Register:
        """A value in all lanes, if the axis has any."""
        if not axis.lanes or not self.lanes:
            return register
        with self.at_level(self.depth):
            return self.builder.splat(register, self.lanes)

    @abstractmethod
    def _evaluate(self, expression: Expression, index: Index) -> tuple[Register, int]:
        """An expression at an index, for the first time."""

    def stored(self, pointer: str, dtype: DType, shape: Shape, index: Index, suffix: str) -> tuple[Register, int]:
        return self.load(pointer, row_major_terms(index, shape, dtype.itemsize), dtype, suffix)

    def guard(self, guard: Guard, shape: Shape, index: Index) -> tuple[Register, int]:
        """Which elements of an access may be touched: those the sanitizer left, all if it found nothing."""
        pointer = self.emission.buffer(guard.buffer)
        allowed, level = self.stored(pointer, BOOL, shape, index, self.emission.arena_suffix)
        with self.at_level(level):
            fine = self.builder.splat(Register(guard.fine, BOOL), allowed.width)
            return self.builder.value(f"or {allowed.typed}, {fine.name}", BOOL, allowed.width), level

    # --- memory by position ---

    def place(self, pointer: str, terms: list[Term]) -> tuple[str, Number | None, int]:
        """The pointer to the first lane, the distance of lanes in bytes (None without lanes), and the level."""
        offset, level = self.sum_of(0, terms)
        wide = [distance for axis, distance in terms if axis.lanes]
        with self.at_level(level):
            return self.builder.moved(pointer, offset), wide[0] if wide else None, level

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
            loaded = self.builder.where(mask, element, lambda: builder.emit(text))
            return from_storage(builder, loaded, dtype)
        vector = f"<{self.lanes} x {element}>"
        if distance == size:
            if mask is None:
                loaded = builder.emit(f"load {vector}, ptr {where}, align {size}{suffix}")
            else:
                loaded = builder.call(
                    vector,
                    f"llvm.masked.load.{suffix_of(element, self.lanes)}.p0",
                    [f"ptr {where}", f"i32 {size}", self.lane_mask(mask).typed, f"{vector} zeroinitializer"],
                    suffix,
                )
        else:
            loaded = self.gather(self._lane_pointers(where, distance), element, size, mask, suffix)
        return from_storage(builder, loaded, dtype, self.lanes)

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
            f"llvm.masked.gather.{suffix_of(element, self.lanes)}.v{self.lanes}p0",
            [f"<{self.lanes} x ptr> {pointers}", f"i32 {size}", f"<{self.lanes} x i1> {chosen}",
             f"{vector} zeroinitializer"],
            suffix,
        )  # fmt: skip

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
        register = to_storage(builder, register)
        if distance is None:
            text = f"store {register.typed}, ptr {where}, align {size}{suffix}"
            self.builder.where(mask, "", lambda: builder.do(text))
        elif distance == size:
            if mask is None:
                builder.do(f"store {register.typed}, ptr {where}, align {alignment or size}{suffix}")
                return
            builder.call(
                "void",
                f"llvm.masked.store.{suffix_of(scalar_type(register.dtype), self.lanes)}.p0",
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
            f"llvm.masked.scatter.{suffix_of(scalar_type(register.dtype), self.lanes)}.v{self.lanes}p0",
            [register.typed, f"<{self.lanes} x ptr> {pointers}", f"i32 {size}", f"<{self.lanes} x i1> {chosen}"],
            suffix,
        )


def lanes_for(vector_bytes: int, dtypes: list[Any]) -> int:
    """How many lanes suit a nest: those of its widest memory element, four bytes at least."""
    widest = max([dtype.itemsize for dtype in dtypes], default=4)
    return vector_bytes // max(widest, 4)
