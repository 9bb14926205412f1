"""The addresses of the elements of a tile, which of them are in its tensor, and elements as they lie in memory.

A tile begins at an element of the tensor, its origin, whose address is a scalar of 64 bits.  From there the elements
are counted in 32 bits where the tile reaches no further.  Dimensions of one element only are left out: a tile of
1x1x64x128 is accessed as one of 64x128.

| element            | in memory          | the value                        |
|--------------------|--------------------|----------------------------------|
| i1                 | i8, zero or not    | i1                               |
| i4                 | i8, low four bits  | i8, -8 to 7                      |
| f4E2M1FN           | i8, low four bits  | i8, 0 to 15                      |
| pointers           | i64                | !tt.ptr                          |
| all others         | the value          |                                  |
"""

from __future__ import annotations

from typing import Final

from tileir.dialect.types import PointerType, TileViewType
from tileir.execute.dtypes import bits_dtype
from tileir.execute.gpu.triton.lowering.accesses import Access, Along
from tileir.execute.gpu.triton.lowering.context import Lowering
from tileir.execute.gpu.triton.lowering.ttir_builder import TtirBuilder
from tileir.execute.gpu.triton.lowering.ttir_values import Shape, TtirValue, memory_element, value_element
from tileir.ir.types import F4E2M1FN, I1, I4, Type

_FAR: Final = 1 << 30
"""More elements than a tile has in a dimension, and a power of two that keeps what is known of alignment."""


def from_memory(build: TtirBuilder, element: Type, loaded: TtirValue) -> TtirValue:
    """The value of what was read."""
    if element is I1:
        return build.compare("ne", loaded, 0)
    if element is I4:
        four = build.integer(4, "i8", loaded.shape)
        return build.apply("arith.shrsi", build.apply("arith.shli", loaded, four), four)
    if element is F4E2M1FN:
        return build.apply("arith.andi", loaded, 15)
    if isinstance(element, PointerType):
        return build.reinterpret("tt.int_to_ptr", loaded, value_element(element))
    return loaded


def to_memory(build: TtirBuilder, element: Type, value: TtirValue) -> TtirValue:
    """What is written of a value."""
    if element is I1:
        return build.convert("arith.extui", value, "i8")
    if isinstance(element, PointerType):
        return build.reinterpret("tt.ptr_to_int", value, "i64")
    return value


def padding(build: TtirBuilder, type: TileViewType, shape: Shape) -> TtirValue:
    """What elements outside of the tensor read as, as if it lay in memory."""
    # Imported here: only kernels with views ask.
    from tileir.execute.interpreter.views import padding_value

    element = type.tensor.element
    lowered = memory_element(element)
    bits = int(padding_value(type).view(bits_dtype(element)))
    constant = TtirValue("", lowered)
    return build.float_bits(bits, lowered, shape) if constant.is_float else build.integer(bits, lowered, shape)


def memory_zero(build: TtirBuilder, element: Type, shape: Shape) -> TtirValue:
    """Zero, as it lies in memory."""
    return build.zero(memory_element(element), shape)


def addresses(build: Lowering, access: Access) -> TtirValue:
    """The addresses of the elements: a tensor of the access's shape, a scalar where there is one element only."""
    origin: TtirValue | None = None
    for each in access.dimensions:
        distance = each.start(build) if each.stride.number != 0 else None
        if distance is None:
            continue
        if each.stride.number != 1:
            distance = build.apply("arith.muli", distance, each.stride.wide(build))
        origin = distance if origin is None else build.apply("arith.addi", origin, distance)
    base = access.tensor.base
    if origin is not None:
        base = build.advance(base, origin)
    offsets = _offsets(build, access)
    pointers = build.splat(base, access.shape)
    return pointers if offsets is None else build.advance(pointers, offsets)


