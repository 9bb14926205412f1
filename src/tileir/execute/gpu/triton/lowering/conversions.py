"""Lowering of conversions between element types.

Floats without arithmetic on a GPU go through f32: tf32, those of eight bits, and f4E2M1FN.  `sm_90` and later have
instructions for f8E4M3FN, f8E5M2 and tf32; other types and GPUs take integer operations on bits, which round once.  All
have at least two bits less than f32: what f32 does not hold comes rounded to odd (`odd_single`), then rounds exactly.
"""

from __future__ import annotations

from typing import Final, cast

from tileir.execute.analysis.values import tile_of
from tileir.execute.gpu.triton.lowering.context import Lowering
from tileir.execute.gpu.triton.lowering.floats import MODES, round_single
from tileir.execute.gpu.triton.lowering.ttir_builder import TtirBuilder
from tileir.execute.gpu.triton.lowering.ttir_values import TtirValue, value_element
from tileir.ir import floats, types
from tileir.ir.core import Operation
from tileir.ir.floats import FloatFormat
from tileir.ir.values import Value

_MAGNITUDE: Final = 0x7FFFFFFF
_NAN: Final = 0x7FC00000
_TF32_LOW: Final = 0x1FFF
_TF32_HALF: Final = 0x1000
_SMALLEST_POWER: Final = 0x00400000  # 2**-127, the smallest number of f8E8M0FNU, as f32.
_NATIVE_CAPABILITY: Final = 90


def widened(build: Lowering, value: TtirValue, source: types.FloatType) -> TtirValue:
    """Numbers of a type of at most 24 bits as f32, exactly."""
    if source in (types.F32, types.F16, types.BF16):
        return build.convert("arith.extf", value, "f32")
    if source is types.TF32:
        # Its low 13 bits count as zeros, and a NaN stays one.
        kept = build.bitcast(build.apply("arith.andi", build.bitcast(value, "i32"), ~_TF32_LOW), "f32")
        return build.select(build.compare("uno", value, value), value, kept)
    if source in (types.F8E4M3FN, types.F8E5M2) and build.capability >= _NATIVE_CAPABILITY:
        return build.convert("arith.extf", build.fp_to_fp(value, "f16"), "f32")
    if source is types.F8E5M2:
        # The upper half of an f16.
        pattern = build.apply("arith.shli", build.convert("arith.extui", build.bitcast(value, "i8"), "i16"), 8)
        return build.convert("arith.extf", build.bitcast(pattern, "f16"), "f32")
    bits = build.convert("arith.extui", build.bitcast(value, "i8"), "i32")
    if source is types.F8E8M0FNU:
        # An exponent.
        made = build.apply("arith.shli", bits, 23)
        made = build.select(build.compare("eq", bits, 0), _SMALLEST_POWER, made)
        return build.bitcast(build.select(build.compare("eq", bits, 0xFF), _NAN, made), "f32")
    form = floats.FORMATS[source.name]
    return build.convert(
        "arith.extf", _small(build, bits, form, "f32" if source is types.FNV8E5M3FNU else "f16"), "f32"
    )


def _small(build: TtirBuilder, bits: TtirValue, form: FloatFormat, wide: str) -> TtirValue:
    """Shift exponent and mantissa into f16 or f32, and rebias by a product, which is right for subnormals too."""
    shape = bits.shape
    wider = floats.FORMATS[wide]
    integer = f"i{wider.width}"
    bits = build.convert("arith.trunci", bits, integer)
    magnitude = build.apply("arith.andi", bits, form.magnitude_mask) if form.has_sign else bits
    placed = build.apply("arith.shli", magnitude, wider.mantissa_bits - form.mantissa_bits)
    scale = build.number(2.0 ** (wider.bias - form.bias), wide, shape)
    made = build.bitcast(build.apply("arith.mulf", build.bitcast(placed, wide), scale), integer)
    if form.quiet_nan >= 0:
        is_nan = build.compare("eq", magnitude, form.quiet_nan)
        made = build.select(is_nan, wider.quiet_nan, made)
    if form.has_sign:
        sign = build.apply("arith.andi", bits, form.sign_mask)
        made = build.apply("arith.ori", made, build.apply("arith.shli", sign, wider.width - form.width))
    return build.bitcast(made, wide)


