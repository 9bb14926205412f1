"""What is known of a value without the tile: a number, a ramp of numbers, pointers, a mask, a view; and the operations
on that: integers exactly, tiles as far as they stay ramps.

A result that is None is not known.  Ramps count signed numbers; one that would leave the range of its element type is
not known, so nothing wraps.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Final, NamedTuple, cast

from tileir.dialect import ops
from tileir.dialect.types import (
    DYNAMIC,
    GatherScatterViewType,
    PartitionViewType,
    PointerType,
    StridedViewType,
    TensorViewType,
    TileType,
    TileViewType,
)
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.dense import element_bytes, signed_value
from tileir.ir.types import I1, TF32, IntegerType, Type
from tileir.ir.values import Value
from tileir.rewrite.simplifier_rules import evaluate

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
        return None if None in self.shape else self.size * prod(cast("tuple[int, ...]", self.shape))


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

Lookup = Callable[[Value], Known | None]
Evaluation = Callable[[Operation, Lookup], list[Known | None]]


def _tile(value: Value) -> TileType:
    return cast(TileType, value.type)


def _width(value: Value) -> int:
    """The bits of an integer element, 0 for others."""
    element = _tile(value).element
    return element.width if isinstance(element, IntegerType) else 0


def number(value: Value, known: Known | None, *, signed: bool = True) -> int | None:
    """A scalar integer as a number."""
    if not isinstance(known, int):
        return None
    return signed_value(_width(value), known) if signed else known


# --- integers ---


def _arithmetic(operation: Operation, lookup: Lookup) -> list[Known | None]:
    operands = [lookup(value) for value in operation.operands]
    result = operation.results[0]
    if not _tile(result).shape:
        numbers = [known for known in operands if isinstance(known, int)]
        if operation.declaration is ops.SELECT and isinstance(operands[0], int):
            # Pointers, too.
            return [operands[1] if operands[0] & 1 else operands[2]]
        return [_scalar(operation, numbers) if len(numbers) == len(operands) else None]
    return [_elementwise(operation, operands)]


def _scalar(operation: Operation, numbers: list[int]) -> int | None:
    declaration = operation.declaration
    width, result_width = _width(operation.operands[-1]), _width(operation.results[0])
    mask = (1 << result_width) - 1
    signed = operation.keyword("signedness") == "signed"
    if declaration is ops.ABSI:
        return abs(signed_value(width, numbers[0])) & mask
    if declaration is ops.NOTI:
        return ~numbers[0] & mask
    if declaration in (ops.DIVI, ops.REMI):
        left, right = [signed_value(width, bits) if signed else bits for bits in numbers]
        if not right:
            return None
        quotient = abs(left) // abs(right)
        if (left < 0) != (right < 0):
            quotient = -quotient
        if declaration is ops.REMI:
            return left - quotient * right & mask
        rounding = operation.rounding
        if rounding == "negative_inf":
            quotient = left // right
        elif rounding == "positive_inf":
            quotient = -(-left // right)
        return quotient & mask
    flags: tuple[str, ...] = (operation.keyword("signedness"),)
    if declaration is ops.CMPI:
        flags = (operation.comparison_predicate, *flags)
    return evaluate(declaration, flags, (width, result_width), tuple(numbers))


def _elementwise(operation: Operation, operands: list[Known | None]) -> Ramp | Mask | None:
    declaration = operation.declaration
    shape = _tile(operation.results[0]).shape
    if declaration is ops.ANDI and all(isinstance(known, Mask) for known in operands):
        first, second = cast("list[Mask]", operands)
        pairs = zip(first.bounds, second.bounds, strict=True)
        return Mask(tuple([(max(a[0], b[0]), min(a[1], b[1])) for a, b in pairs]))
    if not all(isinstance(known, Ramp) for known in operands):
        return None
    ramps = cast("list[Ramp]", operands)
    if declaration is ops.CMPI:
        return _compared(operation, ramps[0], ramps[1], shape)
    found = _combined(operation, ramps, shape)
    if found is None:
        return None
    low, high = found.span(shape)
    limit = 1 << (_width(operation.results[0]) - 1)
    return found if -limit <= low and high < limit else None


def _combined(operation: Operation, ramps: list[Ramp], shape: tuple[int, ...]) -> Ramp | None:
    declaration = operation.declaration
    first = ramps[0]
    if declaration is ops.TRUNCI:
        return first
    if declaration is ops.EXTI:
        return first if operation.signedness == "signed" or first.span(shape)[0] >= 0 else None
    if declaration is ops.NEGI:
        return _scaled(first, -1)
    if len(ramps) < 2:
        return None
    second = ramps[1]
    if declaration in (ops.ADDI, ops.SUBI):
        sign = 1 if declaration is ops.ADDI else -1
        steps = tuple([a + sign * b for a, b in zip(first.steps, second.steps, strict=True)])
        return Ramp(first.first + sign * second.first, steps)
    if declaration is ops.MULI:
        if not any(second.steps):
            return _scaled(first, second.first)
        return _scaled(second, first.first) if not any(first.steps) else None
    if declaration is ops.SHLI and not any(second.steps) and 0 <= second.first < 64:
        return _scaled(first, 1 << second.first)
    if not any(first.steps) and not any(second.steps):
        # The same number everywhere.
        width = _width(operation.operands[0])
        bits = _scalar(operation, [ramp.first & ((1 << width) - 1) for ramp in ramps])
        return None if bits is None else Ramp(signed_value(_width(operation.results[0]), bits), first.steps)
    return None


def _scaled(ramp: Ramp, factor: int) -> Ramp:
    return Ramp(ramp.first * factor, tuple([step * factor for step in ramp.steps]))


def _compared(operation: Operation, left: Ramp, right: Ramp, shape: tuple[int, ...]) -> Mask | None:
    """Where the difference of two ramps, which grows along one dimension at most, has a certain sign."""
    if operation.signedness == "unsigned" and (left.span(shape)[0] < 0 or right.span(shape)[0] < 0):
        return None
    predicate = operation.comparison_predicate
    first = left.first - right.first
    steps = [a - b for a, b in zip(left.steps, right.steps, strict=True)]
    if predicate.startswith("greater"):
        first, steps = -first, [-step for step in steps]
    # From here on: where `first + step * i` is less than (or equal to) zero.
    if predicate.endswith("or_equal"):
        first -= 1
    moving = [axis for axis, step in enumerate(steps) if step and shape[axis] > 1]
    bounds = [(0, extent) for extent in shape]
    if predicate in ("equal", "not_equal"):
        if moving:
            return None
        holds = (first == 0) == (predicate == "equal")
    elif not moving:
        holds = first < 0
    elif len(moving) > 1:
        return None
    else:
        (axis,) = moving
        step, extent = steps[axis], shape[axis]
        if step > 0:
            bounds[axis] = (0, min(max(-(first // step), 0), extent))
        else:
            bounds[axis] = (min(max(first // -step + 1, 0), extent), extent)
        holds = True
    return Mask(tuple(bounds)) if holds else Mask(((0, 0),) * len(shape))


# --- shapes ---


def _constant(operation: Operation, lookup: Lookup) -> list[Known | None]:
    value, type = operation.value_attribute, _tile(operation.results[0])
    width = _width(operation.results[0])
    if not width or not value.is_splat:
        return [None]
    bits = value.bits(0) & ((1 << width) - 1)
    if not type.shape:
        return [bits]
    if type.element is I1:
        return [Mask(tuple([(0, extent if bits else 0) for extent in type.shape]))]
    return [Ramp(signed_value(width, bits), (0,) * len(type.shape))]


def _same(operation: Operation, lookup: Lookup) -> list[Known | None]:
    return [lookup(operation.operands[0])]


def _placed(
    operation: Operation, change: Callable[[tuple[int, ...]], tuple[int, ...] | None], known: Known
) -> Known | None:
    """A tile whose dimensions become others: `change` takes the steps of the old ones to those of the new ones."""
    source = operation.operands[0]
    if isinstance(known, int):
        signed = signed_value(_width(source), known)
        shape = _tile(operation.results[0]).shape
        if not shape:
            return known
        if _tile(source).element is I1:
            return Mask(tuple([(0, extent if known else 0) for extent in shape]))
        known = Ramp(signed, ())
    if isinstance(known, Ramp):
        steps = change(known.steps)
        if steps is None:
            return None
        if not steps:
            return known.first & ((1 << _width(source)) - 1)
        return Ramp(known.first, steps)
    if isinstance(known, Address):
        steps = change(known.steps)
        return Address(known.root, None, ()) if steps is None else Address(known.root, known.first, steps)
    return None


def _reshape(operation: Operation, lookup: Lookup) -> list[Known | None]:
    known = lookup(operation.operands[0])
    before, after = _tile(operation.operands[0]).shape, _tile(operation.results[0]).shape

    def change(steps: tuple[int, ...]) -> tuple[int, ...] | None:
        if not any(steps):
            return (0,) * len(after)
        real = [(extent, step) for extent, step in zip(before, steps, strict=True) if extent > 1]
        if [extent for extent, _ in real] == [extent for extent in after if extent > 1]:
            # Only extents of one come or go.
            rest = iter([step for _, step in real])
            return tuple([next(rest) if extent > 1 else 0 for extent in after])
        inner = real[-1][1]
        for (extent, step), (_, outer) in zip(reversed(real), reversed(real[:-1]), strict=False):
            if outer != step * extent:
                return None
        # Even steps from one element to the next: they may be cut anyhow.
        found: list[int] = []
        for extent in reversed(after):
            found.append(inner)
            inner *= extent
        return tuple(reversed(found))

    if isinstance(known, Mask):
        same = [extent for extent in before if extent > 1] == [extent for extent in after if extent > 1]
        if not same or known.truths == 0:
            return [None]
        rest = iter([bounds for bounds, extent in zip(known.bounds, before, strict=True) if extent > 1])
        return [Mask(tuple([next(rest) if extent > 1 else (0, 1) for extent in after]))]
    return [None if known is None else _placed(operation, change, known)]


def _broadcast(operation: Operation, lookup: Lookup) -> list[Known | None]:
    known = lookup(operation.operands[0])
    before, after = _tile(operation.operands[0]).shape, _tile(operation.results[0]).shape
    if isinstance(known, Mask):
        pairs = zip(known.bounds, before, after, strict=True)
        return [Mask(tuple([(b[0] * n, b[1] * n) if m == 1 else b for b, m, n in pairs]))]

    def change(steps: tuple[int, ...]) -> tuple[int, ...]:
        return tuple([step if extent > 1 else 0 for step, extent in zip(steps, before, strict=True)])

    return [None if known is None else _placed(operation, change, known)]


def _permute(operation: Operation, lookup: Lookup) -> list[Known | None]:
    known = lookup(operation.operands[0])
    order = operation.permutation
    if isinstance(known, Mask):
        return [Mask(tuple([known.bounds[axis] for axis in order]))]
    return [None if known is None else _placed(operation, lambda steps: tuple([steps[a] for a in order]), known)]


# --- pointers and views ---


def _offset(operation: Operation, lookup: Lookup) -> list[Known | None]:
    pointer, offset = lookup(operation.operands[0]), lookup(operation.operands[1])
    if not isinstance(pointer, Address):
        return [None]
    if isinstance(offset, int):
        offset = Ramp(signed_value(_width(operation.operands[1]), offset), ())
    if pointer.first is None or not isinstance(offset, Ramp):
        return [Address(pointer.root, None, ())]
    size = memory_bytes(operation.operands[0])
    steps = tuple([a + b * size for a, b in zip(pointer.steps, offset.steps, strict=True)])
    return [Address(pointer.root, pointer.first + offset.first * size, steps)]


def element_size(element: Type) -> int:
    """Bytes of an element in memory."""
    return 4 if element is TF32 else element_bytes(element)


def memory_bytes(value: Value) -> int:
    """Bytes of what a pointer or a tile of pointers points to."""
    return element_size(cast(PointerType, _tile(value).element).pointee)


def _tensor_view(operation: Operation, lookup: Lookup) -> list[Known | None]:
    type = cast(TensorViewType, operation.results[0].type)
    base = lookup(operation.operands[0])
    given = iter([number(value, lookup(value), signed=False) for value in operation.dynamic_shape])
    shape = tuple([next(given) if extent == DYNAMIC else extent for extent in type.shape])
    root = base.root if isinstance(base, Address) else None
    return [TensorView(root, element_size(type.element), shape)]


def _tile_view(operation: Operation, lookup: Lookup) -> list[Known | None]:
    tensor = lookup(operation.operands[0])
    if not isinstance(tensor, TensorView):
        return [None]
    type = cast(TileViewType, operation.results[0].type)
    axes = tuple(range(len(type.tile_shape)))
    ways, sparse = type.tile_shape, -1
    if isinstance(type, (PartitionViewType, StridedViewType)):
        axes = type.dim_map
    if isinstance(type, StridedViewType):
        ways = type.traversal_strides
    elif isinstance(type, GatherScatterViewType):
        # Its indices count elements in every dimension.
        sparse, ways = type.sparse_dim, (1,) * len(axes)
    return [TileView(tensor, type.tile_shape, tuple([tensor.shape[axis] for axis in axes]), ways, sparse)]


def _index_space(operation: Operation, lookup: Lookup) -> list[Known | None]:
    view = lookup(operation.operands[0])
    return list(view.index_space()) if isinstance(view, TileView) else [None] * len(operation.results)


def _tensor_shape(operation: Operation, lookup: Lookup) -> list[Known | None]:
    tensor = lookup(operation.operands[0])
    return list(tensor.shape) if isinstance(tensor, TensorView) else [None] * len(operation.results)


_ARITHMETIC: Final = (
    ops.ABSI, ops.ADDI, ops.ANDI, ops.CMPI, ops.DIVI, ops.EXTI, ops.MAXI, ops.MINI, ops.MULI, ops.NEGI, ops.NOTI,
    ops.ORI, ops.REMI, ops.SELECT, ops.SHLI, ops.SHRI, ops.SUBI, ops.TRUNCI, ops.XORI,
)  # fmt: skip
EVALUATED: Final[dict[OperationDeclaration, Evaluation]] = {
    **dict.fromkeys(_ARITHMETIC, _arithmetic),
    ops.ASSUME: _same,
    ops.BROADCAST: _broadcast,
    ops.CONSTANT: _constant,
    ops.GET_INDEX_SPACE_SHAPE: _index_space,
    ops.GET_TENSOR_SHAPE: _tensor_shape,
    ops.IOTA: lambda operation, lookup: [Ramp(0, (1,))],
    ops.MAKE_GATHER_SCATTER_VIEW: _tile_view,
    ops.MAKE_PARTITION_VIEW: _tile_view,
    ops.MAKE_STRIDED_VIEW: _tile_view,
    ops.MAKE_TENSOR_VIEW: _tensor_view,
    ops.OFFSET: _offset,
    ops.PERMUTE: _permute,
    ops.PTR_TO_PTR: _same,
    ops.RESHAPE: _reshape,
}
