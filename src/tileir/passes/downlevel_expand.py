"""Operations and forms that came with a later version, written with what was there before."""

from __future__ import annotations

from tileir.annotations import Final
from tileir.dialect.enums import COMPARISON_PREDICATE, SIGNEDNESS
from tileir.dialect.ops import (
    ABSF,
    ADDI,
    ANDI,
    BITCAST,
    BROADCAST,
    CMPI,
    FTOF,
    FTOI,
    IOTA,
    ITOF,
    ORI,
    POW,
    RESHAPE,
    SUBI,
    XORI,
)
from tileir.dialect.types import tile_type
from tileir.ir.attributes import Attribute
from tileir.ir.core import Operation
from tileir.ir.types import BF16, F16, F32, F64, I1, I16, I32, TF32, IntegerType, Type
from tileir.ir.values import Value
from tileir.passes.emit import SIGNED, Emit, tile_of, width_of
from tileir.rewrite.facts import Facts

# The element types that `cmpf` takes.
_COMPARABLE: Final = ("f16", "bf16", "f32", "f64")


# --- insert (13.4) ---


def can_insert(operation: Operation) -> bool:
    """Whether the tiles can be told apart by a mask: `select` takes no elements smaller than a byte."""
    return width_of(tile_of(operation.operands[1])) != 4