def odd_single(build: TtirBuilder, value: TtirValue) -> TtirValue:
    """f64 to f32, rounded to odd: where it is inexact, the neighbor whose last bit is set."""
    shape = value.shape
    nearest = build.convert("arith.truncf", value, "f32")
    exact = build.convert("arith.extf", nearest, "f64")
    bits = build.bitcast(nearest, "i32")
    is_even = build.compare("eq", build.apply("arith.andi", bits, 1), 0)
    moves = build.apply("arith.andi", build.compare("one", exact, value), is_even)
    magnitudes = [
        build.bitcast(build.apply("arith.andi", build.bitcast(each, "i64"), (1 << 63) - 1), "f64")
        for each in (exact, value)
    ]
    is_above = build.compare("ogt", *magnitudes)
    step = build.select(is_above, build.integer(-1, "i32", shape), build.integer(1, "i32", shape))
    moved = build.apply("arith.addi", bits, step)
    return build.bitcast(build.select(moves, moved, bits), "f32")


def narrowed(build: Lowering, value: TtirValue, target: types.FloatType, mode: str) -> TtirValue:
    """f32, exact or rounded to odd, to a narrow type."""
    if target is types.TF32:
        if mode == "nearest_even" and build.capability >= _NATIVE_CAPABILITY:
            return build.bitcast(build.assembly("cvt.rn.tf32.f32", [value], "i32"), "f32")
        return _to_tf32(build, value, mode)
    if target is types.F8E8M0FNU:
        return _to_power(build, value, mode)
    if target in (types.F8E4M3FN, types.F8E5M2) and build.capability >= _NATIVE_CAPABILITY:
        return build.fp_to_fp(value, target.name)
    return build.bitcast(_to_small(build, value, target), value_element(target))


def _to_tf32(build: TtirBuilder, value: TtirValue, mode: str) -> TtirValue:
    bits = build.bitcast(value, "i32")
    made = bits
    if mode == "nearest_away":
        made = build.apply("arith.addi", bits, _TF32_HALF)
    elif mode == "nearest_even":
        odd = build.apply("arith.andi", build.apply("arith.shrui", bits, 13), 1)
        made = build.apply("arith.addi", build.apply("arith.addi", bits, odd), _TF32_HALF - 1)
    made = build.bitcast(build.apply("arith.andi", made, ~_TF32_LOW), "f32")
    is_nan = build.compare("uno", value, value)
    return build.select(is_nan, build.float_bits(_NAN, "f32", value.shape), made)


def _to_power(build: TtirBuilder, value: TtirValue, mode: str) -> TtirValue:
    """f8E8M0FNU, in the modes `zero` and `positive_inf`: the exponent, or the next where something is left."""
    shape = value.shape
    bits = build.bitcast(value, "i32")
    magnitude = build.apply("arith.andi", bits, _MAGNITUDE)
    raised = magnitude if mode == "zero" else build.apply("arith.addi", magnitude, 0x7FFFFF)
    made = build.apply("arith.shrui", raised, 23)
    smallest = build.integer(_SMALLEST_POWER, "i32", shape)
    is_smallest = build.compare("ule", magnitude, smallest)
    made = build.select(is_smallest, 0, made)
    # Below zero there is nothing, but what rounds to zero is the smallest.
    is_negative = build.compare("slt", bits, 0)
    is_nan = build.apply("arith.andi", is_negative, build.compare("uge", magnitude, smallest))
    is_nan = build.apply("arith.ori", is_nan, build.compare("uno", value, value))
    return build.convert("arith.trunci", build.select(is_nan, 0xFF, made), "i8")


