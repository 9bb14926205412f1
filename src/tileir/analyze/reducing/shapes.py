"""Passes on types: smaller and fewer dimensions, narrower elements, in all values at once that must agree about them.

What connects values is what an operation demands of the types of its operands and results.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from functools import cache, partial
from typing import Final, Generic, TypeVar

from tileir.analyze.reducing.program import Edit, Program
from tileir.analyze.reducing.retyping import core_element, retype, shape_of, with_core_element, with_shape
from tileir.dialect import ops
from tileir.dialect.types import GatherScatterViewType
from tileir.ir.attributes import DenseArrayAttribute, IntegerAttribute, dense_array_attribute, integer_attribute
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.registry import REGISTRY
from tileir.ir.traits import CONTROL_FLOW, MATRIX_PRODUCT, TERMINATOR
from tileir.ir.types import BF16, F16, F32, F64, I8, I16, I32, I64, Type
from tileir.ir.values import Value
from tileir.rewrite.matching import carried_sources, ends_of

_CARRIES: Final = (*REGISTRY.with_traits(CONTROL_FLOW), *REGISTRY.with_traits(TERMINATOR))
"""Operations that connect values by what they carry alone."""
Node = TypeVar("Node", bound=Hashable)


class Classes(Generic[Node]):
    """A union-find: nodes that belong together, in the order in which they were added."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._parent: dict[Node, Node] = {node: node for node in nodes}

    def find(self, node: Node) -> Node:
        parent = self._parent
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    def join(self, left: Node, right: Node) -> None:
        if left in self._parent and right in self._parent:
            self._parent[self.find(right)] = self.find(left)

    def join_alike(self, labeled: Iterable[tuple[Node, object]]) -> None:
        """Join the nodes that have one label; None is no label."""
        first: dict[object, Node] = {}
        for node, label in labeled:
            if label is not None:
                self.join(first.setdefault(label, node), node)

    def all(self) -> list[list[Node]]:
        found: dict[Node, list[Node]] = {}
        for node in self._parent:
            found.setdefault(self.find(node), []).append(node)
        return list(found.values())


def _values(program: Program) -> list[Value]:
    return [*program.block_arguments(), *[result for operation in program.operations for result in operation.results]]


def _carried_pairs(program: Program, values: list[Value]) -> Iterator[tuple[Value, Value]]:
    """Values of which control flow passes one on as the other, and the bounds and counters of loops."""
    ends = cache(ends_of)
    for value in values:
        for source in carried_sources(value, ends) or ():
            yield source, value
    for operation in program.operations:
        if operation.declaration is ops.FOR:
            for other in (*operation.operands[1:3], *operation.regions[0].blocks[0].arguments[:1]):
                yield operation.operands[0], other


# --- shapes ---

Axis = tuple[Value, int]
"""A value, and the number of one of its dimensions."""


def shape_changes(program: Program) -> Iterator[Edit]:
    """All extents to 1 at once; then each class of dimensions to 1, to 2, halved, and dropped."""
    classes = [(axes, max([shape_of(value.type)[axis] for value, axis in axes])) for axes in _axis_classes(program)]
    large = [axes for axes, extent in classes if extent > 1]
    if len(large) > 1:
        yield partial(_resize, axes=[axis for axes in large for axis in axes], most=1)
    for axes, extent in classes:
        if extent == 1:
            yield partial(_drop_axes, axes=axes)
            continue
        yield partial(_resize, axes=axes, most=1)
        if extent > 4:
            yield partial(_resize, axes=axes, most=2)
        if extent > 2:
            yield partial(_resize, axes=axes, most=None)


def _axis_classes(program: Program) -> list[list[Axis]]:
    """The dimensions whose extents can only change together."""
    values = _values(program)
    found: Classes[Axis] = Classes([(value, axis) for value in values for axis in range(len(shape_of(value.type)))])
    for left, right in _carried_pairs(program, values):
        for axis in range(len(shape_of(left.type))):
            found.join((left, axis), (right, axis))
    for operation in program.operations:
        if operation.declaration not in _CARRIES:
            own = [*operation.operands, *operation.results]
            labels = _axis_labels(operation, [shape_of(value.type) for value in own])
            found.join_alike(
                [((v, axis), label) for v, each in zip(own, labels, strict=True) for axis, label in enumerate(each)]
            )
    return found.all()


def _axis_labels(operation: Operation, shapes: list[tuple[int, ...]]) -> list[list[object]]:
    """What an operation demands of the extents of its operands and results: those with one label are equal."""
    declaration = operation.declaration
    order, dim = operation.attributes.get("permutation"), operation.attributes.get("dim")
    own: list[list[object]] = [list(range(len(shape))) for shape in shapes]
    if declaration is ops.BROADCAST:
        equal = [here == there for here, there in zip(*shapes, strict=False)]
        return [[axis if same else None for axis, same in enumerate(equal)], own[1]]
    if declaration is ops.RESHAPE:
        pairs = dict(_reshape_pairs(*shapes))
        return [[pairs.get(axis) for axis in range(len(shapes[0]))], own[1]]
    if declaration is ops.PERMUTE and isinstance(order, DenseArrayAttribute):
        return [own[0], list(order.values)]
    if declaration is ops.REDUCE:
        reduced = dim.value if isinstance(dim, IntegerAttribute) else 0
        count = len(operation.operands)
        return [*own[:count], *[own[0][:reduced] + own[0][reduced + 1 :] for _ in own[count:]]]
    if declaration.has_trait(MATRIX_PRODUCT):
        batch = own[2][:-2]
        accumulator = [*batch, "m", "n"]
        return [[*batch, "m", "k"], [*batch, "k", "n"], accumulator, *[[] for _ in own[4:]], accumulator]
    if declaration is ops.CAT:
        return own
    # All values of one shape; and an index for each element along a dimension of a view that picks rows.
    views = [view.type for view in operation.operands if isinstance(view.type, GatherScatterViewType)]
    rows = (views[0].tile_shape, views[0].sparse_dim) if views else None
    return [
        [rows] if rows is not None and len(shape) == 1 else [(shape, axis) for axis in range(len(shape))]
        for shape in shapes
    ]


