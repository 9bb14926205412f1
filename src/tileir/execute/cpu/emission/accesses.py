"""Loads and stores through views, inside nests.

An access through a view has a box: a tile of positions from a start in each dimension.  A nest has two versions: one
for boxes that lie within their tensors, without any test, and a masked one for boxes that reach over an edge.
"""

from __future__ import annotations

from tileir.execute.cpu.emission import streaming
from tileir.execute.cpu.emission.context import Emission
from tileir.execute.cpu.emission.nests import FIRST, Index, LoopNest, Term
from tileir.execute.cpu.emission.pointer_bounds import Based, Look, look_at_elements
from tileir.execute.cpu.emission.views import FAR, Box, TileView
from tileir.execute.cpu.loops.expressions import Expression, Shape, Viewed
from tileir.execute.cpu.loops.sinks import StoreView
from tileir.execute.cpu.vector import casting, instructions
from tileir.execute.cpu.vector.builder import Builder, Number
from tileir.execute.cpu.vector.casting import BOOL, INT64
from tileir.execute.cpu.vector.llvm import Register, index_register, literal, storage_type
from tileir.execute.dtypes import DType, memory_bytes, memory_dtype
from tileir.ir.core import Operation


def cut_off(emission: Emission, number: Number, limit: int) -> Number:
    """The smaller of an unsigned number and a limit."""
    if isinstance(number, int):
        return min(number, limit)
    return emission.builder.call("i64", "llvm.umin.i64", [f"i64 {number}", f"i64 {limit}"])


def open_box(emission: Emission, operation: Operation) -> Box:
    """The box of an access, computed where the builder stands."""
    view = emission.views[operation.view]
    assert isinstance(view, TileView)
    return box_in(emission, operation, view)