def _to_small(build: TtirBuilder, value: TtirValue, target: types.FloatType) -> TtirValue:
    """To nearest even, as a pattern in a byte; rounding the last bits of normal numbers may carry into the exponent.
    Below them, adding a number whose last bit has the weight of the target's last bit rounds."""
    form = floats.FORMATS[target.name]
    shape = value.shape
    bits = build.bitcast(value, "i32")
    magnitude = build.apply("arith.andi", bits, _MAGNITUDE)
    # What is too large is the largest; without a sign, it is the pattern after that, which is NaN.
    top = floats.to_double(form, form.largest) * (1.0 if form.has_sign else 15 / 14)
    magnitude = build.apply("arith.minsi", magnitude, _single_bits(top))
    shift = 23 - form.mantissa_bits
    odd = build.apply("arith.andi", build.apply("arith.shrui", magnitude, shift), 1)
    rounded = build.apply("arith.addi", build.apply("arith.addi", magnitude, odd), (1 << (shift - 1)) - 1)
    normal = build.apply("arith.shrui", rounded, shift)
    normal = build.apply("arith.subi", normal, (127 - form.bias) << form.mantissa_bits)
    place = 2.0 ** (form.minimum_exponent - form.mantissa_bits + 23)
    placed = build.apply("arith.addf", build.bitcast(magnitude, "f32"), place)
    subnormal = build.apply("arith.subi", build.bitcast(placed, "i32"), _single_bits(place))
    least = build.integer(_single_bits(2.0**form.minimum_exponent), "i32", shape)
    made = build.select(build.compare("ult", magnitude, least), subnormal, normal)
    is_nan = build.compare("uno", value, value)
    if form.has_sign:
        sign = build.apply("arith.andi", build.apply("arith.shrui", bits, 32 - form.width), form.sign_mask)
        made = build.apply("arith.ori", made, sign)
    else:
        is_negative = build.compare("slt", bits, 0)
        is_something = build.compare("ne", made, 0)
        is_nan = build.apply("arith.ori", is_nan, build.apply("arith.andi", is_negative, is_something))
    # f4E2M1FN has no NaN.
    nan = form.largest if target is types.F4E2M1FN else form.quiet_nan
    return build.convert("arith.trunci", build.select(is_nan, nan, made), "i8")


def _single_bits(number: float) -> int:
    return floats.from_double(floats.FORMATS["f32"], number)


def _element(value: Value) -> types.Type:
    return tile_of(value).element


def extension(build: Lowering, operation: Operation, value: TtirValue) -> TtirValue:
    target, _ = build.type_of(operation.results[0])
    is_signed = operation.keyword("signedness") == "signed"
    value = _integer(build, operation.operands[0], is_signed)
    return build.convert("arith.extsi" if is_signed else "arith.extui", value, target)


def _integer(build: Lowering, operand: Value, is_signed: bool) -> TtirValue:
    """An integer whose TTIR value equals its own: an i4 is in a byte with its sign, so an unsigned one is masked."""
    value = build.value(operand)
    if _element(operand) is types.I4 and not is_signed:
        return build.apply("arith.andi", value, 15)
    return value


def truncation(build: Lowering, operation: Operation, value: TtirValue) -> TtirValue:
    target, _ = build.type_of(operation.results[0])
    value = build.convert("arith.trunci", value, target)
    if _element(operation.results[0]) is types.I4:
        value = build.apply("arith.shrsi", build.apply("arith.shli", value, 4), 4)
    return value


def float_to_float(build: Lowering, operation: Operation, value: TtirValue) -> TtirValue:
    source = cast(types.FloatType, _element(operation.operands[0]))
    target = cast(types.FloatType, _element(operation.results[0]))
    mode = operation.keyword("rounding_mode")
    if target is types.F64:
        return build.convert("arith.extf", widened(build, value, source), "f64")
    if source is types.F64:
        if target is types.F32 and mode != "nearest_even":
            build.require_ptx(operation, f"rounding<{mode}>")
            return build.assembly(f"cvt.{MODES[mode]}.f32.f64", [value], "f32")
        if target in (types.F32, types.F16) and mode == "nearest_even":
            return build.convert("arith.truncf", value, value_element(target))
        value = odd_single(build, value)
    else:
        value = widened(build, value, source)
    if target is types.F32:
        return value
    if target in (types.F16, types.BF16):
        if mode == "zero":
            build.require_ptx(operation, "rounding<zero>")
            return round_single(build, value, target.name, "rz")
        return build.convert("arith.truncf", value, target.name)
    return narrowed(build, value, target, mode)


