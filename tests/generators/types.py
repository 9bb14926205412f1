"""Random types, and the types that fit a declared constraint."""

from __future__ import annotations

from random import Random

from tileir.dialect.enums import PADDING
from tileir.dialect.types import (
    DYNAMIC,
    ELEMENT_SINCE,
    TOKEN,
    TensorViewType,
    TileType,
    TileViewType,
    gather_scatter_view_type,
    number_palette,
    partition_view_type,
    pointer_type,
    strided_view_type,
    tensor_view_type,
    tile_error,
    tile_type,
)
from tileir.ir.declaration import TypeConstraint
from tileir.ir.types import F4E2M1FN, I4, FloatType, Type
from tileir.ir.versions import V13_3, V13_4, Version

_EXTENTS = (1, 1, 2, 2, 4, 4, 8, 8, 16, 32, 64, 128)
_RANKS = (0, 0, 0, 1, 1, 1, 2, 2, 3, 4)

# What fits a constraint at a shape, remembered for all programs of a version.
_CANDIDATES: dict[Version, dict[tuple[TypeConstraint, tuple[int, ...]], list[Type]]] = {}


class TypeSource:
    """Draws types that a dialect version has."""

    def __init__(self, rng: Random, version: Version) -> None:
        self.rng = rng
        self.version = version
        self.numbers: list[Type] = list(number_palette(version))
        self.pointers: list[Type] = [pointer_type(pointee) for pointee in self.numbers]
        if version >= V13_4:
            self.pointers += [pointer_type(pointee, "none") for pointee in self.numbers]
        self.elements: list[Type] = [*self.numbers, *self.pointers]
        if ELEMENT_SINCE[I4] <= version:
            self.elements.append(I4)
        self._candidates = _CANDIDATES.setdefault(version, {})

    def shape(self, least_rank: int = 0, limit: int = 1 << 12) -> tuple[int, ...]:
        """Powers of two; at most `limit` elements."""
        rng = self.rng
        rank = max(rng.choice(_RANKS), least_rank)
        extents: list[int] = []
        for _ in range(rank):
            extent = rng.choice(_EXTENTS)
            while extent > limit:
                extent //= 2
            limit //= extent
            extents.append(extent)
        return tuple(extents)

    def number(self) -> Type:
        return self.rng.choice(self.numbers)

    def candidates(self, constraint: TypeConstraint, shape: tuple[int, ...]) -> list[Type]:
        """The types a constraint accepts: tiles of this shape, scalars, tokens."""
        key = (constraint, shape)
        found = self._candidates.get(key)
        if found is None:
            shapes = (shape,) if not shape else (shape, ())
            tried: list[Type] = [TOKEN]
            for extents in shapes:
                for element in self.elements:
                    if tile_error(extents, element, self.version) is None:
                        tried.append(tile_type(extents, element))
            found = [type for type in tried if constraint.accepts(type)]
            # A scalar is there for constraints that want nothing else.
            if any(isinstance(t, TileType) and t.shape == shape for t in found):
                found = [t for t in found if not isinstance(t, TileType) or t.shape == shape]
            self._candidates[key] = found
        return found

    def fitting(self, constraint: TypeConstraint, shape: tuple[int, ...]) -> Type | None:
        found = self.candidates(constraint, shape)
        return self.rng.choice(found) if found else None

    def tile(self, elements: list[Type] | None = None, shape: tuple[int, ...] | None = None) -> TileType:
        """A tile of any of the elements."""
        choices = self.elements if elements is None else elements
        while True:
            extents = self.shape() if shape is None else shape
            element = self.rng.choice(choices)
            if tile_error(extents, element, self.version) is None:
                return tile_type(extents, element)

    def scalar(self) -> TileType:
        """A 0-D tile."""
        return self.tile(shape=())

    def carried(self) -> Type:
        """What a loop or branch may carry: a tile or a token."""
        return TOKEN if self.rng.random() < 0.2 else self.tile()

    # --- views ---

    def tensor_view(self, rank: int | None = None, element: Type | None = None) -> TensorViewType:
        rng = self.rng
        dimensions = rng.choice((0, 1, 1, 2, 2, 3)) if rank is None else rank
        shape = tuple([rng.choice((DYNAMIC, DYNAMIC, 1, 3, 64, 100, (1 << 31) + 5)) for _ in range(dimensions)])
        strides = tuple([rng.choice((DYNAMIC, 1, 1, 7, 64, (1 << 62) - 1)) for _ in range(dimensions)])
        attribute = "none" if self.version >= V13_4 and rng.random() < 0.2 else None
        return tensor_view_type(self.number() if element is None else element, shape, strides, attribute)

    def tile_view(self, kind: str | None = None, element: Type | None = None, padded: bool = True) -> TileViewType:
        """A partition view, strided view or gather/scatter view."""
        rng = self.rng
        kinds = ["partition"] if self.version < V13_3 else ["partition", "strided", "gather_scatter"]
        chosen = rng.choice(kinds) if kind is None else kind
        tensor = self.tensor_view(rng.choice((1, 1, 2, 2, 3)), element)
        extents = self.shape(tensor.rank)[: tensor.rank]
        if tensor.element is F4E2M1FN:
            extents = (max(2, extents[0]), *extents[1:])
        padding = None
        if padded and rng.random() < 0.5:
            words = list(PADDING.values) if isinstance(tensor.element, FloatType) else ["zero"]
            padding = PADDING[rng.choice(words)]
        if chosen == "gather_scatter":
            return gather_scatter_view_type(extents, tensor, rng.randrange(tensor.rank), padding)
        dim_map = list(range(tensor.rank))
        if rng.random() < 0.5:
            rng.shuffle(dim_map)
        if chosen == "partition":
            return partition_view_type(extents, tensor, padding, tuple(dim_map))
        strides = tuple([rng.choice((1, 3, 4, 1000)) for _ in extents])
        return strided_view_type(extents, tensor, strides, padding, tuple(dim_map))
