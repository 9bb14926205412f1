"""`reduce` and `scan`, in the order that the interpreter documents (`tileir.execute.interpreter.control_flow`).

Along the dimension of the lanes, with a body that works on each element alone, a reduction takes its elements straight
from expressions: 64 virtual lanes are as many vectors as it takes, then the tree halves vectors, then lanes.  In every
other case the sources lie in buffers, and loops over rows, columns and elements follow the documented order literally.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, cast

import numpy

from tileir.dialect.ops import ADDF, DIVF, EXP, EXP2, MAXF, MAXIMUMF, MINF, MINIMUMF, MULF, SCAN, SELECT, SUBF
from tileir.execute.cpu.emission.context import Emission
from tileir.execute.cpu.emission.evaluation import NestEmission
from tileir.execute.cpu.emission.halving import Combine, Registers, RowVectors, halved
from tileir.execute.cpu.emission.nests import FIRST, Axis, Index
from tileir.execute.cpu.emission.versions import lanes_of, versions
from tileir.execute.cpu.loops.expressions import (
    Applied,
    Expression,
    Gathered,
    Mapped,
    Stored,
    Table,
    is_along_lanes,
    nodes,
    row_major,
)
from tileir.execute.cpu.loops.sinks import StoreBuffer
from tileir.execute.cpu.loops.statements import Reduce, works_on_vectors
from tileir.execute.cpu.vector import nans
from tileir.execute.cpu.vector.builder import Number
from tileir.execute.cpu.vector.casting import DOUBLE, SINGLE, from_storage, is_machine_float, to_storage
from tileir.execute.cpu.vector.llvm import Register, storage_type
from tileir.execute.dtypes import DType
from tileir.execute.interpreter.control_flow import LANES


@dataclass(eq=False, repr=False, slots=True)
class Combination:
    """The body of a reduction: elements are made ready, which may give them other dtypes, combined, and
    made the result."""

    combine: Combine
    dtypes: list[DType]
    ready: Callable[[Register], Register]
    finish: Callable[[Registers], Registers]


def emit_reduce(emission: Emission, statement: Reduce) -> None:
    combine = _combination(emission, statement)
    if statement.operation.declaration is SCAN:
        _emit_scan(emission, statement, combine)
    elif is_along_lanes(statement.shape, statement.axis) and works_on_vectors(statement.body):
        _emit_rows(emission, statement, _extreme(emission, statement) or _plain(statement, combine))
    else:
        _emit_columns(emission, statement, _extreme(emission, statement) or _plain(statement, combine))
    for result, target in zip(statement.operation.results, statement.targets, strict=True):
        if target is None:
            emission.take(result)


def _combination(emission: Emission, statement: Reduce) -> Combine:
    """The body as a function of its first and its second arguments."""
    arguments = statement.operation.regions[0].blocks[0].arguments

    def combine(first: Registers, second: Registers) -> Registers:
        for argument, register in zip(arguments[0::2], first, strict=True):
            emission.scalars[argument] = register
        for argument, register in zip(arguments[1::2], second, strict=True):
            emission.scalars[argument] = register
        width = first[0].width
        emission.statements(statement.body)
        assert emission.yielded is not None
        return [emission.builder.splat(register, width) for register in emission.yielded]

    return combine


def _plain(statement: Reduce, combine: Combine) -> Combination:
    dtypes = [source.dtype for source in statement.sources]
    return Combination(combine, dtypes, lambda register: register, lambda registers: registers)


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


_EXTREMES: Final = {MAXF: (True, False), MINF: (False, False), MAXIMUMF: (True, True), MINIMUMF: (False, True)}


def _is_quiet(expression: Expression) -> bool:
    """Whether the NaNs of an expression are seen to be quiet: arithmetic makes them so."""
    if isinstance(expression, Mapped):
        return _is_quiet(expression.source)
    if isinstance(expression, Table):
        return not bool(numpy.isnan(expression.array).any())
    if not isinstance(expression, Applied):
        return False
    if expression.operation.declaration is SELECT:
        return all(_is_quiet(chosen) for chosen in expression.arguments[1:])
    return expression.operation.declaration in _QUIETING


_QUIETING: Final = frozenset({ADDF, SUBF, MULF, DIVF, EXP, EXP2})


# --- along the lanes ---

_ABREAST: Final = 4
"""How many vectors go through a function side by side: two units are kept busy by eight chains of steps of four cycles,
and vectors of f32 are two of f64 there."""
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
    lanes = _abreast(emission, statement, vector, virtual)
    # The last steps of the tree go together for some rows.
    rows = max([place for place in range(axis) if shape[place] > 1], default=-1)
    together = min(shape[rows], vector) if rows >= 0 and vector >= _FEWEST_TOGETHER else 1
    builder = emission.builder
    waiting: RowVectors | None = None

    def emit(masked: bool, origin: list[Number]) -> None:
        nonlocal waiting
        nest = NestEmission(emission, (), lanes, masked)
        outer: list[Axis] = []
        row = FIRST
        for place, size in enumerate(shape):
            if place == axis or size == 1:
                outer.append(FIRST)
            elif place == rows and together > 1:
                row = nest.open_loop(together)
                with nest.at_level(row.level):
                    outer.append(Axis(builder.add(origin[place], row.base), False, row.level))
            elif together > 1:
                outer.append(Axis(origin[place], False, 0))
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
                    values = [body.ready(builder.splat(register, lanes)) for register in values]
                for sink in statement.keeps:
                    assert isinstance(sink, StoreBuffer)
                    kept, place = sink.expression, nest.index_of(sink.expression, shape, index)
                    nest.keep(kept, sink.buffer, None, kept.shape, place)
                found.append(values)
            return found

        level = nest.depth
        vectors = items(0, level)
        if extent > virtual:
            position = nest.open_loop(extent, virtual, start=virtual)
            inner = nest.depth
            loop = nest.innermost
            olds = [[loop.carry_register(register) for register in vector] for vector in vectors]
            news = items(position.base, inner)
            with nest.at_level(inner):
                results = [combine(new, old) for new, old in zip(news, olds, strict=True)]
            for old, result in zip(olds, results, strict=True):
                for value, following in zip(old, result, strict=True):
                    loop.becomes(value.name, following.name)
            # After the loop the registers of its last turn count.
            vectors = results
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
        place = len(origin)
        if place == axis:
            origin = [*origin, *[0] * (len(shape) - axis)]
        elif place < axis:
            step = together if place == rows else 1
            builder.count(0, shape[place], step, lambda base: rows_from([*origin, base]))
            return
        versions(emission, roots, [], lambda masked: emit(masked, origin), statement)
        assert waiting is not None
        nest = NestEmission(emission, (), lanes, False)
        with nest.at_level(0):
            single = body.finish(waiting.halved(combine))
            _put_results(emission, nest, statement, single, tuple([Axis(base, False, 0) for base in origin]))
        nest.close()

    if together > 1:
        rows_from([])
    else:
        versions(emission, roots, [], lambda masked: emit(masked, []), statement)


def _abreast(emission: Emission, statement: Reduce, vector: int, virtual: int) -> int:
    """The lanes of a nest that computes functions: some vectors go through a function side by side.

    Each step of a function waits for the one before; a vector alone would leave the machine idle for most of that time.
    Fast functions are short enough for the machine to see the next ones.
    """
    if emission.options.fast:
        return vector
    found = list(nodes(statement.roots))
    waits = any(isinstance(node, Applied) and node.operation.declaration in _LATENT for node in found)
    if not waits or any(isinstance(node, Gathered) or node.dtype == DOUBLE for node in found):
        return vector
    return min(_ABREAST * vector, virtual)


def _put_results(emission: Emission, nest: NestEmission, statement: Reduce, registers: Registers, outer: Index) -> None:
    """Store the results of a row, or those of several, which are lanes."""
    builder = emission.builder
    axes = [index for place, index in enumerate(outer) if place != statement.axis]
    shape = [extent for place, extent in enumerate(statement.shape) if place != statement.axis]
    for result, target, register in zip(statement.operation.results, statement.targets, registers, strict=True):
        if target is None:
            emission.put(result, register)
            continue
        offset: Number = 0
        for index, stride in zip(axes, row_major(tuple(shape)), strict=True):
            offset = builder.add(offset, builder.multiply(index.base, stride * register.dtype.itemsize))
        where = builder.moved(emission.buffer(target), offset)
        nest.store_at(where, None, register, emission.arena_suffix)


# --- over buffers ---


class _Rows:
    """The elements of buffers along one dimension, for one position of the others; vectors along the last."""

    def __init__(self, emission: Emission, statement: Reduce, vectors: bool) -> None:
        self.emission: Emission = emission
        self.statement: Reduce = statement
        shape, axis = statement.shape, statement.axis
        strides = row_major(shape)
        self.step: int = strides[axis]
        others = [place for place, extent in enumerate(shape) if place != axis and extent > 1]
        self.lanes: int = 0
        if vectors and others and not is_along_lanes(shape, axis):
            self.lanes = min(lanes_of(emission, statement.roots, []), shape[others[-1]])
        self.loops: list[tuple[int, int, int]] = []
        kept = [place for place in range(len(shape)) if place != axis]
        result = dict(zip(kept, row_major(tuple([shape[place] for place in kept])), strict=True))
        self.results: list[int] = []
        for place in others:
            width = self.lanes if self.lanes and place == others[-1] else 1
            self.loops.append((shape[place], width, strides[place]))
            self.results.append(result[place])

    def each(self, body: Callable[[Number, Number], None]) -> None:
        """Go through all positions; the body gets the place in the sources and that in reduced results."""
        emission = self.emission

        def descend(depth: int, place: Number, target: Number) -> None:
            if depth == len(self.loops):
                body(place, target)
                return
            extent, step, stride = self.loops[depth]

            def turn(position: Number) -> None:
                inner = emission.builder.add(place, emission.builder.multiply(position, stride))
                result = emission.builder.add(target, emission.builder.multiply(position, self.results[depth]))
                descend(depth + 1, inner, result)

            emission.builder.count(0, extent, step, turn)

        descend(0, 0, 0)

    def load(self, number: int, place: Number) -> Register:
        """An element of a source, a vector where there are lanes."""
        source = cast(Stored, self.statement.sources[number])
        return self.load_from(self.emission.buffer(source.buffer), source.dtype, place)

    def load_from(self, pointer: str, dtype: DType, place: Number) -> Register:
        emission, builder = self.emission, self.emission.builder
        where = builder.moved(pointer, builder.multiply(place, dtype.itemsize))
        element = storage_type(dtype)
        text = f"<{self.lanes} x {element}>" if self.lanes else element
        loaded = builder.emit(f"load {text}, ptr {where}, align {dtype.itemsize}{emission.arena_suffix}")
        return from_storage(builder, loaded, dtype, self.lanes)

    def store_to(self, pointer: str, register: Register, place: Number, suffix: str) -> None:
        builder = self.emission.builder
        where = builder.moved(pointer, builder.multiply(place, register.dtype.itemsize))
        register = builder.splat(register, self.lanes)
        text = to_storage(builder, register).typed
        builder.do(f"store {text}, ptr {where}, align {register.dtype.itemsize}{suffix}")


def _emit_columns(emission: Emission, statement: Reduce, body: Combination) -> None:
    builder = emission.builder
    combine = body.combine
    rows = _Rows(emission, statement, works_on_vectors(statement.body))
    extent = statement.shape[statement.axis]
    virtual = min(extent, LANES)
    width = max(rows.lanes, 1)
    count = len(statement.sources)
    dtypes = body.dtypes
    partials = [emission.frame.stack(storage_type(dtype), virtual * width) for dtype in dtypes]

    def load_partial(place: Number) -> Registers:
        return [
            rows.load_from(partials[number], dtypes[number], builder.multiply(place, width)) for number in range(count)
        ]

    def store_partial(registers: Registers, place: Number) -> None:
        for number, register in enumerate(registers):
            rows.store_to(partials[number], register, builder.multiply(place, width), "")

    def one(place: Number, target: Number) -> None:
        def item(position: Number) -> Registers:
            here = builder.add(place, builder.multiply(position, rows.step))
            return [body.ready(rows.load(number, here)) for number in range(count)]

        builder.count(0, virtual, 1, lambda position: store_partial(item(position), position))

        def accumulate(position: Number) -> None:
            lane = builder.emit(f"and i64 {position}, {virtual - 1}")
            store_partial(combine(item(position), load_partial(lane)), lane)

        if extent > virtual:
            builder.count(virtual, extent, 1, accumulate)
        half = virtual // 2
        while half:
            middle = half

            def halve(position: Number, middle: int = middle) -> None:
                high = load_partial(builder.add(position, middle))
                store_partial(combine(high, load_partial(position)), position)

            builder.count(0, half, 1, halve)
            half //= 2
        final = body.finish(load_partial(0))
        for register, result, buffer in zip(final, statement.operation.results, statement.targets, strict=True):
            if buffer is None:
                emission.put(result, register)
            else:
                rows.store_to(emission.buffer(buffer), register, target, emission.arena_suffix)

    rows.each(one)


def _emit_scan(emission: Emission, statement: Reduce, combine: Combine) -> None:
    builder = emission.builder
    rows = _Rows(emission, statement, works_on_vectors(statement.body))
    extent = statement.shape[statement.axis]
    reverse = statement.operation.reverse
    dtypes = [source.dtype for source in statement.sources]
    width = max(rows.lanes, 1)
    partials = [emission.frame.stack(storage_type(dtype), width) for dtype in dtypes]

    def one(place: Number, target: Number) -> None:
        def item(position: Number) -> tuple[Registers, Number]:
            number = builder.subtract(extent - 1, position) if reverse else position
            here = builder.add(place, builder.multiply(number, rows.step))
            return [rows.load(source, here) for source in range(len(dtypes))], here

        def put(registers: Registers, here: Number) -> None:
            for number, (register, buffer) in enumerate(zip(registers, statement.targets, strict=True)):
                assert buffer is not None
                rows.store_to(emission.buffer(buffer), register, here, emission.arena_suffix)
                rows.store_to(partials[number], register, 0, "")

        put(*item(0))

        def turn(position: Number) -> None:
            values, here = item(position)
            last = [rows.load_from(partials[number], dtype, 0) for number, dtype in enumerate(dtypes)]
            put(combine(last, values), here)

        builder.count(1, extent, 1, turn)

    rows.each(one)
