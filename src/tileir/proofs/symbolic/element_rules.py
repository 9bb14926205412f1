"""How the element of a result follows from elements of the operands, by declaration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Final, cast

from tileir.dialect import ops
from tileir.dialect.attributes import BoundedAttribute, DivByAttribute
from tileir.dialect.types import PointerType, TileType
from tileir.ir.core import Operation
from tileir.ir.dense import DenseAttribute
from tileir.ir.traits import ELEMENTWISE
from tileir.ir.traversal import ancestors
from tileir.ir.types import I1, IntegerType
from tileir.ir.values import OperationResult
from tileir.proofs.symbolic import terms
from tileir.proofs.symbolic.integer_rules import elementwise
from tileir.proofs.symbolic.terms import INTEGER, ZERO, Term
from tileir.proofs.symbolic.views import Context, Indices, address_in, bytes_of, inside_tensor, view_positions
from tileir.rewrite.fact import shape_of
from tileir.rewrite.matching import constant_value


def element_of_result(context: Context, operation: Operation, value: OperationResult, indices: Indices) -> Term | None:
    """The element of a result; None if there is no rule."""
    rule = _RULES.get(operation.declaration)
    if rule is not None:
        return rule(context, operation, value, indices)
    if operation.declaration.has_trait(ELEMENTWISE) and isinstance(value.type, TileType):
        operands = [context.element(each, indices if shape_of(each.type) else ()) for each in operation.operands]
        return elementwise(operation, value.type.element, operands)
    return None


def _constant(context: Context, operation: Operation, value: OperationResult, indices: Indices) -> Term | None:
    dense = constant_value(value)
    type = value.type
    if not isinstance(dense, DenseAttribute) or not isinstance(type, TileType):
        return None
    element = type.element

    def one(bits: int) -> Term:
        if element is I1:
            return terms.TRUE if bits else terms.FALSE
        if isinstance(element, IntegerType):
            return terms.wrap(terms.number(bits), element.width)
        return terms.app(f"{element.spelling} {bits:#x}", (), element.spelling)

    if dense.is_splat:
        return one(dense.bits(0))
    position = _position(indices, type.shape)
    fixed = terms.constant(position)
    if fixed is not None:
        return one(dense.bits(fixed))
    name = f"constant {context.numbers[operation]}"
    if isinstance(element, IntegerType) and element is not I1:
        values = [terms.constant(one(bits)) or 0 for bits in dense.values()]
        step = values[1] - values[0]
        if all(value == values[0] + number * step for number, value in enumerate(values)):
            return terms.add(terms.number(values[0]), terms.scale(position, step))
        return terms.app(name, (position,), INTEGER, min(values), max(values))
    return context.unknown(name, (position,), type)


def _position(indices: Indices, shape: Sequence[int]) -> Term:
    """The number of an element in row-major order."""
    position = ZERO
    for index, extent in zip(indices, shape, strict=True):
        position = terms.add(terms.scale(position, extent), index)
    return position


def _reshape(context: Context, operation: Operation, value: OperationResult, indices: Indices) -> Term:
    source = operation.operands[0]
    before, after = shape_of(source.type), shape_of(value.type)
    long = [index for index, extent in zip(indices, after, strict=True) if extent > 1]
    if [extent for extent in before if extent > 1] == [extent for extent in after if extent > 1]:
        rest = iter(long)
        return context.element(source, tuple([next(rest) if extent > 1 else ZERO for extent in before]))
    position = _position(indices, after)
    found = []
    for axis, extent in enumerate(before):
        inner = terms.number(prod(before[axis + 1 :]))
        found.append(terms.modulo(terms.floor_div(position, inner), terms.number(extent)))
    return context.element(source, tuple(found))


def _broadcast(context: Context, operation: Operation, value: OperationResult, indices: Indices) -> Term:
    source = operation.operands[0]
    shape = shape_of(source.type)
    return context.element(source, tuple([ZERO if e == 1 else i for i, e in zip(indices, shape, strict=True)]))


def _permute(context: Context, operation: Operation, value: OperationResult, indices: Indices) -> Term:
    found = list(indices)
    for axis, source in enumerate(operation.permutation):
        found[source] = indices[axis]
    return context.element(operation.operands[0], tuple(found))


def _cat(context: Context, operation: Operation, value: OperationResult, indices: Indices) -> Term:
    axis = operation.dim
    extent = shape_of(operation.operands[0].type)[axis]
    index = indices[axis]

    def moved(by: int) -> Indices:
        # Where the element comes from the other operand the index is of no interest, but must be one.
        size = shape_of(operation.operands[1 if by else 0].type)[axis]
        inside = terms.maximum(ZERO, terms.minimum(terms.sub(index, terms.number(by)), terms.number(size - 1)))
        return (*indices[:axis], inside, *indices[axis + 1 :])

    first = context.element(operation.operands[0], moved(0))
    second = context.element(operation.operands[1], moved(extent))
    return terms.choose(terms.less(index, terms.number(extent)), first, second)


def _extract(context: Context, operation: Operation, value: OperationResult, indices: Indices) -> Term:
    source, *parts = operation.operands
    shape, whole = shape_of(value.type), shape_of(source.type)
    found = []
    for part, index, extent, full in zip(parts, indices, shape, whole, strict=True):
        start = ZERO if full == extent else context.unsigned(part)
        found.append(terms.add(terms.scale(start, extent), index))
    return context.element(source, tuple(found))


def _offset(context: Context, operation: Operation, value: OperationResult, indices: Indices) -> Term | None:
    pointer = cast(TileType, value.type).element
    size = bytes_of(pointer.pointee) if isinstance(pointer, PointerType) else 0
    if not size:
        return None
    base, offset = [context.element(each, indices if shape_of(each.type) else ()) for each in operation.operands]
    return terms.add(base, terms.scale(offset, size))


def _assume(context: Context, operation: Operation, value: OperationResult, indices: Indices) -> Term:
    found = context.element(operation.operands[0], indices)
    fact = promised(operation, found)
    if fact is not None and found.sort == INTEGER and is_on_every_path(operation):
        context.promise(found, fact)
    return found


def is_on_every_path(operation: Operation) -> bool:
    """Whether an operation runs in every tile block: it is in no branch and no loop, and nothing returns before it."""
    entry = operation
    inner: Operation = operation
    for around in ancestors(operation):
        if around.declaration is ops.ENTRY:
            entry = around
            break
        inner = around
    if inner is not operation:
        return False
    for before in entry.regions[0].blocks[0]:
        if before is operation:
            return True
        if any(each.declaration is ops.RETURN for each in before.walk()):
            return False
    return False


def promised(operation: Operation, term: Term) -> Term | None:
    """What an `assume` promises about each element, where it is one that has a term here."""
    predicate = operation.attributes.get("predicate")
    if isinstance(predicate, DivByAttribute) and predicate.every is None:
        return terms.equal(terms.modulo(term, terms.number(predicate.divisor)), ZERO)
    if isinstance(predicate, BoundedAttribute):
        low, high, strict = predicate.lower, predicate.upper, int(predicate.strict)
        return terms.conjunction(
            terms.TRUE if low is None else terms.at_least(term, terms.number(low + strict)),
            terms.TRUE if high is None else terms.at_most(term, terms.number(high - strict)),
        )
    return None


def _sizes(context: Context, operation: Operation, value: OperationResult, indices: Indices) -> Term | None:
    source = operation.operands[0]
    width = cast(IntegerType, cast(TileType, value.type).element).width
    if operation.declaration is ops.GET_TENSOR_SHAPE:
        tensor = context.tensor(source)
        return terms.wrap(tensor.shape[value.index], width) if tensor is not None else None
    view = context.view(source)
    return terms.wrap(view.space[value.index], width) if view is not None else None


def _load_pointers(context: Context, operation: Operation, value: OperationResult, indices: Indices) -> Term | None:
    if value.index != 0:
        return None
    loaded = context.load(operation, value, context.element(operation.source, indices), indices)
    mask, padding = operation.mask, operation.padding_value
    if mask is None:
        return loaded
    inside = context.element(mask, indices if shape_of(mask.type) else ())
    if padding is not None:
        otherwise = context.element(padding, indices if shape_of(padding.type) else ())
    else:
        otherwise = context.opaque(value, indices, "is masked and has no padding")
    return terms.choose(inside, loaded, otherwise)


def _load_view(context: Context, operation: Operation, value: OperationResult, indices: Indices) -> Term | None:
    view = context.view(operation.view) if value.index == 0 else None
    if view is None:
        return None
    positions = view_positions(context, operation, view, indices)
    loaded = context.load(operation, value, address_in(view, positions), indices)
    element = cast(TileType, value.type).element
    if view.padding == "zero" and isinstance(element, IntegerType):
        otherwise = terms.FALSE if element is I1 else ZERO
    elif view.padding is not None:
        otherwise = terms.app(f"{view.padding} {element.spelling}", (), element.spelling)
    else:
        otherwise = context.opaque(value, indices, "is outside of the tensor and has no padding")
    return terms.choose(inside_tensor(view, positions), loaded, otherwise)


_Rule = Callable[[Context, Operation, OperationResult, Indices], Term | None]
_RULES: Final[dict[Any, _Rule]] = {
    ops.CONSTANT: _constant,
    ops.IOTA: lambda context, operation, value, indices: indices[0],
    ops.RESHAPE: _reshape,
    ops.BROADCAST: _broadcast,
    ops.PERMUTE: _permute,
    ops.CAT: _cat,
    ops.EXTRACT: _extract,
    ops.OFFSET: _offset,
    ops.ASSUME: _assume,
    ops.GET_TILE_BLOCK_ID: lambda context, operation, value, indices: context.block[value.index],
    ops.GET_NUM_TILE_BLOCKS: lambda context, operation, value, indices: context.grid[value.index],
    ops.GET_INDEX_SPACE_SHAPE: _sizes,
    ops.GET_TENSOR_SHAPE: _sizes,
    ops.GET_GLOBAL: lambda context, operation, value, indices: terms.variable(
        f"&{operation.attributes['name'].text}", 0
    ),
    ops.ALLOCA: lambda context, operation, value, indices: terms.variable(
        f"&alloca {context.numbers[operation]}", 0, None, True
    ),
    ops.LOAD_PTR_TKO: _load_pointers,
    ops.ATOMIC_LOAD_TKO: lambda context, operation, value, indices: None,
    ops.LOAD_VIEW_TKO: _load_view,
}
