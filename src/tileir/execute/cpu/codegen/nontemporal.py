"""Non-temporal stores and prefetches: how the choices of `ir.memory_hints` are emitted.

A non-temporal store is a whole vector at an address that is a multiple of its size.  NumPy arrays seldom begin at one,
so each row has a head of a few elements, then non-temporal vectors, then a tail.  Head and tail are the first and last
vector of the row with only these lanes stored; their other elements are computed twice.

Each end of a row shares a cache line with other stores and costs as much as many vectors.  So shorter rows have
non-temporal stores only if they are made of whole cache lines.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Final

from tileir.dialect.ops import ADDI, BROADCAST, CONTINUE, FOR, OFFSET, RESHAPE
from tileir.execute.analysis.values import pointee_of
from tileir.execute.cpu.codegen.context import Emission, TileView
from tileir.execute.cpu.codegen.loop_nest import NestEmitter, RowPart, Term
from tileir.execute.cpu.ir.expressions import Expression, PointerLoad, Splat, nodes
from tileir.execute.cpu.ir.memory_hints import SMALLEST_VECTOR, STREAMED_BYTES, row_axis
from tileir.execute.cpu.ir.statements import Prefetch, StoreView
from tileir.execute.cpu.runtime import launch_record as slots
from tileir.execute.cpu.vector.builder import Number
from tileir.execute.cpu.vector.casting import BOOL, INT64
from tileir.execute.cpu.vector.llvm import Register
from tileir.execute.dtypes import memory_bytes
from tileir.ir.values import BlockArgument

METADATA: Final = 4  # The number of the metadata that makes a store non-temporal.
CACHE_LINE: Final = 64
MOVED_BYTES: Final = 2048
"""The shortest rows whose vectors are moved.  Measured: some tiles lose at 1 KiB, all gain a tenth at 2 KiB."""
_ALONG_BYTES: Final = 1024  # How far ahead of a load its row is prefetched beside non-temporal stores.


def emit_row_parts(emission: Emission, store: StoreView, lanes: int, emit: Callable[[RowPart | None], None]) -> None:
    """Emit a loop nest with non-temporal stores and without, and a test which of them runs."""
    access = emission.tile_accesses[store.operation]
    size = memory_bytes(access.view.tensor.element)
    extent = access.view.shape[row_axis(access.view.type)]
    vector = lanes * size
    if 2 * lanes > extent or vector < SMALLEST_VECTOR:
        emit(None)
        return
    builder = emission.builder
    is_moved = extent * size >= MOVED_BYTES
    missing = builder.emit(f"sub i64 0, {builder.address(access.pointer)}")
    head = "0"
    if is_moved:
        missing = builder.emit(f"and i64 {missing}, {vector - 1}")
        head = builder.emit(f"lshr i64 {missing}, {size.bit_length() - 1}")
    rest = builder.emit(f"and i64 {missing}, {(size if is_moved else CACHE_LINE) - 1}")
    conditions = [builder.emit(f"icmp eq i64 {rest}, 0"), *moves_much(emission, prod(access.view.shape) * size)]
    conditions += _rows_are_aligned(emission, access.view, vector if is_moved else CACHE_LINE)
    last = extent - lanes

    def nontemporal() -> None:
        emit(RowPart(head, last + 1, lanes, head, True))
        if is_moved:
            ends = RowPart(0, last + 1, last, head, False)
            builder.branch(builder.emit(f"icmp eq i64 {head}, 0"), None, lambda: emit(ends))

    builder.branch(builder.all_of(conditions), nontemporal, lambda: emit(None))


def _rows_are_aligned(emission: Emission, view: TileView, alignment: int) -> list[str]:
    """Whether all rows of a tile are aligned as the first one is, and none overlaps another."""
    builder = emission.builder
    size = memory_bytes(view.tensor.element)
    conditions = []
    row = row_axis(view.type)
    reach: Number = view.shape[row] * size
    for axis in range(row - 1, -1, -1):
        if view.shape[axis] == 1:
            continue
        distance = builder.multiply(view.strides[axis], size)
        rest = builder.emit(f"and i64 {distance}, {alignment - 1}")
        conditions.append(builder.emit(f"icmp eq i64 {rest}, 0"))
        conditions.append(builder.emit(f"icmp sge i64 {distance}, {reach}"))
        reach = builder.add(reach, builder.multiply(distance, view.shape[axis] - 1))
    return conditions


def moves_much(emission: Emission, tile_bytes: int) -> list[str]:
    """Whether all tile blocks together write enough for non-temporal stores, and move more than the caches hold."""
    x, y, z = (emission.frame.record_slot(slots.GRID + axis) for axis in range(3))
    builder = emission.builder
    count = builder.emit(f"mul i64 {builder.emit(f'mul i64 {x}, {y}')}, {z}")
    moved = builder.emit(f"mul i64 {count}, {emission.program.moved_bytes}")
    return [
        builder.emit(f"icmp uge i64 {count}, {-(-STREAMED_BYTES // tile_bytes)}"),
        builder.emit(f"icmp ugt i64 {moved}, {emission.frame.record_slot(slots.CACHED)}"),
    ]


def store_row_part(nest: NestEmitter, part: RowPart, pointer: str, terms: list[Term], register: Register) -> None:
    builder, suffix = nest.builder, nest.emission.memory_suffix
    where, distance, _ = nest.place(pointer, terms)
    with nest.at_level(nest.depth):
        if part.is_nontemporal:
            alignment = nest.lanes * register.dtype.itemsize
            nest.store_at(where, distance, register, f"{suffix}, !nontemporal !{METADATA}", None, alignment)
            return
        (base,) = [axis.base for axis in nest.index if axis.lanes]
        head = builder.splat(Register(part.head, INT64), nest.lanes)
        before = builder.value(f"icmp ult {nest.lane_numbers(INT64).typed}, {head.name}", BOOL, nest.lanes)
        at_end = builder.splat(Register(builder.emit(f"icmp ne i64 {base}, 0"), BOOL), nest.lanes)
        mask = builder.value(f"xor {before.typed}, {at_end.name}", BOOL, nest.lanes)
        nest.store_at(where, distance, register, suffix, mask)


def prefetch_distance(emission: Emission, view: TileView, prefetch: Prefetch) -> Number:
    """How far away in bytes the tile to prefetch is from the present one; 0 if no tile block follows in the row."""
    builder = emission.builder
    size = memory_bytes(view.tensor.element)
    distance: Number = 0
    for axis, step in enumerate(prefetch.steps):
        elements = builder.multiply(step * view.steps[axis], view.strides[axis])
        distance = builder.add(distance, builder.multiply(elements, size))
    if prefetch.is_iteration:
        # The last iteration prefetches in vain.
        return distance
    number = builder.emit(f"zext i32 {emission.block_id[0]} to i64")
    after = builder.emit(f"add i64 {number}, 1")
    more = builder.emit(f"icmp ult i64 {after}, {emission.frame.record_slot(slots.GRID)}")
    return builder.select(more, distance, 0)


def prefetch_pointers(emission: Emission, roots: list[Expression]) -> None:
    """Prefetch the next iteration's loads through pointers, where it is known how far away they are."""
    for node in nodes(roots):
        if isinstance(node, PointerLoad):
            emission.prefetch_distances[node.operation] = _distance_of_iteration(emission, node.pointers)


def _distance_of_iteration(emission: Emission, pointers: Expression) -> Number:
    """How many bytes away the next iteration's pointers are, offsets by a number that grows evenly; 0 if unknown."""
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


def prefetch_row(nest: NestEmitter, where: str, size: int) -> None:
    """Prefetch along a row beside non-temporal stores, where everything waits for memory; an addition gains 7 %."""
    if nest.shape[-1] * size >= MOVED_BYTES:
        prefetch(nest, where, _ALONG_BYTES, size, near=True)


def prefetch(nest: NestEmitter, where: str, distance: Number, size: int, near: bool = False) -> None:
    """Prefetch each cache line so far ahead of a pointer into the second cache, or with `near` into the nearest one."""
    if nest.offset * size % CACHE_LINE:
        return
    for line in range(0, nest.lanes * size, CACHE_LINE):
        pointer = nest.builder.moved(where, nest.builder.add(distance, line))
        nest.builder.call("void", "llvm.prefetch.p0", [f"ptr {pointer}", "i32 0", f"i32 {3 if near else 2}", "i32 1"])
