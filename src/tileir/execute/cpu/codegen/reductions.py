"""`reduce` and `scan`, in the order that the interpreter documents (`tileir.execute.interpreter.control_flow`).

Along the dimension of the lanes, with a body that works on each element alone, a reduction takes its elements straight
from expressions: 64 virtual lanes are as many vectors as it takes, then the tree halves vectors, then lanes.  In every
other case the sources lie in buffers, and loops over rows, columns and elements follow the documented order literally.

In the tree item j + half is the first argument and item j the second.  Halving the lanes of one vector is a chain of
shuffles.  Several rows share these steps: each interleaves the halves of two vectors, down to one lane for each row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, cast

from tileir.dialect.ops import EXP, EXP2, MAXF, MAXIMUMF, MINF, MINIMUMF, SCAN
from tileir.execute.cpu.codegen.context import Emission
from tileir.execute.cpu.codegen.edge_versions import lanes_of, versions
from tileir.execute.cpu.codegen.loop_nest import Axis, Index, NestEmitter, Term, row_major_terms
from tileir.execute.cpu.ir import expressions as ex
from tileir.execute.cpu.ir.statements import Reduce, StoreBuffer, works_on_vectors
from tileir.execute.cpu.vector import nans
from tileir.execute.cpu.vector.builder import Builder, Number
from tileir.execute.cpu.vector.casting import DOUBLE, SINGLE, from_storage, is_machine_float, to_storage
from tileir.execute.cpu.vector.lanes import shuffled
from tileir.execute.cpu.vector.llvm import Register, storage_type
from tileir.execute.dtypes import DType
from tileir.execute.interpreter.control_flow import LANES

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
    plain = _combination(emission, statement)
    body = _extreme(emission, statement) or plain
    if statement.operation.declaration is SCAN:
        _emit_scan(emission, statement, plain.combine)
    elif ex.is_along_lanes(statement.shape, statement.axis) and works_on_vectors(statement.body):
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
    return Combination(
        lambda left, right: [nans.joined(builder, largest, propagates, left[0], right[0])],
        [dtype if is_machine_float(dtype) else SINGLE],
        lambda register: nans.ready(builder, propagates, register),
        lambda registers: [nans.canonical(builder, registers[0], dtype)],
    )


_ABREAST: Final = 4
"""How many vectors go through a function side by side: two units are kept busy by eight sequences of steps of four
cycles, and vectors of f32 are two of f64 there."""
_FEWEST_TOGETHER: Final = 4  # Lanes from which on rows go through the last steps of the tree together.
_LATENT: Final = frozenset({EXP, EXP2})  # Functions whose steps wait for each other, with few values in between.


def _emit_rows(emission: Emission, statement: Reduce, body: Combination) -> None:
    shape, axis = statement.shape, statement.axis
    virtual = min(shape[axis], LANES)
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
        outer = [Axis(base, False, 0) for base in origin]
        row = nest.open_loop(together)
        if together > 1:
            with nest.at_level(row.level):
                outer[rows] = Axis(builder.add(origin[rows], row.base), False, row.level)
        level = nest.depth
        vectors = _combined(nest, statement, body, outer, virtual)
        with nest.at_level(level, after=nest.depth > level):
            narrow = halved(builder, vectors, body.combine, vector if together > 1 else 1)
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
        if waiting is not None:
            nest = NestEmitter(emission, (), lanes, False)
            with nest.at_level(0):
                single = body.finish(waiting.halved(body.combine))
                _put_results(emission, nest, statement, single, tuple([Axis(base, False, 0) for base in origin]))
            nest.close()

    rows_from([])


def _combined(
    nest: NestEmitter, statement: Reduce, body: Combination, outer: list[Axis], virtual: int
) -> list[Registers]:
    """A row as the vectors of its virtual lanes: by vector, then by operand."""
    builder, shape, axis = nest.builder, statement.shape, statement.axis

    def items(base: Number, level: int) -> list[Registers]:
        """The elements of the virtual lanes from a position on."""
        found = []
        for start in range(0, virtual, nest.lanes):
            nest.offset = start
            with nest.at_level(level):
                here = Axis(builder.add(base, start), True, level)
            index = (*outer[:axis], here, *outer[axis + 1 :])
            values = [nest.at(source, nest.index_of(source, shape, index))[0] for source in statement.sources]
            with nest.at_level(level):
                values = [body.prepare(builder.splat(register, nest.lanes)) for register in values]
            for store in statement.keeps:
                assert isinstance(store, StoreBuffer)
                kept = store.expression
                nest.keep(kept, store.buffer, index=nest.index_of(kept, shape, index))
            found.append(values)
        return found

    vectors = items(0, nest.depth)
    if shape[axis] == virtual:
        return vectors
    position = nest.open_loop(shape[axis], virtual, start=virtual)
    loop = nest.innermost
    olds = [[loop.carry_register(register) for register in each] for each in vectors]
    news = items(position.base, nest.depth)
    with nest.at_level(nest.depth):
        # After the loop the registers of its last iteration count.
        vectors = [body.combine(new, old) for new, old in zip(news, olds, strict=True)]
    for old, result in zip(olds, vectors, strict=True):
        for value, following in zip(old, result, strict=True):
            loop.becomes(value.name, following.name)
    return vectors


def _abreast(emission: Emission, roots: list[ex.Expression], vector: int, virtual: int) -> int:
    """The lanes of a loop nest; functions take several vectors to hide latency, but fast ones are short enough."""
    if emission.options.fast:
        return vector
    found = list(ex.nodes(roots))
    waits = any(isinstance(node, ex.Elementwise) and node.operation.declaration in _LATENT for node in found)
    if not waits or any(isinstance(node, ex.PointerLoad) or node.dtype == DOUBLE for node in found):
        return vector
    return min(_ABREAST * vector, virtual)


def _put_results(emission: Emission, nest: NestEmitter, statement: Reduce, registers: Registers, outer: Index) -> None:
    builder = emission.builder
    axes = [index for number, index in enumerate(outer) if number != statement.axis]
    shape = tuple([extent for number, extent in enumerate(statement.shape) if number != statement.axis])
    for result, target, register in zip(statement.operation.results, statement.targets, registers, strict=True):
        if target is None:
            emission.put(result, register)
            continue
        where = emission.buffer(target)
        for index, stride in zip(axes, ex.row_major(shape), strict=True):
            where = builder.moved(where, builder.multiply(index.base, stride * register.dtype.itemsize))
        nest.store_at(where, None, register, emission.scratch_suffix)


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
        """A vector with a lane for each row.  Two vectors become one behind the last, until there is one: what is
        combined next is always in the two halves of a vector, so a loop does it, which compiles quickly."""
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


class _Columns:
    """A loop nest over all dimensions but the reduced one; `count` partial results of each operand are on the stack."""

    def __init__(self, emission: Emission, statement: Reduce, dtypes: list[DType], count: int) -> None:
        self.emission: Emission = emission
        self.builder: Builder = emission.builder
        self.statement: Reduce = statement
        shape, axis = statement.shape, statement.axis
        kept = [number for number in range(len(shape)) if number != axis]
        has_vectors = works_on_vectors(statement.body) and not ex.is_along_lanes(shape, axis)
        has_vectors = has_vectors and any(shape[number] > 1 for number in kept)
        lanes = lanes_of(emission, statement.roots, []) if has_vectors else 0
        self.nest: NestEmitter = NestEmitter(emission, tuple([shape[number] for number in kept]), lanes, False)
        strides = ex.row_major(shape)
        self._step: int = strides[axis]
        terms: list[Term] = [(index, strides[number]) for index, number in zip(self.nest.index, kept, strict=True)]
        self._source: Number = self.nest.sum_of(terms)[0]
        self._target: Number = self.nest.sum_of(row_major_terms(self.nest.index, self.nest.shape))[0]
        self._dtypes: list[DType] = dtypes
        self._width: int = max(self.nest.lanes, 1)
        self._partials: list[str] = [emission.frame.stack(storage_type(dtype), count * self._width) for dtype in dtypes]

    def _where(self, pointer: str, dtype: DType, offset: Number) -> tuple[str, int | None]:
        """A pointer to elements, and how far lanes are apart in bytes."""
        where = self.builder.moved(pointer, self.builder.multiply(offset, dtype.itemsize))
        return where, dtype.itemsize if self.nest.lanes else None

    def _load(self, pointer: str, dtype: DType, offset: Number) -> Register:
        where, distance = self._where(pointer, dtype, offset)
        return self.nest.load_at(where, distance, dtype, self.emission.scratch_suffix)

    def sources(self, position: Number) -> Registers:
        """The elements at a position along the reduced dimension."""
        offset = self.builder.add(self._source, self.builder.multiply(position, self._step))
        # A packed tile reads the buffer of another one, whose dtype it does not have.
        reads = [cast(ex.BufferRead, source) for source in self.statement.sources]
        return [self._load(self.emission.buffer(read.buffer), read.dtype, offset) for read in reads]

    def partial(self, position: Number) -> Registers:
        offset = self.builder.multiply(position, self._width)
        pairs = zip(self._partials, self._dtypes, strict=True)
        return [self._load(pointer, dtype, offset) for pointer, dtype in pairs]

    def put_partial(self, registers: Registers, position: Number) -> None:
        offset = self.builder.multiply(position, self._width)
        for pointer, register in zip(self._partials, registers, strict=True):
            where, distance = self._where(pointer, register.dtype, offset)
            self.nest.store_at(where, distance, register, "")

    def put_results(self, registers: Registers, position: Number | None = None) -> None:
        """Store results: of a reduction, or at a position of a scan."""
        offset = self._target
        if position is not None:
            offset = self.builder.add(self._source, self.builder.multiply(position, self._step))
        statement = self.statement
        for register, result, buffer in zip(registers, statement.operation.results, statement.targets, strict=True):
            if buffer is None:
                self.emission.put(result, register)
            else:
                where, distance = self._where(self.emission.buffer(buffer), register.dtype, offset)
                self.nest.store_at(where, distance, register, self.emission.scratch_suffix)


def _emit_columns(emission: Emission, statement: Reduce, body: Combination) -> None:
    builder, combine = emission.builder, body.combine
    extent = statement.shape[statement.axis]
    virtual = min(extent, LANES)
    columns = _Columns(emission, statement, body.dtypes, virtual)

    def item(position: Number) -> Registers:
        return [body.prepare(register) for register in columns.sources(position)]

    def accumulate(position: Number) -> None:
        lane = builder.emit(f"and i64 {position}, {virtual - 1}")
        columns.put_partial(combine(item(position), columns.partial(lane)), lane)

    with columns.nest.at_level(columns.nest.depth):
        builder.count(0, virtual, 1, lambda position: columns.put_partial(item(position), position))
        if extent > virtual:
            builder.count(virtual, extent, 1, accumulate)
        half = virtual // 2
        while half:

            def halve(position: Number, middle: int = half) -> None:
                high = columns.partial(builder.add(position, middle))
                columns.put_partial(combine(high, columns.partial(position)), position)

            builder.count(0, half, 1, halve)
            half //= 2
        columns.put_results(body.finish(columns.partial(0)))
    columns.nest.close()


def _emit_scan(emission: Emission, statement: Reduce, combine: Combine) -> None:
    builder, extent = emission.builder, statement.shape[statement.axis]
    columns = _Columns(emission, statement, [], 0)

    def iteration(number: Number, carried: Registers) -> Registers:
        position = builder.subtract(extent - 1, number) if statement.operation.reverse else number
        values = columns.sources(position)
        found = combine(carried, values) if carried else values
        columns.put_results(found, position)
        return found

    with columns.nest.at_level(columns.nest.depth):
        builder.carry(1, extent, 1, iteration(0, []), iteration)
    columns.nest.close()
