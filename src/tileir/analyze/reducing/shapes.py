"""Smaller tiles: an extent is halved, or a dimension dropped, in all values at once that must agree about it."""

from __future__ import annotations

from collections.abc import Callable

from tileir.analyze.reducing.connections import CARRIES, Classes, carried_pairs, shape_of, values_of
from tileir.analyze.reducing.program import Program
from tileir.analyze.reducing.removal import Edit
from tileir.analyze.reducing.retyping import retype, with_shape
from tileir.dialect.ops import BROADCAST, CAT, PERMUTE, REDUCE, RESHAPE, SCAN
from tileir.dialect.types import GatherScatterViewType
from tileir.ir.attributes import DenseArrayAttribute, IntegerAttribute, dense_array_attribute, integer_attribute
from tileir.ir.core import Operation
from tileir.ir.traits import MATRIX_PRODUCT
from tileir.ir.types import Type
from tileir.ir.values import Value

Axis = tuple[int, int]
"""A dimension of a value: the address of the value, and the number of the dimension."""
Resize = Callable[[int], int]


def shape_changes(program: Program) -> list[Edit]:
    """All extents to 1 at once; then each class of dimensions to 1, halved, and dropped."""
    classes = _classes(program)
    values = values_of(program)
    extents = [[shape_of(values[address].type)[axis] for address, axis in axes] for axes in classes]
    large = [axes for axes, found in zip(classes, extents, strict=True) if max(found) > 1]
    edits: list[Edit] = []
    if len(large) > 1:
        edits.append(_resized([axis for axes in large for axis in axes], lambda extent: 1))
    for axes, found in zip(classes, extents, strict=True):
        if max(found) == 1:
            edits.append(_dropped(axes))
            continue
        edits.append(_resized(axes, lambda extent: 1))
        if max(found) > 4:
            edits.append(_resized(axes, lambda extent: min(extent, 2)))
        if max(found) > 2:
            edits.append(_resized(axes, lambda extent: max(extent // 2, 1)))
    return edits


def _classes(program: Program) -> list[list[Axis]]:
    numbers = {value: address for address, value in enumerate(values_of(program))}
    found: Classes[Axis] = Classes()

    def join(left: Value, i: int, right: Value, j: int) -> None:
        if left in numbers and right in numbers:
            found.join((numbers[left], i), (numbers[right], j))

    for value, address in numbers.items():
        for axis in range(len(shape_of(value.type))):
            found.find((address, axis))
    for operation in program.operations:
        for left, right in carried_pairs(operation):
            for axis in range(len(shape_of(left.type))):
                join(left, axis, right, axis)
        if operation.declaration not in CARRIES:
            _join_operation(operation, join)
    return found.all()


Join = Callable[[Value, int, Value, int], None]


def _join_operation(operation: Operation, join: Join) -> None:
    """What an operation says about the extents of its operands and results."""
    declaration = operation.declaration
    values: list[Value] = [*operation.operands, *operation.results]
    if declaration is BROADCAST or declaration is RESHAPE:
        source, result = values
        pairs = _matching if declaration is RESHAPE else _equal
        for i, j in pairs(shape_of(source.type), shape_of(result.type)):
            join(source, i, result, j)
    elif declaration is PERMUTE:
        order = operation.attributes.get("permutation")
        if isinstance(order, DenseArrayAttribute):
            for axis, origin in enumerate(order.values):
                join(values[0], origin, values[1], axis)
    elif declaration is REDUCE:
        dim = _dim(operation)
        for operand in operation.operands:
            for axis in range(len(shape_of(operand.type))):
                join(operation.operands[0], axis, operand, axis)
                if axis != dim:
                    for result in operation.results:
                        join(operand, axis, result, axis - (axis > dim))
    elif declaration.has_trait(MATRIX_PRODUCT):
        lhs, rhs, acc, result = values[0], values[1], values[2], operation.results[0]
        rank = len(shape_of(acc.type))
        for axis in range(rank):
            join(acc, axis, result, axis)
        for axis in range(rank - 2):
            join(acc, axis, lhs, axis)
            join(acc, axis, rhs, axis)
        join(acc, rank - 2, lhs, rank - 2)
        join(acc, rank - 1, rhs, rank - 1)
        join(lhs, rank - 1, rhs, rank - 2)
    elif declaration is CAT:
        for other in values[1:]:
            for axis in range(len(shape_of(other.type))):
                join(values[0], axis, other, axis)
    else:
        _join_alike(operation, values, join)


def _join_alike(operation: Operation, values: list[Value], join: Join) -> None:
    """Element by element: all values of one shape."""
    first: dict[tuple[int, ...], Value] = {}
    for value in values:
        shape = shape_of(value.type)
        leader = first.setdefault(shape, value)
        for axis in range(len(shape)):
            join(leader, axis, value, axis)
    for view in operation.operands:
        # One index picks a row for each element along a dimension.
        if isinstance(view.type, GatherScatterViewType):
            for index in operation.operands:
                if index is not view and len(shape_of(index.type)) == 1:
                    join(view, view.type.sparse_dim, index, 0)


def _equal(source: tuple[int, ...], result: tuple[int, ...]) -> list[tuple[int, int]]:
    return [(axis, axis) for axis, (s, r) in enumerate(zip(source, result, strict=False)) if s == r]


def _matching(source: tuple[int, ...], result: tuple[int, ...]) -> list[tuple[int, int]]:
    """The dimensions of a reshape that can be halved together: the first of each run with one number of elements."""
    left = [axis for axis, extent in enumerate(source) if extent > 1]
    right = [axis for axis, extent in enumerate(result) if extent > 1]
    pairs: list[tuple[int, int]] = []
    while left and right:
        pairs.append((left[0], right[0]))
        here, there = source[left.pop(0)], result[right.pop(0)]
        while here != there:
            if here < there and left:
                here *= source[left.pop(0)]
            elif there < here and right:
                there *= result[right.pop(0)]
            else:
                return pairs
    return pairs


def _dim(operation: Operation) -> int:
    found = operation.attributes.get("dim")
    return found.value if isinstance(found, IntegerAttribute) else 0


def _resized(axes: list[Axis], resize: Resize) -> Edit:
    def edit(program: Program) -> bool:
        values = values_of(program)
        shapes: dict[Value, list[int]] = {}
        for address, axis in axes:
            value = values[address]
            shape = shapes.setdefault(value, list(shape_of(value.type)))
            shape[axis] = resize(shape[axis])
        changes: dict[Value, Type] = {v: with_shape(v.type, tuple(shape)) for v, shape in shapes.items()}
        return retype(program.operations, changes)

    return edit


def _dropped(axes: list[Axis]) -> Edit:
    """The edit that takes dimensions of extent 1 away."""

    def edit(program: Program) -> bool:
        values = values_of(program)
        gone: dict[Value, set[int]] = {}
        for address, axis in axes:
            gone.setdefault(values[address], set()).add(axis)
        for operation in program.operations:
            _renumber(operation, gone)
        changes: dict[Value, Type] = {}
        for value, dropped in gone.items():
            kept = [extent for axis, extent in enumerate(shape_of(value.type)) if axis not in dropped]
            changes[value] = with_shape(value.type, tuple(kept))
        return retype(program.operations, changes)

    return edit


def _renumber(operation: Operation, gone: dict[Value, set[int]]) -> None:
    """Dimensions that an attribute names get the numbers they have without those that go."""
    dropped = gone.get(operation.operands[0], set()) if operation.operands else set()
    if not dropped:
        return
    if operation.declaration in (REDUCE, SCAN, CAT):
        old = operation.attributes.get("dim")
        if isinstance(old, IntegerAttribute):
            operation.set_attribute("dim", integer_attribute(old.type, old.value - _below(old.value, dropped)))
    elif operation.declaration is PERMUTE:
        order = operation.attributes.get("permutation")
        if isinstance(order, DenseArrayAttribute):
            kept = tuple([axis - _below(axis, dropped) for axis in order.values if axis not in dropped])
            operation.set_attribute("permutation", dense_array_attribute(order.element_type, kept))


def _below(axis: int, dropped: set[int]) -> int:
    return sum([1 for other in dropped if other < axis])
