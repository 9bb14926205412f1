"""The rules that operations on views share: how many indices of which type, which tile, which tensor view."""

from __future__ import annotations

from tileir.annotations import cast
from tileir.dialect.hints import verify_hints
from tileir.dialect.types import GatherScatterViewType, TileType, TileViewType
from tileir.ir.core import Operation
from tileir.ir.diagnostics import Invalid
from tileir.ir.types import Type
from tileir.ir.verifier import VerifyContext


def view_of(operation: Operation) -> TileViewType:
    """The type of a verified operation's `view` operand."""
    return cast(TileViewType, operation.view.type)


def index_types(operation: Operation) -> list[Type]:
    return [value.type for value in operation.index]


def verify_view_access(operation: Operation, tile: Type, context: VerifyContext) -> None:
    """A load or store of `tile` through a view: indices, tile type, bounds promises, hints, in NVIDIA's order."""
    view = view_of(operation)
    indices = index_types(operation)
    if len(indices) != view.index_rank:
        raise Invalid(f"expected {view.index_rank} index operands (based on view type), got {len(indices)}")
    if tile is not view.tile:
        raise Invalid(f"expected tile type to be '{view.tile.text}' (based on view type), got '{tile.text}'")
    if isinstance(view, GatherScatterViewType):
        _verify_gather_indices(view, indices)
    else:
        _verify_scalar_indices(indices)
    inbounds = operation.inbounds
    if inbounds is not None and len(inbounds) != len(indices):
        raise Invalid(f"inbounds size ({len(inbounds)}) must match the number of index dimensions ({len(indices)})")
    verify_hints(operation, context, "view")


def _verify_scalar_indices(indices: list[Type]) -> None:
    for type in indices:
        if not isinstance(type, TileType):
            raise Invalid(f"expected index type to be a tile type, got '{type.text}'")
        if type.shape:
            raise Invalid(f"expected index type to be a scalar tile, got '{type.text}'")
    for position, type in enumerate(indices):
        if type is not indices[0]:
            raise Invalid(
                f"expected index type {position} to be the same as other index types "
                f"('{indices[0].text}'), got '{type.text}'"
            )


def _verify_gather_indices(view: GatherScatterViewType, indices: list[Type]) -> None:
    """One list of rows at the sparse dimension, scalars of one type everywhere else."""
    sparse = view.sparse_dim
    if sparse >= len(indices):
        raise Invalid(f"gather/scatter dimension {sparse} is out of range for index count {len(indices)}")
    rows = indices[sparse]
    if not isinstance(rows, TileType):
        raise Invalid(f"expected index at sparse_dim position {sparse} to be a tile type for GatherScatterView")
    if len(rows.shape) != 1:
        raise Invalid(
            f"expected index at sparse_dim position {sparse} to be a 1D tensor for GatherScatterView, "
            f"got rank {len(rows.shape)}"
        )
    if rows.shape[0] != view.tile_shape[sparse]:
        raise Invalid(
            f"expected gather/scatter index size ({rows.shape[0]}) to match tile shape at gather/scatter dimension "
            f"{sparse} ({view.tile_shape[sparse]})"
        )
    scalar: Type | None = None
    for position, type in enumerate(indices):
        if position == sparse:
            continue
        if not isinstance(type, TileType) or type.shape:
            raise Invalid(f"expected index {position} to be a scalar tile for GatherScatterView")
        if scalar is None:
            scalar = type
        elif type is not scalar:
            raise Invalid(
                f"expected scalar index {position} to have the same type as other scalar indices "
                f"('{scalar.text}'), got '{type.text}'"
            )


def verify_view_source(operation: Operation, context: VerifyContext) -> None:
    """The view that is made looks at the tensor view it is made from."""
    source = operation.operands[0].type
    wanted = cast(TileViewType, operation.results[0].type).tensor
    if source is not wanted:
        raise Invalid(
            f"expected the type of the provided tensor_view value ('{source.text}') to be the same as the view's "
            f"tensor_view type ('{wanted.text}')"
        )
