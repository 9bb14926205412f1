"""The types of cuda_tile.

Each has a factory that returns the interned type, and a `*_error` function that returns NVIDIA's message for invalid
parameters (the types draft; docs/reference/conflicts.md D).  The factories do not check: their callers call `*_error` first.
"""

from __future__ import annotations

from tileir.annotations import Final, cast
from tileir.ir.attributes import EnumAttribute
from tileir.ir.interning import POINTER, TENSOR_VIEW, TILE, VIEW, intern, register
from tileir.ir.types import (
    BF16,
    F4E2M1FN,
    F8E4M3FN,
    F8E5M2,
    F8E8M0FNU,
    F16,
    F32,
    F64,
    FNV8E5M3FNU,
    I1,
    I4,
    I8,
    I16,
    I32,
    I64,
    TF32,
    FloatType,
    Type,
    flattened,
)
from tileir.ir.versions import NEWEST, V13_2, V13_3, V13_4, V13_5, Version

# The dynamic extent or stride, written `?`; MLIR's kDynamic (the types draft, "Dynamic-dimension sentinel and tile cap").
DYNAMIC: Final = -(1 << 63)
MAXIMUM_TILE_ELEMENTS: Final = 1 << 24


class TileType(Type):
    """`tile<4x8xf32>`: a shaped value."""

    __slots__ = ("element", "shape")

    def __init__(self, spelling: str, shape: tuple[int, ...], element: Type) -> None:
        super().__init__(spelling, "!cuda_tile." + spelling)
        self.shape: tuple[int, ...] = shape
        self.element: Type = element

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def count(self) -> int:
        total = 1
        for extent in self.shape:
            total *= extent
        return total


class PointerType(Type):
    """`ptr<f32>`; `attribute` is the pointer attribute keyword that 13.4 added (docs/reference/conflicts.md D1)."""

    __slots__ = ("attribute", "pointee")

    def __init__(self, spelling: str, pointee: Type, attribute: str | None) -> None:
        super().__init__(spelling, "!cuda_tile." + spelling)
        self.pointee: Type = pointee
        self.attribute: str | None = attribute


class TensorViewType(Type):
    """`tensor_view<?x64xf32, strides=[64,1]>`: a shape and strides over memory."""

    __slots__ = ("attribute", "element", "shape", "strides")

    def __init__(
        self, spelling: str, element: Type, shape: tuple[int, ...], strides: tuple[int, ...], attribute: str | None
    ) -> None:
        super().__init__(spelling, "!cuda_tile." + spelling)
        self.element: Type = element
        self.shape: tuple[int, ...] = shape
        self.strides: tuple[int, ...] = strides
        self.attribute: str | None = attribute

    @property
    def rank(self) -> int:
        return len(self.shape)


class TileViewType(Type):
    """Base of the views that loads and stores go through: a tile shape over a tensor view.

    For each dimension of a tile, `dim_map` is the dimension of the tensor that it runs along, and `steps` how many
    elements apart tiles begin, which is what an index counts in.  `sparse_dim` is the dimension whose positions an access
    lists, -1 for none.  `index_rank` is the number of indices an access takes, `tile` the type of the tile it moves.
    """

    __slots__ = ("dim_map", "padding", "sparse_dim", "steps", "tensor", "tile", "tile_shape")

    def __init__(
        self,
        spelling: str,
        tile_shape: tuple[int, ...],
        tensor: TensorViewType,
        padding: EnumAttribute | None,
        dim_map: tuple[int, ...],
        steps: tuple[int, ...],
        sparse_dim: int = -1,
    ) -> None:
        super().__init__(spelling, "!cuda_tile." + spelling)
        self.tile_shape: tuple[int, ...] = tile_shape
        self.tensor: TensorViewType = tensor
        self.padding: EnumAttribute | None = padding
        self.dim_map: tuple[int, ...] = dim_map
        self.steps: tuple[int, ...] = steps
        self.sparse_dim: int = sparse_dim
        self.tile: TileType = tile_type(tile_shape, tensor.element)

    @property
    def index_rank(self) -> int:
        return len(self.tile_shape)


class PartitionViewType(TileViewType):
    """A grid of tiles that touch."""

    __slots__ = ()


