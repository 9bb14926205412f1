"""What is known of a value without the tile: a number, a ramp of numbers, pointers, a mask, a view."""

from __future__ import annotations

from math import prod
from typing import Final, NamedTuple

from tileir.dialect.types import (
    GatherScatterViewType,
    PartitionViewType,
    StridedViewType,
    TileViewType,
)

Steps = tuple[int, ...]
Root = int | str
"""Whose memory a pointer reaches: the number of a parameter, or "global @name" or "alloca"."""


class Ramp(NamedTuple):
    """A tile of integers: `first`, and how much more it is with each step along each dimension."""

    first: int
    steps: Steps

    def span(self, shape: tuple[int, ...]) -> tuple[int, int]:
        """The least and the largest number of a tile of that shape."""
        reaches = [step * (extent - 1) for step, extent in zip(self.steps, shape, strict=True)]
        return self.first + sum(min(reach, 0) for reach in reaches), self.first + sum(max(r, 0) for r in reaches)


class Address(NamedTuple):
    """A pointer or a tile of pointers into the memory of `root`: bytes from its beginning; `first` is None where only
    the memory is known."""

    root: Root
    first: int | None
    steps: Steps


class Mask(NamedTuple):
    """A tile of truth values that are true in a box: from `first` up to `last`, which is outside, of each dimension."""

    bounds: tuple[tuple[int, int], ...]

    @property
    def truths(self) -> int:
        """How many elements are true."""
        return prod([max(last - first, 0) for first, last in self.bounds])


class TensorView(NamedTuple):
    """Memory seen as a tensor; None for what is not known."""

    root: Root | None
    size: int
    """Bytes of an element."""
    shape: tuple[int | None, ...]

    @property
    def bytes(self) -> int | None:
        """Of all its elements."""
        total = self.size
        for extent in self.shape:
            if extent is None:
                return None
            total *= extent
        return total


class TileView(NamedTuple):
    """Tiles over a tensor, in order of the tile's dimensions: the extents of the tensor, and the way between tiles."""

    tensor: TensorView
    shape: tuple[int, ...]
    extents: tuple[int | None, ...]
    ways: tuple[int, ...]
    sparse: int
    """The dimension whose positions an access lists, -1 for none."""

    def index_space(self) -> list[int | None]:
        """The number of tiles along each dimension."""
        return [
            None if extent is None else -(-extent // way) for extent, way in zip(self.extents, self.ways, strict=True)
        ]

    def inside(self, index: list[int | None]) -> tuple[int, bool]:
        """How many elements of a tile lie in the tensor, and whether that is known; all of them where it is not."""
        total, known = 1, True
        for axis, (number, requested, extent, way) in enumerate(
            zip(index, self.shape, self.extents, self.ways, strict=True)
        ):
            if axis == self.sparse or number is None or extent is None:
                total *= requested
                known = False
            else:
                total *= max(min(requested, extent - number * way), 0)
        return total, known


Known = int | Ramp | Address | Mask | TensorView | TileView
"""A scalar integer is its bit pattern."""

UNKNOWN: Final = None


def tile_view(tensor: TensorView, type: TileViewType) -> TileView:
    axes = tuple(range(len(type.tile_shape)))
    ways, sparse = type.tile_shape, -1
    if isinstance(type, (PartitionViewType, StridedViewType)):
        axes = type.dim_map
    if isinstance(type, StridedViewType):
        ways = type.traversal_strides
    elif isinstance(type, GatherScatterViewType):
        # Its indices count elements in every dimension.
        sparse, ways = type.sparse_dim, (1,) * len(axes)
    return TileView(tensor, type.tile_shape, tuple([tensor.shape[axis] for axis in axes]), ways, sparse)
