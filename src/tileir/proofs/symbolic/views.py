"""Tensors and the tiles over them: where in memory an element of a tile is, and in which array."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, cast

from tileir.dialect import ops
from tileir.dialect.types import (
    DYNAMIC,
    GatherScatterViewType,
    PartitionViewType,
    PointerType,
    StridedViewType,
    TensorViewType,
    TileViewType,
)
from tileir.ir.core import Operation
from tileir.ir.types import I1, Type
from tileir.ir.values import Value
from tileir.proofs.symbolic import terms
from tileir.proofs.symbolic.terms import ZERO, Term
from tileir.proofs.symbolic.traversal import subterms

Indices = tuple[Term, ...]


@dataclass(frozen=True)
class Tensor:
    """A tensor view: address in bytes, extents and strides in elements, bytes of an element."""

    maker: Operation
    address: Term
    shape: Indices
    strides: Indices
    size: int


@dataclass(frozen=True)
class View:
    """Tiles over a tensor.  By dimension of the tile: `axes` of the tensor, `tile` extents, `steps` between tiles;
    `sparse` is the dimension whose positions an access lists, -1 for none."""

    tensor: Tensor
    axes: tuple[int, ...]
    tile: tuple[int, ...]
    steps: tuple[int, ...]
    sparse: int
    padding: str | None

    @property
    def extents(self) -> Indices:
        return tuple([self.tensor.shape[axis] for axis in self.axes])

    @property
    def strides(self) -> Indices:
        return tuple([self.tensor.strides[axis] for axis in self.axes])

    @property
    def space(self) -> Indices:
        """How many tiles there are along each dimension."""
        return tuple([terms.ceil_div(e, terms.number(s)) for e, s in zip(self.extents, self.steps, strict=True)])


class Context(Protocol):
    """What the rules need of `Elements`."""

    numbers: dict[Operation, int]
    grid: Indices
    block: Indices

    def element(self, value: Value, indices: Indices = ()) -> Term: ...
    def view(self, value: Value) -> View | None: ...
    def tensor(self, value: Value) -> Tensor | None: ...
    def unsigned(self, value: Value) -> Term: ...
    def unknown(self, name: str, arguments: Indices, type: Type, value: Value | None = None) -> Term: ...
    def opaque(self, value: Value, indices: Indices, why: str) -> Term: ...
    def load(self, operation: Operation, value: Value, address: Term, indices: Indices) -> Term: ...
    def promise(self, term: Term, fact: Term) -> None: ...


def bytes_of(type: Type) -> int:
    """The bytes of an element in memory; 0 for one that shares its byte with others, or of a size not known here."""
    if isinstance(type, PointerType):
        return 8
    if type is I1:
        return 1
    width = getattr(type, "width", 0)
    return width // 8 if width % 8 == 0 else 0


def view_of(context: Context, value: Value) -> View | None:
    """The view that a value is; None if it is not made directly from a tensor."""
    maker = value.defining_operation
    type = value.type
    if maker is None or not isinstance(type, TileViewType) or not maker.operands:
        return None
    tensor = context.tensor(maker.operands[0])
    if tensor is None:
        return None
    axes = tuple(range(len(type.tile_shape)))
    steps = type.tile_shape
    sparse = -1
    if isinstance(type, (PartitionViewType, StridedViewType)):
        axes = type.dim_map
    if isinstance(type, StridedViewType):
        steps = type.traversal_strides
    elif isinstance(type, GatherScatterViewType):
        sparse, steps = type.sparse_dim, (1,) * len(axes)
    padding = type.padding.keyword if type.padding is not None else None
    return View(tensor, axes, type.tile_shape, steps, sparse, padding)


def tensor_of(context: Context, value: Value) -> Tensor | None:
    maker = value.defining_operation
    if maker is None or maker.declaration is not ops.MAKE_TENSOR_VIEW:
        return None
    type = cast(TensorViewType, value.type)
    size = bytes_of(type.element)
    if not size:
        return None

    def sizes(numbers: tuple[int, ...], operands: list[Value]) -> Indices:
        given = iter(operands)
        return tuple([context.unsigned(next(given)) if n == DYNAMIC else terms.number(n) for n in numbers])

    shape = sizes(type.shape, maker.dynamic_shape)
    return Tensor(maker, context.element(maker.operands[0]), shape, sizes(type.strides, maker.dynamic_strides), size)


def view_positions(context: Context, operation: Operation, view: View, indices: Indices) -> Indices:
    """Where in the tensor an element of the accessed tile lies, by dimension of the tile."""
    found = []
    for axis, (index, step) in enumerate(zip(operation.index, view.steps, strict=True)):
        if axis == view.sparse:
            found.append(context.element(index, (indices[axis],)))
        else:
            found.append(terms.add(terms.scale(context.unsigned(index), step), indices[axis]))
    return tuple(found)


def inside_tensor(view: View, positions: Indices) -> Term:
    pairs = zip(positions, view.extents, strict=True)
    return terms.conjunction(*[terms.between(ZERO, position, extent) for position, extent in pairs])


def address_in(view: View, positions: Indices) -> Term:
    offset = ZERO
    for position, stride in zip(positions, view.strides, strict=True):
        offset = terms.add(offset, terms.mul(position, stride))
    return terms.add(view.tensor.address, terms.scale(offset, view.tensor.size))


def base_of(address: Term) -> tuple[Term | None, Term]:
    """The array whose address in bytes this is, and the offset in it; None if there is not just one."""
    plain = [monomial[0] for monomial, factor in terms.polynomial(address) if factor == len(monomial) == 1]
    bases = [atom for atom in plain if is_base(atom)]
    if len(bases) != 1:
        return None, address
    rest = terms.sub(address, bases[0])
    if any(is_base(part) for part in subterms(rest)):
        return None, address
    return bases[0], rest


def is_base(term: Term) -> bool:
    return term.operation == "variable" and str(term.data[0]).startswith("&")
