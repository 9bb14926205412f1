"""Lowering of what is read and written through views, by addresses.

A tile begins at an element of the tensor, its origin, whose address is a scalar of 64 bits.  From there the elements
are counted in 32 bits where the tile reaches no further.  Dimensions of one element only are left out: a tile of
1x1x64x128 is accessed as one of 64x128.
"""

from __future__ import annotations

from typing import Final, NamedTuple, cast

from tileir.dialect.ops import LOAD_VIEW_TKO
from tileir.dialect.types import DYNAMIC, GatherScatterViewType, TileViewType
from tileir.execute.gpu.triton.lowering import elements
from tileir.execute.gpu.triton.lowering.context import Lowering
from tileir.execute.gpu.triton.lowering.tensors import Dimension, Tensor, dimension_map, steps_of
from tileir.execute.gpu.triton.ttir.values import Shape, TtirValue
from tileir.ir.attributes import DenseArrayAttribute
from tileir.ir.core import Operation
from tileir.ir.values import Value

_FAR: Final = 1 << 30
"""More elements than a tile has in a dimension, and a power of two that keeps what is known of alignment."""


class Along(NamedTuple):
    """An access in one dimension of its tile."""

    lanes: int
    """How many elements of the tile."""
    extent: Dimension
    stride: Dimension
    start: TtirValue | None
    """The first position, i64; None for zero, and where positions are listed."""
    positions: TtirValue | None
    """The positions of a gather view."""
    is_signed: bool
    """Whether the first position may be negative."""
    is_inside: bool
    """Whether all positions are known to be in the tensor."""


class Access(NamedTuple):
    """Where a tile lies."""

    type: TileViewType
    tensor: Tensor
    dimensions: list[Along]
    shape: Shape
    """Of the tile, without dimensions of one element."""


def lower_load_view(lowering: Lowering, operation: Operation) -> None:
    build = lowering.build
    access = access_of(lowering, operation)
    pointers = addresses(lowering, access)
    mask = inside(lowering, access)
    other = elements.padding(build, access.type, pointers.shape) if mask is not None else None
    loaded = build.load(pointers, mask, other)
    value = elements.from_memory(build, access.type.tensor.element, loaded)
    lowering.result(operation, build.reshape(value, access.type.tile_shape))


def lower_store_view(lowering: Lowering, operation: Operation) -> None:
    build = lowering.build
    access = access_of(lowering, operation)
    pointers = addresses(lowering, access)
    value = build.reshape(lowering.value(operation.operand_group("tile")[0]), access.shape)
    stored = elements.to_memory(build, access.type.tensor.element, value)
    build.store(pointers, stored, inside(lowering, access))


# --- where a tile lies ---


def access_of(lowering: Lowering, operation: Operation) -> Access:
    view = operation.operand_group("view")[0]
    type = cast(TileViewType, view.type)
    tensor: Tensor = lowering.views[view]
    index = operation.operand_group("index")
    promised = _promised(operation, len(type.tile_shape))
    dimensions = []
    for axis, (lanes, step, along) in enumerate(zip(type.tile_shape, steps_of(type), dimension_map(type), strict=True)):
        extent, stride = tensor.shape[along], tensor.strides[along]
        if isinstance(type, GatherScatterViewType) and axis == type.sparse_dim:
            positions = lowering.value(index[axis])
            if not positions.shape:
                positions = lowering.build.splat(positions, (1,))
            dimensions.append(Along(lanes, extent, stride, None, positions, True, promised[axis]))
            continue
        # What gather views count in may be negative, as in Python.
        signed = isinstance(type, GatherScatterViewType) and lowering.facts.range(index[axis])[0] < 0
        start = _start(lowering, index[axis], step, signed)
        known = promised[axis] or _is_inside(lowering, index[axis], lanes, step, extent, signed)
        dimensions.append(Along(lanes, extent, stride, start, None, signed, known))
    shape = tuple([lanes for lanes in type.tile_shape if lanes > 1])
    if (
        not shape
        and type.tile_shape
        and (operation.declaration is not LOAD_VIEW_TKO or isinstance(type, GatherScatterViewType))
    ):
        # A scalar does for what is loaded; what is stored is a tensor already.
        shape = (1,)
    return Access(type, tensor, dimensions, shape)


def _promised(operation: Operation, rank: int) -> list[bool]:
    """For which dimensions the program says that the tile lies in the tensor."""
    attribute = operation.attributes.get("inbounds")
    return [bool(value) for value in attribute.values] if isinstance(attribute, DenseArrayAttribute) else [False] * rank


def _start(lowering: Lowering, index: Value, step: int, signed: bool) -> TtirValue | None:
    build = lowering.build
    if lowering.facts.constant(index) == 0:
        return None
    start = build.convert("arith.extsi" if signed else "arith.extui", lowering.value(index), "i64")
    return start if step == 1 else build.binary("arith.muli", start, build.integer(step, "i64"))


def _is_inside(lowering: Lowering, index: Value, lanes: int, step: int, extent: Dimension, signed: bool) -> bool:
    """Whether a tile is known to lie in the tensor, in one dimension."""
    if extent.number == DYNAMIC or signed:
        return False
    if lanes > 1 and step == lanes and extent.number % lanes == 0:
        # An index beyond the last tile is undefined.
        return True
    return lowering.facts.range(index, signed=False)[1] * step + lanes <= extent.number