def integer_to_float(build: Lowering, operation: Operation, value: TtirValue) -> TtirValue:
    source = cast(types.IntegerType, _element(operation.operands[0]))
    target = cast(types.FloatType, _element(operation.results[0]))
    is_signed = operation.keyword("signedness") == "signed"
    value = _integer(build, operation.operands[0], is_signed)
    name = "arith.sitofp" if is_signed else "arith.uitofp"
    # NVIDIA's GPUs convert to f16 by one instruction; and what f32 holds is rounded once, whatever the way.
    is_direct = (
        target in (types.F32, types.F64)
        or (target is types.F16 and build.has_ptx)
        or (target is types.BF16 and source.width <= 16)
    )
    if is_direct:
        return build.convert(name, value, target.name)
    # In f32 with an odd last bit where it is not exact, so that it is rounded once.
    if source is types.I64:
        single = odd_single(build, build.convert(name, _jammed(build, value, is_signed, 53), "f64"))
    else:
        kept = _jammed(build, value, is_signed, 24) if source.width == 32 else value
        single = build.convert(name, kept, "f32")
    if target in (types.F16, types.BF16):
        return build.convert("arith.truncf", single, target.name)
    return narrowed(build, single, target, "nearest_even")


def _jammed(build: TtirBuilder, value: TtirValue, is_signed: bool, precision: int) -> TtirValue:
    """An integer that a float of so many bits holds: of a larger one, the low bits are joined into one, which is set if
    any of them is.  What is left has bits enough for every target of fewer than 24."""
    # 8 of 32 bits leave 24, 11 of 64 leave 53.
    low = value.bits - precision
    mask = (1 << low) - 1
    lowest = build.apply("arith.addi", build.apply("arith.andi", value, mask), mask)
    jammed = build.apply("arith.andi", build.apply("arith.ori", value, lowest), ~mask)
    moved = build.apply("arith.addi", value, 1 << precision) if is_signed else value
    limit = build.integer(1 << (precision + (1 if is_signed else 0)), value.element, value.shape)
    return build.select(build.compare("ult", moved, limit), value, jammed)


def float_to_integer(build: Lowering, operation: Operation, value: TtirValue) -> TtirValue:
    source = cast(types.FloatType, _element(operation.operands[0]))
    target = cast(types.IntegerType, _element(operation.results[0]))
    if source is not types.F64:
        value = widened(build, value, source)
    if target is types.I1:
        return build.compare("une", value, 0)
    is_signed = operation.keyword("signedness") == "signed"
    convert = _clamped_by_instruction if build.has_ptx else _clamped
    return convert(build, value, target.width, is_signed)


def _limits(width: int, is_signed: bool) -> tuple[int, int]:
    return (-(1 << (width - 1)), (1 << (width - 1)) - 1) if is_signed else (0, (1 << width) - 1)


def _clamped_by_instruction(build: TtirBuilder, value: TtirValue, width: int, is_signed: bool) -> TtirValue:
    """PTX clamps, and makes 0 of a NaN of f32, to 32 bits."""
    stage = max(width, 32)
    letter = "s" if is_signed else "u"
    whole = build.assembly(f"cvt.rzi.{letter}{stage}.{value.element}", [value], f"i{stage}")
    if stage == 64 or value.element == "f64":
        is_number = build.compare("ord", value, value)
        whole = build.select(is_number, whole, 0)
    if width < stage:
        least, greatest = _limits(width, is_signed)
        whole = build.apply(f"arith.min{letter}i", whole, greatest)
        if is_signed:
            whole = build.apply("arith.maxsi", whole, least)
        whole = build.convert("arith.trunci", whole, f"i{width}")
    return whole


def _clamped(build: TtirBuilder, value: TtirValue, width: int, is_signed: bool) -> TtirValue:
    """With comparisons: what is out of range never reaches the conversion."""
    least, greatest = _limits(width, is_signed)
    element, _shape = f"i{width}", value.shape
    is_above = build.compare("oge", value, float(greatest + 1))
    # Of what is between -1 and 0 nothing remains.
    below, predicate = (float(least), "oge") if is_signed else (-1.0, "ogt")
    is_usable = build.compare(predicate, value, below)
    is_low = build.compare("olt", value, 0.0)
    usable = build.apply("arith.andi", is_usable, build.apply("arith.xori", is_above, 1))
    safe = build.select(usable, value, 0)
    whole = build.convert("arith.fptosi" if is_signed else "arith.fptoui", safe, element)
    whole = build.select(is_above, greatest, whole)
    is_low = build.apply("arith.andi", is_low, build.apply("arith.xori", is_usable, 1))
    return build.select(is_low, least, whole)


def reinterpretation(build: Lowering, operation: Operation, name: str, value: TtirValue) -> TtirValue:
    """Types of one width, which may be the same in TTIR."""
    element, _ = build.type_of(operation.results[0])
    return value if value.element == element else build.reinterpret(name, value, element)
