"""Matrix products: operands brought into the form that a plan wants (`matrix.plan`), around the microkernels.

The left operand is read where it lies if that is a row-major tile of the right type: a buffer, or the caller's memory
for a tile within its tensor.  Otherwise it is copied, converted on the way.  The right operand is always packed.

A packed operand that depends on nothing but indices, and on memory that the kernel never writes, is remembered: a table
of panels in the arena, found by the indices.  Tile blocks that follow each other on a thread share most of their right
operands, so most are packed once for many products.
"""

from __future__ import annotations

import numpy

from tileir.execute.cpu.emission import accesses, chain_functions, streaming
from tileir.execute.cpu.emission.context import Emission
from tileir.execute.cpu.emission.destinations import chosen, destination_of
from tileir.execute.cpu.emission.evaluation import NestEmission
from tileir.execute.cpu.emission.nests import Axis, Term
from tileir.execute.cpu.emission.panels import panel_of
from tileir.execute.cpu.emission.transposing import lies_in_columns, transposed
from tileir.execute.cpu.emission.versions import lanes_of, over_an_edge, versions
from tileir.execute.cpu.loops.expressions import Expression, Stored, matrix_in_memory
from tileir.execute.cpu.loops.statements import Memo, Multiply
from tileir.execute.cpu.matrix.guards import Guard
from tileir.execute.cpu.matrix.halves import halves
from tileir.execute.cpu.matrix.microkernel import bring_rows, emit_mma
from tileir.execute.cpu.matrix.plan import AMX_BYTES, AMX_ROWS, MmaPlan, Rows
from tileir.execute.cpu.vector import casting
from tileir.execute.cpu.vector.builder import Number
from tileir.execute.cpu.vector.llvm import Register, scalar_type
from tileir.execute.cpu.vector.parts import shuffled
from tileir.execute.cpu.vector.tracing import trace
from tileir.execute.dtypes import DType, memory_bytes, tf32_numbers
from tileir.ir import floats
from tileir.ir.types import FNV8E5M3FNU, TF32, Type


def emit_multiply(emission: Emission, statement: Multiply) -> None:
    plan = statement.plan
    rank = len(statement.lhs.shape)
    batch = statement.lhs.shape[0] if rank == 3 else 1
    builder = emission.builder

    streaming.fetch_turns(emission, [statement.lhs, statement.rhs])

    def one(number: Number) -> None:
        right, odd = _right(emission, statement, number)
        size = plan.accumulator_dtype.itemsize
        place = builder.multiply(number, plan.m * plan.n * size)
        target = builder.moved(emission.buffer(statement.accumulator), place), plan.n * size
        brought = statement.brought
        # Rows that are all in the stage are read there.
        left: Rows = ("poison", 0)
        if brought is not None:
            stage, found = _brought(emission, statement, brought, number)
            odd = builder.any_of([odd, found])
        else:
            left, stage = _left(emission, statement, number), stage_of(emission, statement)
        goal = destination_of(emission, statement)
        result = None
        if goal is not None and goal.is_copy:
            result = chosen(builder, goal.direct, (goal.box.pointer, goal.row), target)
            emission.done[emission.program.destinations[statement].user] = goal.direct
        fresh = "true" if statement.zero_init else "false"
        reach = None if goal is None else goal.reach
        if plan.kind in ("amx", "dots"):
            emit_mma(
                builder, plan, left, right, target,
                suffix=emission.arena_suffix, stage=stage, staged=brought is not None, odd=odd, fresh=fresh,
                reach=reach,
            )  # fmt: skip
        else:
            chain_functions.multiply(emission, plan, left, right, target[0], str(plan.k), result, fresh, "", reach)

    builder.count(0, batch, 1, one)


def stage_of(emission: Emission, statement: Multiply) -> str:
    """A pointer to memory for rows of the left operand; empty where none is wanted."""
    return emission.buffer(statement.stage) if statement.stage is not None else ""


