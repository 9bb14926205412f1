"""Loads and stores through views and through tiles of pointers, inside nests.

An access through a view has a box: a tile of positions from a start in each dimension.  A nest has two versions: one
for boxes that lie within their tensors, without any test, and a masked one for boxes that reach over an edge.

An access through pointers is a gather or scatter, unless the pointers of neighbouring lanes look like neighbours in
the program (an `iota` plus something uniform): then a test at run time, made for every vector, chooses between one
vector access and the gather.  Wrapping of narrow integers makes a proof impossible without the test.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy

from tileir.dialect.types import GatherScatterViewType, PartitionViewType, PointerType, StridedViewType, TileViewType
from tileir.execute.cpu.emission import streaming
from tileir.execute.cpu.emission.nests import FIRST, Index, NestEmission, Number, Term
from tileir.execute.cpu.lowering.expressions import (
    Applied,
    Count,
    Expression,
    Gathered,
    Mapped,
    Shape,
    Splat,
    Table,
    Viewed,
)
from tileir.execute.cpu.lowering.sinks import StorePointers, StoreView
from tileir.execute.cpu.vector import casting, instructions
from tileir.execute.cpu.vector.casting import BOOL, INT64
from tileir.execute.cpu.vector.llvm import Builder, Register, literal, storage_type
from tileir.execute.dtypes import DType, memory_bytes, memory_dtype
from tileir.ir.attributes import DenseAttribute, EnumAttribute
from tileir.ir.core import Operation
from tileir.ir.types import Type

if TYPE_CHECKING:
    from tileir.execute.cpu.emission.worker import Emission


class TensorView:
    """Memory seen as a tensor: an address, extents and strides in elements.

    `sizes` are the extents as the program has them; those that accesses go by are cut off at `FAR`.
    """

    __slots__ = ("address", "element", "extents", "sizes", "strides")

    def __init__(
        self, address: str, element: Type, sizes: list[Number], extents: list[Number], strides: list[Number]
    ) -> None:
        self.sizes: list[Number] = sizes
        self.address: str = address
        self.element: Type = element
        self.extents: list[Number] = extents
        self.strides: list[Number] = strides


class TileView:
    """Tiles over a tensor, by dimension of the tile: extents and strides of the tensor, steps between tiles."""

    __slots__ = ("extents", "shape", "sizes", "sparse", "steps", "strides", "tensor", "type")

    def __init__(self, tensor: TensorView, type: TileViewType) -> None:
        axes = tuple(range(len(tensor.extents)))
        steps: tuple[int, ...] = type.tile_shape
        self.sparse: int = -1
        if isinstance(type, PartitionViewType):
            axes = type.dim_map
        elif isinstance(type, StridedViewType):
            axes = type.dim_map
            steps = type.traversal_strides
        elif isinstance(type, GatherScatterViewType):
            self.sparse = type.sparse_dim
            steps = (1,) * len(axes)
        self.type: TileViewType = type
        self.tensor: TensorView = tensor
        self.shape: tuple[int, ...] = type.tile_shape
        self.steps: tuple[int, ...] = steps
        self.sizes: list[Number] = [tensor.sizes[axis] for axis in axes]
        self.extents: list[Number] = [tensor.extents[axis] for axis in axes]
        self.strides: list[Number] = [tensor.strides[axis] for axis in axes]


class Box:
    """One access through a view: where its tile begins in each dimension."""

    __slots__ = ("ahead", "operation", "pointer", "starts", "view")

    def __init__(self, operation: Operation, view: TileView, starts: list[Number], pointer: str) -> None:
        self.operation: Operation = operation
        self.view: TileView = view
        self.starts: list[Number] = starts
        self.pointer: str = pointer
        self.ahead: Number = 0
        """How far away in bytes the next tile block's tile begins, where it is to be fetched; else 0."""


# Beyond this nothing is: extents and positions are cut off here, as the interpreter does, so that none wraps.
FAR = 1 << 62


def cut_off(emission: Emission, number: Number, limit: int) -> Number:
    """The smaller of an unsigned number and a limit."""
    if isinstance(number, int):
        return min(number, limit)
    return emission.builder.call("i64", "llvm.umin.i64", [f"i64 {number}", f"i64 {limit}"])


