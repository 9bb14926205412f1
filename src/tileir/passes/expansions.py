"""Operations written with other operations: those of the drafts for `legalize`, newer forms for `downlevel`.

Float functions of the drafts follow the formulas that the engines compute (dialect/draft_formulas.py,
docs/reference/conflicts.md C6 and K).
"""

from __future__ import annotations

from collections.abc import Callable

from tileir.annotations import Final
from tileir.dialect.draft_formulas import FORMULAS
from tileir.dialect.ops import (
    ABSF,
    ADDI,
    ANDI,
    BITCAST,
    BREV,
    CLZ,
    CMPF,
    CTZ,
    DIVF,
    FTOF,
    FTOI,
    IOTA,
    ITOF,
    MAXF,
    MAXIMUMF,
    MINF,
    MINIMUMF,
    MULI,
    NOTI,
    ORI,
    POPCNT,
    POW,
    RECIPF,
    SELECT,
    SUBI,
    XORI,
)
from tileir.dialect.types import tile_type
from tileir.ir.attributes import UNIT, Attribute
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.floats import FORMATS, to_double
from tileir.ir.types import BF16, F16, F32, F64, I1, I16, I32, TF32, IntegerType, Type
from tileir.ir.values import Value
from tileir.passes.emit import SIGNED, UNSIGNED, Emit, width_of
from tileir.rewrite.facts import Facts
from tileir.rewrite.matching import broadcast, reshape, tile_of

_PROPAGATE_NAN: Final[dict[str, Attribute]] = {"propagate_nan": UNIT}
# The element types that a conversion with a rounding mode can be expanded for.
_ROUNDED: Final = (F16, BF16, TF32, F32, F64)
_TF32_DROPPED_BITS: Final = 13  # bits of f32 that tf32 does not have
_INTEGER_OF: Final[dict[Type, IntegerType]] = {F16: I16, BF16: I16, F32: I32}


# --- bits (drafts) ---


def _repeated(width: int, pattern: int, length: int) -> int:
    """Repeat a pattern of `length` bits over the width."""
    return sum([pattern << start for start in range(0, width, length)])


def _count_ones(emit: Emit, value: Value) -> Value:
    """Add neighboring bits, then pairs, then fours; a product sums the bytes into the top one."""
    width = width_of(tile_of(value))
    pairs, fours, eights = [_repeated(width, pattern, length) for pattern, length in ((0x1, 2), (0x3, 4), (0xF, 8))]
    value = emit.apply(SUBI, value, emit.masked(emit.shift_right(value, 1), pairs))
    value = emit.apply(ADDI, emit.masked(value, fours), emit.masked(emit.shift_right(value, 2), fours))
    value = emit.masked(emit.apply(ADDI, value, emit.shift_right(value, 4)), eights)
    if width == 8:
        return value
    total = emit.apply(MULI, value, emit.bits(tile_of(value), _repeated(width, 0x1, 8)))
    return emit.shift_right(total, width - 8)


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
    """Swap neighboring bits, then pairs, and so on up to the halves."""
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


# --- floats (drafts) ---


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


# What `legalize` expands.
EXPANSIONS: Final[dict[OperationDeclaration, Callable[[Emit, Operation], Value]]] = {
    **dict.fromkeys(FORMULAS, _by_formula),
    POPCNT: lambda emit, operation: _count_ones(emit, operation.operands[0]),
    CLZ: _clz,
    CTZ: _ctz,
    BREV: _brev,
    NOTI: lambda emit, operation: emit.inverted(operation.operands[0]),
    RECIPF: _recipf,
    MAXIMUMF: lambda emit, operation: emit.apply(MAXF, *operation.operands, attributes=_PROPAGATE_NAN),
    MINIMUMF: lambda emit, operation: emit.apply(MINF, *operation.operands, attributes=_PROPAGATE_NAN),
}


# --- insert (13.4) ---