class StridedViewType(TileViewType):
    """A grid of tiles a fixed number of elements apart (13.3)."""

    __slots__ = ()

    @property
    def traversal_strides(self) -> tuple[int, ...]:
        return self.steps


class GatherScatterViewType(TileViewType):
    """Tiles whose rows along one dimension are picked by an index tile; all indices count elements (13.3)."""

    __slots__ = ()


class TokenType(Type):
    """A memory-ordering edge."""

    __slots__ = ()


class StringType(Type):
    """The types draft's string handle; no portable program has one (docs/reference/conflicts.md D3)."""

    __slots__ = ()

    @property
    def is_portable(self) -> bool:
        return False


TOKEN: Final = TokenType("token", "!cuda_tile.token")
STRING: Final = StringType("string", "!cuda_tile.string")

# --- element palettes, in the order the diagnostics list them ---

INTEGERS: Final[tuple[Type, ...]] = (I1, I8, I16, I32, I64)
FLOATS: Final[tuple[Type, ...]] = (F16, BF16, F32, F64)
ANY_FLOATS: Final[tuple[Type, ...]] = (*FLOATS, TF32, F8E4M3FN, F8E5M2, F8E8M0FNU, F4E2M1FN)

_NUMBERS_13_1: Final[tuple[Type, ...]] = (F16, BF16, F32, TF32, F64, F8E4M3FN, F8E5M2)
ELEMENT_SINCE: Final[dict[Type, Version]] = {F8E8M0FNU: V13_2, F4E2M1FN: V13_3, I4: V13_3, FNV8E5M3FNU: V13_4}


def number_palette(version: Version) -> list[Type]:
    """What a pointer may point to and a view may hold."""
    later = [t for t in (F8E8M0FNU, F4E2M1FN, FNV8E5M3FNU) if ELEMENT_SINCE[t] <= version]
    return [*_NUMBERS_13_1, *later, *INTEGERS]


def _palette_text(version: Version, with_pointer: bool) -> str:
    names = [t.spelling for t in number_palette(version)]
    if with_pointer:
        names += ["Pointer type", "i4"] if version >= V13_3 else ["Pointer type"]
    return " or ".join(names)


_NEWEST_NUMBERS: Final = frozenset(number_palette(NEWEST))


def is_number(type: Type, version: Version = NEWEST) -> bool:
    # Called for every type of a file, which is read by the newest rules.
    return type in _NEWEST_NUMBERS if version >= V13_4 else type in number_palette(version)


def is_tile_element(type: Type, version: Version = NEWEST) -> bool:
    return isinstance(type, PointerType) or (type is I4 and version >= V13_3) or is_number(type, version)


# --- what can be wrong with the parameters of a type ---


def nested_types(type: Type) -> list[Type]:
    """The types that a function type is made of, or the type itself, each followed by the types of what it holds."""
    found: list[Type] = []
    for part in flattened(type):
        inner: Type | None = part
        while inner is not None:
            found.append(inner)
            if isinstance(inner, TileViewType):
                inner = inner.tensor
            elif isinstance(inner, PointerType):
                inner = inner.pointee
            else:
                inner = inner.element if isinstance(inner, (TileType, TensorViewType)) else None
    return found


def list_text(values: tuple[int, ...], separator: str = ", ") -> str:
    """Extents or strides as types and messages list them."""
    return separator.join(["?" if v == DYNAMIC else str(v) for v in values])


def is_power_of_two(value: int) -> bool:
    return value > 0 and value & (value - 1) == 0


def tile_error(shape: tuple[int, ...], element: Type, version: Version = NEWEST) -> str | None:
    if not is_tile_element(element, version):
        return f"failed to verify 'elementType': {_palette_text(version, True)}"
    if element is F4E2M1FN and not any(extent % 2 == 0 for extent in shape):
        return "F4E2M1FN tiles must have an even number of elements"
    if any(extent <= 0 for extent in shape):
        return f"all dimensions must be positive constants, got {list_text(shape)}"
    if not all(is_power_of_two(extent) for extent in shape):
        return f"all dimensions must be powers of two, got {list_text(shape)}"
    count = 1
    for extent in shape:
        if count > MAXIMUM_TILE_ELEMENTS // extent:
            return f"tile would exceed the maximum of {MAXIMUM_TILE_ELEMENTS} elements"
        count *= extent
    return None