def box_in(emission: Emission, operation: Operation, view: TileView) -> Box:
    """The same where the view is known."""
    builder = emission.builder
    starts: list[Number] = []
    size = memory_bytes(view.tensor.element)
    offset: Number = 0
    for axis, value in enumerate(operation.index):
        if axis == view.sparse:
            starts.append(0)
            continue
        if view.sparse >= 0:
            # A gather view counts elements, which may be negative: those are outside.
            number = emission.whole(value)
        else:
            number = emission.whole(value, signed=False)
            if isinstance(number, int) or emission.scalars[value].dtype.itemsize == 8:
                number = cut_off(emission, number, -(-FAR // view.steps[axis]))
        start = builder.multiply(number, view.steps[axis])
        starts.append(start)
        offset = builder.add(offset, builder.multiply(start, builder.multiply(view.strides[axis], size)))
    return Box(operation, view, starts, builder.moved(builder.pointer(view.tensor.address), offset))


def is_inside(emission: Emission, box: Box) -> str:
    """Whether a whole box lies in its tensor, and that in memory, an i1."""
    builder = emission.builder
    answer = box.view.tensor.fits(box.operation)
    for axis, start in enumerate(box.starts):
        if axis == box.view.sparse:
            return "false"
        extent, wanted = box.view.extents[axis], box.view.shape[axis]
        if isinstance(extent, int) and isinstance(start, int):
            if start >= 0 and start + wanted <= extent:
                continue
            return "false"
        last = builder.add(start, wanted)
        fits = builder.emit(f"icmp ule i64 {last}, {extent}")
        if box.view.sparse >= 0:
            positive = builder.emit(f"icmp sge i64 {start}, 0")
            fits = builder.emit(f"and i1 {fits}, {positive}")
        answer = fits if answer == "true" else builder.emit(f"and i1 {answer}, {fits}")
    return answer


def both(builder: Builder, first: Register, second: Register) -> Register:
    """The conjunction of two masks."""
    width = max(first.width, second.width)
    return casting.binary(builder, "and", builder.splat(first, width), builder.splat(second, width))


def either(builder: Builder, mask: Register, first: Register, second: Register) -> Register:
    """One value where a mask is set, the other elsewhere."""
    width = max(mask.width, first.width, second.width)
    operands = [builder.splat(register, width) for register in (mask, first, second)]
    return casting.choose(builder, *operands)


# --- views ---


def terms_of(nest: LoopNest, box: Box, index: Index) -> list[Term]:
    size = memory_bytes(box.view.tensor.element)
    terms: list[Term] = []
    for place, axis in enumerate(index):
        if place == box.view.sparse:
            continue
        with nest.at_level(0):
            distance = nest.builder.multiply(box.view.strides[place], size)
        terms.append((axis, distance))
    return terms


def _is_within(box: Box, place: int) -> bool:
    """Whether a box is known to lie in its tensor along a dimension."""
    start, extent = box.starts[place], box.view.extents[place]
    return isinstance(start, int) and isinstance(extent, int) and 0 <= start <= extent - box.view.shape[place]


def _mask(nest: LoopNest, box: Box, index: Index) -> tuple[Register | None, int]:
    """Which elements at an index lie in the tensor; None for all."""
    if not nest.masked:
        return None, 0
    builder = nest.builder
    mask: Register | None = None
    level = 0
    for place, axis in sorted(enumerate(index), key=lambda item: (item[1].lanes, item[1].level)):
        if place == box.view.sparse or _is_within(box, place):
            continue
        level = max(level, axis.level)
        with nest.at_level(level):
            position = nest.builder.add(box.starts[place], axis.base)
            extent = box.view.extents[place]
            if axis.lanes:
                left = nest.builder.subtract(extent, position)
                spread = builder.splat(index_register(left), nest.lanes)
                numbers = nest.lane_numbers(INT64)
                inside = builder.value(f"icmp sgt {spread.typed}, {numbers.name}", BOOL, nest.lanes)
                if box.view.sparse >= 0:
                    before = builder.splat(index_register(builder.subtract(0, position)), nest.lanes)
                    after = builder.value(f"icmp sle {before.typed}, {numbers.name}", BOOL, nest.lanes)
                    inside = builder.value(f"and {inside.typed}, {after.name}", BOOL, nest.lanes)
            else:
                inside = builder.value(f"icmp ult i64 {position}, {extent}", BOOL)
            mask = inside if mask is None else both(builder, mask, inside)
    return guarded(nest, box.operation, box.view.shape, index, mask, level)


def guarded(
    nest: LoopNest, operation: Operation, shape: Shape, index: Index, mask: Register | None, level: int
) -> tuple[Register | None, int]:
    """A mask without the elements that the sanitizer found outside of memory."""
    guard = nest.emission.guards.get(operation)
    if guard is None or not nest.masked:
        return mask, level
    allowed, known = nest.guard(guard, shape, index)
    level = max(level, known)
    with nest.at_level(level):
        return allowed if mask is None else both(nest.builder, mask, allowed), level


def load_view(nest: LoopNest, expression: Viewed, index: Index) -> tuple[Register, int]:
    box = nest.emission.boxes[expression.operation]
    element = expression.element
    dtype = memory_dtype(element)
    if box.view.sparse >= 0:
        pointers, mask, level = _sparse(nest, box, expression.positions, index)
        with nest.at_level(level):
            look_at_sparse(nest, box, pointers, mask, index, level)
            loaded = load_vector(nest, pointers, mask, dtype)
    else:
        mask, level = _mask(nest, box, index)
        where, distance, known = nest.place(box.pointer, terms_of(nest, box, index))
        level = max(level, known)
        with nest.at_level(level):
            loaded = nest.load_at(where, distance, dtype, nest.emission.memory_suffix, mask)
            if distance == dtype.itemsize:
                if box.ahead != 0:
                    streaming.fetch(nest, where, box.ahead, dtype.itemsize)
                elif nest.stretch is not None and nest.stretch.streams:
                    streaming.fetch_along(nest, where, dtype.itemsize)
    with nest.at_level(level):
        value = instructions.from_memory(nest.builder, element, loaded)
        if mask is not None:
            padding = _padding_of(box.view)
            value = either(nest.builder, mask, value, padding)
        return value, level


def _padding_of(view: TileView) -> Register:
    from tileir.execute.interpreter.views import padding_value

    value = padding_value(view.type)
    return literal(value[()], value.dtype)


def store_view(nest: LoopNest, sink: StoreView) -> None:
    box = nest.emission.boxes[sink.operation]
    index = nest.index_for(sink.expression)
    register = nest.value(sink.expression)
    with nest.at_level(nest.depth):
        stored = instructions.to_memory(nest.builder, box.view.tensor.element, register)
    if box.view.sparse >= 0:
        pointers, mask, _ = _sparse(nest, box, sink.positions, index)
        with nest.at_level(nest.depth):
            if any(axis.lanes for axis in index):
                # Also where all lanes go to one place.
                pointers = nest.builder.splat(pointers, nest.lanes)
            look_at_sparse(nest, box, pointers, mask, index, nest.depth)
            store_vector(nest, pointers, stored, mask)
        return
    mask, _ = _mask(nest, box, index)
    terms = terms_of(nest, box, index)
    if nest.stretch is not None:
        streaming.store(nest, nest.stretch, box.pointer, terms, stored)
    else:
        nest.store(box.pointer, terms, stored, nest.emission.memory_suffix, mask)


def look_at_sparse(
    nest: LoopNest, box: Box, addresses: Register, mask: Register | None, index: Index, level: int
) -> None:
    """Look at elements at listed positions, where their tensor does not lie in memory."""
    look = Look(box.operation, memory_bytes(box.view.tensor.element), box.view.shape, index, level)
    look_at_elements(nest.emission, look, addresses, mask, box.view.tensor.fits(box.operation))


def _sparse(
    nest: LoopNest, box: Box, positions: Expression | None, index: Index
) -> tuple[Register, Register | None, int]:
    """The addresses of elements at listed positions, and which of them lie in the tensor."""
    assert positions is not None
    emission, builder = nest.emission, nest.builder
    place = box.view.sparse
    axis = index[place]
    where = tuple([axis if extent != 1 else FIRST for extent in positions.shape])
    register, level = nest.at(positions, where)
    size = memory_bytes(box.view.tensor.element)
    mask, mask_level = _mask(nest, box, index)
    dense = list(terms_of(nest, box, index))
    lanes = [distance for dense_axis, distance in dense if dense_axis.lanes]
    offset, offset_level = nest.sum_of(0, dense)
    level = max(level, mask_level, offset_level)
    with nest.at_level(level):
        number = casting.cast(builder, register, INT64)
        extent = index_register(box.view.extents[place])
        inside = builder.value(
            f"icmp ult {number.typed}, {builder.splat(extent, number.width).name}", BOOL, number.width
        )
        mask = inside if mask is None else both(builder, mask, inside)
        distance = builder.splat(index_register(emission.builder.multiply(box.view.strides[place], size)), number.width)
        moved = builder.value(f"mul {number.typed}, {distance.name}", INT64, number.width)
        base = emission.builder.add(emission.builder.address(box.pointer), offset)
        start = builder.splat(index_register(base), number.width)
        addresses = builder.value(f"add {moved.typed}, {start.name}", INT64, number.width)
        if lanes and not addresses.width:
            numbers = nest.lane_numbers(INT64)
            spread = builder.splat(index_register(lanes[0]), nest.lanes)
            steps = builder.value(f"mul {spread.typed}, {numbers.name}", INT64, nest.lanes)
            addresses = builder.splat(addresses, nest.lanes)
            addresses = builder.value(f"add {addresses.typed}, {steps.name}", INT64, nest.lanes)
        return addresses, mask, level


def element_address(
    nest: LoopNest, box: Box, positions: list[Expression], index: Index
) -> tuple[Register, Register | None]:
    """The address of one element of a box, and whether it lies in the tensor; for nests without lanes."""
    if box.view.sparse >= 0:
        address, mask, _ = _sparse(nest, box, positions[0], index)
        with nest.at_level(nest.depth):
            look_at_sparse(nest, box, address, mask, index, nest.depth)
        return address, mask
    mask, _ = _mask(nest, box, index)
    where, _, level = nest.place(box.pointer, terms_of(nest, box, index))
    with nest.at_level(max(level, nest.depth)):
        return index_register(nest.builder.address(where)), mask


# --- vectors of addresses ---


def _vector_of_pointers(nest: LoopNest, addresses: Register, based: Based | None, size: int) -> str:
    """Addresses as pointers, in a form that machines with gathers have instructions for."""
    builder = nest.builder
    if based is None or based.numbers.width != nest.lanes:
        return builder.emit(f"inttoptr {addresses.typed} to <{nest.lanes} x ptr>")
    base = nest.builder.pointer(based.base.name)
    return builder.emit(f"getelementptr i{8 * size}, ptr {base}, {based.numbers.typed}")


def load_vector(
    nest: LoopNest, pointers: Register, mask: Register | None, dtype: DType, based: Based | None = None
) -> Register:
    """Load from addresses, as the elements lie in memory."""
    element = storage_type(dtype)
    suffix = nest.emission.memory_suffix
    if mask is not None and mask.width:
        pointers = nest.builder.splat(pointers, mask.width)
    if not pointers.width:
        where = nest.builder.pointer(pointers.name)
        return nest.load_at(where, None, dtype, suffix, mask)
    vector = _vector_of_pointers(nest, pointers, based, dtype.itemsize)
    return Register(nest.gather(vector, element, dtype.itemsize, mask, suffix), dtype, nest.lanes)


def store_vector(
    nest: LoopNest, pointers: Register, stored: Register, mask: Register | None, based: Based | None = None
) -> None:
    suffix = nest.emission.memory_suffix
    if mask is not None and mask.width:
        pointers = nest.builder.splat(pointers, mask.width)
    if not pointers.width:
        nest.store_at(nest.builder.pointer(pointers.name), None, stored, suffix, mask)
        return
    stored = nest.builder.splat(stored, nest.lanes)
    vector = _vector_of_pointers(nest, pointers, based, stored.dtype.itemsize)
    nest.scatter(vector, stored, stored.dtype.itemsize, mask, suffix)