def _factor(emission: Emission, element: Type, register: Register, dtype: DType, signed: bool) -> Register:
    """An element in the type the product wants; the conversion is exact."""
    if element is TF32:
        register = trace(emission.builder, tf32_numbers, [register])
    if register.dtype == numpy.int8 and not signed:
        register = casting.retag(register, numpy.dtype(numpy.uint8))
    if register.dtype == dtype or (register.dtype.itemsize == dtype.itemsize and dtype.kind in "iu"):
        return casting.retag(register, dtype)
    return casting.cast(emission.builder, register, dtype)


# --- the left operand ---


def _brought(emission: Emission, statement: Multiply, memo: Memo, batch: Number) -> tuple[str, str]:
    """A pointer to all rows as they are staged, and an i1: the plan's guard found something in them."""
    plan = statement.plan

    def bring(stage: str) -> str:
        return bring_rows(emission.builder, plan, _left(emission, statement, batch), plan.k, stage)

    keys = [str(emission.whole(key)) for key in memo.keys]
    if len(statement.lhs.shape) == 3:
        keys.append(str(batch))
    size = plan.m * plan.k * plan.parts * plan.lhs_dtype.itemsize
    return panel_of(emission, memo, keys, batch, size, bring)


def _left(emission: Emission, statement: Multiply, batch: Number) -> Rows:
    """Where the left operand is."""
    plan, lhs = statement.plan, statement.lhs
    size = plan.lhs_dtype.itemsize
    row = plan.k * size
    if statement.left is None:
        assert isinstance(lhs, Stored)
        return emission.builder.moved(emission.buffer(lhs.buffer), emission.builder.multiply(batch, plan.m * row)), row
    copy = emission.buffer(statement.left)
    load = matrix_in_memory(lhs)
    if load is None or not statement.in_place:
        copy_left(emission, statement, batch)
        return copy, row
    builder = emission.builder
    box = accesses.open_box(emission, load.operation)
    view = box.view
    rows, columns = len(load.shape) - 2, len(load.shape) - 1
    inside = accesses.is_inside(emission, box)
    one_apart = view.strides[columns]
    if isinstance(one_apart, int):
        if one_apart != 1:
            inside = "false"
    else:
        together = builder.emit(f"icmp eq i64 {one_apart}, 1")
        inside = together if inside == "true" else builder.emit(f"and i1 {inside}, {together}")
    bytes_per = memory_bytes(view.tensor.element)
    if rows:
        pointer = builder.moved(box.pointer, builder.multiply(batch, builder.multiply(view.strides[0], bytes_per)))
    else:
        pointer = box.pointer
    stride = builder.multiply(view.strides[rows], bytes_per)
    if inside == "true":
        return pointer, stride
    if inside == "false":
        copy_left(emission, statement, batch)
        return copy, row

    def copied() -> list[str]:
        copy_left(emission, statement, batch)
        return [f"ptr {copy}", f"i64 {row}"]

    found, distance = builder.branch(inside, lambda: [f"ptr {pointer}", f"i64 {stride}"], copied)
    return found, distance


