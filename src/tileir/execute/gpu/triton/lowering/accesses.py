"""Lowering of views: where the tile of an access lies, the addresses of its elements, and which are in the tensor.

A view is no value in TTIR: `Lowering.views` has it.  The address of a tile's first element, its origin, is a scalar of
64 bits; others are counted from it, in 32 bits where they reach.  Dimensions of one element are left out.  In memory an
i1 is a byte, an i4 and an f4E2M1FN the low four bits of one, a pointer an i64; all others are the value.
"""

from __future__ import annotations

from typing import Final, NamedTuple, cast

from tileir.dialect.types import (
    DYNAMIC,
    GatherScatterViewType,
    PointerType,
    TensorViewType,
    TileViewType,
)
from tileir.execute.dtypes import bits_dtype
from tileir.execute.gpu.triton.lowering.context import Lowering
from tileir.execute.gpu.triton.lowering.ttir_builder import TtirBuilder
from tileir.execute.gpu.triton.lowering.ttir_values import Shape, TtirValue, memory_element, squeezed, value_element
from tileir.ir.attributes import DenseArrayAttribute
from tileir.ir.core import Operation
from tileir.ir.types import F4E2M1FN, I1, I4, Type
from tileir.ir.values import Value

_FAR: Final = 1 << 62
MOST_EXTENT: Final = 1 << 30
"""Of tensors that the tensor memory accelerator serves: it counts in signed numbers of 32 bits, and what is outside is
to be counted too."""


class Dimension(NamedTuple):
    number: int  # DYNAMIC if only the value determines it.
    value: TtirValue | None
    most: int

    def wide(self, build: TtirBuilder) -> TtirValue:
        if self.value is None:
            return build.integer(self.number, "i64")
        return build.convert("arith.extui", self.value, "i64")

    def narrow(self, build: TtirBuilder) -> TtirValue:
        """As i32; right where it fits."""
        if self.value is None:
            return build.integer(self.number)
        return build.convert("arith.trunci" if self.value.bits > 32 else "arith.extui", self.value, "i32")


class Tensor(NamedTuple):
    """A tensor view: what it is made of, as scalars."""

    number: int  # Among `Program.views`.
    type: TensorViewType
    base: TtirValue
    shape: list[Dimension]
    strides: list[Dimension]


def lower_make_tensor_view(build: Lowering, operation: Operation) -> None:
    type = cast(TensorViewType, operation.results[0].type)
    base = build.value(operation.operands[0])
    shape = _dimensions(build, type.shape, operation.dynamic_shape)
    strides = _dimensions(build, type.strides, operation.dynamic_strides)
    number = build.program.number_of[operation]
    build.views[operation.results[0]] = Tensor(number, type, base, shape, strides)


def _dimensions(build: Lowering, numbers: tuple[int, ...], values: list[Value]) -> list[Dimension]:
    dynamic = iter(values)
    found = []
    for number in numbers:
        value = next(dynamic) if number == DYNAMIC else None
        known = (None, number) if value is None else (build.value(value), build.facts.range(value, signed=False)[1])
        found.append(Dimension(number, *known))
    return found


def lower_make_tile_view(build: Lowering, operation: Operation) -> None:
    """The type of a view of tiles states everything except the tensor."""
    build.views[operation.results[0]] = build.views[operation.operands[0]]


def lower_index_space_shape(build: Lowering, operation: Operation) -> None:
    type = cast(TileViewType, operation.operands[0].type)
    tensor: Tensor = build.views[operation.operands[0]]
    counted = zip(type.dim_map, type.steps, operation.results, strict=True)
    for along, step, result in counted:
        count = tensor.shape[along].wide(build)
        if step != 1:
            # In 64 bits, rounding up does not overflow.
            up = build.apply("arith.addi", count, step - 1)
            count = build.apply("arith.divui", up, step)
        build.define(result, build.convert("arith.trunci", count, build.type_of(result)[0]))


def lower_tensor_shape(build: Lowering, operation: Operation) -> None:
    tensor: Tensor = build.views[operation.operands[0]]
    for extent, result in zip(tensor.shape, operation.results, strict=True):
        build.define(result, build.convert("arith.trunci", extent.wide(build), build.type_of(result)[0]))


