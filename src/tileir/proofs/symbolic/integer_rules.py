"""Elementwise operations on elements: integers are exact, others are uninterpreted functions of their operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, cast

from tileir.dialect import ops
from tileir.dialect.types import PointerType, TileType
from tileir.ir.core import Operation
from tileir.ir.types import I1, IntegerType, Type
from tileir.proofs.symbolic import terms
from tileir.proofs.symbolic.terms import BOOLEAN, INTEGER, ONE, ZERO, Term


def range_of(type: IntegerType) -> tuple[int, int]:
    half = 1 << (type.width - 1)
    return -half, half - 1


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