def insert(emit: Emit, operation: Operation) -> Value:
    """The source in every place it could go, chosen in the one place the indices name.

    Each dimension is split in two, the number of a sub-tile and the position inside it; the source is repeated along
    the numbers, and so is a mask that is true where all numbers are the indices.
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
            # There is one sub-tile only, and an index without a sub-tile is undefined.
            continue
        equal = _index_mask(emit, count, index)
        shape = [1] * len(split)
        shape[2 * axis] = count
        equal = _reshape(emit, equal, tuple(shape))
        equal = emit.operation(BROADCAST, [equal], [tile_type(tuple(split), I1)]).results[0]
        mask = equal if mask is None else emit.apply(ANDI, mask, equal)
    if mask is None:
        return source
    repeated = _reshape(emit, source, tuple(lone))
    repeated = emit.operation(BROADCAST, [repeated], [tile_type(tuple(split), part.element)]).results[0]
    mask = _reshape(emit, mask, whole.shape)
    return emit.select(mask, _reshape(emit, repeated, whole.shape), destination)


def _index_mask(emit: Emit, count: int, index: Value) -> Value:
    numbers_type = tile_type((count,), I32)
    numbers = emit.operation(IOTA, [], [numbers_type]).results[0]
    wanted = _reshape(emit, index, (1,))
    wanted = emit.operation(BROADCAST, [wanted], [numbers_type]).results[0]
    attributes: dict[str, Attribute] = {
        "comparison_predicate": COMPARISON_PREDICATE["equal"],
        "signedness": SIGNEDNESS["signed"],
    }
    return emit.operation(CMPI, [numbers, wanted], [tile_type((count,), I1)], attributes).results[0]


def _reshape(emit: Emit, value: Value, shape: tuple[int, ...]) -> Value:
    type = tile_of(value)
    if type.shape == shape:
        return value
    return emit.operation(RESHAPE, [value], [tile_type(shape, type.element)]).results[0]


# --- fpowi (13.4) ---


def integer_power(emit: Emit, operation: Operation) -> Value:
    """The power with a float exponent in f64, which holds every exponent exactly, rounded once."""
    source, exponent = operation.operands
    element = tile_of(source).element
    base = source if element is F64 else emit.convert(FTOF, source, F64)
    power = emit.apply(POW, base, emit.convert(ITOF, exponent, F64, SIGNED))
    return power if element is F64 else emit.convert(FTOF, power, element)


# --- ftoi saturating (13.4) ---


def saturating_conversion(emit: Emit, operation: Operation) -> Value:
    """Convert zero in place of what is out of range, then put the ends of the range there; NaN stays zero.

    An i1 tells what is not zero.
    """
    value = operation.operands[0]
    if tile_of(value).element.spelling not in _COMPARABLE:
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
    attributes: dict[str, Attribute] = {"signedness": SIGNEDNESS["signed" if signed else "unsigned"]}
    result = emit.convert(FTOI, inside, target.element, attributes)
    result = emit.select(high, emit.bits(target, limit - 1), result)
    return emit.select(low, emit.bits(target, least), result)


# --- for unsigned (13.2) ---


def has_signed_step(operation: Operation) -> bool:
    """Whether the step of an unsigned loop is the same read as signed."""
    return Facts().range(operation.operands[2], signed=True)[0] > 0


def make_loop_signed(operation: Operation) -> None:
    """Move the range of an unsigned loop by half of all numbers, where signed order is unsigned order."""
    emit = Emit(operation)
    type = tile_of(operation.operands[0])
    half = 1 << (width_of(type) - 1)
    for index in (0, 1):
        bound = operation.operands[index]
        operation.set_operand(index, emit.apply(XORI, bound, emit.bits(type, half)))
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

_TF32_DROPPED: Final = 13  # bits of f32 that tf32 does not have
_INTEGER_OF: Final[dict[Type, IntegerType]] = {F16: I16, BF16: I16, F32: I32}


# The types that hold every number of a source.
_WIDENED: Final[dict[str, tuple[Type, ...]]] = {
    "f16": (TF32, F32, F64),
    "bf16": (TF32, F32, F64),
    "tf32": (F32, F64),
    "f32": (F64,),
    "f64": (),
    "f8E8M0FNU": (BF16, TF32, F32, F64),
    "fnv8E5M3FNU": (BF16, TF32, F32, F64),
}


def is_widening(source: Type, target: Type) -> bool:
    return target in _WIDENED.get(source.spelling, (F16, BF16, TF32, F32, F64))


def can_round(operation: Operation) -> bool:
    """Whether a conversion with a rounding mode can be written with one to the nearest even number."""
    return tile_of(operation.results[0]).element in (F16, BF16, F32, TF32, F64)


def rounded_conversion(emit: Emit, operation: Operation) -> Value:
    """Round to the nearest even number, then correct the result by one place where that went the wrong way.

    Where the target holds every number of the source no mode makes a difference.
    """
    value = operation.operands[0]
    keyword = operation.rounding_mode
    target = tile_of(operation.results[0]).element
    if is_widening(tile_of(value).element, target):
        return emit.convert(FTOF, value, target)
    if tile_of(value).element not in (F32, F64):
        value = emit.convert(FTOF, value, F32)
    if target is not TF32:
        return _directed(emit, value, target, keyword)
    if tile_of(value).element is F64:
        # Dropping bits twice is dropping them once; nothing else is asked for here.
        value = _directed(emit, value, F32, "zero")
    bits = emit.convert(BITCAST, value, I32)
    if keyword == "nearest_away":
        bits = emit.apply(ADDI, bits, emit.bits(tile_of(bits), 1 << (_TF32_DROPPED - 1)))
    kept = emit.convert(BITCAST, emit.masked(bits, -(1 << _TF32_DROPPED)), F32)
    is_nan = emit.compare_floats("not_equal", "unordered", value, value)
    return emit.convert(FTOF, emit.select(is_nan, value, kept), target)


def _directed(emit: Emit, value: Value, target: Type, mode: str) -> Value:
    """Convert to f16, bf16 or f32, rounding towards zero or one of the infinities."""
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
        attributes: dict[str, Attribute] = {
            "comparison_predicate": COMPARISON_PREDICATE["less_than"],
            "signedness": SIGNEDNESS["signed"],
        }
        # The sign decides whether a longer or a shorter number lies in the direction.
        zero = emit.bits(tile_of(bits), 0)
        negative = emit.operation(CMPI, [bits, zero], [wrong.type], attributes).results[0]
        longer = emit.apply(ADDI, bits, one)
        corrected = emit.select(negative, longer, shorter) if down else emit.select(negative, shorter, longer)
    return emit.convert(BITCAST, emit.select(wrong, corrected, bits), target)