class DimensionAccess(NamedTuple):
    """An access in one dimension of its tile."""

    lanes: int
    extent: Dimension
    stride: Dimension
    tile: TtirValue | None  # The number of the tile; None where that is zero, and where positions are listed.
    step: int
    positions: TtirValue | None
    is_signed: bool  # Whether the first position may be negative.
    is_inside: bool  # Whether all positions are known to be in the tensor.
    is_all_or_none: bool = False  # Whether they are if the number of the tile is one of the view's.
    most: int = 0

    def start(self, build: TtirBuilder) -> TtirValue | None:
        """The first position, i64; None for zero."""
        return None if self.tile is None else self._times(build, self._wide(build, self.tile))

    def _wide(self, build: TtirBuilder, tile: TtirValue) -> TtirValue:
        return build.convert("arith.extsi" if self.is_signed else "arith.extui", tile, "i64")

    def is_of_view(self, build: TtirBuilder) -> TtirValue:
        """Whether the number of the tile is one of the view's."""
        tile = build.integer(0, "i64") if self.tile is None else self._wide(build, self.tile)
        count = self.extent.wide(build)
        if self.step > 1 and self.extent.value is None:
            count = build.integer(-(-self.extent.number // self.step), "i64")
        elif self.step > 1:
            count = build.apply("arith.divui", build.apply("arith.addi", count, self.step - 1), self.step)
        return build.compare("ult", tile, count)

    def short_start(self, build: TtirBuilder) -> TtirValue:
        """The first position, i32; one outside of a tensor of `MOST_EXTENT` at most for those that do not fit."""
        if self.tile is None:
            return build.integer(0)
        tile = self.tile if self.tile.bits > 32 else build.convert("arith.extui", self.tile, "i32")
        if self.most >= MOST_EXTENT and not self.is_inside:
            tile = build.apply("arith.minui", tile, -(-MOST_EXTENT // self.step))
        return self._times(build, build.convert("arith.trunci", tile, "i32"))

    def _times(self, build: TtirBuilder, index: TtirValue) -> TtirValue:
        return index if self.step == 1 else build.apply("arith.muli", index, self.step)


class Access(NamedTuple):
    type: TileViewType
    tensor: Tensor
    dimensions: list[DimensionAccess]
    shape: Shape  # Of the tile, without dimensions of one element.


def access_of(build: Lowering, operation: Operation) -> Access:
    view = operation.view
    type = cast(TileViewType, view.type)
    tensor: Tensor = build.views[view]
    index = operation.index
    attribute = operation.attributes.get("inbounds")
    promised = attribute.values if isinstance(attribute, DenseArrayAttribute) else [0] * len(type.tile_shape)
    dimensions = []
    for axis, (lanes, step, along) in enumerate(zip(type.tile_shape, type.steps, type.dim_map, strict=True)):
        extent, stride = tensor.shape[along], tensor.strides[along]
        if axis == type.sparse_dim:
            positions = build.value(index[axis])
            dimensions.append(DimensionAccess(lanes, extent, stride, None, 1, positions, True, bool(promised[axis])))
            continue
        # What gather views count in may be negative, as in Python.
        signed = isinstance(type, GatherScatterViewType) and build.facts.range(index[axis])[0] < 0
        first = None if build.facts.integer(index[axis]) == 0 else build.value(index[axis])
        last = build.facts.range(index[axis], signed=False)[1] * step
        known = bool(promised[axis]) or (not signed and extent.number != DYNAMIC and last + lanes <= extent.number)
        divides = extent.number != DYNAMIC and step == lanes and extent.number % lanes == 0
        all_or_none = lanes == 1 or (divides and not signed)
        dimensions.append(DimensionAccess(lanes, extent, stride, first, step, None, signed, known, all_or_none, last))
    return Access(type, tensor, dimensions, squeezed(type.tile_shape))


_MANY: Final = 1 << 30
"""More elements than a tile has in a dimension, and a power of two that keeps what is known of alignment."""


def from_memory(build: TtirBuilder, element: Type, loaded: TtirValue) -> TtirValue:
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
    if element is I1:
        return build.convert("arith.extui", value, "i8")
    if isinstance(element, PointerType):
        return build.reinterpret("tt.ptr_to_int", value, "i64")
    return value


def padding(build: TtirBuilder, type: TileViewType, shape: Shape) -> TtirValue:
    """What elements outside of the tensor read as, as if it lay in memory."""
    # Imported here: only kernels with views need it.
    from tileir.execute.interpreter.views import padding_value

    element = type.tensor.element
    lowered = memory_element(element)
    bits = int(padding_value(type).view(bits_dtype(element)))
    return build.pattern(bits, lowered, shape)


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


def inside(build: Lowering, access: Access) -> TtirValue | None:
    """Which elements are in the tensor; None for all."""
    shape = access.shape
    bits: list[TtirValue] = []
    masks: list[TtirValue] = []
    axis = 0
    for each in access.dimensions:
        dimension = axis
        axis += each.lanes > 1
        if each.is_inside:
            continue
        if each.positions is None and (each.is_all_or_none or (each.most >= _FAR and not each.is_signed)):
            bits.append(each.is_of_view(build))
        if each.positions is not None or not each.is_all_or_none:
            found = _lanes_inside(build, each)
            masks.append(build.along(found, dimension, shape) if each.lanes > 1 else build.splat(found, shape))
        for listed in (bits, masks):
            if len(listed) > 1:
                listed[:] = [build.apply("arith.andi", *listed)]
    spread = [build.splat(each, shape) for each in bits]
    return build.apply("arith.andi", masks[0], spread[0]) if masks and bits else next(iter([*masks, *spread]), None)


def _lanes_inside(build: Lowering, along: DimensionAccess) -> TtirValue:
    if along.positions is None and not along.is_signed:
        lanes = build.range(along.lanes)
        return build.compare("slt", lanes, build.splat(_remaining(build, along), lanes.shape))
    if along.positions is not None:
        wide = _as_wide(build, along.positions, "i64")
    else:
        wide = build.convert("arith.extsi", build.range(along.lanes), "i64")
        start = along.start(build)
        if start is not None:
            wide = build.apply("arith.addi", wide, build.splat(start, wide.shape))
    # Negative ones are huge.
    return build.compare("ult", wide, build.splat(along.extent.wide(build), wide.shape))


def _remaining(build: Lowering, along: DimensionAccess) -> TtirValue:
    """How many positions the tensor has from the first of the tile on, as i32; many are as good as more."""
    start = along.start(build)
    if start is None and along.extent.most < _MANY:
        return along.extent.narrow(build)
    left = along.extent.wide(build)
    if start is not None:
        left = build.apply("arith.subi", left, start)
    left = build.apply("arith.minsi", build.apply("arith.maxsi", left, 0), _MANY)
    return build.convert("arith.trunci", left, "i32")
