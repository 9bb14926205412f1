"""Lowering of loads and stores: through tiles of pointers, and through views by TMA or by addresses.

The launcher makes TMA descriptors (docs/internals/triton.md lists what they serve).  Their dimensions are in an order
of their own: those of one element first, which Triton drops, and the contiguous one last.  A tile of 1x64x1x128 is a
box of 1x1x64x128, loaded as 64x128; a view that reads rows as columns is loaded as it lies, and transposed.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, cast

from tileir.dialect.attributes import hint_of
from tileir.dialect.ops import ALLOCA
from tileir.dialect.types import GatherScatterViewType
from tileir.execute.analysis.values import pointee_of, reserved_bytes
from tileir.execute.gpu.triton.code import LaunchValue, Slot, TensorMap, constant
from tileir.execute.gpu.triton.lowering.accesses import (
    Access,
    access_of,
    addresses,
    from_memory,
    inside,
    padding,
    to_memory,
)
from tileir.execute.gpu.triton.lowering.atomics import ordered_load, ordered_store
from tileir.execute.gpu.triton.lowering.context import Lowering, block_number
from tileir.execute.gpu.triton.lowering.ttir_values import Shape, TtirValue, memory_element
from tileir.ir.attributes import SymbolAttribute
from tileir.ir.core import Operation
from tileir.ir.traversal import pre_order
from tileir.ir.types import BF16, F16, F32, F64, FloatType, Type

_FEWEST_BYTES: Final = 16
_MOST_DIMENSIONS: Final = 5
_NANS: Final = (F16, BF16, F32, F64)  # What the accelerator fills with NaN; other types are bytes to it.
_UNIT: Final = constant(1)
_MOST_ALIGNMENT: Final = 256  # Bytes; what the driver aligns memory to.


class Described(NamedTuple):
    descriptor: TtirValue
    coordinates: list[TtirValue]  # Of the first element, i32, in the descriptor's order.
    shape: Shape  # What the accelerator moves, in the descriptor's order, without dimensions of one element.
    order: list[int]  # For each dimension of the tile of more than one element, its position in that shape.


def described(build: Lowering, operation: Operation, access: Access) -> Described | None:
    """The descriptor for an access; None where it goes by addresses."""
    number = access.tensor.number
    view = build.program.views[number]
    shape = access.type.tile_shape
    if not build.uses_tma or number not in build.specialization.described or not view.is_known:
        return None
    if hint_of(operation, "allow_tma", build.target) == 0:
        return None
    if operation.memory_ordering_semantics != "weak" or isinstance(access.type, GatherScatterViewType):
        return None
    if not 2 <= len(shape) <= _MOST_DIMENSIONS or sum([lanes > 1 for lanes in shape]) < 2:
        return None
    fill = _fill(build, access)
    beside = [dimension for dimension, stride in enumerate(view.strides) if stride == _UNIT]
    if fill is None or not beside:
        return None
    # The dimensions of the tile in the order of the descriptor.
    last = access.type.dim_map.index(beside[-1])
    order = [*sorted([axis for axis in range(len(shape)) if axis != last], key=lambda axis: shape[axis] > 1), last]
    if shape[order[-1]] * view.element_bytes < _FEWEST_BYTES:
        return None
    along = [access.type.dim_map[axis] for axis in order]
    extents: list[Any] = [view.shape[each] for each in along]
    strides: list[Any] = [view.strides[each] for each in along]
    if not all(map(_is_possible, extents[:-1], strides[:-1], [view.element_bytes] * len(along))):
        return None
    if extents[-1][0] == "constant" and extents[-1][1] * view.element_bytes % _FEWEST_BYTES:
        return None
    box = tuple([shape[axis] for axis in order])
    assert view.base is not None, "all of the view is known"
    map_ = TensorMap(view.base, tuple(extents), tuple(strides), view.element_bytes, box, 0, 0, fill)
    element = memory_element(access.type.tensor.element)
    descriptor = build.parameter(Slot("descriptor", map_), build.descriptor_type(box, element))
    moved = [axis for axis in order if shape[axis] > 1]
    return Described(
        descriptor,
        [access.dimensions[axis].short_start(build) for axis in order],
        tuple([shape[axis] for axis in moved]),
        [moved.index(axis) for axis in range(len(shape)) if shape[axis] > 1],
    )


def _fill(build: Lowering, access: Access) -> bool | None:
    """Whether elements outside are NaN, and not zero; None where they are something else."""
    padding = access.type.padding
    element = access.type.tensor.element
    if padding is None or padding.keyword == "zero" or not isinstance(element, FloatType):
        return False
    if padding.keyword == "nan" and element in _NANS and build.options.fast:
        # Of the NaNs, one that the accelerator chooses.
        return True
    return None


def _is_possible(extent: LaunchValue, stride: LaunchValue, size: int) -> bool:
    """Whether a stride that the program states is one that the accelerator takes."""
    if extent == _UNIT or stride[0] != "constant":
        return True
    distance = int(stride[1]) * size
    return 0 < distance < 1 << 40 and distance % _FEWEST_BYTES == 0


def lower_offset(build: Lowering, operation: Operation) -> None:
    """Offsets are signed; Triton counts in at least 32 bits."""
    pointers, offsets = build.operands(operation)
    offsets = build.convert("arith.extsi", offsets, "i32") if offsets.bits < 32 else offsets
    build.result(operation, build.advance(pointers, offsets))


def lower_load_pointers(build: Lowering, operation: Operation) -> None:
    pointers, mask = build.value(operation.operands[0]), build.optional(operation.mask)
    element, given = pointee_of(operation.operands[0]), build.optional(operation.padding_value)
    other: TtirValue | None = None
    if mask is not None:
        zero = build.zero(memory_element(element), pointers.shape)
        other = zero if given is None else to_memory(build, element, given)
    _load(build, operation, element, pointers, mask, other)


def lower_store_pointers(build: Lowering, operation: Operation) -> None:
    pointers, value = [build.value(operand) for operand in operation.operands[:2]]
    mask = build.optional(operation.mask)
    _store(build, operation, pointers, to_memory(build, pointee_of(operation.operands[0]), value), mask)


def lower_load_view(build: Lowering, operation: Operation) -> None:
    access = access_of(build, operation)
    element = access.type.tensor.element
    by = described(build, operation, access)
    if by is not None:
        loaded = build.descriptor_load(by.descriptor, by.coordinates, memory_element(element), by.shape)
        build.result(operation, from_memory(build, element, build.transpose(loaded, by.order)))
        return
    pointers, mask = addresses(build, access), inside(build, access)
    other = padding(build, access.type, pointers.shape) if mask is not None else None
    _load(build, operation, element, pointers, mask, other)


def lower_store_view(build: Lowering, operation: Operation) -> None:
    access = access_of(build, operation)
    value = build.value(operation.tile)
    by = described(build, operation, access)
    stored = to_memory(build, access.type.tensor.element, value)
    if by is not None:
        back = [by.order.index(place) for place in range(len(by.order))]
        build.descriptor_store(by.descriptor, by.coordinates, build.transpose(stored, back))
    else:
        _store(build, operation, addresses(build, access), stored, inside(build, access))


def _load(
    build: Lowering,
    operation: Operation,
    element: Type,
    pointers: TtirValue,
    mask: TtirValue | None,
    other: TtirValue | None,
) -> None:
    if operation.memory_ordering_semantics == "weak":
        loaded = build.load(pointers, mask, other)
    else:
        loaded = ordered_load(build, operation, pointers, mask, other)
    build.result(operation, from_memory(build, element, loaded))


def _store(
    build: Lowering, operation: Operation, pointers: TtirValue, stored: TtirValue, mask: TtirValue | None
) -> None:
    if operation.memory_ordering_semantics == "weak":
        build.store(pointers, stored, mask)
    else:
        ordered_store(build, operation, pointers, stored, mask)


# --- memory that is no argument ---


def lower_alloca(build: Lowering, operation: Operation) -> None:
    """A part, of the tile block's own, of a buffer that the launcher has for all of them."""
    places, size = _reserved(build.program.entry)
    base = build.parameter(
        Slot("scratch", (size, _MOST_ALIGNMENT)), "!tt.ptr<i8>", f" {{tt.divisibility = {_MOST_ALIGNMENT} : i32}}"
    )
    distance = build.apply("arith.muli", block_number(build), size)
    pointer = build.advance(base, build.apply("arith.addi", distance, places[operation]))
    alignment = operation.alignment
    if alignment > _MOST_ALIGNMENT:
        number = build.apply("arith.addi", build.reinterpret("tt.ptr_to_int", pointer, "i64"), alignment - 1)
        pointer = build.reinterpret("tt.int_to_ptr", build.apply("arith.andi", number, -alignment), "!tt.ptr<i8>")
    build.result(operation, build.bitcast(pointer, build.type_of(operation.results[0])[0]))


def _reserved(entry: Operation) -> tuple[dict[Operation, int], int]:
    """Where each `alloca` has its memory, the same in each iteration, and how much a tile block has in all."""
    places: dict[Operation, int] = {}
    size = 0
    for operation in pre_order(entry):
        if operation.declaration is ALLOCA:
            alignment = operation.alignment
            size = -(-size // min(alignment, _MOST_ALIGNMENT)) * min(alignment, _MOST_ALIGNMENT)
            places[operation] = size
            size += max(reserved_bytes(operation), 1) + (alignment if alignment > _MOST_ALIGNMENT else 0)
    return places, -(-size // _MOST_ALIGNMENT) * _MOST_ALIGNMENT


def lower_global(build: Lowering, operation: Operation) -> None:
    (name,) = cast(SymbolAttribute, operation.attributes["name"]).path
    element = build.type_of(operation.results[0])[0]
    build.result(operation, build.parameter(Slot("global", name), element, " {tt.divisibility = 16 : i32}"))