def _offsets(build: Lowering, access: Access) -> TtirValue | None:
    """How far the elements are from the origin, in elements."""
    element = "i32" if _is_short(build, access) else "i64"
    shape = access.shape
    total: TtirValue | None = None
    axis = 0
    for each in access.dimensions:
        if each.stride.number == 0:
            axis += each.lanes > 1
            continue
        stride = each.stride.narrow(build) if element == "i32" else each.stride.wide(build)
        if each.positions is not None:
            lanes = _as_wide(build, each.positions, element)
        elif each.lanes == 1:
            continue
        else:
            lanes = build.convert("arith.extsi", build.range(each.lanes), element)
        if each.stride.number != 1:
            lanes = build.apply("arith.muli", lanes, build.splat(stride, lanes.shape))
        if each.lanes == 1:
            # A single listed position: the same for all elements.
            spread = build.splat(lanes, shape)
        else:
            spread = build.along(lanes, axis, shape)
            axis += 1
        total = spread if total is None else build.apply("arith.addi", total, spread)
    return total


def _is_short(build: Lowering, access: Access) -> bool:
    """Whether 32 bits hold how far elements of a tile that are in the tensor are from its first."""
    if access.tensor.number in build.specialization.short:
        return True
    reach = 0
    for each in access.dimensions:
        last = each.extent.most - 1 if each.positions is not None else min(each.lanes, each.extent.most) - 1
        reach += max(last, 0) * each.stride.most
    return reach < 1 << 31


def _as_wide(build: Lowering, positions: TtirValue, element: str) -> TtirValue:
    """Listed positions, which are signed, in another width; those in the tensor fit it."""
    wider = positions.bits < (32 if element == "i32" else 64)
    return build.convert("arith.extsi" if wider else "arith.trunci", positions, element)


# --- what is in the tensor ---


def inside(build: Lowering, access: Access) -> TtirValue | None:
    """Which elements are in the tensor; None for all."""
    shape = access.shape
    whole: TtirValue | None = None
    mask: TtirValue | None = None
    axis = 0
    for each in access.dimensions:
        place = axis
        axis += each.lanes > 1
        if each.is_inside:
            continue
        if each.positions is not None:
            wide = _as_wide(build, each.positions, "i64")
            # Negative ones are huge.
            found = build.compare("ult", wide, build.splat(each.extent.wide(build), wide.shape))
            if each.lanes == 1:
                found = build.splat(found, shape)
            else:
                found = build.along(found, place, shape)
            mask = found if mask is None else build.apply("arith.andi", mask, found)
            continue
        if each.is_all_or_none or (each.is_far and not each.is_signed):
            found = each.is_of_view(build)
            whole = found if whole is None else build.apply("arith.andi", whole, found)
        if not each.is_all_or_none:
            found = build.along(_lanes_inside(build, each), place, shape)
            mask = found if mask is None else build.apply("arith.andi", mask, found)
    if whole is None:
        return mask
    spread = build.splat(whole, shape)
    return spread if mask is None else build.apply("arith.andi", mask, spread)


def _lanes_inside(build: Lowering, along: Along) -> TtirValue:
    lanes = build.range(along.lanes)
    if not along.is_signed:
        return build.compare("slt", lanes, build.splat(_remaining(build, along), lanes.shape))
    wide = build.convert("arith.extsi", lanes, "i64")
    start = along.start(build)
    if start is not None:
        wide = build.apply("arith.addi", wide, build.splat(start, lanes.shape))
    return build.compare("ult", wide, build.splat(along.extent.wide(build), lanes.shape))


def _remaining(build: Lowering, along: Along) -> TtirValue:
    """How many positions the tensor has from the first of the tile on, as i32; many are as good as more."""
    start = along.start(build)
    if start is None and along.extent.most < _FAR:
        return along.extent.narrow(build)
    left = along.extent.wide(build)
    if start is not None:
        left = build.apply("arith.subi", left, start)
    left = build.apply("arith.maxsi", left, 0)
    left = build.apply("arith.minsi", left, _FAR)
    return build.convert("arith.trunci", left, "i32")
