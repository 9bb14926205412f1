"""Where the tile of an access lies in its tensor, dimension by dimension."""

from __future__ import annotations

from typing import Final, NamedTuple, cast

from tileir.dialect.types import DYNAMIC, GatherScatterViewType, TileViewType
from tileir.execute.gpu.triton.lowering.context import Lowering
from tileir.execute.gpu.triton.lowering.tensors import Dimension, Tensor, dimension_map, steps_of
from tileir.execute.gpu.triton.ttir.builder import TtirBuilder
from tileir.execute.gpu.triton.ttir.values import Shape, TtirValue, squeezed
from tileir.ir.attributes import DenseArrayAttribute
from tileir.ir.core import Operation

_FAR: Final = 1 << 62
"""Beyond all positions."""
MOST_EXTENT: Final = 1 << 30
"""Of tensors that the tensor memory accelerator serves: it counts in signed numbers of 32 bits, and what is outside is
to be counted too."""


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
            count = build.immediate("arith.divui", build.immediate("arith.addi", count, self.step - 1), self.step)
        return build.compare("ult", tile, count)

    def short_start(self, build: TtirBuilder) -> TtirValue:
        """The first position, i32; one outside of a tensor of `MOST_EXTENT` at most for those that do not fit."""
        if self.tile is None:
            return build.integer(0)
        tile = self.tile if self.tile.bits > 32 else build.convert("arith.extui", self.tile, "i32")
        if self.most >= MOST_EXTENT and not self.is_inside:
            tile = build.binary("arith.minui", tile, build.integer(-(-MOST_EXTENT // self.step), tile.element))
        return self._times(build, build.convert("arith.trunci", tile, "i32"))

    def _times(self, build: TtirBuilder, index: TtirValue) -> TtirValue:
        if self.step == 1:
            return index
        return build.binary("arith.muli", index, build.integer(self.step, index.element))


class Access(NamedTuple):
    """Where a tile lies."""

    type: TileViewType
    tensor: Tensor
    dimensions: list[Along]
    shape: Shape
    """Of the tile, without dimensions of one element."""


def access_of(lowering: Lowering, operation: Operation) -> Access:
    view = operation.view
    type = cast(TileViewType, view.type)
    tensor: Tensor = lowering.views[view]
    index = operation.index
    promised = _promised(operation, len(type.tile_shape))
    dimensions = []
    for axis, (lanes, step, along) in enumerate(zip(type.tile_shape, steps_of(type), dimension_map(type), strict=True)):
        extent, stride = tensor.shape[along], tensor.strides[along]
        if isinstance(type, GatherScatterViewType) and axis == type.sparse_dim:
            positions = lowering.value(index[axis])
            dimensions.append(Along(lanes, extent, stride, None, 1, positions, True, promised[axis]))
            continue
        # What gather views count in may be negative, as in Python.
        signed = isinstance(type, GatherScatterViewType) and lowering.facts.range(index[axis])[0] < 0
        first = None if lowering.facts.integer(index[axis]) == 0 else lowering.value(index[axis])
        last = lowering.facts.range(index[axis], signed=False)[1] * step
        known = promised[axis] or (not signed and extent.number != DYNAMIC and last + lanes <= extent.number)
        divides = extent.number != DYNAMIC and step == lanes and extent.number % lanes == 0
        alike = lanes == 1 or (divides and not signed)
        dimensions.append(Along(lanes, extent, stride, first, step, None, signed, known, alike, last))
    return Access(type, tensor, dimensions, squeezed(type.tile_shape))


def _promised(operation: Operation, rank: int) -> list[bool]:
    """For which dimensions the program says that the tile lies in the tensor."""
    attribute = operation.attributes.get("inbounds")
    return [bool(value) for value in attribute.values] if isinstance(attribute, DenseArrayAttribute) else [False] * rank