def can_insert(operation: Operation) -> bool:
    """Whether `select` takes the elements: none smaller than a byte."""
    return width_of(tile_of(operation.operands[1])) != 4


def insert(emit: Emit, operation: Operation) -> Value:
    """Repeat the source over the whole tile, and select it where a mask is true.

    Each dimension is split into the number of a sub-tile and the position inside it.  The source is broadcast along the
    numbers; the mask is true where all numbers equal the indices.
    """
    source, destination = operation.operands[0], operation.operands[1]
    indices = operation.operands[2:]
    part, whole = tile_of(source), tile_of(destination)
    counts = [extent // inner for extent, inner in zip(whole.shape, part.shape, strict=True)]
    split: list[int] = []
    lone: list[int] = []
    for count, inner in zip(counts, part.shape, strict=True):
        split += [count, inner]
        lone += [1, inner]
    mask: Value | None = None
    for axis, (count, index) in enumerate(zip(counts, indices, strict=True)):
        if count == 1:
            # There is only one sub-tile, and another index is undefined.
            continue
        numbers = emit.create(IOTA, [], [tile_type((count,), I32)]).results[0]
        equal = emit.compare_integers("equal", SIGNED, numbers, broadcast(emit, index, (1,), (count,)))
        shape = [1] * len(split)
        shape[2 * axis] = count
        equal = broadcast(emit, equal, tuple(shape), tuple(split))
        mask = equal if mask is None else emit.apply(ANDI, mask, equal)
    if mask is None:
        return source
    repeated = broadcast(emit, source, tuple(lone), tuple(split))
    mask = reshape(emit, mask, whole.shape)
    return emit.select(mask, reshape(emit, repeated, whole.shape), destination)


# --- fpowi (13.4) ---


def integer_power(emit: Emit, operation: Operation) -> Value:
    """Compute `pow` in f64, which represents every exponent exactly, and round once."""
    source, exponent = operation.operands
    element = tile_of(source).element
    base = source if element is F64 else emit.convert(FTOF, source, F64)
    power = emit.apply(POW, base, emit.convert(ITOF, exponent, F64, SIGNED))
    return power if element is F64 else emit.convert(FTOF, power, element)


# --- ftoi saturating (13.4) ---


def saturating_conversion(emit: Emit, operation: Operation) -> Value:
    """Convert zero instead of numbers out of range, then select the ends of the range there; NaN becomes zero.

    An i1 is whether the number is not zero.
    """
    value = operation.operands[0]
    if not CMPF.operands[0].constraint.accepts(value.type):
        value = emit.convert(FTOF, value, F32)
    type = tile_of(value)
    target = tile_of(operation.results[0])
    if target.element is I1:
        return emit.compare_floats("not_equal", "unordered", value, emit.number(type, 0.0))
    width = width_of(target)
    signed = operation.signedness == "signed"
    least, limit = (-(1 << (width - 1)), 1 << (width - 1)) if signed else (0, 1 << width)
    high = emit.compare_floats("greater_than_or_equal", "ordered", value, emit.number(type, float(limit)))
    low = emit.compare_floats("less_than", "ordered", value, emit.number(type, float(least)))
    is_nan = emit.compare_floats("not_equal", "unordered", value, value)
    outside = emit.apply(ORI, emit.apply(ORI, high, low), is_nan)
    inside = emit.select(outside, emit.number(type, 0.0), value)
    result = emit.convert(FTOI, inside, target.element, SIGNED if signed else UNSIGNED)
    result = emit.select(high, emit.bits(target, limit - 1), result)
    return emit.select(low, emit.bits(target, least), result)


# --- for unsigned (13.2) ---


def has_signed_step(operation: Operation) -> bool:
    """Whether the step of an unsigned loop is positive as a signed number too."""
    return Facts().range(operation.operands[2], signed=True)[0] > 0


def make_loop_signed(operation: Operation) -> None:
    """Shift the range of an unsigned loop by half of all numbers, so that signed order is unsigned order."""
    emit = Emit(operation)
    type = tile_of(operation.operands[0])
    half = 1 << (width_of(type) - 1)
    for index in (0, 1):
        operation.set_operand(index, emit.apply(XORI, operation.operands[index], emit.bits(type, half)))
    body = operation.regions[0].blocks[0]
    counter = body.arguments[0]
    first = body.first
    if counter.has_uses and first is not None:
        inner = Emit(first)
        users = counter.users
        number = inner.apply(XORI, counter, inner.bits(type, half))
        for user in users:
            for index, value in enumerate(list(user.operands)):
                if value is counter:
                    user.set_operand(index, number)
    operation.set_attribute("unsignedCmp", None)


# --- ftof with a rounding mode (13.4) ---


def is_widening(source: Type, target: Type) -> bool:
    """Whether another type represents every number of a type."""
    if target is source or target not in _ROUNDED:
        return False
    narrow, wide = FORMATS[source.spelling], FORMATS[target.spelling]
    has_ends = to_double(wide, 1) <= to_double(narrow, 1) and narrow.precision <= wide.precision
    return has_ends and to_double(narrow, narrow.largest) <= to_double(wide, wide.largest)


def can_round(operation: Operation) -> bool:
    """Whether a conversion with a rounding mode can be written with one that rounds to nearest even."""
    return tile_of(operation.results[0]).element in _ROUNDED


def rounded_conversion(emit: Emit, operation: Operation) -> Value:
    """Round to nearest even, then correct the result by one unit where that rounded in the wrong direction.

    If the target represents every number of the source, the mode does not matter.
    """
    value = operation.operands[0]
    keyword = operation.keyword("rounding_mode") or "nearest_even"
    target = tile_of(operation.results[0]).element
    if is_widening(tile_of(value).element, target):
        return emit.convert(FTOF, value, target)
    if tile_of(value).element not in (F32, F64):
        value = emit.convert(FTOF, value, F32)
    if target is not TF32:
        return _directed(emit, value, target, keyword)
    if tile_of(value).element is F64:
        # Truncating twice is truncating once.
        value = _directed(emit, value, F32, "zero")
    bits = emit.convert(BITCAST, value, I32)
    if keyword == "nearest_away":
        bits = emit.apply(ADDI, bits, emit.bits(tile_of(bits), 1 << (_TF32_DROPPED_BITS - 1)))
    kept = emit.convert(BITCAST, emit.masked(bits, -(1 << _TF32_DROPPED_BITS)), F32)
    is_nan = emit.compare_floats("not_equal", "unordered", value, value)
    return emit.convert(FTOF, emit.select(is_nan, value, kept), target)


def _directed(emit: Emit, value: Value, target: Type, mode: str) -> Value:
    """Convert to f16, bf16 or f32, rounding toward zero or one of the infinities."""
    source = tile_of(value).element
    nearest = emit.convert(FTOF, value, target)
    back = emit.convert(FTOF, nearest, source)
    bits = emit.convert(BITCAST, nearest, _INTEGER_OF[target])
    one = emit.bits(tile_of(bits), 1)
    shorter = emit.apply(SUBI, bits, one)
    if mode == "zero":
        wrong = emit.compare_floats("greater_than", "ordered", emit.apply(ABSF, back), emit.apply(ABSF, value))
        corrected = shorter
    else:
        down = mode == "negative_inf"
        wrong = emit.compare_floats("greater_than" if down else "less_than", "ordered", back, value)
        # The sign decides whether a larger or smaller magnitude lies in the direction.
        zero = emit.bits(tile_of(bits), 0)
        negative = emit.compare_integers("less_than", SIGNED, bits, zero)
        longer = emit.apply(ADDI, bits, one)
        corrected = emit.select(negative, longer, shorter) if down else emit.select(negative, shorter, longer)
    return emit.convert(BITCAST, emit.select(wrong, corrected, bits), target)
