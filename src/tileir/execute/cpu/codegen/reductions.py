"""`reduce` and `scan`, in the order that the interpreter documents (`tileir.execute.interpreter.aggregates`).

Along the dimension of the lanes, with a body that works on each element alone, a reduction takes its elements straight
from expressions: 64 virtual lanes are as many vectors as it takes, then the tree halves vectors, then lanes.  In every
other case the sources lie in buffers, and loops over rows, columns and elements follow the documented order literally.

In the tree item j + half is the first argument and item j the second.  Lanes of one vector are halved by shuffles that
wait for each other.  Where there are several rows, their vectors go through the last steps together: each step
interleaves the halves of two vectors, so that the rows share the instructions and the result is a vector with a lane
for each row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, cast

import numpy

from tileir.dialect.ops import ADDF, DIVF, EXP, EXP2, MAXF, MAXIMUMF, MINF, MINIMUMF, MULF, SCAN, SELECT, SUBF
from tileir.execute.cpu.codegen.context import Emission
from tileir.execute.cpu.codegen.edge_versions import lanes_of, versions
from tileir.execute.cpu.codegen.loop_nest import FIRST, Axis, Index, NestEmitter
from tileir.execute.cpu.ir.expressions import (
    BufferRead,
    Elementwise,
    Expression,
    Mapped,
    PointerLoad,
    Table,
    is_along_lanes,
    nodes,
    row_major,
)
from tileir.execute.cpu.ir.statements import Reduce, StoreBuffer, works_on_vectors
from tileir.execute.cpu.vector import nans
from tileir.execute.cpu.vector.builder import Builder, Number
from tileir.execute.cpu.vector.casting import DOUBLE, SINGLE, from_storage, is_machine_float, to_storage
from tileir.execute.cpu.vector.llvm import Register, storage_type
from tileir.execute.cpu.vector.parts import shuffled
from tileir.execute.dtypes import DType
from tileir.execute.interpreter.aggregates import LANES

Registers = list[Register]
Combine = Callable[[Registers, Registers], Registers]


@dataclass(eq=False, repr=False, slots=True)
class Combination:
    """The body of a reduction: elements are prepared, which may give them other dtypes, combined, and finished."""

    combine: Combine
    dtypes: list[DType]
    prepare: Callable[[Register], Register] = lambda register: register
    finish: Callable[[Registers], Registers] = lambda registers: registers


def emit_reduce(emission: Emission, statement: Reduce) -> None:
    body = _extreme(emission, statement) or _combination(emission, statement)
    if statement.operation.declaration is SCAN:
        _emit_scan(emission, statement, _combination(emission, statement).combine)
    elif is_along_lanes(statement.shape, statement.axis) and works_on_vectors(statement.body):
        _emit_rows(emission, statement, body)
    else:
        _emit_columns(emission, statement, body)
    for result, target in zip(statement.operation.results, statement.targets, strict=True):
        if target is None:
            emission.take(result)


def _combination(emission: Emission, statement: Reduce) -> Combination:
    """The body as a function of its first and its second arguments."""
    arguments = statement.operation.regions[0].blocks[0].arguments

    def combine(first: Registers, second: Registers) -> Registers:
        emission.scalars.update(zip(arguments[0::2], first, strict=True))
        emission.scalars.update(zip(arguments[1::2], second, strict=True))
        emission.statements(statement.body)
        assert emission.yielded is not None
        return [emission.builder.splat(register, first[0].width) for register in emission.yielded]

    return Combination(combine, [source.dtype for source in statement.sources])


_EXTREMES: Final = {MAXF: (True, False), MINF: (False, False), MAXIMUMF: (True, True), MINIMUMF: (False, True)}
"""Whether it is a maximum, and whether it propagates NaNs."""
_QUIETING: Final = frozenset({ADDF, SUBF, MULF, DIVF, EXP, EXP2})


def _extreme(emission: Emission, statement: Reduce) -> Combination | None:
    """A body that is one maxf or minf: which NaN it is, and narrow types, wait for the end."""
    block = statement.operation.regions[0].blocks[0]
    operations = list(block)
    first = operations[0]
    extreme = _EXTREMES.get(first.declaration)
    if emission.sanitize or len(operations) != 2 or extreme is None or "flush_to_zero" in first.attributes:
        return None
    if set(first.operands) != set(block.arguments) or operations[1].operands[0] is not first.results[0]:
        return None
    largest, propagates = extreme
    propagates = propagates or "propagate_nan" in first.attributes
    builder = emission.builder
    dtype = statement.sources[0].dtype
    quiet = _is_quiet(statement.sources[0])
    return Combination(
        lambda left, right: [nans.joined(builder, largest, propagates, left[0], right[0])],
        [dtype if is_machine_float(dtype) else SINGLE],
        lambda register: nans.ready(builder, propagates, register, quiet),
        lambda registers: [nans.canonical(builder, registers[0], dtype)],
    )


def _is_quiet(expression: Expression) -> bool:
    """Whether the NaNs of an expression are known to be quiet: arithmetic makes them so."""
    if isinstance(expression, Mapped):
        return _is_quiet(expression.source)
    if isinstance(expression, Table):
        return not bool(numpy.isnan(expression.array).any())
    if not isinstance(expression, Elementwise):
        return False
    if expression.operation.declaration is SELECT:
        return all(_is_quiet(chosen) for chosen in expression.operands[1:])
    return expression.operation.declaration in _QUIETING


# --- along the lanes ---

_ABREAST: Final = 4
"""How many vectors go through a function side by side: two units are kept busy by eight sequences of steps of four
cycles, and vectors of f32 are two of f64 there."""
_FEWEST_TOGETHER: Final = 4
"""Lanes from which on rows go through the last steps of the tree together."""
_LATENT: Final = frozenset({EXP, EXP2})
"""Functions whose steps wait for each other, with few values in between."""


def _emit_rows(emission: Emission, statement: Reduce, body: Combination) -> None:
    combine = body.combine
    shape, axis = statement.shape, statement.axis
    extent = shape[axis]
    virtual = min(extent, LANES)
    roots = statement.roots
    vector = min(lanes_of(emission, roots, []), virtual)
    lanes = _abreast(emission, roots, vector, virtual)
    # The last steps of the tree go together for some rows.
    rows = max([number for number in range(axis) if shape[number] > 1], default=-1)
    together = min(shape[rows], vector) if rows >= 0 and vector >= _FEWEST_TOGETHER else 1
    builder = emission.builder
    waiting: RowVectors | None = None

    def emit(masked: bool, origin: list[Number]) -> None:
        nonlocal waiting
        nest = NestEmitter(emission, (), lanes, masked)
        outer: list[Axis] = []
        row = FIRST
        for number, size in enumerate(shape):
            if number == axis or size == 1:
                outer.append(FIRST)
            elif number == rows and together > 1:
                row = nest.open_loop(together)
                with nest.at_level(row.level):
                    outer.append(Axis(builder.add(origin[number], row.base), False, row.level))
            elif together > 1:
                outer.append(Axis(origin[number], False, 0))
            else:
                outer.append(nest.open_loop(size))

        def items(base: Number, level: int) -> list[Registers]:
            """The elements of the virtual lanes from a position on: by vector, then by operand."""
            found = []
            for start in range(0, virtual, lanes):
                nest.offset = start
                with nest.at_level(level):
                    here = Axis(builder.add(base, start), True, level)
                index = (*outer[:axis], here, *outer[axis + 1 :])
                values = [nest.at(source, nest.index_of(source, shape, index))[0] for source in statement.sources]
                with nest.at_level(level):
                    values = [body.prepare(builder.splat(register, lanes)) for register in values]
                for store in statement.keeps:
                    assert isinstance(store, StoreBuffer)
                    kept = store.expression
                    nest.keep(kept, store.buffer, index=nest.index_of(kept, shape, index))
                found.append(values)
            return found

        level = nest.depth
        vectors = items(0, level)
        if extent > virtual:
            position = nest.open_loop(extent, virtual, start=virtual)
            loop = nest.innermost
            olds = [[loop.carry_register(register) for register in each] for each in vectors]
            news = items(position.base, nest.depth)
            with nest.at_level(nest.depth):
                # After the loop the registers of its last iteration count.
                vectors = [combine(new, old) for new, old in zip(news, olds, strict=True)]
            for old, result in zip(olds, vectors, strict=True):
                for value, following in zip(old, result, strict=True):
                    loop.becomes(value.name, following.name)
        with nest.at_level(level, after=extent > virtual):
            narrow = halved(builder, vectors, combine, vector if together > 1 else 1)
            if together == 1:
                _put_results(emission, nest, statement, body.finish(narrow), tuple(outer))
            else:
                waiting = RowVectors(emission, narrow, together)
                waiting.put(row.base, narrow)
        nest.close()

    def rows_from(origin: list[Number]) -> None:
        """Bring some rows to a vector each, from an index on, and then together to the end."""
        number = len(origin)
        if number < axis:
            step = together if number == rows else 1
            builder.count(0, shape[number], step, lambda base: rows_from([*origin, base]))
            return
        origin = [*origin, *[0] * (len(shape) - axis)]
        versions(emission, roots, [], lambda masked: emit(masked, origin), statement)
        assert waiting is not None
        nest = NestEmitter(emission, (), lanes, False)
        with nest.at_level(0):
            single = body.finish(waiting.halved(combine))
            _put_results(emission, nest, statement, single, tuple([Axis(base, False, 0) for base in origin]))
        nest.close()

    if together > 1:
        rows_from([])
    else:
        versions(emission, roots, [], lambda masked: emit(masked, []), statement)


def _abreast(emission: Emission, roots: list[Expression], vector: int, virtual: int) -> int:
    """The lanes of a loop nest that computes functions: some vectors go through a function side by side.

    Each step of a function waits for the one before; a vector alone would leave the machine idle for most of that time.
    Fast functions are short enough for the machine to see the next ones.
    """
    if emission.options.fast:
        return vector
    found = list(nodes(roots))
    waits = any(isinstance(node, Elementwise) and node.operation.declaration in _LATENT for node in found)
    if not waits or any(isinstance(node, PointerLoad) or node.dtype == DOUBLE for node in found):
        return vector
    return min(_ABREAST * vector, virtual)


def _put_results(emission: Emission, nest: NestEmitter, statement: Reduce, registers: Registers, outer: Index) -> None:
    """Store the results of a row, or those of several, which are lanes."""
    builder = emission.builder
    axes = [index for number, index in enumerate(outer) if number != statement.axis]
    shape = tuple([extent for number, extent in enumerate(statement.shape) if number != statement.axis])
    for result, target, register in zip(statement.operation.results, statement.targets, registers, strict=True):
        if target is None:
            emission.put(result, register)
            continue
        offset: Number = 0
        for index, stride in zip(axes, row_major(shape), strict=True):
            offset = builder.add(offset, builder.multiply(index.base, stride * register.dtype.itemsize))
        where = builder.moved(emission.buffer(target), offset)
        nest.store_at(where, None, register, emission.scratch_suffix)


# --- the tree ---


class RowVectors:
    """A vector of each of some rows, in memory; rows are a power of two, and no more than lanes."""

    def __init__(self, emission: Emission, like: Registers, rows: int) -> None:
        self._builder: Builder = emission.builder
        self._like: Registers = like
        self._rows: int = rows
        self._sizes: list[int] = [register.width * register.dtype.itemsize for register in like]
        self._pointers: list[str] = [
            emission.frame.stack("i8", 2 * rows * size, name=f"rows{number}.{rows * size}")
            for number, size in enumerate(self._sizes)
        ]

    def put(self, row: Number, registers: Registers) -> None:
        builder = self._builder
        for pointer, size, register in zip(self._pointers, self._sizes, registers, strict=True):
            where = builder.moved(pointer, builder.multiply(row, size))
            builder.do(f"store {to_storage(builder, register).typed}, ptr {where}, align {register.dtype.itemsize}")

    def _taken(self, row: Number) -> Registers:
        builder = self._builder
        found = []
        for pointer, size, like in zip(self._pointers, self._sizes, self._like, strict=True):
            where = builder.moved(pointer, builder.multiply(row, size))
            text = f"load <{like.width} x {storage_type(like.dtype)}>, ptr {where}, align {like.dtype.itemsize}"
            found.append(from_storage(builder, builder.emit(text), like.dtype, like.width))
        return found

    def halved(self, combine: Combine) -> Registers:
        """A vector with a lane for each row.

        Two vectors become one behind the last, until there is one.  All take the same instructions, since what is to
        be combined next is always in the two halves of a vector: so a loop does it, which is as quick as one long
        piece of code, and compiled in a fraction of the time.
        """
        builder, rows, width = self._builder, self._rows, self._like[0].width
        low = [lane // 2 + (width if lane % 2 else 0) for lane in range(width)]
        high = [lane + width // 2 for lane in low]

        def pair(number: Number) -> None:
            first = builder.multiply(number, 2)
            both = list(zip(self._taken(first), self._taken(builder.add(first, 1)), strict=True))
            # The upper halves of two vectors, interleaved, and the lower ones.
            halves = [[shuffled(builder, one, other, lanes) for one, other in both] for lanes in (high, low)]
            self.put(builder.add(number, rows), combine(halves[0], halves[1]))

        builder.count(0, rows - 1, 1, pair)
        found = halved(builder, [self._taken(2 * rows - 2)], combine, rows)
        # Each step has moved the next bit of the numbers of rows below those of the steps before.
        bits = rows.bit_length() - 1
        order = [sum([(row >> bit & 1) << (bits - 1 - bit) for bit in range(bits)]) for row in range(rows)]
        return [shuffled(builder, register, None, order) for register in found]


def halved(builder: Builder, vectors: list[Registers], combine: Combine, lanes: int = 1) -> Registers:
    """One vector of so many lanes of several vectors; by vector, then by operand."""
    while len(vectors) > 1:
        half = len(vectors) // 2
        vectors = [combine(high, low) for high, low in zip(vectors[half:], vectors[:half], strict=True)]
    (registers,) = vectors
    width = registers[0].width
    while width > lanes:
        width //= 2
        high = [_lanes_from(builder, register, width, width) for register in registers]
        low = [_lanes_from(builder, register, 0, width) for register in registers]
        registers = combine(high, low)
    return registers


def _lanes_from(builder: Builder, register: Register, start: int, count: int) -> Register:
    """Some neighboring lanes of a vector; a single one is a scalar."""
    if not register.width:
        return register
    if count == 1:
        return builder.value(f"extractelement {register.typed}, i64 {start}", register.dtype)
    return shuffled(builder, register, None, range(start, start + count))


# --- over buffers ---


class _Rows:
    """The elements of buffers along one dimension, for one position of the others; vectors along the last."""

    def __init__(self, emission: Emission, statement: Reduce) -> None:
        self.emission: Emission = emission
        self.builder: Builder = emission.builder
        self.statement: Reduce = statement
        shape, axis = statement.shape, statement.axis
        strides = row_major(shape)
        self.step: int = strides[axis]
        others = [number for number, extent in enumerate(shape) if number != axis and extent > 1]
        self.lanes: int = 0
        if works_on_vectors(statement.body) and others and not is_along_lanes(shape, axis):
            self.lanes = min(lanes_of(emission, statement.roots, []), shape[others[-1]])
        self.width: int = max(self.lanes, 1)
        kept = [number for number in range(len(shape)) if number != axis]
        results = dict(zip(kept, row_major(tuple([shape[number] for number in kept])), strict=True))
        self.loops: list[tuple[int, int, int, int]] = [
            (shape[number], self.width if number == others[-1] else 1, strides[number], results[number])
            for number in others
        ]
        """By dimension: extent, step, stride in the sources and in reduced results."""

    def each(self, body: Callable[[Number, Number], None]) -> None:
        """Visit all positions; the body gets the offset in the sources and that in reduced results."""
        builder = self.builder

        def descend(depth: int, source: Number, target: Number) -> None:
            if depth == len(self.loops):
                body(source, target)
                return
            extent, step, stride, result = self.loops[depth]

            def iteration(position: Number) -> None:
                inner = builder.add(source, builder.multiply(position, stride))
                descend(depth + 1, inner, builder.add(target, builder.multiply(position, result)))

            builder.count(0, extent, step, iteration)

        descend(0, 0, 0)

    def sources(self, offset: Number) -> Registers:
        """An element of each source, a vector where there are lanes."""
        found = []
        for each in self.statement.sources:
            source = cast(BufferRead, each)
            found.append(self.load(self.emission.buffer(source.buffer), source.dtype, offset))
        return found

    def load(self, pointer: str, dtype: DType, offset: Number) -> Register:
        builder, element = self.builder, storage_type(dtype)
        where = builder.moved(pointer, builder.multiply(offset, dtype.itemsize))
        type = f"<{self.lanes} x {element}>" if self.lanes else element
        loaded = builder.emit(f"load {type}, ptr {where}, align {dtype.itemsize}{self.emission.scratch_suffix}")
        return from_storage(builder, loaded, dtype, self.lanes)

    def store(self, pointer: str, register: Register, offset: Number, suffix: str) -> None:
        builder = self.builder
        where = builder.moved(pointer, builder.multiply(offset, register.dtype.itemsize))
        register = builder.splat(register, self.lanes)
        text = to_storage(builder, register).typed
        builder.do(f"store {text}, ptr {where}, align {register.dtype.itemsize}{suffix}")


class _Partials:
    """Partial results on the stack, `count` vectors or elements of each operand."""

    def __init__(self, rows: _Rows, dtypes: list[DType], count: int) -> None:
        self.rows: _Rows = rows
        self.dtypes: list[DType] = dtypes
        frame = rows.emission.frame
        self.pointers: list[str] = [frame.stack(storage_type(dtype), count * rows.width) for dtype in dtypes]

    def load(self, position: Number) -> Registers:
        return [
            self.rows.load(pointer, dtype, self.rows.builder.multiply(position, self.rows.width))
            for pointer, dtype in zip(self.pointers, self.dtypes, strict=True)
        ]

    def store(self, registers: Registers, position: Number) -> None:
        for pointer, register in zip(self.pointers, registers, strict=True):
            self.rows.store(pointer, register, self.rows.builder.multiply(position, self.rows.width), "")


def _emit_columns(emission: Emission, statement: Reduce, body: Combination) -> None:
    builder, combine = emission.builder, body.combine
    rows = _Rows(emission, statement)
    extent = statement.shape[statement.axis]
    virtual = min(extent, LANES)
    partials = _Partials(rows, body.dtypes, virtual)

    def one(source: Number, target: Number) -> None:
        def item(position: Number) -> Registers:
            here = builder.add(source, builder.multiply(position, rows.step))
            return [body.prepare(register) for register in rows.sources(here)]

        builder.count(0, virtual, 1, lambda position: partials.store(item(position), position))

        def accumulate(position: Number) -> None:
            lane = builder.emit(f"and i64 {position}, {virtual - 1}")
            partials.store(combine(item(position), partials.load(lane)), lane)

        if extent > virtual:
            builder.count(virtual, extent, 1, accumulate)
        half = virtual // 2
        while half:

            def halve(position: Number, middle: int = half) -> None:
                high = partials.load(builder.add(position, middle))
                partials.store(combine(high, partials.load(position)), position)

            builder.count(0, half, 1, halve)
            half //= 2
        final = body.finish(partials.load(0))
        for register, result, buffer in zip(final, statement.operation.results, statement.targets, strict=True):
            if buffer is None:
                emission.put(result, register)
            else:
                rows.store(emission.buffer(buffer), register, target, emission.scratch_suffix)

    rows.each(one)


def _emit_scan(emission: Emission, statement: Reduce, combine: Combine) -> None:
    builder = emission.builder
    rows = _Rows(emission, statement)
    extent = statement.shape[statement.axis]
    partials = _Partials(rows, [source.dtype for source in statement.sources], 1)

    def one(source: Number, _target: Number) -> None:
        def offset(position: Number) -> Number:
            number = builder.subtract(extent - 1, position) if statement.operation.reverse else position
            return builder.add(source, builder.multiply(number, rows.step))

        def put(registers: Registers, here: Number) -> None:
            for pointer, register, buffer in zip(partials.pointers, registers, statement.targets, strict=True):
                assert buffer is not None
                rows.store(emission.buffer(buffer), register, here, emission.scratch_suffix)
                rows.store(pointer, register, 0, "")

        first = offset(0)
        put(rows.sources(first), first)

        def iteration(position: Number) -> None:
            here = offset(position)
            values = rows.sources(here)
            put(combine(partials.load(0), values), here)

        builder.count(1, extent, 1, iteration)

    rows.each(one)