POINTER_ATTRIBUTES: Final[dict[str, int]] = {"none": 0, "unicast": 1, "multicast": 2}
"""The attributes of a pointer.  13.5 added the last two; their numbers are a guess, the order of the names in NVIDIA's
library."""


def pointer_attributes(version: Version) -> list[str]:
    return [name for name in POINTER_ATTRIBUTES if name == "none" or version >= V13_5]


def pointer_error(pointee: Type, version: Version = NEWEST) -> str | None:
    if not is_number(pointee, version):
        return f"failed to verify 'pointeeType': {_palette_text(version, False)}"
    return None


def tensor_view_error(
    element: Type, shape: tuple[int, ...], strides: tuple[int, ...], version: Version = NEWEST
) -> str | None:
    if not is_number(element, version):
        return f"failed to verify 'elementType': {_palette_text(version, False)}"
    if len(shape) != len(strides):
        return (
            "expected shape and stride to be of same rank but got shape of rank "
            f"{len(shape)} and stride of rank {len(strides)}"
        )
    if any(extent <= 0 and extent != DYNAMIC for extent in shape):
        return f"dimensions must have strictly positive constant sizes but got [{list_text(shape)}]"
    if any(stride <= 0 and stride != DYNAMIC for stride in strides):
        return f"dimensions must have strictly positive constant strides but got [{list_text(strides)}]"
    return None


def view_error(
    tile_shape: tuple[int, ...],
    tensor: TensorViewType,
    padding: EnumAttribute | None,
    dim_map: tuple[int, ...] | None,
    version: Version = NEWEST,
) -> str | None:
    """The rules all tile views share; a gather view has no dim_map."""
    rank = len(tile_shape)
    if rank == 0:
        return "0-dimension tile shape is not supported"
    if rank != tensor.rank:
        return (
            "expected tensor_view rank and tile rank to match, got tensor_view of rank "
            f"{tensor.rank} and tiles of rank {rank}"
        )
    if dim_map is not None and len(dim_map) != rank:
        return f"expected dim_map to map exactly all {rank} dimensions of the tile, got {len(dim_map)} mappings"
    if any(extent <= 0 for extent in tile_shape):
        return f"tile shape dimensions must have positive length but got [{list_text(tile_shape)}]"
    if not all(is_power_of_two(extent) for extent in tile_shape):
        return f"tile shape dimensions must have power of two length but got [{list_text(tile_shape)}]"
    if dim_map is not None:
        seen: dict[int, int] = {}
        for axis, target in enumerate(dim_map):
            if target < 0:
                return f"target dimension must not be negative, got {target}"
            if target >= tensor.rank:
                return (
                    "target dimension is outside of tensor view dimensions, "
                    f"expected strictly less than {tensor.rank}, got {target}"
                )
            if target in seen:
                return (
                    f"target dimension {target} mapped at least twice (for tile dimensions {seen[target]} and {axis})"
                )
            seen[target] = axis
    if padding is not None and padding.keyword != "zero" and not isinstance(tensor.element, FloatType):
        return (
            f"padding_value {padding.keyword} can only be used with floating point element types, "
            f"got '{tensor.element.text}'"
        )
    return tile_error(tile_shape, tensor.element, version)


def strided_view_error(rank: int, traversal_strides: tuple[int, ...]) -> str | None:
    if len(traversal_strides) != rank:
        return f"expected {rank} traversal strides, got {len(traversal_strides)}"
    if any(stride <= 0 for stride in traversal_strides):
        return f"traversal strides must be strictly positive but got [{list_text(traversal_strides)}]"
    return None


def gather_view_error(tensor: TensorViewType, sparse_dim: int) -> str | None:
    if sparse_dim >= tensor.rank or sparse_dim < 0:
        return (
            "gather dimension is outside of tensor view dimensions, "
            f"expected strictly less than {tensor.rank}, got {sparse_dim}"
        )
    return None


# --- factories ---

_tiles: Final[dict[tuple[tuple[int, ...], Type], TileType]] = {}
_pointers: Final[dict[tuple[Type, str | None], PointerType]] = {}
_tensor_views: Final[dict[tuple[Type, tuple[int, ...], tuple[int, ...], str | None], TensorViewType]] = {}
_views: Final[dict[str, TileViewType]] = {}
register(_views, VIEW)
register(_tensor_views, TENSOR_VIEW)
register(_tiles, TILE)
register(_pointers, POINTER)