def copy_left(
    emission: Emission, statement: Multiply, batch: Number, target: Rows | None = None, edge: bool = False
) -> None:
    """Copy the left operand as the product wants it, to the buffer for that if nothing else is said.

    Over an `edge` there is no version for whole tiles.
    """
    plan = statement.plan
    assert statement.left is not None
    pointer, distance = target or (emission.buffer(statement.left), plan.k * plan.lhs_dtype.itemsize)
    roots = [statement.lhs, *statement.scales[:1]]
    size = plan.lhs_dtype.itemsize
    side = min(emission.target.vector_bytes // size, plan.m, plan.k)
    if not statement.scales and size in (4, 8) and side > 1 and lies_in_columns(emission, statement.lhs):
        _copy_columns(emission, statement, batch, (pointer, distance), side)
        return
    lanes = min([lanes_of(emission, roots, []), plan.k, *[plan.k // scale.shape[-1] for scale in statement.scales[:1]]])

    def emit(masked: bool) -> None:
        nest = NestEmission(emission, (plan.m, plan.k), lanes, masked)
        row, column = nest.index
        register = _element(emission, nest, statement, 0, batch, row, column)
        terms: list[Term] = [(row, distance), (column, plan.lhs_dtype.itemsize)]
        nest.store(pointer, terms, register, emission.arena_suffix)
        nest.close()

    (over_an_edge if edge else versions)(emission, roots, [], emit)


def _bring_square(
    emission: Emission,
    statement: Multiply,
    operand: int,
    batch: Number,
    square: tuple[str, int, int],
    top: Number,
    first: Number,
) -> None:
    """Bring some columns of the left or right operand, the `first` and those after it, to memory, each from `top` on.

    A square is where they go, how many, and how much of each.
    """
    builder, plan = emission.builder, statement.plan
    size = (plan.lhs_dtype, plan.rhs_dtype)[operand].itemsize
    pointer, count, length = square

    def bring(masked: bool) -> None:
        nest = NestEmission(emission, (count, length), length, masked)
        number, lanes = nest.index
        with nest.at_level(number.level):
            column = Axis(builder.add(first, number.base), False, number.level)
        row = Axis(top, True, 0)
        register = nest.spread_lanes(_element(emission, nest, statement, operand, batch, row, column), row)
        nest.store(pointer, [(number, length * size), (lanes, size)], register, "")
        nest.close()

    versions(emission, [(statement.lhs, statement.rhs)[operand]], [], bring)


def _copy_columns(emission: Emission, statement: Multiply, batch: Number, target: Rows, side: int) -> None:
    """Copy a left operand that lies in columns, squares of so many elements a side (`_pack_columns`)."""
    builder, plan = emission.builder, statement.plan
    dtype = plan.lhs_dtype
    square = emission.frame.stack("i8", side * side * dtype.itemsize, 64, f"square{side * side * dtype.itemsize}")

    def columns(first: Number) -> None:
        def rows(top: Number) -> None:
            _bring_square(emission, statement, 0, batch, (square, side, side), top, first)
            place = builder.add(builder.multiply(top, target[1]), builder.multiply(first, dtype.itemsize))
            there = builder.moved(target[0], place)
            chain_functions.turn_square(emission, dtype, side, square, (there, target[1]))

        builder.count(0, plan.m, side, rows)

    builder.count(0, plan.k, side, columns)


def _element(
    emission: Emission, nest: NestEmission, statement: Multiply, side: int, batch: Number, row: Axis, column: Axis
) -> Register:
    """An element of the left or right operand as the product wants it, with its scale."""
    plan, operand = statement.plan, (statement.lhs, statement.rhs)[side]
    dtype = (plan.lhs_dtype, plan.rhs_dtype)[side]
    is_signed = statement.operation.keyword(f"signedness_{('lhs', 'rhs')[side]}") != "unsigned"
    first = [Axis(batch, False, 0)] if len(operand.shape) == 3 else []
    register, _ = nest.at(operand, (*first, row, column))
    with nest.at_level(nest.depth):
        register = _factor(emission, operand.element, register, dtype, is_signed)
    if not statement.scales:
        return register
    scale = statement.scales[side]
    # There is one for each block of elements along k.
    block = plan.k // scale.shape[-2 if side else -1]
    along = _divided(emission, nest, row if side else column, block)
    return _scaled(emission, nest, register, scale, (*first, along, column) if side else (*first, row, along))


def _divided(emission: Emission, nest: NestEmission, axis: Axis, block: int) -> Axis:
    """The axis of scales: one for each block of elements."""
    if isinstance(axis.base, int):
        return Axis(axis.base // block, axis.lanes and block == 1, axis.level)
    with nest.at_level(axis.level):
        return Axis(emission.builder.emit(f"udiv i64 {axis.base}, {block}"), axis.lanes and block == 1, axis.level)


def _scaled(
    emission: Emission, nest: NestEmission, register: Register, scale: Expression, index: tuple[Axis, ...]
) -> Register:
    factor, _ = nest.at(scale, index)
    with nest.at_level(nest.depth):
        builder = emission.builder
        if scale.element is FNV8E5M3FNU:
            # Held as its pattern.
            factor = casting.decode(builder, factor, floats.FNV8E5M3FNU)
        factor = casting.cast(builder, factor, register.dtype)
        width = max(register.width, factor.width)
        return casting.binary(builder, "fmul", builder.splat(register, width), builder.splat(factor, width))


# --- the right operand ---


def _right(emission: Emission, statement: Multiply, batch: Number) -> tuple[str, str]:
    """A pointer to the packed right operand, and an i1: the plan's guard found something in it."""
    memo = statement.memo
    if memo is None:
        assert statement.packed is not None
        pointer = emission.buffer(statement.packed)
        pack(emission, statement, batch, pointer)
        return pointer, guarded(emission, statement.plan, pointer, statement.plan.packed_bytes)
    keys = [str(emission.whole(key)) for key in memo.keys]
    if len(statement.rhs.shape) == 3:
        keys.append(str(batch))
    total: Number = 0
    for key in keys:
        total = emission.builder.add(total, int(key) if key.lstrip("-").isdigit() else key)

    def packed(panel: str) -> str:
        pack(emission, statement, batch, panel)
        return guarded(emission, statement.plan, panel, statement.plan.packed_bytes)

    return panel_of(emission, memo, keys, total, statement.plan.packed_bytes, packed)


def guarded(emission: Emission, plan: MmaPlan, panel: str, size: Number) -> str:
    """An i1: a packed operand has elements that the plan's guard is about."""
    return Guard(plan.guard).looked(emission.builder, panel, size) if plan.guard else "false"


def pack(
    emission: Emission, statement: Multiply, batch: Number, pointer: str, extent: Number = 0, edge: bool = False
) -> None:
    """Pack the right operand; `extent` is how far k goes in its panels if that is not the plan's.

    Over an `edge` there is no version for whole tiles.
    """
    plan = statement.plan
    extent = extent or plan.k
    roots = [statement.rhs, *statement.scales[1:]]
    lanes = min(lanes_of(emission, roots, []), plan.columns)
    group, size = plan.group, plan.rhs_dtype.itemsize
    side = min(emission.target.vector_bytes // (group * size), plan.columns, plan.k // group)
    if not statement.scales and group * size in (4, 8) and side > 1 and lies_in_columns(emission, statement.rhs):
        _pack_columns(emission, statement, batch, (pointer, extent), side)
        return

    def emit(masked: bool) -> None:
        nest = NestEmission(emission, (plan.k // group, plan.n), lanes, masked)
        step, column = nest.index
        members = []
        for member in range(group):
            row = _member(emission, nest, step, group, member)
            register = _element(emission, nest, statement, 1, batch, row, column)
            members.append(nest.spread_lanes(register, column))
        with nest.at_level(nest.depth):
            packed = woven(emission, members)
            where = _packed_place(emission, plan, (pointer, extent), step.base, column.base)
            store_packed(emission, plan, packed, where)
        nest.close()

    (over_an_edge if edge else versions)(emission, roots, [], emit)


def row_offset(emission: Emission, plan: MmaPlan, step: Number) -> Number:
    """Where the row of a panel with a group of k begins, in bytes; `step` counts groups."""
    builder = emission.builder
    row = plan.columns * plan.group * plan.rhs_dtype.itemsize
    if plan.parts == 1:
        return builder.multiply(step, row)
    tile, within = _split(emission, step, AMX_ROWS)
    return builder.add(builder.multiply(tile, plan.parts * AMX_ROWS * row), builder.multiply(within, row))


def store_packed(emission: Emission, plan: MmaPlan, packed: Register, where: str) -> Register:
    """Store elements of the packed operand, all parts of them; gives the first, for a guard to look at."""
    builder = emission.builder
    parts = [packed] if plan.parts == 1 else halves(builder, packed)
    for number, part in enumerate(parts):
        place = builder.moved(where, number * AMX_ROWS * AMX_BYTES)
        builder.do(f"store {part.typed}, ptr {place}, align {plan.rhs_dtype.itemsize}{emission.arena_suffix}")
    return parts[0]


def _packed_place(emission: Emission, plan: MmaPlan, packed: tuple[str, Number], step: Number, column: Number) -> str:
    """Where the group of a column is: `plan.packed_index` in code; of the operand where it lies and how far k goes."""
    builder = emission.builder
    pointer, extent = packed
    size = plan.rhs_dtype.itemsize
    panel, within = _split(emission, column, plan.columns)
    offset = builder.multiply(panel, builder.multiply(extent, plan.columns * size * plan.parts))
    offset = builder.add(offset, builder.multiply(within, plan.group * size))
    return builder.moved(pointer, builder.add(offset, row_offset(emission, plan, step)))


def _pack_columns(emission: Emission, statement: Multiply, batch: Number, place: tuple[str, Number], side: int) -> None:
    """Pack an operand that lies in columns, squares of so many groups a side.

    Each goes through memory on the stack: turning it takes as long as that, and is written once, not for every edge.
    """
    builder, plan = emission.builder, statement.plan
    group, dtype = plan.group, plan.rhs_dtype
    across, unit = side * group, group * dtype.itemsize
    kind = f"<{across} x {scalar_type(dtype)}>"
    square = emission.frame.stack("i8", side * side * unit, 64, f"square{side * side * unit}")

    def columns(first: Number) -> None:
        def rows(step: Number) -> None:
            start = builder.multiply(step, group)
            _bring_square(emission, statement, 1, batch, (square, side, across), start, first)
            places = [builder.moved(square, number * side * unit) for number in range(side)]
            vectors = [builder.value(f"load {kind}, ptr {each}, align 64", dtype, across) for each in places]
            # Rows of a square are rows of one panel, and of one tile of AMX.
            target = _packed_place(emission, plan, place, step, first)
            for number, packed in enumerate(transposed(builder, vectors, unit)):
                store_packed(emission, plan, packed, builder.moved(target, number * plan.columns * unit))

        builder.count(0, plan.k // group, side, rows)

    builder.count(0, plan.n, side, columns)


def _member(emission: Emission, nest: NestEmission, axis: Axis, group: int, part: int) -> Axis:
    """A member of a group of rows."""
    if group == 1:
        return axis
    with nest.at_level(axis.level):
        return Axis(emission.builder.add(emission.builder.multiply(axis.base, group), part), False, axis.level)


def _split(emission: Emission, number: Number, size: int) -> tuple[Number, Number]:
    """Quotient and remainder by a power of two."""
    if isinstance(number, int):
        return number // size, number % size
    builder = emission.builder
    shift = size.bit_length() - 1
    quotient = builder.emit(f"lshr i64 {number}, {shift}") if shift else number
    return quotient, builder.emit(f"and i64 {number}, {size - 1}")


def woven(emission: Emission, parts: list[Register]) -> Register:
    """The lanes of several vectors by turns."""
    while len(parts) > 1:
        half = len(parts) // 2
        parts = [_woven(emission, low, high) for low, high in zip(parts[:half], parts[half:], strict=True)]
    (found,) = parts
    return found


def _woven(emission: Emission, first: Register, second: Register) -> Register:
    builder = emission.builder
    if not first.width:
        pair = f"<2 x {scalar_type(first.dtype)}>"
        one = builder.emit(f"insertelement {pair} poison, {first.typed}, i64 0")
        return builder.value(f"insertelement {pair} {one}, {second.typed}, i64 1", first.dtype, 2)
    width = first.width
    return shuffled(builder, first, second, [lane // 2 + (width if lane % 2 else 0) for lane in range(2 * width)])
