"""What is known of a value without the tile: a ramp of numbers, whose memory it points to, a mask, a view; and the
operations on that: one number exactly, tiles as far as they stay ramps.

A result that is None is not known.  A ramp that would leave the range of its element type is not known either.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import prod
from typing import Any, Final, NamedTuple, cast

from tileir.dialect import ops
from tileir.dialect.types import (
    DYNAMIC,
    PointerType,
    TensorViewType,
    TileType,
    TileViewType,
)
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.dense import element_bytes, signed_value
from tileir.ir.types import TF32, IntegerType, Type
from tileir.ir.values import Value
from tileir.rewrite.simplifier_rules import evaluate

Root = int | str
"""A pointer or a tile of pointers: the number of the parameter whose memory it reaches, or "global @name", "alloca"."""


class Ramp(NamedTuple):
    """Signed integers: `first`, and how much more it is with each step along each dimension; a scalar has none."""

    first: int
    steps: tuple[int, ...]

    def span(self, shape: tuple[int, ...]) -> tuple[int, int]:
        """The least and the largest number of a tile of that shape."""
        reaches = [step * (extent - 1) for step, extent in zip(self.steps, shape, strict=True)]
        return self.first + sum(min(reach, 0) for reach in reaches), self.first + sum(max(r, 0) for r in reaches)

    def times(self, factor: int) -> Ramp:
        return Ramp(self.first * factor, tuple([step * factor for step in self.steps]))


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
    size: int  # Bytes of an element.
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
    sparse: int  # The dimension whose positions an access lists, -1 for none.

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


Known = Ramp | Root | Mask | TensorView | TileView
Lookup = Callable[[Value], Known | None]
Evaluation = Callable[[Operation, Lookup], list[Known | None]]


def _tile(value: Value) -> TileType:
    return cast(TileType, value.type)


def _width(value: Value) -> int:
    element = _tile(value).element
    return element.width if isinstance(element, IntegerType) else 0


def number(value: Value, known: Known | None, *, signed: bool = True) -> int | None:
    """A scalar integer as a number."""
    if not isinstance(known, Ramp) or known.steps:
        return None
    return known.first if signed else known.first & ((1 << _width(value)) - 1)


def uniform(value: Value, bits: int) -> Ramp | Mask:
    """A scalar, or a tile with one number everywhere, by the bits of an element."""
    shape, width = _tile(value).shape, _width(value)
    if shape and width == 1:
        return Mask(tuple([(0, extent if bits & 1 else 0) for extent in shape]))
    return Ramp(signed_value(width, bits & ((1 << width) - 1)), (0,) * len(shape))


def _arithmetic(operation: Operation, lookup: Lookup) -> list[Known | None]:
    operands = [lookup(value) for value in operation.operands]
    result, declaration = operation.results[0], operation.declaration
    if declaration is ops.SELECT and isinstance(operands[0], Ramp):
        return [operands[1 if operands[0].first & 1 else 2]]  # Pointers, too.
    if declaration is ops.ANDI and all(isinstance(known, Mask) for known in operands):
        first, second = cast("list[Mask]", operands)
        pairs = zip(first.bounds, second.bounds, strict=True)
        return [Mask(tuple([(max(a[0], b[0]), min(a[1], b[1])) for a, b in pairs]))]
    if not all(isinstance(known, Ramp) for known in operands):
        return [None]
    ramps = cast("list[Ramp]", operands)
    if not any(step for ramp in ramps for step in ramp.steps):
        bits = _exact(operation, [ramp.first for ramp in ramps])
        return [None if bits is None else uniform(result, bits)]
    shape = _tile(result).shape
    if declaration is ops.CMPI:
        return [_compared(operation, ramps[0], ramps[1], shape)]
    found = _combined(operation, ramps, shape)
    if found is not None:
        low, high = found.span(shape)
        limit = 1 << (_width(result) - 1)
        if low < -limit or high >= limit:
            found = None
    return [found]


def _exact(operation: Operation, numbers: list[int]) -> int | None:
    """The bits of a result, by those of a scalar or of each element; they may be those of a wider type."""
    declaration = operation.declaration
    width, result_width = _width(operation.operands[-1]), _width(operation.results[0])
    bits = [given & ((1 << _width(value)) - 1) for value, given in zip(operation.operands, numbers, strict=True)]
    if declaration is ops.ABSI:
        return abs(numbers[0])
    if declaration is ops.NOTI:
        return ~numbers[0]
    if declaration in (ops.DIVI, ops.REMI):
        left, right = numbers if operation.signedness == "signed" else bits
        if not right:
            return None
        quotient = abs(left) // abs(right)
        if (left < 0) != (right < 0):
            quotient = -quotient
        if declaration is ops.REMI:
            return left - quotient * right
        rounding = operation.rounding
        if rounding == "negative_inf":
            return left // right
        return -(-left // right) if rounding == "positive_inf" else quotient
    flags: tuple[str, ...] = (operation.keyword("signedness"),)
    if declaration is ops.CMPI:
        flags = (operation.comparison_predicate, *flags)
    return evaluate(declaration, flags, (width, result_width), tuple(bits))


def _combined(operation: Operation, ramps: list[Ramp], shape: tuple[int, ...]) -> Ramp | None:
    declaration = operation.declaration
    first = ramps[0]
    if declaration is ops.TRUNCI:
        return first
    if declaration is ops.EXTI:
        return first if operation.signedness == "signed" or first.span(shape)[0] >= 0 else None
    if declaration is ops.NEGI:
        return first.times(-1)
    if len(ramps) < 2:
        return None
    second = ramps[1]
    if declaration in (ops.ADDI, ops.SUBI):
        sign = 1 if declaration is ops.ADDI else -1
        steps = tuple([a + sign * b for a, b in zip(first.steps, second.steps, strict=True)])
        return Ramp(first.first + sign * second.first, steps)
    if declaration is ops.MULI:
        if not any(second.steps):
            return first.times(second.first)
        return second.times(first.first) if not any(first.steps) else None
    if declaration is ops.SHLI and not any(second.steps) and 0 <= second.first < 64:
        return first.times(1 << second.first)
    return None


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


def _constant(operation: Operation, lookup: Lookup) -> list[Known | None]:
    value, result = operation.value_attribute, operation.results[0]
    return [uniform(result, value.bits(0)) if _width(result) and value.is_splat else None]


def _same(operation: Operation, lookup: Lookup) -> list[Known | None]:
    return [lookup(operation.operands[0])]


def _shaped(operation: Operation, lookup: Lookup) -> list[Known | None]:
    """A tile whose dimensions become others: what it has for each, steps or bounds, goes with them."""
    known, result = lookup(operation.operands[0]), operation.results[0]
    before, after = _tile(operation.operands[0]).shape, _tile(result).shape
    if isinstance(known, Ramp) and not any(known.steps):
        return [uniform(result, known.first)]
    if isinstance(known, Mask) and not known.truths:
        return [uniform(result, 0)]
    if not isinstance(known, (Mask, Ramp)):
        return [known]
    parts: tuple[Any, ...] = known.bounds if isinstance(known, Mask) else known.steps
    whole: list[Any] = [(0, extent) if isinstance(known, Mask) else 0 for extent in after]
    if operation.declaration is ops.PERMUTE:
        found: list[Any] | None = [parts[axis] for axis in operation.permutation]
    elif operation.declaration is ops.BROADCAST:
        found = [part if extent > 1 else new for part, extent, new in zip(parts, before, whole, strict=True)]
    elif [extent for extent in before if extent > 1] == [extent for extent in after if extent > 1]:
        # Only extents of one come or go.
        rest = iter([part for part, extent in zip(parts, before, strict=True) if extent > 1])
        found = [next(rest) if extent > 1 else new for extent, new in zip(after, whole, strict=True)]
    else:
        found = _reshaped(known, before, after) if isinstance(known, Ramp) else None
    return [
        None if found is None else Mask(tuple(found)) if isinstance(known, Mask) else Ramp(known.first, tuple(found))
    ]


def _reshaped(ramp: Ramp, before: tuple[int, ...], after: tuple[int, ...]) -> list[int] | None:
    """The steps of a reshaped tile, if those from one element to the next are even."""
    real = [(extent, step) for extent, step in zip(before, ramp.steps, strict=True) if extent > 1]
    if any(outer != step * extent for (_, outer), (extent, step) in pairwise(real)):
        return None
    found, inner = [], real[-1][1]
    for extent in reversed(after):
        found.append(inner)
        inner *= extent
    return found[::-1]


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
    root = base if isinstance(base, Root) else None
    return [TensorView(root, element_size(type.element), shape)]


def _tile_view(operation: Operation, lookup: Lookup) -> list[Known | None]:
    tensor = lookup(operation.operands[0])
    if not isinstance(tensor, TensorView):
        return [None]
    type = cast(TileViewType, operation.results[0].type)
    extents = tuple([tensor.shape[axis] for axis in type.dim_map])
    return [TileView(tensor, type.tile_shape, extents, type.steps, type.sparse_dim)]


def _index_space(operation: Operation, lookup: Lookup) -> list[Known | None]:
    view = lookup(operation.operands[0])
    if not isinstance(view, TileView):
        return [None] * len(operation.results)
    return [
        None if extent is None else Ramp(-(-extent // way), ())
        for extent, way in zip(view.extents, view.ways, strict=True)
    ]


def _tensor_shape(operation: Operation, lookup: Lookup) -> list[Known | None]:
    tensor = lookup(operation.operands[0])
    if not isinstance(tensor, TensorView):
        return [None] * len(operation.results)
    return [None if extent is None else Ramp(extent, ()) for extent in tensor.shape]


_ARITHMETIC: Final = (
    ops.ABSI, ops.ADDI, ops.ANDI, ops.CMPI, ops.DIVI, ops.EXTI, ops.MAXI, ops.MINI, ops.MULI, ops.NEGI, ops.NOTI,
    ops.ORI, ops.REMI, ops.SELECT, ops.SHLI, ops.SHRI, ops.SUBI, ops.TRUNCI, ops.XORI,
)  # fmt: skip
EVALUATED: Final[dict[OperationDeclaration, Evaluation]] = {
    **dict.fromkeys(_ARITHMETIC, _arithmetic),
    **dict.fromkeys((ops.ASSUME, ops.OFFSET, ops.PTR_TO_PTR), _same),
    **dict.fromkeys((ops.BROADCAST, ops.PERMUTE, ops.RESHAPE), _shaped),
    **dict.fromkeys((ops.MAKE_GATHER_SCATTER_VIEW, ops.MAKE_PARTITION_VIEW, ops.MAKE_STRIDED_VIEW), _tile_view),
    ops.ALLOCA: lambda operation, lookup: ["alloca"],
    ops.CONSTANT: _constant,
    ops.GET_GLOBAL: lambda operation, lookup: [f"global {operation.attributes['name'].text}"],
    ops.GET_INDEX_SPACE_SHAPE: _index_space,
    ops.GET_TENSOR_SHAPE: _tensor_shape,
    ops.IOTA: lambda operation, lookup: [Ramp(0, (1,))],
    ops.MAKE_TENSOR_VIEW: _tensor_view,
}
