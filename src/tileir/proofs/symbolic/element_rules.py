"""How the element of a result follows from elements of the operands, by declaration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Final, Protocol, cast

from tileir.dialect import ops
from tileir.dialect.attributes import BoundedAttribute, DivByAttribute
from tileir.dialect.types import PointerType, TileType
from tileir.ir.core import Operation
from tileir.ir.dense import DenseAttribute
from tileir.ir.traits import ELEMENTWISE
from tileir.ir.traversal import ancestors
from tileir.ir.types import I1, IntegerType, Type
from tileir.ir.values import OperationResult, Value
from tileir.proofs.symbolic import terms
from tileir.proofs.symbolic.terms import BOOLEAN, INTEGER, ONE, ZERO, Term
from tileir.rewrite.fact import shape_of
from tileir.rewrite.matching import constant_value

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


def range_of(type: IntegerType) -> tuple[int, int]:
    half = 1 << (type.width - 1)
    return -half, half - 1


def bytes_of(type: Type) -> int:
    """The bytes of an element in memory; 0 for one that shares its byte with others, or of a size not known here."""
    if isinstance(type, PointerType):
        return 8
    if type is I1:
        return 1
    width = getattr(type, "width", 0)
    return width // 8 if width % 8 == 0 else 0


def element_of_result(context: Context, operation: Operation, value: OperationResult, indices: Indices) -> Term | None:
    """The element of a result; None if there is no rule."""
    rule = _RULES.get(operation.declaration)
    if rule is not None:
        return rule(context, operation, value, indices)
    if operation.declaration.has_trait(ELEMENTWISE) and isinstance(value.type, TileType):
        operands = [context.element(each, indices if shape_of(each.type) else ()) for each in operation.operands]
        return elementwise(operation, value.type.element, operands)
    return None


# --- elementwise operations ---


def elementwise(operation: Operation, type: Type, operands: Sequence[Term]) -> Term | None:
    """An elementwise operation on elements.  Integers are exact; others are functions of their operands."""
    rule = _INTEGERS.get(operation.declaration)
    source = operation.operands[0].type
    element = source.element if isinstance(source, TileType) else source
    if rule is not None and isinstance(element, IntegerType):
        boolean = _BOOLEANS.get(operation.declaration)
        if element is I1 and operation.declaration not in (ops.EXTI, ops.SELECT):
            found = boolean(operation, operands) if boolean is not None else None
        else:
            found = rule(operation, element.width, operands)
        if found is None:
            return _function(operation, type, operands)
        if isinstance(type, IntegerType) and type is not I1 and found.sort == INTEGER:
            return terms.wrap(found, type.width)
        return found
    if operation.declaration is ops.SELECT:
        return terms.choose(*operands)
    if operation.declaration in (ops.PTR_TO_PTR, ops.PTR_TO_INT, ops.INT_TO_PTR):
        if isinstance(type, IntegerType):
            return terms.wrap(operands[0], 64)
        return terms.wrap(operands[0], 64, False) if operation.declaration is ops.INT_TO_PTR else operands[0]
    return _function(operation, type, operands)


def exact_integer(operation: Operation, operands: Sequence[Term], signed: bool) -> Term | None:
    """The number that an integer operation stands for, in no width, with its operands read as signed or unsigned."""
    source = operation.operands[0].type
    assert isinstance(source, TileType)
    width = cast(IntegerType, source.element).width
    rule = _INTEGERS.get(operation.declaration)
    if rule is None or source.element is I1:
        return None
    return rule(operation, width, operands if signed else [terms.wrap(each, width, False) for each in operands])


def _function(operation: Operation, type: Type, operands: Sequence[Term]) -> Term:
    """An uninterpreted function that operations with equal attributes share."""
    attributes = [f"{name}={value.text}" for name, value in sorted(operation.attributes.items())]
    name = " ".join([operation.declaration.mnemonic, *attributes, type.spelling])
    if type is I1:
        return terms.app(name, operands, BOOLEAN)
    if isinstance(type, IntegerType):
        return terms.app(name, operands, INTEGER, *range_of(type))
    return terms.app(name, operands, INTEGER if isinstance(type, PointerType) else type.spelling)


def _is_unsigned(operation: Operation) -> bool:
    return bool(operation.keyword("signedness") == "unsigned")


def _read(operation: Operation, width: int, operands: Sequence[Term]) -> list[Term]:
    """Operands as the operation reads them, signed or unsigned."""
    return [terms.wrap(each, width, False) for each in operands] if _is_unsigned(operation) else list(operands)


def _compare(operation: Operation, width: int, operands: Sequence[Term]) -> Term:
    left, right = _read(operation, width, operands)
    return {
        "equal": lambda: terms.equal(left, right),
        "not_equal": lambda: terms.negation(terms.equal(left, right)),
        "less_than": lambda: terms.less(left, right),
        "less_than_or_equal": lambda: terms.at_most(left, right),
        "greater_than": lambda: terms.less(right, left),
        "greater_than_or_equal": lambda: terms.at_most(right, left),
    }[str(operation.comparison_predicate)]()


def _divide(operation: Operation, width: int, operands: Sequence[Term]) -> Term:
    left, right = _read(operation, width, operands)
    if operation.rounding == "positive_inf":
        return terms.ceil_div(left, right)
    if operation.rounding == "negative_inf" or _is_unsigned(operation):
        return terms.floor_div(left, right)
    return terms.truncating_div(left, right)


def _remainder(operation: Operation, width: int, operands: Sequence[Term]) -> Term:
    left, right = _read(operation, width, operands)
    return terms.modulo(left, right) if _is_unsigned(operation) else terms.truncating_rem(left, right)


def _and(operation: Operation, width: int, operands: Sequence[Term]) -> Term | None:
    for value, mask in (operands, reversed(operands)):
        bits = terms.constant(mask)
        if bits is not None and bits >= 0 and bits & (bits + 1) == 0:
            return terms.modulo(value, terms.number(bits + 1))
        if bits is not None and bits < 0 and -bits & (-bits - 1) == 0:
            return terms.sub(value, terms.modulo(value, terms.number(-bits)))
    return None


def _xor(operation: Operation, width: int, operands: Sequence[Term]) -> Term | None:
    for value, mask in (operands, reversed(operands)):
        if terms.constant(mask) == -1:
            return terms.sub(terms.number(-1), value)
    return None


def _shift_left(operation: Operation, width: int, operands: Sequence[Term]) -> Term | None:
    bits = terms.constant(operands[1])
    return terms.scale(operands[0], 1 << bits) if bits is not None and 0 <= bits < width else None


def _shift_right(operation: Operation, width: int, operands: Sequence[Term]) -> Term | None:
    bits = terms.constant(operands[1])
    if bits is None or not 0 <= bits < width:
        return None
    return terms.floor_div(_read(operation, width, operands)[0], terms.number(1 << bits))


def _extend(operation: Operation, width: int, operands: Sequence[Term]) -> Term:
    if width == 1:
        return terms.choose(operands[0], ONE if _is_unsigned(operation) else terms.number(-1), ZERO)
    return _read(operation, width, operands)[0]


def _truncate(operation: Operation, width: int, operands: Sequence[Term]) -> Term:
    type = cast(TileType, operation.results[0].type).element
    if type is I1:
        return terms.equal(terms.modulo(operands[0], terms.number(2)), ONE)
    return operands[0]


def _extremum(function: Callable[[Term, Term], Term]) -> _IntegerRule:
    def compute(operation: Operation, width: int, operands: Sequence[Term]) -> Term:
        return function(*_read(operation, width, operands))

    return compute


_IntegerRule = Callable[[Operation, int, Sequence[Term]], Term | None]
_INTEGERS: Final[dict[Any, _IntegerRule]] = {
    ops.ADDI: lambda operation, width, operands: terms.add(*operands),
    ops.SUBI: lambda operation, width, operands: terms.sub(*operands),
    ops.MULI: lambda operation, width, operands: terms.mul(*operands),
    ops.NEGI: lambda operation, width, operands: terms.scale(operands[0], -1),
    ops.ABSI: lambda operation, width, operands: terms.maximum(operands[0], terms.scale(operands[0], -1)),
    ops.CMPI: _compare,
    ops.DIVI: _divide,
    ops.REMI: _remainder,
    ops.MINI: _extremum(terms.minimum),
    ops.MAXI: _extremum(terms.maximum),
    ops.MULHII: lambda operation, width, operands: terms.floor_div(
        terms.mul(*[terms.wrap(each, width, False) for each in operands]), terms.number(1 << width)
    ),
    ops.ANDI: _and,
    ops.ORI: lambda operation, width, operands: None,
    ops.XORI: _xor,
    ops.NOTI: lambda operation, width, operands: terms.sub(terms.number(-1), operands[0]),
    ops.SHLI: _shift_left,
    ops.SHRI: _shift_right,
    ops.EXTI: _extend,
    ops.TRUNCI: _truncate,
    ops.BITCAST: lambda operation, width, operands: (
        operands[0] if isinstance(cast(TileType, operation.results[0].type).element, IntegerType) else None
    ),
    ops.SELECT: lambda operation, width, operands: terms.choose(*operands),
}
_BooleanRule = Callable[[Operation, Sequence[Term]], Term | None]


def _compare_booleans(operation: Operation, operands: Sequence[Term]) -> Term | None:
    same = terms.equal_truths(*operands)
    return {"equal": same, "not_equal": terms.negation(same)}.get(str(operation.comparison_predicate))


_BOOLEANS: Final[dict[Any, _BooleanRule]] = {
    ops.ANDI: lambda operation, operands: terms.conjunction(*operands),
    ops.ORI: lambda operation, operands: terms.disjunction(*operands),
    ops.XORI: lambda operation, operands: terms.negation(terms.equal_truths(*operands)),
    ops.NOTI: lambda operation, operands: terms.negation(operands[0]),
    ops.CMPI: _compare_booleans,
    ops.BITCAST: lambda operation, operands: operands[0],
}


# --- shapes, constants, sizes, memory ---


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
