"""Stores that pass the caches by, and fetching ahead: how what `lowering.traffic` found is emitted.

A streaming store has to be a whole vector at an address that is a multiple of its size, which the arrays of NumPy
seldom begin at.  So the vectors of a nest are moved: each row has a head of a few elements before the first such
address, then vectors that stream, then a tail that is shorter than a vector by the head.  Head and tail are the first
and the last vector of the row, of which only these lanes are stored; their other elements are computed a second time.

Each end of a row costs as much as many vectors, since it shares a cache line with what others store.  Shorter rows
stream only if they are made of whole cache lines.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Final

from tileir.dialect.ops import ADDI, BROADCAST, CONTINUE, FOR, OFFSET, RESHAPE
from tileir.execute.analysis.values import pointee_of
from tileir.execute.cpu.emission.context import Emission
from tileir.execute.cpu.emission.nests import LoopNest, Stretch, Term
from tileir.execute.cpu.emission.views import TileView
from tileir.execute.cpu.loops.expressions import Expression, Gathered, Splat, nodes
from tileir.execute.cpu.loops.sinks import StoreView
from tileir.execute.cpu.loops.statements import Ahead
from tileir.execute.cpu.loops.traffic import SMALLEST_VECTOR, STREAMED_BYTES, row_axis
from tileir.execute.cpu.runtime import launch_record as slots
from tileir.execute.cpu.vector.builder import Number
from tileir.execute.cpu.vector.casting import BOOL, INT64
from tileir.execute.cpu.vector.llvm import Register
from tileir.execute.dtypes import memory_bytes
from tileir.ir.values import BlockArgument

NONTEMPORAL: Final = 4
"""The number of the metadata that makes a store stream."""
CACHE_LINE: Final = 64
MOVED_BYTES: Final = 2048
"""The shortest rows whose vectors are moved.  Measured: some tiles lose at 1 KiB, all gain a tenth at 2 KiB."""
_ALONG_BYTES: Final = 1024
"""How far ahead of a load its row is fetched where stores stream."""


# --- stores ---


def emit_stretches(emission: Emission, sink: StoreView, lanes: int, emit: Callable[[Stretch | None], None]) -> None:
    """Emit a nest with streaming stores and without; which of them runs is decided there."""
    box = emission.boxes[sink.operation]
    size = memory_bytes(box.view.tensor.element)
    extent = box.view.shape[row_axis(box.view.type)]
    vector = lanes * size
    if 2 * lanes > extent or vector < SMALLEST_VECTOR:
        emit(None)
        return
    builder = emission.builder
    is_moved = extent * size >= MOVED_BYTES
    missing = builder.emit(f"sub i64 0, {builder.address(box.pointer)}")
    head = "0"
    if is_moved:
        missing = builder.emit(f"and i64 {missing}, {vector - 1}")
        head = builder.emit(f"lshr i64 {missing}, {size.bit_length() - 1}")
        rest = builder.emit(f"and i64 {missing}, {size - 1}")
    else:
        rest = builder.emit(f"and i64 {missing}, {CACHE_LINE - 1}")
    answers = [builder.emit(f"icmp eq i64 {rest}, 0"), *moves_much(emission, prod(box.view.shape) * size)]
    answers += _rows_are_alike(emission, box.view, vector if is_moved else CACHE_LINE)
    last = extent - lanes

    def stream() -> None:
        emit(Stretch(head, last + 1, lanes, head, True))
        if is_moved:
            ends = Stretch(0, last + 1, last, head, False)
            builder.branch(builder.emit(f"icmp eq i64 {head}, 0"), None, lambda: emit(ends))

    builder.branch(builder.all_of(answers), stream, lambda: emit(None))


def _rows_are_alike(emission: Emission, view: TileView, alignment: int) -> list[str]:
    """Whether all rows of a tile begin at addresses like the first one's, and none is where another is."""
    builder = emission.builder
    size = memory_bytes(view.tensor.element)
    answers = []
    row = row_axis(view.type)
    reach: Number = view.shape[row] * size
    for axis in range(row - 1, -1, -1):
        if view.shape[axis] == 1:
            continue
        distance = builder.multiply(view.strides[axis], size)
        rest = builder.emit(f"and i64 {distance}, {alignment - 1}")
        answers.append(builder.emit(f"icmp eq i64 {rest}, 0"))
        answers.append(builder.emit(f"icmp sge i64 {distance}, {reach}"))
        reach = builder.add(reach, builder.multiply(distance, view.shape[axis] - 1))
    return answers


def moves_much(emission: Emission, tile_bytes: int) -> list[str]:
    """Whether all tile blocks together write what is worth streaming, and move more than the caches hold."""
    x, y, z = (emission.frame.record_slot(slots.GRID + axis) for axis in range(3))
    builder = emission.builder
    count = builder.emit(f"mul i64 {builder.emit(f'mul i64 {x}, {y}')}, {z}")
    moved = builder.emit(f"mul i64 {count}, {emission.program.moved_bytes}")
    return [
        builder.emit(f"icmp uge i64 {count}, {-(-STREAMED_BYTES // tile_bytes)}"),
        builder.emit(f"icmp ugt i64 {moved}, {emission.frame.record_slot(slots.CACHED)}"),
    ]


