"""Lowering of views: the tensors that they are of, and where the tile of an access lies, dimension by dimension.

A view is no value in TTIR; what is known of it is kept in `Lowering.views`.
"""

from __future__ import annotations

from typing import Final, NamedTuple, cast

from tileir.dialect.types import (
    DYNAMIC,
    GatherScatterViewType,
    PartitionViewType,
    StridedViewType,
    TensorViewType,
    TileViewType,
)
from tileir.execute.gpu.triton.lowering.context import Lowering
from tileir.execute.gpu.triton.lowering.ttir_builder import TtirBuilder
from tileir.execute.gpu.triton.lowering.ttir_values import Shape, TtirValue, squeezed
from tileir.ir.attributes import DenseArrayAttribute
from tileir.ir.core import Operation
from tileir.ir.values import Value

_FAR: Final = 1 << 62
"""Beyond all positions."""
MOST_EXTENT: Final = 1 << 30
"""Of tensors that the tensor memory accelerator serves: it counts in signed numbers of 32 bits, and what is outside is
to be counted too."""


class Dimension(NamedTuple):
    """An extent or a stride."""

    number: int
    """DYNAMIC where only the value says it."""
    value: TtirValue | None
    most: int
    """What it is at most."""

    def wide(self, build: TtirBuilder) -> TtirValue:
        """As i64."""
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

    number: int
    """Among `Program.views`."""
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
        if number != DYNAMIC:
            found.append(Dimension(number, None, number))
            continue
        value = next(dynamic)
        most = build.facts.range(value, signed=False)[1]
        found.append(Dimension(DYNAMIC, build.value(value), most))
    return found


def lower_make_tile_view(build: Lowering, operation: Operation) -> None:
    """Of a view of tiles, the type says all but the tensor."""
    build.views[operation.results[0]] = build.views[operation.operands[0]]


def dimension_map(type: TileViewType) -> tuple[int, ...]:
    """For each dimension of a tile, the dimension of the tensor that it runs along."""
    if isinstance(type, (PartitionViewType, StridedViewType)):
        return type.dim_map
    return tuple(range(len(type.tile_shape)))


def steps_of(type: TileViewType) -> tuple[int, ...]:
    """How many elements apart tiles begin; what an index counts in."""
    if isinstance(type, StridedViewType):
        return type.traversal_strides
    return (1,) * len(type.tile_shape) if isinstance(type, GatherScatterViewType) else type.tile_shape


def lower_index_space_shape(build: Lowering, operation: Operation) -> None:
    type = cast(TileViewType, operation.operands[0].type)
    tensor: Tensor = build.views[operation.operands[0]]
    counted = zip(dimension_map(type), steps_of(type), operation.results, strict=True)
    for along, step, result in counted:
        count = tensor.shape[along].wide(build)
        if step != 1:
            # In 64 bits, rounding up does not overflow.
            up = build.apply("arith.addi", count, step - 1)
            count = build.apply("arith.divui", up, step)
        _define_number(build, result, count)


def lower_tensor_shape(build: Lowering, operation: Operation) -> None:
    tensor: Tensor = build.views[operation.operands[0]]
    for extent, result in zip(tensor.shape, operation.results, strict=True):
        _define_number(build, result, extent.wide(build))


def _define_number(build: Lowering, result: Value, number: TtirValue) -> None:
    element, _ = build.type_of(result)
    build.define(result, build.convert("arith.trunci", number, element))


class Along(NamedTuple):
    """An access in one dimension of its tile."""

    lanes: int
    """How many elements of the tile."""
    extent: Dimension
    stride: Dimension
    tile: TtirValue | None
    """The number of the tile; None where that is zero, and where positions are listed."""
    step: int
    positions: TtirValue | None
    """The positions of a gather view."""
    is_signed: bool
    """Whether the first position may be negative."""
    is_inside: bool
    """Whether all positions are known to be in the tensor."""
    is_all_or_none: bool = False
    """Whether they are if the number of the tile is one of the view's."""
    most: int = 0
    """What the first position is at most."""

    @property
    def is_far(self) -> bool:
        """Whether the number of the tile may be so large that positions do not fit 64 bits."""
        return self.most >= _FAR

    def start(self, build: TtirBuilder) -> TtirValue | None:
        """The first position, i64; None for zero."""
        if self.tile is None:
            return None
        return self._times(build, build.convert("arith.extsi" if self.is_signed else "arith.extui", self.tile, "i64"))

    def is_of_view(self, build: TtirBuilder) -> TtirValue:
        """Whether the number of the tile is one of the view's."""
        name = "arith.extsi" if self.is_signed else "arith.extui"
        tile = build.integer(0, "i64") if self.tile is None else build.convert(name, self.tile, "i64")
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
        if self.step == 1:
            return index
        return build.apply("arith.muli", index, self.step)


class Access(NamedTuple):
    """Where a tile lies."""

    type: TileViewType
    tensor: Tensor
    dimensions: list[Along]
    shape: Shape
    """Of the tile, without dimensions of one element."""


def access_of(build: Lowering, operation: Operation) -> Access:
    view = operation.view
    type = cast(TileViewType, view.type)
    tensor: Tensor = build.views[view]
    index = operation.index
    promised = _promised(operation, len(type.tile_shape))
    dimensions = []
    for axis, (lanes, step, along) in enumerate(zip(type.tile_shape, steps_of(type), dimension_map(type), strict=True)):
        extent, stride = tensor.shape[along], tensor.strides[along]
        if isinstance(type, GatherScatterViewType) and axis == type.sparse_dim:
            positions = build.value(index[axis])
            dimensions.append(Along(lanes, extent, stride, None, 1, positions, True, promised[axis]))
            continue
        # What gather views count in may be negative, as in Python.
        signed = isinstance(type, GatherScatterViewType) and build.facts.range(index[axis])[0] < 0
        first = None if build.facts.integer(index[axis]) == 0 else build.value(index[axis])
        last = build.facts.range(index[axis], signed=False)[1] * step
        known = promised[axis] or (not signed and extent.number != DYNAMIC and last + lanes <= extent.number)
        divides = extent.number != DYNAMIC and step == lanes and extent.number % lanes == 0
        alike = lanes == 1 or (divides and not signed)
        dimensions.append(Along(lanes, extent, stride, first, step, None, signed, known, alike, last))
    return Access(type, tensor, dimensions, squeezed(type.tile_shape))


def _promised(operation: Operation, rank: int) -> list[bool]:
    """For which dimensions the program says that the tile lies in the tensor."""
    attribute = operation.attributes.get("inbounds")
    return [bool(value) for value in attribute.values] if isinstance(attribute, DenseArrayAttribute) else [False] * rank