# --- addresses ---


def addresses(lowering: Lowering, access: Access) -> TtirValue:
    """The addresses of the elements: a tensor of the access's shape, a scalar where there is one element only."""
    build = lowering.build
    origin: TtirValue | None = None
    for each in access.dimensions:
        if each.start is None or each.stride.number == 0:
            continue
        distance = each.start
        if each.stride.number != 1:
            distance = build.binary("arith.muli", each.start, each.stride.wide(build))
        origin = distance if origin is None else build.binary("arith.addi", origin, distance)
    base = access.tensor.base
    if origin is not None:
        base = build.advance(base, origin)
    offsets = _offsets(lowering, access)
    pointers = build.splat(base, access.shape)
    return pointers if offsets is None else build.advance(pointers, offsets)


def _offsets(lowering: Lowering, access: Access) -> TtirValue | None:
    """How far the elements are from the origin, in elements."""
    build = lowering.build
    element = "i32" if _is_short(lowering, access) else "i64"
    shape = access.shape
    total: TtirValue | None = None
    axis = 0
    for each in access.dimensions:
        if each.stride.number == 0:
            axis += each.lanes > 1
            continue
        stride = each.stride.narrow(build) if element == "i32" else each.stride.wide(build)
        if each.positions is not None:
            lanes = _as_wide(lowering, each.positions, element)
        elif each.lanes == 1:
            continue
        else:
            lanes = build.convert("arith.extsi", build.range(each.lanes), element)
        if each.stride.number != 1:
            lanes = build.binary("arith.muli", lanes, build.splat(stride, lanes.shape))
        if each.lanes == 1:
            # A single listed position: the same for all elements.
            spread = build.broadcast(build.reshape(lanes, (1,) * len(shape)), shape)
        else:
            spread = _spread(lowering, lanes, axis, shape)
            axis += 1
        total = spread if total is None else build.binary("arith.addi", total, spread)
    return total


def _is_short(lowering: Lowering, access: Access) -> bool:
    """Whether 32 bits hold how far elements of a tile that are in the tensor are from its first."""
    if access.tensor.number in lowering.specialization.short:
        return True
    reach = 0
    for each in access.dimensions:
        last = each.extent.most - 1 if each.positions is not None else min(each.lanes, each.extent.most) - 1
        reach += max(last, 0) * each.stride.most
    return reach < 1 << 31


def _as_wide(lowering: Lowering, positions: TtirValue, element: str) -> TtirValue:
    """Listed positions, which are signed, in another width; those in the tensor fit it."""
    wider = positions.bits < (32 if element == "i32" else 64)
    return lowering.build.convert("arith.extsi" if wider else "arith.trunci", positions, element)


def _spread(lowering: Lowering, lanes: TtirValue, axis: int, shape: Shape) -> TtirValue:
    """What holds along a dimension, for all elements."""
    for other in range(len(shape)):
        if other != axis:
            lanes = lowering.build.expand(lanes, other)
    return lowering.build.broadcast(lanes, shape)


# --- what is in the tensor ---


def inside(lowering: Lowering, access: Access) -> TtirValue | None:
    """Which elements are in the tensor; None for all."""
    build = lowering.build
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
            wide = _as_wide(lowering, each.positions, "i64")
            # Negative ones are huge.
            found = build.compare("ult", wide, build.splat(each.extent.wide(build), wide.shape))
            if each.lanes == 1:
                found = build.broadcast(build.reshape(found, (1,) * len(shape)), shape)
            else:
                found = _spread(lowering, found, place, shape)
            mask = found if mask is None else build.binary("arith.andi", mask, found)
        elif each.lanes == 1:
            start = each.start if each.start is not None else build.integer(0, "i64")
            found = build.compare("ult", start, each.extent.wide(build))
            whole = found if whole is None else build.binary("arith.andi", whole, found)
        else:
            found = _lanes_inside(lowering, each)
            found = _spread(lowering, found, place, shape)
            mask = found if mask is None else build.binary("arith.andi", mask, found)
    if whole is None:
        return mask
    spread = build.splat(whole, shape)
    return spread if mask is None else build.binary("arith.andi", mask, spread)


def _lanes_inside(lowering: Lowering, along: Along) -> TtirValue:
    build = lowering.build
    lanes = build.range(along.lanes)
    if not along.is_signed:
        return build.compare("slt", lanes, build.splat(_remaining(lowering, along), lanes.shape))
    wide = build.convert("arith.extsi", lanes, "i64")
    if along.start is not None:
        wide = build.binary("arith.addi", wide, build.splat(along.start, lanes.shape))
    return build.compare("ult", wide, build.splat(along.extent.wide(build), lanes.shape))


def _remaining(lowering: Lowering, along: Along) -> TtirValue:
    """How many positions the tensor has from the first of the tile on, as i32; many are as good as more."""
    build = lowering.build
    if along.start is None and along.extent.most < _FAR:
        return along.extent.narrow(build)
    left = along.extent.wide(build)
    if along.start is not None:
        left = build.binary("arith.subi", left, along.start)
    left = build.binary("arith.maxsi", left, build.integer(0, "i64"))
    left = build.binary("arith.minsi", left, build.integer(_FAR, "i64"))
    return build.convert("arith.trunci", left, "i32")