def open_box(emission: Emission, operation: Operation) -> Box:
    """The box of an access, computed where the builder stands."""
    view = emission.views[operation.operand_group("view")[0]]
    assert isinstance(view, TileView)
    starts: list[Number] = []
    size = memory_bytes(view.tensor.element)
    offset: Number = 0
    for axis, value in enumerate(operation.operand_group("index")):
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
        start = emission.multiply(number, view.steps[axis])
        starts.append(start)
        offset = emission.add(offset, emission.multiply(start, emission.multiply(view.strides[axis], size)))
    return Box(operation, view, starts, emission.shifted(emission.pointer(view.tensor.address), offset))


def is_inside(emission: Emission, box: Box) -> str:
    """Whether a whole box lies in its tensor, an i1."""
    builder = emission.builder
    answer = "true"
    for axis, start in enumerate(box.starts):
        if axis == box.view.sparse:
            return "false"
        extent, wanted = box.view.extents[axis], box.view.shape[axis]
        if isinstance(extent, int) and isinstance(start, int):
            if start >= 0 and start + wanted <= extent:
                continue
            return "false"
        last = emission.add(start, wanted)
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


def terms_of(nest: NestEmission, box: Box, index: Index) -> list[Term]:
    size = memory_bytes(box.view.tensor.element)
    terms: list[Term] = []
    for place, axis in enumerate(index):
        if place == box.view.sparse:
            continue
        with nest.at_level(0):
            distance = nest.emission.multiply(box.view.strides[place], size)
        terms.append((axis, distance))
    return terms


def _mask(nest: NestEmission, box: Box, index: Index) -> tuple[Register | None, int]:
    """Which elements at an index lie in the tensor; None for all."""
    if not nest.masked:
        return None, 0
    builder = nest.builder
    mask: Register | None = None
    level = 0
    for place, axis in sorted(enumerate(index), key=lambda item: (item[1].lanes, item[1].level)):
        if place == box.view.sparse:
            continue
        level = max(level, axis.level)
        with nest.at_level(level):
            position = nest.emission.add(box.starts[place], axis.base)
            extent = box.view.extents[place]
            if axis.lanes:
                left = nest.emission.subtract(extent, position)
                spread = builder.splat(Register(str(left), INT64), nest.lanes)
                numbers = nest.lane_numbers(INT64)
                inside = builder.value(f"icmp sgt {spread.typed}, {numbers.name}", BOOL, nest.lanes)
                if box.view.sparse >= 0:
                    before = builder.splat(Register(str(nest.emission.subtract(0, position)), INT64), nest.lanes)
                    after = builder.value(f"icmp sle {before.typed}, {numbers.name}", BOOL, nest.lanes)
                    inside = builder.value(f"and {inside.typed}, {after.name}", BOOL, nest.lanes)
            else:
                inside = builder.value(f"icmp ult i64 {position}, {extent}", BOOL)
            mask = inside if mask is None else both(builder, mask, inside)
    return guarded(nest, box.operation, box.view.shape, index, mask, level)


def guarded(
    nest: NestEmission, operation: Operation, shape: Shape, index: Index, mask: Register | None, level: int
) -> tuple[Register | None, int]:
    """A mask without the elements that the sanitizer found outside of memory."""
    guard = nest.emission.guards.get(operation)
    if guard is None or not nest.masked:
        return mask, level
    allowed, known = nest.guard(guard, shape, index)
    level = max(level, known)
    with nest.at_level(level):
        return allowed if mask is None else both(nest.builder, mask, allowed), level


def load_view(nest: NestEmission, expression: Viewed, index: Index) -> tuple[Register, int]:
    box = nest.emission.box(expression.operation)
    element = expression.element
    dtype = memory_dtype(element)
    if box.view.sparse >= 0:
        pointers, mask, level = _sparse(nest, box, expression.positions, index)
        with nest.at_level(level):
            loaded = _load_vector(nest, pointers, mask, dtype)
    else:
        mask, level = _mask(nest, box, index)
        where, distance, known = nest.place(box.pointer, terms_of(nest, box, index))
        level = max(level, known)
        with nest.at_level(level):
            loaded = nest.load_at(where, distance, dtype, nest.emission.memory_suffix, mask)
            if box.ahead != 0 and distance == dtype.itemsize:
                streaming.fetch(nest, where, box.ahead, dtype.itemsize)
    with nest.at_level(level):
        value = instructions.from_memory(nest.builder, element, loaded)
        if mask is not None:
            padding = padding_of(nest.emission, box.view)
            value = either(nest.builder, mask, value, padding)
        return value, level


