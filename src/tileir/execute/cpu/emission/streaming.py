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
from typing import TYPE_CHECKING, Final

from tileir.execute.cpu.emission.nests import BOOL, INT64, NestEmission, Number, Stretch, Term
from tileir.execute.cpu.lowering.loops import Nest, StoreView, count_of
from tileir.execute.cpu.lowering.traffic import STREAMED_BYTES, row_axis
from tileir.execute.cpu.native import record as slots
from tileir.execute.cpu.vector.llvm import Register
from tileir.execute.dtypes import memory_bytes

if TYPE_CHECKING:
    from tileir.execute.cpu.emission.accesses import TileView
    from tileir.execute.cpu.emission.worker import Emission

NONTEMPORAL: Final = 4
"""The number of the metadata that makes a store stream."""
CACHE_LINE: Final = 64
MOVED_BYTES: Final = 2048
"""The shortest rows whose vectors are moved.  Measured: at 1 KiB nothing is gained, at 4 KiB two fifths."""
_VECTORS: Final = (16, 32, 64)
"""The sizes of vectors, in bytes, that can be streamed."""


# --- stores ---


def emit_stretches(emission: Emission, nest: Nest, lanes: int, emit: Callable[[Stretch | None], None]) -> None:
    """Emit a nest with streaming stores and without; which of them runs is decided there."""
    boxes = [emission.box(sink.operation) for sink in nest.sinks if isinstance(sink, StoreView)]
    sizes = [memory_bytes(box.view.tensor.element) for box in boxes]
    extent = boxes[0].view.shape[row_axis(boxes[0].view.type)]
    if 2 * lanes > extent or any(lanes * size not in _VECTORS for size in sizes):
        emit(None)
        return
    builder = emission.builder
    is_moved = extent * min(sizes) >= MOVED_BYTES
    # Bits that are set where a condition is not met.
    wrong: list[Number] = []
    heads: list[str] = []
    for box, size in zip(boxes, sizes, strict=True):
        needed = lanes * size if is_moved else CACHE_LINE
        missing = builder.emit(f"sub i64 0, {emission.address(box.pointer)}")
        if is_moved:
            missing = builder.emit(f"and i64 {missing}, {needed - 1}")
            heads.append(builder.emit(f"lshr i64 {missing}, {size.bit_length() - 1}"))
            wrong.append(builder.emit(f"and i64 {missing}, {size - 1}"))
        else:
            wrong.append(builder.emit(f"and i64 {missing}, {needed - 1}"))
        for axis, stride in enumerate(box.view.strides):
            if axis != row_axis(box.view.type) and box.view.shape[axis] != 1:
                wrong.append(builder.emit(f"and i64 {emission.multiply(stride, size)}, {needed - 1}"))
    wrong.extend([builder.emit(f"xor i64 {heads[0]}, {other}") for other in heads[1:]])
    total = wrong[0]
    for other in wrong[1:]:
        total = builder.emit(f"or i64 {total}, {other}")
    fits = builder.emit(f"icmp eq i64 {total}, 0")
    written = sum([count_of(box.view.shape) * size for box, size in zip(boxes, sizes, strict=True)])
    chosen = builder.emit(f"and i1 {fits}, {_writes_much(emission, written)}")
    name = builder.fresh("store")
    builder.do(f"br i1 {chosen}, label %{name}.stream, label %{name}.plain")
    builder.label(f"{name}.stream")
    last = extent - lanes
    head = heads[0] if is_moved else "0"
    emit(Stretch(head, last + 1, lanes, head, True))
    if is_moved:
        builder.do(f"br i1 {builder.emit(f'icmp eq i64 {head}, 0')}, label %{name}.end, label %{name}.ends")
        builder.label(f"{name}.ends")
        emit(Stretch(0, last + 1, last, head, False))
    builder.do(f"br label %{name}.end")
    builder.label(f"{name}.plain")
    emit(None)
    builder.do(f"br label %{name}.end")
    builder.label(f"{name}.end")


def _writes_much(emission: Emission, tile_bytes: int) -> str:
    """Whether all tile blocks together write what is worth streaming, an i1."""
    x, y, z = (emission.record_slot(slots.GRID + axis) for axis in range(3))
    builder = emission.builder
    count = builder.emit(f"mul i64 {builder.emit(f'mul i64 {x}, {y}')}, {z}")
    return builder.emit(f"icmp uge i64 {count}, {-(-STREAMED_BYTES // tile_bytes)}")


def store(nest: NestEmission, stretch: Stretch, pointer: str, terms: list[Term], register: Register) -> None:
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


def distance_ahead(emission: Emission, view: TileView, steps: tuple[int, ...]) -> Number:
    """How far the tile of the next tile block is from the one at hand; 0 if there is no next one in the row."""
    builder = emission.builder
    size = memory_bytes(view.tensor.element)
    distance: Number = 0
    for axis, step in enumerate(steps):
        elements = emission.multiply(step * view.steps[axis], view.strides[axis])
        distance = emission.add(distance, emission.multiply(elements, size))
    place = builder.emit(f"zext i32 {emission.block_id[emission.order[0]]} to i64")
    after = builder.emit(f"add i64 {place}, 1")
    more = builder.emit(f"icmp ult i64 {after}, {emission.record_slot(slots.GRID + emission.order[0])}")
    return builder.emit(f"select i1 {more}, i64 {distance}, i64 0")


def fetch(nest: NestEmission, where: str, ahead: Number, size: int) -> None:
    """Have what is so far ahead of a pointer brought into the second cache; once for each cache line."""
    if nest.offset * size % CACHE_LINE:
        return
    place = nest.emission.shifted(where, ahead)
    nest.builder.call("void", "llvm.prefetch.p0", [f"ptr {place}", "i32 0", "i32 2", "i32 1"])