def store(nest: LoopNest, stretch: Stretch, pointer: str, terms: list[Term], register: Register) -> None:
    """Store a vector of a stretch."""
    builder, suffix = nest.builder, nest.emission.memory_suffix
    where, distance, _ = nest.place(pointer, terms)
    with nest.at_level(nest.depth):
        if stretch.streams:
            alignment = nest.lanes * register.dtype.itemsize
            nest.store_at(where, distance, register, f"{suffix}, !nontemporal !{NONTEMPORAL}", None, alignment)
            return
        (base,) = [axis.base for axis in nest.index if axis.lanes]
        head = builder.splat(Register(stretch.head, INT64), nest.lanes)
        before = builder.value(f"icmp ult {nest.lane_numbers(INT64).typed}, {head.name}", BOOL, nest.lanes)
        at_end = builder.splat(Register(builder.emit(f"icmp ne i64 {base}, 0"), BOOL), nest.lanes)
        mask = builder.value(f"xor {before.typed}, {at_end.name}", BOOL, nest.lanes)
        nest.store_at(where, distance, register, suffix, mask)


# --- fetching ahead ---


def distance_ahead(emission: Emission, view: TileView, ahead: Ahead) -> Number:
    """How far away in bytes the tile to fetch is from the one at hand; 0 if no tile block follows in the row."""
    builder = emission.builder
    size = memory_bytes(view.tensor.element)
    distance: Number = 0
    for axis, step in enumerate(ahead.steps):
        elements = builder.multiply(step * view.steps[axis], view.strides[axis])
        distance = builder.add(distance, builder.multiply(elements, size))
    if ahead.is_turn:
        # Behind the last turn something is fetched for nothing.
        return distance
    place = builder.emit(f"zext i32 {emission.block_id[0]} to i64")
    after = builder.emit(f"add i64 {place}, 1")
    more = builder.emit(f"icmp ult i64 {after}, {emission.frame.record_slot(slots.GRID)}")
    return builder.emit(f"select i1 {more}, i64 {distance}, i64 0")


def fetch_turns(emission: Emission, roots: list[Expression]) -> None:
    """Have what is read through pointers fetched a turn of the loop before, where it is known how far away that is."""
    for node in nodes(roots):
        if isinstance(node, Gathered):
            emission.ahead[node.operation] = _distance_of_turn(emission, node.pointers)


def _distance_of_turn(emission: Emission, pointers: Expression) -> Number:
    """How far away in bytes a tile of pointers is in the next turn of the loop around it; 0 where that is not known.

    It is where they are offsets by a carried number, which every turn adds the same to.
    """
    for node in nodes([pointers]):
        operation = node.scalar.defining_operation if isinstance(node, Splat) else None
        while operation is not None and operation.declaration in (RESHAPE, BROADCAST):
            operation = operation.operands[0].defining_operation
        if operation is None or operation.declaration is not OFFSET:
            continue
        carried = operation.operands[1]
        if not isinstance(carried, BlockArgument) or carried.index == 0:
            continue
        loop, end = carried.block.parent_operation, carried.block.last
        if loop is None or loop.declaration is not FOR or end is None or end.declaration is not CONTINUE:
            continue
        following = end.operands[carried.index - 1].defining_operation
        if following is None or following.declaration is not ADDI or following.operands[0] is not carried:
            continue
        step = following.operands[1]
        if step in emission.scalars and step.parent_block is not carried.block:
            return emission.builder.multiply(emission.whole(step), memory_bytes(pointee_of(operation.results[0])))
    return 0


def fetch_along(nest: LoopNest, where: str, size: int) -> None:
    """Have what is some vectors ahead in the same row, or in what is behind it, brought into the nearest cache.

    Where a store streams, it is memory that everything waits for: machines look ahead by themselves, but with vectors
    that lie across two cache lines not far enough.  Measured on an addition: 7 % less time, the same from 512 bytes to
    4 KiB ahead.
    """
    if nest.shape[-1] * size >= MOVED_BYTES:
        fetch(nest, where, _ALONG_BYTES, size, near=True)


def fetch(nest: LoopNest, where: str, ahead: Number, size: int, near: bool = False) -> None:
    """Have what is so far ahead of a pointer brought into the second cache, or with `near` into the nearest one.

    Of the vectors in one turn of a loop, once for each cache line; turns that are shorter than one ask again.
    """
    if nest.offset * size % CACHE_LINE:
        return
    for line in range(0, nest.lanes * size, CACHE_LINE):
        place = nest.builder.moved(where, nest.builder.add(ahead, line))
        nest.builder.call("void", "llvm.prefetch.p0", [f"ptr {place}", "i32 0", f"i32 {3 if near else 2}", "i32 1"])