def padding_of(emission: Emission, view: TileView) -> Register:
    from tileir.execute.interpreter.views import padding_array

    value = padding_array(view.type).reshape(-1)[0]
    return literal(value, value.dtype)


def store_view(nest: NestEmission, sink: StoreView) -> None:
    box = nest.emission.box(sink.operation)
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
            _store_vector(nest, pointers, stored, mask)
        return
    mask, _ = _mask(nest, box, index)
    terms = terms_of(nest, box, index)
    if nest.stretch is not None:
        streaming.store(nest, nest.stretch, box.pointer, terms, stored)
    else:
        nest.store(box.pointer, terms, stored, nest.emission.memory_suffix, mask)


def _sparse(
    nest: NestEmission, box: Box, positions: Expression | None, index: Index
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
        number = emission.converted(register, INT64)
        extent = emission.register(box.view.extents[place])
        inside = builder.value(
            f"icmp ult {number.typed}, {builder.splat(extent, number.width).name}", BOOL, number.width
        )
        mask = inside if mask is None else both(builder, mask, inside)
        distance = builder.splat(emission.register(emission.multiply(box.view.strides[place], size)), number.width)
        moved = builder.value(f"mul {number.typed}, {distance.name}", INT64, number.width)
        base = emission.add(emission.address(box.pointer), offset)
        start = builder.splat(emission.register(base), number.width)
        addresses = builder.value(f"add {moved.typed}, {start.name}", INT64, number.width)
        if lanes and not addresses.width:
            numbers = nest.lane_numbers(INT64)
            spread = builder.splat(emission.register(lanes[0]), nest.lanes)
            steps = builder.value(f"mul {spread.typed}, {numbers.name}", INT64, nest.lanes)
            addresses = builder.splat(addresses, nest.lanes)
            addresses = builder.value(f"add {addresses.typed}, {steps.name}", INT64, nest.lanes)
        return addresses, mask, level


# --- pointers ---


def load_pointers(nest: NestEmission, expression: Gathered, index: Index) -> tuple[Register, int]:
    element = expression.element
    pointers, level = nest.at(expression.pointers, index)
    mask: Register | None = None
    if expression.mask is not None:
        mask, mask_level = nest.at(expression.mask, index)
        level = max(level, mask_level)
    mask, level = guarded(nest, expression.operation, expression.shape, index, mask, level)
    if nest.emission.is_ordered(expression.operation):
        with nest.at_level(level):
            loaded = _load_atomically(nest, expression.operation, pointers, mask, element)
    else:
        step = lane_step(expression.pointers, index)
        with nest.at_level(level):
            if mask is not None and mask.width and not pointers.width:
                pointers = nest.builder.splat(pointers, nest.lanes)
            if step == memory_bytes(element) and pointers.width:
                loaded = _load_neighbours(nest, pointers, mask, element)
            else:
                loaded = _load_vector(nest, pointers, mask, memory_dtype(element))
    padding: Register | None = None
    if mask is not None:
        if expression.padding is not None:
            padding, padding_level = nest.at(expression.padding, index)
            level = max(level, padding_level)
        else:
            padding = literal(numpy.zeros((), expression.dtype)[()], expression.dtype)
    with nest.at_level(level):
        value = instructions.from_memory(nest.builder, element, loaded)
        if mask is not None and padding is not None:
            value = either(nest.builder, mask, value, padding)
        return value, level


def lane_step(expression: Expression, index: Index) -> int | None:
    """How far values of neighbouring lanes are apart, if no integer wraps; None where it cannot be told."""
    if not any(axis.lanes for axis in index):
        return 0
    if isinstance(expression, Splat) or (isinstance(expression, Table) and expression.array.size == 1):
        return 0
    if isinstance(expression, Count):
        return 1
    if isinstance(expression, Mapped):
        axes = [index[axis] if axis is not None else FIRST for axis, _ in expression.mapping]
        return lane_step(expression.source, tuple(axes))
    if not isinstance(expression, Applied):
        return None
    mnemonic = expression.operation.declaration.mnemonic
    steps = [lane_step(argument, index) for argument in expression.arguments]
    if any(step is None for step in steps):
        return None
    if mnemonic == "exti" or all(step == 0 for step in steps):
        return steps[0] if mnemonic == "exti" else 0
    first, second = (cast(int, steps[0]), cast(int, steps[1])) if len(steps) == 2 else (0, 0)
    if mnemonic == "addi":
        return first + second
    if mnemonic == "subi":
        return first - second
    if mnemonic == "muli":
        factor = _uniform_constant(expression.arguments[1 if first else 0])
        return None if factor is None or (first and second) else (first + second) * factor
    if mnemonic == "offset":
        type = expression.operation.results[0].type
        pointee = cast(PointerType, type.element).pointee  # type: ignore[attr-defined]
        return first + second * memory_bytes(pointee)
    return None


def _uniform_constant(expression: Expression) -> int | None:
    if isinstance(expression, Table) and expression.array.size == 1:
        return int(expression.array.reshape(-1)[0])
    if isinstance(expression, Mapped):
        return _uniform_constant(expression.source)
    if isinstance(expression, Splat):
        operation = expression.scalar.defining_operation
        if operation is not None and operation.declaration.mnemonic == "constant":
            from tileir.execute.dtypes import constant_elements

            return int(constant_elements(cast(DenseAttribute, operation.attributes["value"]))[0])
    return None


def _load_vector(nest: NestEmission, pointers: Register, mask: Register | None, dtype: DType) -> Register:
    """Load from addresses, as the elements lie in memory."""
    element = storage_type(dtype)
    suffix = nest.emission.memory_suffix
    if mask is not None and mask.width:
        pointers = nest.builder.splat(pointers, mask.width)
    if not pointers.width:
        where = nest.emission.pointer(pointers.name)
        return nest.load_at(where, None, dtype, suffix, mask)
    vector = nest.builder.emit(f"inttoptr {pointers.typed} to <{nest.lanes} x ptr>")
    return Register(nest.gather(vector, element, dtype.itemsize, mask, suffix), dtype, nest.lanes)


def _first_lane(nest: NestEmission, pointers: Register) -> tuple[str, str]:
    """The pointer of the first lane, and whether all lanes follow it without gaps of more than their place."""
    first = nest.builder.emit(f"extractelement {pointers.typed}, i64 0")
    return first, nest.emission.pointer(first)


def _neighbours(nest: NestEmission, pointers: Register, size: int) -> tuple[str, str]:
    """An i1: lanes are neighbours in memory; and the pointer of the first."""
    builder = nest.builder
    first, where = _first_lane(nest, pointers)
    spread = builder.splat(Register(first, INT64), nest.lanes)
    text = ", ".join([f"i64 {lane * size}" for lane in range(nest.lanes)])
    expected = builder.emit(f"add {spread.typed}, <{text}>")
    vector = f"<{nest.lanes} x i64>"
    differs = builder.emit(f"icmp ne {vector} {pointers.name}, {expected}")
    bits = builder.emit(f"bitcast <{nest.lanes} x i1> {differs} to i{nest.lanes}")
    return builder.emit(f"icmp eq i{nest.lanes} {bits}, 0"), where


def _load_neighbours(nest: NestEmission, pointers: Register, mask: Register | None, element: Type) -> Register:
    builder = nest.builder
    dtype = memory_dtype(element)
    even, where = _neighbours(nest, pointers, dtype.itemsize)
    name = builder.fresh("run")
    vector = f"<{nest.lanes} x {storage_type(dtype)}>"
    builder.do(f"br i1 {even}, label %{name}.near, label %{name}.far")
    builder.label(f"{name}.near")
    near = nest.load_at(where, dtype.itemsize, dtype, nest.emission.memory_suffix, mask).name
    builder.do(f"br label %{name}.near.end")
    builder.label(f"{name}.near.end")
    builder.do(f"br label %{name}.end")
    builder.label(f"{name}.far")
    far = _load_vector(nest, pointers, mask, dtype).name
    builder.do(f"br label %{name}.far.end")
    builder.label(f"{name}.far.end")
    builder.do(f"br label %{name}.end")
    builder.label(f"{name}.end")
    found = builder.emit(f"phi {vector} [ {near}, %{name}.near.end ], [ {far}, %{name}.far.end ]")
    return Register(found, dtype, nest.lanes)


def store_pointers(nest: NestEmission, sink: StorePointers) -> None:
    index = nest.index_for(sink.pointers)
    pointers = nest.value(sink.pointers)
    mask = nest.value(sink.mask) if sink.mask is not None else None
    mask, _ = guarded(nest, sink.operation, sink.pointers.shape, index, mask, nest.depth)
    register = nest.value(sink.expression)
    element = sink.expression.element
    size = memory_bytes(element)
    step = lane_step(sink.pointers, index)
    with nest.at_level(nest.depth):
        stored = instructions.to_memory(nest.builder, element, register)
        if nest.emission.is_ordered(sink.operation):
            _store_atomically(nest, sink.operation, pointers, stored, mask)
            return
        if any(axis.lanes for axis in index):
            pointers = nest.builder.splat(pointers, nest.lanes)
            stored = nest.builder.splat(stored, nest.lanes)
        if step != size or not pointers.width:
            _store_vector(nest, pointers, stored, mask)
            return
        builder = nest.builder
        even, where = _neighbours(nest, pointers, size)
        name = builder.fresh("run")
        builder.do(f"br i1 {even}, label %{name}.near, label %{name}.far")
        builder.label(f"{name}.near")
        nest.store_at(where, size, stored, nest.emission.memory_suffix, mask)
        builder.do(f"br label %{name}.end")
        builder.label(f"{name}.far")
        _store_vector(nest, pointers, stored, mask)
        builder.do(f"br label %{name}.end")
        builder.label(f"{name}.end")


def _store_vector(nest: NestEmission, pointers: Register, stored: Register, mask: Register | None) -> None:
    suffix = nest.emission.memory_suffix
    if mask is not None and mask.width:
        pointers = nest.builder.splat(pointers, mask.width)
    if not pointers.width:
        nest.store_at(nest.emission.pointer(pointers.name), None, stored, suffix, mask)
        return
    stored = nest.builder.splat(stored, nest.lanes)
    vector = nest.builder.emit(f"inttoptr {pointers.typed} to <{nest.lanes} x ptr>")
    nest.scatter(vector, stored, stored.dtype.itemsize, mask, suffix)


# --- ordered accesses: one element at a time, each atomic ---

_ORDERS = {"relaxed": "monotonic", "acquire": "acquire", "release": "release", "acq_rel": "acq_rel"}


def order_of(operation: Operation) -> str:
    """LLVM's name for the ordering of an operation."""
    found = operation.attributes.get("memory_ordering_semantics")
    return _ORDERS.get(found.keyword if isinstance(found, EnumAttribute) else "relaxed", "monotonic")


def _load_atomically(
    nest: NestEmission, operation: Operation, address: Register, mask: Register | None, element: Type
) -> Register:
    emission, builder = nest.emission, nest.builder
    dtype = memory_dtype(element)
    bits = f"i{8 * dtype.itemsize}"
    where = emission.pointer(address.name)

    def load() -> str:
        return builder.emit(f"load atomic {bits}, ptr {where} {order_of(operation)}, align {dtype.itemsize}")

    loaded = emission.conditional(mask, bits, load)
    return emission.from_bits(loaded, dtype)


def _store_atomically(
    nest: NestEmission, operation: Operation, address: Register, stored: Register, mask: Register | None
) -> None:
    emission, builder = nest.emission, nest.builder
    size = stored.dtype.itemsize
    bits = emission.to_bits(stored)
    where = emission.pointer(address.name)

    def store() -> str:
        builder.do(f"store atomic i{8 * size} {bits}, ptr {where} {order_of(operation)}, align {size}")
        return ""

    emission.conditional(mask, "", store)


def element_address(
    nest: NestEmission, box: Box, positions: list[Expression], index: Index
) -> tuple[Register, Register | None]:
    """The address of one element of a box, and whether it lies in the tensor; for nests without lanes."""
    if box.view.sparse >= 0:
        address, mask, _ = _sparse(nest, box, positions[0], index)
        return address, mask
    mask, _ = _mask(nest, box, index)
    where, _, level = nest.place(box.pointer, terms_of(nest, box, index))
    with nest.at_level(max(level, nest.depth)):
        return Register(str(nest.emission.address(where)), INT64), mask