def _reshape_pairs(source: tuple[int, ...], result: tuple[int, ...]) -> list[tuple[int, int]]:
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


def _resize(program: Program, axes: list[Axis], most: int | None) -> bool:
    """Cut extents to a largest one; None: halve them."""
    shapes: dict[Value, list[int]] = {}
    for value, axis in axes:
        shape = shapes.setdefault(program.copies[value], list(shape_of(value.type)))
        shape[axis] = max(shape[axis] // 2, 1) if most is None else min(shape[axis], most)
    return retype(program.operations, {v: with_shape(v.type, tuple(shape)) for v, shape in shapes.items()})


def _drop_axes(program: Program, axes: list[Axis]) -> bool:
    """Drop dimensions of extent 1."""
    dropped: dict[Value, set[int]] = {}
    for value, axis in axes:
        dropped.setdefault(program.copies[value], set()).add(axis)
    for operation in program.operations:
        if operation.operands and operation.operands[0] in dropped:
            _renumber_axes(operation, dropped[operation.operands[0]])
    changes: dict[Value, Type] = {}
    for value, gone in dropped.items():
        kept = [extent for axis, extent in enumerate(shape_of(value.type)) if axis not in gone]
        changes[value] = with_shape(value.type, tuple(kept))
    return retype(program.operations, changes)


def _renumber_axes(operation: Operation, dropped: set[int]) -> None:
    """Give dimensions that an attribute names the numbers they have without the dropped ones."""

    def renumbered(axis: int) -> int:
        return axis - sum([1 for other in dropped if other < axis])

    dim, order = operation.attributes.get("dim"), operation.attributes.get("permutation")
    if operation.declaration in (ops.REDUCE, ops.SCAN, ops.CAT) and isinstance(dim, IntegerAttribute):
        operation.set_attribute("dim", integer_attribute(dim.type, renumbered(dim.value)))
    elif operation.declaration is ops.PERMUTE and isinstance(order, DenseArrayAttribute):
        kept = tuple([renumbered(axis) for axis in order.values if axis not in dropped])
        operation.set_attribute("permutation", dense_array_attribute(order.element_type, kept))


# --- element types ---

_NARROWER: Final[dict[Type | None, tuple[Type, ...]]] = {
    F64: (F16, F32),
    F32: (F16,),
    BF16: (F16,),
    I64: (I8, I32),
    I32: (I8, I16),
    I16: (I8,),
}
# Operands that are not elements: indices, extents, offsets.
_NOT_ELEMENTS: Final[dict[OperationDeclaration, tuple[str, ...]]] = {
    ops.EXTRACT: ("indices",),
    ops.INSERT: ("indices",),
    ops.LOAD_VIEW_TKO: ("index",),
    ops.STORE_VIEW_TKO: ("index",),
    ops.MAKE_TENSOR_VIEW: ("dynamicShape", "dynamicStrides"),
    ops.OFFSET: ("offset",),
}


def element_changes(program: Program) -> Iterator[Edit]:
    """An element type in the whole program at once; then in each class of values that share one."""
    values = _values(program)
    by_element: dict[Type | None, list[Value]] = {}
    for value in values:
        by_element.setdefault(core_element(value.type), []).append(value)
    classes: Classes[Value] = Classes(values)
    for left, right in _carried_pairs(program, values):
        classes.join(left, right)
    for operation in program.operations:
        if operation.declaration not in _CARRIES:
            classes.join_alike([(value, core_element(value.type)) for value in _elements(operation)])
    parts = [each for each in classes.all() if len(each) < len(by_element[core_element(each[0].type)])]
    for together in [*by_element.values(), *parts]:
        for narrow in _NARROWER.get(core_element(together[0].type), ()):
            yield partial(_narrow, values=together, element=narrow)


def _elements(operation: Operation) -> list[Value]:
    """The values of an operation that share element types where they have the same."""
    values: list[Value] = [*operation.operands, *operation.results]
    for name in _NOT_ELEMENTS.get(operation.declaration, ()):
        for index in operation.operand_group(name):
            values.remove(index)
    if operation.declaration in (ops.REDUCE, ops.SCAN) and operation.regions[0].blocks:
        body = operation.regions[0].blocks[0]
        values.extend(body.arguments)
        if body.last is not None:
            values.extend(body.last.operands)
    return values


def _narrow(program: Program, values: list[Value], element: Type) -> bool:
    changes = {program.copies[value]: with_core_element(value.type, element) for value in values}
    return retype(program.operations, changes)
