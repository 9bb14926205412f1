"""Where the tile of an access lies in its tensor, dimension by dimension."""

from __future__ import annotations

from typing import NamedTuple, cast

from tileir.dialect.types import DYNAMIC, GatherScatterViewType, TileViewType
from tileir.execute.gpu.triton.lowering.context import Lowering
from tileir.execute.gpu.triton.lowering.tensors import Dimension, Tensor, dimension_map, steps_of
from tileir.execute.gpu.triton.ttir.builder import TtirBuilder
from tileir.execute.gpu.triton.ttir.values import Shape, TtirValue, squeezed
from tileir.ir.attributes import DenseArrayAttribute
from tileir.ir.core import Operation
from tileir.ir.values import Value


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

    def start(self, build: TtirBuilder) -> TtirValue | None:
        """The first position, i64; None for zero."""
        if self.tile is None:
            return None
        return self._times(build, build.convert("arith.extsi" if self.is_signed else "arith.extui", self.tile, "i64"))

    def short_start(self, build: TtirBuilder) -> TtirValue:
        """The first position, i32; right where it fits."""
        if self.tile is None:
            return build.integer(0)
        name = "arith.trunci" if self.tile.bits > 32 else "arith.extui"
        return self._times(build, build.convert(name, self.tile, "i32"))

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
            dimensions.append(Along(lanes, extent, stride, None, 1, positions, True, promised[axis]))
            continue
        # What gather views count in may be negative, as in Python.
        signed = isinstance(type, GatherScatterViewType) and lowering.facts.range(index[axis])[0] < 0
        first = None if lowering.facts.constant(index[axis]) == 0 else lowering.value(index[axis])
        known = promised[axis] or _is_inside(lowering, index[axis], lanes, step, extent, signed)
        dimensions.append(Along(lanes, extent, stride, first, step, None, signed, known))
    return Access(type, tensor, dimensions, squeezed(type.tile_shape))


def _promised(operation: Operation, rank: int) -> list[bool]:
    """For which dimensions the program says that the tile lies in the tensor."""
    attribute = operation.attributes.get("inbounds")
    return [bool(value) for value in attribute.values] if isinstance(attribute, DenseArrayAttribute) else [False] * rank


def _is_inside(lowering: Lowering, index: Value, lanes: int, step: int, extent: Dimension, signed: bool) -> bool:
    """Whether a tile is known to lie in the tensor, in one dimension."""
    if extent.number == DYNAMIC or signed:
        return False
    if lanes > 1 and step == lanes and extent.number % lanes == 0:
        # An index beyond the last tile is undefined.
        return True
    return lowering.facts.range(index, signed=False)[1] * step + lanes <= extent.number
