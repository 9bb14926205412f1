"""The element-wise operations that only the drafts have, written with public ones (docs/conflicts.md C6, K).

Functions of narrower types are computed in f64 and rounded once.  In f32 the errors of the steps would add up to more
than the last bit; so they are the bits that the operation itself has (execute/arithmetic/draft_functions.py).
"""

from __future__ import annotations

from collections.abc import Callable

from tileir.annotations import Final
from tileir.dialect.ops import (
    ABSF,
    ADDF,
    ADDI,
    ANDI,
    BREV,
    CLZ,
    CTZ,
    DIVF,
    EXP,
    FTOF,
    LOG,
    LOG1P,
    LOG2,
    LOG10,
    MAXF,
    MAXIMUMF,
    MINF,
    MINIMUMF,
    MULF,
    MULI,
    NEGF,
    NOTI,
    ORI,
    POPCNT,
    RECIPF,
    SIGMOID,
    SUBF,
    SUBI,
)
from tileir.ir.attributes import UNIT, Attribute
from tileir.ir.core import Operation, Value
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.types import F64, Type
from tileir.passes.emit import Emit, tile_of, width_of

_LOG10_OF_2: Final = float.fromhex("0x1.34413509f79ffp-2")
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


def _widened(emit: Emit, value: Value) -> Value:
    return value if tile_of(value).element is F64 else emit.convert(FTOF, value, F64)


def _narrowed(emit: Emit, value: Value, element: Type) -> Value:
    return value if element is F64 else emit.convert(FTOF, value, element)


def _sigmoid(emit: Emit, operation: Operation) -> Value:
    """`1 / (1 + exp(-x))`, and `s / (1 + s)` of `s = exp(x)` where x is negative: neither exponential overflows.

    Far below zero that is `s - s * s / (1 + s)`, where the rounding of `1 + s` counts less.
    """
    source = operation.operands[0]
    value = _widened(emit, source)
    type = tile_of(value)
    one = emit.number(type, 1.0)
    small = emit.apply(EXP, emit.apply(NEGF, emit.apply(ABSF, value)))
    negative = emit.compare_floats("less_than", "ordered", value, emit.number(type, 0.0))
    above = emit.select(negative, small, one)
    ratio = emit.apply(DIVF, above, emit.apply(ADDF, one, small))
    tail = emit.compare_floats("less_than", "ordered", value, emit.number(type, -1.4))
    less = emit.apply(SUBF, small, emit.apply(MULF, small, ratio))
    return _narrowed(emit, emit.select(tail, less, ratio), tile_of(source).element)


def _recipf(emit: Emit, operation: Operation) -> Value:
    value = operation.operands[0]
    return emit.apply(DIVF, emit.number(tile_of(value), 1.0), value)


def _log10(emit: Emit, operation: Operation) -> Value:
    source = operation.operands[0]
    value = _widened(emit, source)
    scaled = emit.apply(MULF, emit.apply(LOG2, value), emit.number(tile_of(value), _LOG10_OF_2))
    return _narrowed(emit, scaled, tile_of(source).element)


def _log1p(emit: Emit, operation: Operation) -> Value:
    """log(u) of u = 1 + x rounded, and for what the rounding lost the slope there, 1 / u.

    Infinity minus itself is no number, which is not greater than 0: then nothing is added.  Nor is anything to -1.
    """
    source = operation.operands[0]
    value = _widened(emit, source)
    type = tile_of(value)
    zero = emit.number(type, 0.0)
    one = emit.number(type, 1.0)
    total = emit.apply(ADDF, value, one)
    added = emit.apply(SUBF, total, one)
    lost = emit.apply(SUBF, value, added)
    logarithm = emit.apply(LOG, total)
    corrected = emit.apply(ADDF, logarithm, emit.apply(DIVF, lost, total))
    inexact = emit.compare_floats("greater_than", "ordered", emit.apply(ABSF, lost), zero)
    result = emit.select(inexact, corrected, logarithm)
    # Too small to add to 1, or a zero, whose sign stays.
    tiny = emit.compare_floats("equal", "ordered", added, zero)
    return _narrowed(emit, emit.select(tiny, value, result), tile_of(source).element)


def _maximumf(emit: Emit, operation: Operation) -> Value:
    return emit.apply(MAXF, *operation.operands, attributes=_PROPAGATE_NAN)


def _minimumf(emit: Emit, operation: Operation) -> Value:
    return emit.apply(MINF, *operation.operands, attributes=_PROPAGATE_NAN)


EXPANSIONS: Final[dict[OperationDeclaration, Callable[[Emit, Operation], Value]]] = {
    POPCNT: _popcnt,
    CLZ: _clz,
    CTZ: _ctz,
    BREV: _brev,
    NOTI: _noti,
    SIGMOID: _sigmoid,
    RECIPF: _recipf,
    LOG10: _log10,
    LOG1P: _log1p,
    MAXIMUMF: _maximumf,
    MINIMUMF: _minimumf,
}
