"""Passes on types: fewer and smaller dimensions, narrower elements, in all values at once that must agree on them.

Values are connected by what an operation requires of the types of its operands and results.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from math import prod
from typing import Final, TypeVar

from tileir.analyze.reducing.program import Edit, Program, functions_with_bodies, update_signature
from tileir.dialect import ops
from tileir.dialect.types import GatherScatterViewType, PointerType, TensorViewType, TileType, TileViewType, tile_type
from tileir.ir import attributes
from tileir.ir.attributes import ArrayAttribute, Attribute, DenseArrayAttribute, IntegerAttribute, SymbolAttribute
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.dense import DenseAttribute, dense_attribute, element_bytes, signed_value
from tileir.ir.floats import FORMATS, from_double, to_double
from tileir.ir.registry import REGISTRY
from tileir.ir.traits import CONTROL_FLOW, MATRIX_PRODUCT, TERMINATOR
from tileir.ir.types import BF16, F16, F32, F64, I8, I16, I32, I64, FloatType, IntegerType, Type
from tileir.ir.values import Value
from tileir.ir.versions import NEWEST
from tileir.rewrite.matching import carried_sources, ends_of
from tileir.text.cursor import SyntaxFailure
from tileir.text.types import TypeCursor

_CARRIES: Final = (*REGISTRY.with_traits(CONTROL_FLOW), *REGISTRY.with_traits(TERMINATOR))
"""Operations that connect only the values that they carry."""
Node = TypeVar("Node", bound=Hashable)


def _classes(nodes: list[Node], pairs: Iterable[tuple[Node, Node]]) -> list[list[Node]]:
    """Nodes that pairs connect, in the order of the nodes."""
    classes = {node: [node] for node in nodes}
    for left, right in pairs:
        if left in classes and right in classes and classes[left] is not classes[right]:
            smaller, larger = sorted([classes[left], classes[right]], key=len)
            larger += smaller
            classes.update(dict.fromkeys(smaller, larger))
    found: dict[int, list[Node]] = {}
    for node in nodes:
        found.setdefault(id(classes[node]), []).append(node)
    return list(found.values())


def _equally_labeled(labeled: Iterable[tuple[Node, object]]) -> Iterator[tuple[Node, Node]]:
    """Pairs of nodes with the same label; None is no label."""
    first: dict[object, Node] = {}
    for node, label in labeled:
        if label is not None:
            yield first.setdefault(label, node), node


def _values(program: Program) -> list[Value]:
    return [*program.block_arguments(), *[result for operation in program.operations for result in operation.results]]


def _carried_pairs(program: Program, values: list[Value]) -> Iterator[tuple[Value, Value]]:
    """Values that control flow passes on as others, and the bounds and counters of loops."""
    ends = cache(ends_of)
    for value in values:
        for source in carried_sources(value, ends) or ():
            yield source, value
    for operation in program.operations:
        if operation.declaration is ops.FOR:
            for other in (*operation.operands[1:3], *operation.regions[0].blocks[0].arguments[:1]):
                yield operation.operands[0], other


Axis = tuple[Value, int]
"""A value, and the number of one of its dimensions."""


def shape_changes(program: Program) -> Iterator[Edit]:
    """All extents to 1 at once; then each class of dimensions to 1, to 2, halved, and dropped."""
    classes = [(axes, max([shape_of(value.type)[axis] for value, axis in axes])) for axes in _axis_classes(program)]
    large = [axes for axes, extent in classes if extent > 1]
    if len(large) > 1:
        yield partial(_resize, axes=[axis for axes in large for axis in axes], largest=1)
    for axes, extent in classes:
        if extent == 1:
            yield partial(_drop_axes, axes=axes)
            continue
        yield partial(_resize, axes=axes, largest=1)
        if extent > 4:
            yield partial(_resize, axes=axes, largest=2)
        if extent > 2:
            yield partial(_resize, axes=axes, largest=None)


def _axis_classes(program: Program) -> list[list[Axis]]:
    """The dimensions whose extents can only change together."""
    values = _values(program)
    axes = [(value, axis) for value in values for axis in range(len(shape_of(value.type)))]
    carried = _carried_pairs(program, values)
    pairs = [((left, axis), (right, axis)) for left, right in carried for axis in range(len(shape_of(left.type)))]
    for operation in program.operations:
        if operation.declaration not in _CARRIES:
            own = [*operation.operands, *operation.results]
            labels = zip(own, _axis_labels(operation, [shape_of(value.type) for value in own]), strict=True)
            pairs += _equally_labeled(
                [((value, axis), label) for value, each in labels for axis, label in enumerate(each)]
            )
    return _classes(axes, pairs)


def _axis_labels(operation: Operation, shapes: list[tuple[int, ...]]) -> list[list[object]]:
    """Labels for the extents of operands and results; an operation requires extents with one label to be equal."""
    declaration = operation.declaration
    order, dim = operation.attributes.get("permutation"), operation.attributes.get("dim")
    own: list[list[object]] = [list(range(len(shape))) for shape in shapes]
    if declaration is ops.BROADCAST:
        equal = [extent == other for extent, other in zip(*shapes, strict=False)]
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
        left_count, right_count = source[left.pop(0)], result[right.pop(0)]
        while left_count != right_count:
            if left_count < right_count and left:
                left_count *= source[left.pop(0)]
            elif right_count < left_count and right:
                right_count *= result[right.pop(0)]
            else:
                return pairs
    return pairs


def _resize(program: Program, axes: list[Axis], largest: int | None) -> bool:
    """Limit extents to a largest one; None: halve them."""
    shapes: dict[Value, list[int]] = {}
    for value, axis in axes:
        shape = shapes.setdefault(program.copies[value], list(shape_of(value.type)))
        shape[axis] = max(shape[axis] // 2, 1) if largest is None else min(shape[axis], largest)
    return retype(program, {value: with_shape(value.type, shape) for value, shape in shapes.items()})


def _drop_axes(program: Program, axes: list[Axis]) -> bool:
    """Drop dimensions of extent 1."""
    dropped: dict[Value, set[int]] = {}
    for value, axis in axes:
        dropped.setdefault(program.copies[value], set()).add(axis)
    for operation in program.operations:
        if operation.operands and operation.operands[0] in dropped:
            _renumber_axes(operation, dropped[operation.operands[0]])
    shapes = {v: [n for axis, n in enumerate(shape_of(v.type)) if axis not in gone] for v, gone in dropped.items()}
    return retype(program, {value: with_shape(value.type, shape) for value, shape in shapes.items()})


def _renumber_axes(operation: Operation, dropped: set[int]) -> None:
    """Renumber the dimensions that an attribute names, without the dropped ones."""

    def renumbered(axis: int) -> int:
        return axis - sum([1 for other in dropped if other < axis])

    dim, order = operation.attributes.get("dim"), operation.attributes.get("permutation")
    if operation.declaration in (ops.REDUCE, ops.SCAN, ops.CAT) and isinstance(dim, IntegerAttribute):
        operation.set_attribute("dim", attributes.integer_attribute(dim.type, renumbered(dim.value)))
    elif operation.declaration is ops.PERMUTE and isinstance(order, DenseArrayAttribute):
        kept = tuple([renumbered(axis) for axis in order.values if axis not in dropped])
        operation.set_attribute("permutation", attributes.dense_array_attribute(order.element_type, kept))


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
    """Narrow an element type in the whole program; then in each class of values that share it."""
    values = _values(program)
    by_element: dict[Type | None, list[Value]] = {}
    for value in values:
        by_element.setdefault(core_element(value.type), []).append(value)
    pairs = list(_carried_pairs(program, values))
    for operation in program.operations:
        if operation.declaration not in _CARRIES:
            pairs += _equally_labeled([(value, core_element(value.type)) for value in _elements(operation)])
    smaller = [each for each in _classes(values, pairs) if len(each) < len(by_element[core_element(each[0].type)])]
    for connected in [*by_element.values(), *smaller]:
        for narrow in _NARROWER.get(core_element(connected[0].type), ()):
            yield partial(_narrow, values=connected, element=narrow)


def _elements(operation: Operation) -> list[Value]:
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
    return retype(program, {program.copies[value]: with_core_element(value.type, element) for value in values})


# --- other types of values, with all that has to agree: constants, signatures, identities, globals ---

_CASTS: Final = (
    *(ops.BROADCAST, ops.RESHAPE, ops.EXTRACT),
    *(ops.BITCAST, ops.EXTI, ops.FTOF, ops.PTR_TO_PTR, ops.TRUNCI),
)
"""They do nothing if source and result have one type."""


def shape_of(type: Type) -> tuple[int, ...]:
    """The extents of a tile, or of the tiles of a view."""
    if isinstance(type, TileType):
        return type.shape
    return type.tile_shape if isinstance(type, TileViewType) else ()


def core_element(type: Type) -> Type | None:
    """The number type of a tile, of what its pointers point to, or of a view."""
    if isinstance(type, TileType):
        return type.element.pointee if isinstance(type.element, PointerType) else type.element
    if isinstance(type, TileViewType):
        return type.tensor.element
    return type.element if isinstance(type, TensorViewType) else None


def with_shape(type: Type, shape: Sequence[int]) -> Type | None:
    """A tile, or a view of tiles, of another shape; None if there is none."""
    extents = [str(extent) for extent in shape]
    if isinstance(type, TileType):
        return _type_of_text(f"tile<{'x'.join([*extents, type.element.spelling])}>")
    return _type_of_text(re.sub(r"tile=\([^)]*\)", f"tile=({'x'.join(extents)})", type.spelling))


def with_core_element(type: Type, element: Type) -> Type | None:
    """The type with another element type; None if there is none."""
    core = core_element(type)
    return _type_of_text(type.spelling.replace(core.spelling, element.spelling)) if core is not None else type


def _type_of_text(text: str) -> Type | None:
    try:
        return TypeCursor(text, "-", NEWEST).parse_type()
    except SyntaxFailure:
        return None


def retype(program: Program, changes: Mapping[Value, Type | None]) -> bool:
    """Set the types of values and adapt the rest of the program; False if there is no such type."""
    for value, type in changes.items():
        if type is None:
            return False
        value.type = type
    globals_: dict[str, Type] = {}
    for _, function in functions_with_bodies(program):
        update_signature(function)
    for operation in program.operations:
        declaration = operation.declaration
        if declaration is ops.CONSTANT:
            _convert(operation, operation.results[0].type)
        elif declaration in (ops.REDUCE, ops.SCAN):
            _retype_identities(operation)
        elif declaration is ops.GET_GLOBAL:
            name, target = operation.attributes.get("name"), operation.results[0].type
            if isinstance(name, SymbolAttribute) and isinstance(target, TileType):
                if isinstance(target.element, PointerType):
                    globals_[name.path[-1]] = target.element.pointee
    for operation in program.operations:
        initial = operation.attributes.get("value")
        if operation.symbol_name in globals_ and isinstance(initial, DenseAttribute):
            _convert(operation, tile_type(initial.shape, globals_[operation.symbol_name]))
        if operation.declaration in _CASTS and operation.parent is not None:
            if operation.operands and operation.operands[0].type is operation.results[0].type:
                operation.replace_with([operation.operands[0]])
    return True


def _retype_identities(operation: Operation) -> None:
    found = operation.attributes.get("identities")
    if not isinstance(found, ArrayAttribute) or len(found.elements) != len(operation.operands):
        return
    elements: list[Attribute] = []
    for identity, value in zip(found.elements, operation.operands, strict=True):
        element = value.type.element if isinstance(value.type, TileType) else None
        if isinstance(identity, attributes.FloatAttribute) and isinstance(element, FloatType):
            elements.append(attributes.float_attribute(element, _number(identity.type, element, identity.bits)))
        elif isinstance(identity, IntegerAttribute) and isinstance(element, IntegerType):
            bits = identity.value & ((1 << element.width) - 1)
            elements.append(attributes.integer_attribute(element, signed_value(element.width, bits)))
        else:
            elements.append(identity)
    operation.set_attribute("identities", attributes.array_attribute(tuple(elements)))


def _convert(operation: Operation, target: Type) -> None:
    """Convert the numbers of a constant or a global to another type, as many as that has."""
    value = operation.attributes.get("value")
    if isinstance(value, DenseAttribute) and isinstance(target, TileType) and value.type is not target:
        size = element_bytes(target.element)
        kept = value.values() if value.is_splat else value.values()[: prod(target.shape)]
        data = [_number(value.element_type, target.element, bits).to_bytes(size, "little") for bits in kept]
        operation.set_attribute("value", dense_attribute(target, target.shape, target.element, b"".join(data)))


def _number(source: Type, target: Type, bits: int) -> int:
    if isinstance(source, FloatType) and isinstance(target, FloatType):
        try:
            return from_double(FORMATS[target.name], to_double(FORMATS[source.name], bits))
        except ValueError:
            return 0
    width = target.width if isinstance(target, (IntegerType, FloatType)) else 64
    if isinstance(source, IntegerType):
        bits = signed_value(source.width, bits)
    return bits & ((1 << width) - 1)
