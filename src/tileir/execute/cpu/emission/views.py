"""Views as code sees them: a tensor in memory, tiles over it, and the tile of one access."""

from __future__ import annotations

from dataclasses import dataclass

from tileir.dialect.types import GatherScatterViewType, PartitionViewType, StridedViewType, TileViewType
from tileir.execute.cpu.vector.builder import Number
from tileir.ir.core import Operation
from tileir.ir.types import Type

FAR = 1 << 62
"""Beyond this nothing is: extents and positions are cut off here, as the interpreter does, so that none wraps."""


@dataclass(eq=False, repr=False, slots=True)
class TensorView:
    """Memory seen as a tensor: an address, extents and strides in elements.

    `sizes` are the extents as the program has them; those that accesses go by are cut off at `FAR`.  Three i1s tell
    whether it lies in the array it is made from, in memory, and in memory that may be written (`bounds`).
    """

    address: str
    element: Type
    sizes: list[Number]
    extents: list[Number]
    strides: list[Number]
    in_array: str = "true"
    readable: str = "true"
    writable: str = "true"

    def fits(self, operation: Operation) -> str:
        """Whether it lies in memory as an access wants it, an i1."""
        return self.readable if operation.declaration.writes is None else self.writable


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

    @property
    def is_zero_outside(self) -> bool:
        """Whether a tile has zeros where it lies over an edge of the tensor."""
        return self.type.padding is None or self.type.padding.keyword == "zero"


@dataclass(eq=False, repr=False, slots=True)
class Box:
    """One access through a view: where its tile begins in each dimension."""

    operation: Operation
    view: TileView
    starts: list[Number]
    pointer: str
    ahead: Number = 0
    """How far away in bytes the next tile block's tile begins, where it is to be fetched; else 0."""