def _dims(shape: tuple[int, ...]) -> str:
    return "".join(["?x" if extent == DYNAMIC else f"{extent}x" for extent in shape])


def tile_type(shape: tuple[int, ...], element: Type) -> TileType:
    key = (shape, element)
    return _tiles.get(key) or intern(_tiles, key, TileType(f"tile<{_dims(shape)}{element.spelling}>", shape, element))


def scalar_tile(element: Type) -> TileType:
    """The 0-D tile of an element type."""
    return tile_type((), element)


def with_element(type: TileType, element: Type) -> TileType:
    """A tile of the same shape."""
    return tile_type(type.shape, element)


def pointer_type(pointee: Type, attribute: str | None = None) -> PointerType:
    key = (pointee, attribute)
    found = _pointers.get(key)
    if found is None:
        suffix = f", <{attribute}>" if attribute is not None else ""
        found = intern(_pointers, key, PointerType(f"ptr<{pointee.spelling}{suffix}>", pointee, attribute))
    return found


def tensor_view_type(
    element: Type, shape: tuple[int, ...], strides: tuple[int, ...], attribute: str | None = None
) -> TensorViewType:
    key = (element, shape, strides, attribute)
    found = _tensor_views.get(key)
    if found is None:
        parts = [f"{_dims(shape)}{element.spelling}"]
        if shape:
            parts.append(f"strides=[{list_text(strides, ',')}]")
        if attribute is not None:
            parts.append(f"#cuda_tile.ptr_attr<{attribute}>")
        spelling = f"tensor_view<{', '.join(parts)}>"
        found = intern(_tensor_views, key, TensorViewType(spelling, element, shape, strides, attribute))
    return found


def _view_spelling(
    name: str, tile: tuple[int, ...], strides: str, tensor: TensorViewType, padding: EnumAttribute | None, tail: str
) -> str:
    pad = f"padding_value = {padding.keyword}, " if padding is not None else ""
    return f"{name}<tile=({list_text(tile, 'x')}), {strides}{pad}{tensor.spelling}{tail}>"


def _dim_map_tail(dim_map: tuple[int, ...]) -> str:
    """The identity map is left out."""
    return "" if dim_map == tuple(range(len(dim_map))) else f", dim_map=[{list_text(dim_map)}]"


def partition_view_type(
    tile_shape: tuple[int, ...],
    tensor: TensorViewType,
    padding: EnumAttribute | None = None,
    dim_map: tuple[int, ...] | None = None,
) -> PartitionViewType:
    mapping = dim_map if dim_map is not None else tuple(range(len(tile_shape)))
    spelling = _view_spelling("partition_view", tile_shape, "", tensor, padding, _dim_map_tail(mapping))
    found = _views.get(spelling) or intern(
        _views, spelling, PartitionViewType(spelling, tile_shape, tensor, padding, mapping, tile_shape)
    )
    return cast(PartitionViewType, found)


def strided_view_type(
    tile_shape: tuple[int, ...],
    tensor: TensorViewType,
    traversal_strides: tuple[int, ...],
    padding: EnumAttribute | None = None,
    dim_map: tuple[int, ...] | None = None,
) -> StridedViewType:
    mapping = dim_map if dim_map is not None else tuple(range(len(tile_shape)))
    strides = f"traversal_strides=[{list_text(traversal_strides, ',')}], "
    spelling = _view_spelling("strided_view", tile_shape, strides, tensor, padding, _dim_map_tail(mapping))
    found = _views.get(spelling) or intern(
        _views, spelling, StridedViewType(spelling, tile_shape, tensor, padding, mapping, traversal_strides)
    )
    return cast(StridedViewType, found)


def gather_scatter_view_type(
    tile_shape: tuple[int, ...], tensor: TensorViewType, sparse_dim: int, padding: EnumAttribute | None = None
) -> GatherScatterViewType:
    axes = tuple(range(len(tile_shape)))
    spelling = _view_spelling("gather_scatter_view", tile_shape, "", tensor, padding, f", sparse_dim={sparse_dim}")
    found = _views.get(spelling) or intern(
        _views,
        spelling,
        GatherScatterViewType(spelling, tile_shape, tensor, padding, axes, (1,) * len(axes), sparse_dim),
    )
    return cast(GatherScatterViewType, found)
