"""Loads and stores through views, inside loop nests, and vectors of addresses.

A `TileAccess` is a tile of positions from a start in each dimension.  A loop nest has two versions: one for tiles that
lie within their tensors, without any test, and a masked one for tiles that reach over an edge.
"""

from __future__ import annotations

from tileir.execute.cpu.codegen import nontemporal
from tileir.execute.cpu.codegen.bounds import BasedPointers, BoundsCheck, check_elements
from tileir.execute.cpu.codegen.context import FAR, Emission, TileAccess, TileView
from tileir.execute.cpu.codegen.loop_nest import FIRST, Index, NestEmitter, Term
from tileir.execute.cpu.ir.expressions import Expression, Shape, ViewLoad
from tileir.execute.cpu.ir.statements import StoreView
from tileir.execute.cpu.vector import casting, instructions
from tileir.execute.cpu.vector.builder import Builder, Number
from tileir.execute.cpu.vector.casting import BOOL, INT64
from tileir.execute.cpu.vector.llvm import Register, index_register, literal, storage_type
from tileir.execute.dtypes import DType, memory_bytes, memory_dtype
from tileir.ir.core import Operation


def tile_access(emission: Emission, operation: Operation, view: TileView | None = None) -> TileAccess:
    """An access, computed here; through the view that the operation has, by default."""
    found = emission.views[operation.view] if view is None else view
    assert isinstance(found, TileView)
    view, builder = found, emission.builder
    starts: list[Number] = []
    size = memory_bytes(view.tensor.element)
    offset: Number = 0
    for axis, value in enumerate(operation.index):
        if axis == view.sparse:
            starts.append(0)
            continue
        # A gather view counts elements, which may be negative: those are outside.
        number = emission.whole(value, signed=view.sparse >= 0)
        if view.sparse < 0 and (isinstance(number, int) or emission.scalars[value].dtype.itemsize == 8):
            number = builder.smaller(number, -(-FAR // view.steps[axis]))
        start = builder.multiply(number, view.steps[axis])
        starts.append(start)
        offset = builder.add(offset, builder.multiply(start, builder.multiply(view.strides[axis], size)))
    return TileAccess(operation, view, starts, builder.moved(builder.pointer(view.tensor.address), offset))


def is_inside(emission: Emission, access: TileAccess) -> str:
    """Whether a whole tile lies in its tensor, and that in memory, an i1."""
    builder, view = emission.builder, access.view
    conditions = [view.tensor.fits(access.operation)]
    for axis, (start, extent, count) in enumerate(zip(access.starts, view.extents, view.shape, strict=True)):
        if axis == view.sparse:
            return "false"
        if isinstance(extent, int) and isinstance(start, int):
            if not 0 <= start <= extent - count:
                return "false"
            continue
        last = builder.add(start, count)
        fits = builder.emit(f"icmp ule i64 {last}, {extent}")
        if view.sparse >= 0:
            positive = builder.emit(f"icmp sge i64 {start}, 0")
            fits = builder.emit(f"and i1 {fits}, {positive}")
        conditions = [builder.all_of([*conditions, fits])]
    return conditions[0]


def both(builder: Builder, first: Register | None, second: Register) -> Register:
    """The conjunction of two masks; None is true everywhere."""
    if first is None:
        return second
    width = max(first.width, second.width)
    return casting.binary(builder, "and", builder.splat(first, width), builder.splat(second, width))


def either(builder: Builder, mask: Register, first: Register, second: Register) -> Register:
    """One value where a mask is set, the other elsewhere."""
    width = max(mask.width, first.width, second.width)
    operands = [builder.splat(register, width) for register in (mask, first, second)]
    return casting.choose(builder, *operands)


def _terms(nest: NestEmitter, access: TileAccess, index: Index) -> list[Term]:
    view = access.view
    size = memory_bytes(view.tensor.element)
    with nest.at_level(0):
        return [
            (axis, nest.builder.multiply(view.strides[number], size))
            for number, axis in enumerate(index)
            if number != view.sparse
        ]


def _mask(nest: NestEmitter, access: TileAccess, index: Index) -> tuple[Register | None, int]:
    """Which elements at an index lie in the tensor; None for all."""
    if not nest.masked:
        return None, 0
    builder, view = nest.builder, access.view
    mask: Register | None = None
    level = 0
    for number, axis in sorted(enumerate(index), key=lambda item: (item[1].lanes, item[1].level)):
        start, extent = access.starts[number], view.extents[number]
        is_within = isinstance(start, int) and isinstance(extent, int) and 0 <= start <= extent - view.shape[number]
        if number == view.sparse or is_within:
            continue
        level = max(level, axis.level)
        with nest.at_level(level):
            position = builder.add(start, axis.base)
            if axis.lanes:
                spread = builder.splat(index_register(builder.subtract(extent, position)), nest.lanes)
                numbers = nest.lane_numbers(INT64)
                inside = builder.value(f"icmp sgt {spread.typed}, {numbers.name}", BOOL, nest.lanes)
                if view.sparse >= 0:
                    before = builder.splat(index_register(builder.subtract(0, position)), nest.lanes)
                    after = builder.value(f"icmp sle {before.typed}, {numbers.name}", BOOL, nest.lanes)
                    inside = builder.value(f"and {inside.typed}, {after.name}", BOOL, nest.lanes)
            else:
                inside = builder.value(f"icmp ult i64 {position}, {extent}", BOOL)
            mask = both(builder, mask, inside)
    return guarded(nest, access.operation, view.shape, index, mask, level)


def guarded(
    nest: NestEmitter, operation: Operation, shape: Shape, index: Index, mask: Register | None, level: int
) -> tuple[Register | None, int]:
    """A mask without the elements that the sanitizer found outside of memory."""
    guard = nest.emission.guards.get(operation)
    if guard is None or not nest.masked:
        return mask, level
    allowed, known = nest.guard(guard, shape, index)
    level = max(level, known)
    with nest.at_level(level):
        return both(nest.builder, mask, allowed), level


def load_view(nest: NestEmitter, expression: ViewLoad, index: Index) -> tuple[Register, int]:
    access = nest.emission.tile_accesses[expression.operation]
    element = expression.element
    dtype = memory_dtype(element)
    if access.view.sparse >= 0:
        pointers, mask, level = _sparse(nest, access, expression.positions, index)
        with nest.at_level(level):
            _check_sparse(nest, access, pointers, mask, index, level)
            loaded = access_vector(nest, pointers, dtype, mask)
    else:
        mask, level = _mask(nest, access, index)
        where, distance, known = nest.place(access.pointer, _terms(nest, access, index))
        level = max(level, known)
        with nest.at_level(level):
            loaded = nest.load_at(where, distance, dtype, nest.emission.memory_suffix, mask)
            if distance == dtype.itemsize:
                if access.prefetch_distance != 0:
                    nontemporal.prefetch(nest, where, access.prefetch_distance, dtype.itemsize)
                elif nest.row_part is not None and nest.row_part.is_nontemporal:
                    nontemporal.prefetch_row(nest, where, dtype.itemsize)
    with nest.at_level(level):
        value = instructions.from_memory(nest.builder, element, loaded)
        if mask is not None:
            from tileir.execute.interpreter.views import padding_value

            padding = padding_value(access.view.type)
            value = either(nest.builder, mask, value, literal(padding[()], padding.dtype))
        return value, level


def store_view(nest: NestEmitter, store: StoreView) -> None:
    access = nest.emission.tile_accesses[store.operation]
    index = nest.index_for(store.expression)
    register = nest.value(store.expression)
    with nest.at_level(nest.depth):
        stored = instructions.to_memory(nest.builder, access.view.tensor.element, register)
    if access.view.sparse >= 0:
        pointers, mask, _ = _sparse(nest, access, store.positions, index)
        with nest.at_level(nest.depth):
            if any(axis.lanes for axis in index):
                # Also where all lanes go to one address.
                pointers = nest.builder.splat(pointers, nest.lanes)
            _check_sparse(nest, access, pointers, mask, index, nest.depth)
            access_vector(nest, pointers, stored, mask)
        return
    mask, _ = _mask(nest, access, index)
    terms = _terms(nest, access, index)
    if nest.row_part is not None:
        nontemporal.store_row_part(nest, nest.row_part, access.pointer, terms, stored)
    else:
        nest.store(access.pointer, terms, stored, nest.emission.memory_suffix, mask)


def _check_sparse(
    nest: NestEmitter, access: TileAccess, addresses: Register, mask: Register | None, index: Index, level: int
) -> None:
    """Check elements at listed positions, where their tensor does not lie in memory."""
    view = access.view
    check = BoundsCheck(access.operation, memory_bytes(view.tensor.element), view.shape, index, level)
    check_elements(nest.emission, check, addresses, mask, view.tensor.fits(access.operation))


def _sparse(
    nest: NestEmitter, access: TileAccess, positions: Expression | None, index: Index
) -> tuple[Register, Register | None, int]:
    """The addresses of elements at listed positions, and which of them lie in the tensor."""
    assert positions is not None
    builder, view = nest.builder, access.view
    axis = index[view.sparse]
    register, level = nest.at(positions, tuple([axis if extent != 1 else FIRST for extent in positions.shape]))
    mask, mask_level = _mask(nest, access, index)
    dense = _terms(nest, access, index)
    lanes = [distance for dense_axis, distance in dense if dense_axis.lanes]
    offset, offset_level = nest.sum_of(dense)
    level = max(level, mask_level, offset_level)
    with nest.at_level(level):
        number = casting.cast(builder, register, INT64)
        width = number.width
        extent = index_register(view.extents[view.sparse])
        inside = builder.value(f"icmp ult {number.typed}, {builder.splat(extent, width).name}", BOOL, width)
        mask = both(builder, mask, inside)
        stride = builder.multiply(view.strides[view.sparse], memory_bytes(view.tensor.element))
        distance = builder.splat(index_register(stride), width)
        moved = builder.value(f"mul {number.typed}, {distance.name}", INT64, width)
        base = builder.add(builder.address(access.pointer), offset)
        start = builder.splat(index_register(base), width)
        addresses = builder.value(f"add {moved.typed}, {start.name}", INT64, width)
        if lanes and not addresses.width:
            spread = builder.splat(index_register(lanes[0]), nest.lanes)
            steps = builder.value(f"mul {spread.typed}, {nest.lane_numbers(INT64).name}", INT64, nest.lanes)
            addresses = builder.splat(addresses, nest.lanes)
            addresses = builder.value(f"add {addresses.typed}, {steps.name}", INT64, nest.lanes)
        return addresses, mask, level


def element_address(
    nest: NestEmitter, access: TileAccess, positions: list[Expression], index: Index
) -> tuple[Register, Register | None]:
    """The address of one element of a tile, and whether it lies in the tensor; for nests without lanes."""
    if access.view.sparse >= 0:
        address, mask, _ = _sparse(nest, access, positions[0], index)
        with nest.at_level(nest.depth):
            _check_sparse(nest, access, address, mask, index, nest.depth)
        return address, mask
    mask, _ = _mask(nest, access, index)
    where, _, level = nest.place(access.pointer, _terms(nest, access, index))
    with nest.at_level(max(level, nest.depth)):
        return index_register(nest.builder.address(where)), mask


def access_vector(
    nest: NestEmitter,
    addresses: Register,
    access: Register | DType,
    mask: Register | None,
    based: BasedPointers | None = None,
) -> Register:
    """Store a value to addresses, or load elements of a dtype as they lie in memory."""
    builder, suffix = nest.builder, nest.emission.memory_suffix
    if mask is not None and mask.width:
        addresses = builder.splat(addresses, mask.width)
    dtype = access.dtype if isinstance(access, Register) else access
    size = dtype.itemsize
    if not addresses.width:
        where = builder.pointer(addresses.name)
        if not isinstance(access, Register):
            return nest.load_at(where, None, dtype, suffix, mask)
        nest.store_at(where, None, access, suffix, mask)
        return access
    if isinstance(access, Register):
        access = builder.splat(access, nest.lanes)
    if based is None or based.numbers.width != nest.lanes:
        vector = builder.emit(f"inttoptr {addresses.typed} to <{nest.lanes} x ptr>")
    else:
        # A form that machines with gathers have instructions for.
        base = builder.pointer(based.base.name)
        vector = builder.emit(f"getelementptr i{8 * size}, ptr {base}, {based.numbers.typed}")
    if not isinstance(access, Register):
        return Register(nest.gather(vector, storage_type(dtype), size, mask, suffix), dtype, nest.lanes)
    nest.scatter(vector, access, size, mask, suffix)
    return access
