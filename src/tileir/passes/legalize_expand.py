"""The element-wise operations that only the drafts have, written with public ones (docs/conflicts.md C6, K).

Functions of floats follow the formulas that the engines compute too (dialect/draft_formulas.py).
"""

from __future__ import annotations

from collections.abc import Callable

from tileir.annotations import Final
from tileir.dialect.draft_formulas import FORMULAS
from tileir.dialect.ops import (
    ADDI,
    ANDI,
    BREV,
    CLZ,
    CMPF,
    CTZ,
    DIVF,
    FTOF,
    MAXF,
    MAXIMUMF,
    MINF,
    MINIMUMF,
    MULI,
    NOTI,
    ORI,
    POPCNT,
    RECIPF,
    SELECT,
    SUBI,
)
from tileir.ir.attributes import UNIT, Attribute
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.types import F64
from tileir.ir.values import Value
from tileir.passes.emit import Emit, tile_of, width_of

_PROPAGATE_NAN: Final[dict[str, Attribute]] = {"propagate_nan": UNIT}


# --- bits ---


def _repeated(width: int, pattern: int, length: int) -> int:
    """A pattern of `length` bits, again and again over the width."""
    return sum([pattern << start for start in range(0, width, length)])


def _count_ones(emit: Emit, value: Value) -> Value:
    """Add neighbouring bits, then pairs, then fours; a product adds the bytes up in the topmost one."""
    width = width_of(tile_of(value))
    pairs = _repeated(width, 0x1, 2)
    fours = _repeated(width, 0x3, 4)
    bytes_ = _repeated(width, 0xF, 8)
    value = emit.apply(SUBI, value, emit.masked(emit.shift_right(value, 1), pairs))
    value = emit.apply(ADDI, emit.masked(value, fours), emit.masked(emit.shift_right(value, 2), fours))
    value = emit.masked(emit.apply(ADDI, value, emit.shift_right(value, 4)), bytes_)
    if width == 8:
        return value
    total = emit.apply(MULI, value, emit.bits(tile_of(value), _repeated(width, 0x1, 8)))
    return emit.shift_right(total, width - 8)


def _popcnt(emit: Emit, operation: Operation) -> Value:
    return _count_ones(emit, operation.operands[0])


def _clz(emit: Emit, operation: Operation) -> Value:
    """Copy the highest 1 into all lower bits; the zeros left are the leading ones."""
    value = operation.operands[0]
    distance = 1
    while distance < width_of(tile_of(value)):
        value = emit.apply(ORI, value, emit.shift_right(value, distance))
        distance *= 2
    return _count_ones(emit, emit.inverted(value))


def _ctz(emit: Emit, operation: Operation) -> Value:
    """The zeros below the lowest 1 are the ones of `~x & (x - 1)`."""
    value = operation.operands[0]
    less = emit.apply(SUBI, value, emit.bits(tile_of(value), 1))
    return _count_ones(emit, emit.apply(ANDI, emit.inverted(value), less))


def _brev(emit: Emit, operation: Operation) -> Value:
    """Swap neighbouring bits, then pairs, and so on up to the halves."""
    value = operation.operands[0]
    width = width_of(tile_of(value))
    distance = 1
    while distance < width:
        mask = _repeated(width, (1 << distance) - 1, 2 * distance)
        down = emit.masked(emit.shift_right(value, distance), mask)
        up = emit.shift_left(emit.masked(value, mask), distance)
        value = emit.apply(ORI, down, up)
        distance *= 2
    return value


def _noti(emit: Emit, operation: Operation) -> Value:
    return emit.inverted(operation.operands[0])


# --- floats ---


def _by_formula(emit: Emit, operation: Operation) -> Value:
    source = operation.operands[0]
    element = tile_of(source).element
    formula = FORMULAS[operation.declaration]
    value = source if element is F64 else emit.convert(FTOF, source, F64)
    known = {each: emit.number(tile_of(value), each.constant) for each in formula.constants}
    known[formula.argument] = value
    for step in formula.steps:
        operands = [known[operand] for operand in step.operands]
        if step.declaration is CMPF:
            value = emit.compare_floats(step.predicate, "ordered", operands[0], operands[1])
        elif step.declaration is SELECT:
            value = emit.select(operands[0], operands[1], operands[2])
        else:
            value = emit.apply(step.declaration, *operands)
        known[step.result] = value
    return value if element is F64 else emit.convert(FTOF, value, element)


def _recipf(emit: Emit, operation: Operation) -> Value:
    value = operation.operands[0]
    return emit.apply(DIVF, emit.number(tile_of(value), 1.0), value)


def _maximumf(emit: Emit, operation: Operation) -> Value:
    return emit.apply(MAXF, *operation.operands, attributes=_PROPAGATE_NAN)


def _minimumf(emit: Emit, operation: Operation) -> Value:
    return emit.apply(MINF, *operation.operands, attributes=_PROPAGATE_NAN)


EXPANSIONS: Final[dict[OperationDeclaration, Callable[[Emit, Operation], Value]]] = {
    **dict.fromkeys(FORMULAS, _by_formula),
    POPCNT: _popcnt,
    CLZ: _clz,
    CTZ: _ctz,
    BREV: _brev,
    NOTI: _noti,
    RECIPF: _recipf,
    MAXIMUMF: _maximumf,
    MINIMUMF: _minimumf,
}
