"""Floats that a GPU has no arithmetic for, as f32 and back: tf32, those of eight bits, and f4E2M1FN.

From `sm_90` on, there are instructions for f8E4M3FN, f8E5M2 and tf32.  The others, and those on other GPUs, are made
of integer operations on their patterns, which round once.  Every one of these types has at least two bits less than
f32: what f32 does not hold comes here rounded to odd (`odd_single`), and is then rounded as the exact number would be.
"""

from __future__ import annotations

from typing import Final

from tileir.execute.gpu.triton.lowering.context import Lowering
from tileir.execute.gpu.triton.ttir.operations import TtirOperations
from tileir.execute.gpu.triton.ttir.values import TtirValue, value_element
from tileir.ir import floats
from tileir.ir.floats import FloatFormat
from tileir.ir.types import BF16, F4E2M1FN, F8E4M3FN, F8E5M2, F8E8M0FNU, F16, F32, FNV8E5M3FNU, TF32, FloatType

_MAGNITUDE: Final = 0x7FFFFFFF
_NAN: Final = 0x7FC00000
_TF32_LOW: Final = 0x1FFF
_TF32_HALF: Final = 0x1000
_SMALLEST_POWER: Final = 0x00400000
"""2**-127, the smallest number of f8E8M0FNU, as f32."""
_NATIVE_CAPABILITY: Final = 90


# --- to f32 ---


def widened(lowering: Lowering, value: TtirValue, source: FloatType) -> TtirValue:
    """Numbers of a type of at most 24 bits as f32, exactly."""
    build = lowering.build
    if source in (F32, F16, BF16):
        return build.convert("arith.extf", value, "f32")
    if source is TF32:
        return _without_low_bits(build, value)
    if source in (F8E4M3FN, F8E5M2) and lowering.capability >= _NATIVE_CAPABILITY:
        return build.convert("arith.extf", build.fp_to_fp(value, "f16"), "f32")
    if source is F8E5M2:
        # The upper half of an f16.
        pattern = build.immediate("arith.shli", build.convert("arith.extui", build.bitcast(value, "i8"), "i16"), 8)
        return build.convert("arith.extf", build.bitcast(pattern, "f16"), "f32")
    bits = build.convert("arith.extui", build.bitcast(value, "i8"), "i32")
    if source is F8E8M0FNU:
        return _power(build, bits)
    form = floats.FORMATS[source.name]
    return build.convert("arith.extf", _small(build, bits, form, "f32" if source is FNV8E5M3FNU else "f16"), "f32")


def _without_low_bits(build: TtirOperations, value: TtirValue) -> TtirValue:
    """The number that a tf32 is: its low 13 bits count as zeros, and a NaN stays one."""
    kept = build.bitcast(build.immediate("arith.andi", build.bitcast(value, "i32"), ~_TF32_LOW), "f32")
    return build.select(build.compare("uno", value, value), value, kept)


def _power(build: TtirOperations, bits: TtirValue) -> TtirValue:
    """f8E8M0FNU: an exponent."""
    shape = bits.shape
    made = build.immediate("arith.shli", bits, 23)
    is_smallest = build.compare("eq", bits, build.integer(0, "i32", shape))
    made = build.select(is_smallest, build.integer(_SMALLEST_POWER, "i32", shape), made)
    is_nan = build.compare("eq", bits, build.integer(0xFF, "i32", shape))
    return build.bitcast(build.select(is_nan, build.integer(_NAN, "i32", shape), made), "f32")


def _small(build: TtirOperations, bits: TtirValue, form: FloatFormat, wide: str) -> TtirValue:
    """Exponent and mantissa in their places in f16 or f32, and the difference of the biases by a product, which is
    right for subnormal numbers too."""
    shape = bits.shape
    wider = floats.FORMATS[wide]
    integer = f"i{wider.width}"
    bits = build.convert("arith.trunci", bits, integer)
    magnitude = build.immediate("arith.andi", bits, form.magnitude_mask) if form.has_sign else bits
    placed = build.immediate("arith.shli", magnitude, wider.mantissa_bits - form.mantissa_bits)
    scale = build.float(2.0 ** (wider.bias - form.bias), wide, shape)
    made = build.bitcast(build.binary("arith.mulf", build.bitcast(placed, wide), scale), integer)
    if form.quiet_nan >= 0:
        is_nan = build.compare("eq", magnitude, build.integer(form.quiet_nan, integer, shape))
        made = build.select(is_nan, build.integer(wider.quiet_nan, integer, shape), made)
    if form.has_sign:
        sign = build.immediate("arith.andi", bits, form.sign_mask)
        made = build.binary("arith.ori", made, build.immediate("arith.shli", sign, wider.width - form.width))
    return build.bitcast(made, wide)


def odd_single(build: TtirOperations, value: TtirValue) -> TtirValue:
    """f64 to f32, rounded to odd: where it is inexact, the neighbour whose last bit is set."""
    shape = value.shape
    nearest = build.convert("arith.truncf", value, "f32")
    exact = build.convert("arith.extf", nearest, "f64")
    bits = build.bitcast(nearest, "i32")
    is_even = build.compare("eq", build.immediate("arith.andi", bits, 1), build.integer(0, "i32", shape))
    moves = build.binary("arith.andi", build.compare("one", exact, value), is_even)
    magnitudes = [
        build.bitcast(build.immediate("arith.andi", build.bitcast(each, "i64"), (1 << 63) - 1), "f64")
        for each in (exact, value)
    ]
    is_above = build.compare("ogt", *magnitudes)
    step = build.select(is_above, build.integer(-1, "i32", shape), build.integer(1, "i32", shape))
    moved = build.binary("arith.addi", bits, step)
    return build.bitcast(build.select(moves, moved, bits), "f32")


# --- from f32 ---


def narrowed(lowering: Lowering, value: TtirValue, target: FloatType, mode: str) -> TtirValue:
    """f32, exact or rounded to odd, to a narrow type."""
    build = lowering.build
    if target is TF32:
        if mode == "nearest_even" and lowering.capability >= _NATIVE_CAPABILITY:
            return build.bitcast(build.assembly("cvt.rn.tf32.f32", [value], "i32"), "f32")
        return _to_tf32(build, value, mode)
    if target is F8E8M0FNU:
        return _to_power(build, value, mode)
    if target in (F8E4M3FN, F8E5M2) and lowering.capability >= _NATIVE_CAPABILITY:
        return build.fp_to_fp(value, target.name)
    return build.bitcast(_to_small(build, value, target), value_element(target))


def _to_tf32(build: TtirOperations, value: TtirValue, mode: str) -> TtirValue:
    bits = build.bitcast(value, "i32")
    made = bits
    if mode == "nearest_away":
        made = build.immediate("arith.addi", bits, _TF32_HALF)
    elif mode == "nearest_even":
        odd = build.immediate("arith.andi", build.immediate("arith.shrui", bits, 13), 1)
        made = build.immediate("arith.addi", build.binary("arith.addi", bits, odd), _TF32_HALF - 1)
    made = build.bitcast(build.immediate("arith.andi", made, ~_TF32_LOW), "f32")
    is_nan = build.compare("uno", value, value)
    return build.select(is_nan, build.float_bits(_NAN, "f32", value.shape), made)


def _to_power(build: TtirOperations, value: TtirValue, mode: str) -> TtirValue:
    """f8E8M0FNU, in the modes `zero` and `positive_inf`: the exponent, or the next where something is left."""
    shape = value.shape
    bits = build.bitcast(value, "i32")
    magnitude = build.immediate("arith.andi", bits, _MAGNITUDE)
    raised = magnitude if mode == "zero" else build.immediate("arith.addi", magnitude, 0x7FFFFF)
    made = build.immediate("arith.shrui", raised, 23)
    smallest = build.integer(_SMALLEST_POWER, "i32", shape)
    is_smallest = build.compare("ule", magnitude, smallest)
    made = build.select(is_smallest, build.integer(0, "i32", shape), made)
    # Below zero there is nothing, but what rounds to zero is the smallest.
    is_negative = build.compare("slt", bits, build.integer(0, "i32", shape))
    is_nan = build.binary("arith.andi", is_negative, build.compare("uge", magnitude, smallest))
    is_nan = build.binary("arith.ori", is_nan, build.compare("uno", value, value))
    return build.convert("arith.trunci", build.select(is_nan, build.integer(0xFF, "i32", shape), made), "i8")


def _to_small(build: TtirOperations, value: TtirValue, target: FloatType) -> TtirValue:
    """To nearest even, as a pattern in a byte.

    Of normal numbers the last bits are rounded, which may carry into the exponent.  Below them, an addition rounds: to
    a number whose last bit has the weight of the last bit of the target.
    """
    form = floats.FORMATS[target.name]
    shape = value.shape
    bits = build.bitcast(value, "i32")
    magnitude = build.immediate("arith.andi", bits, _MAGNITUDE)
    # What is too large is the largest; without a sign, it is the pattern after that, which is NaN.
    top = floats.to_double(form, form.largest) * (1.0 if form.has_sign else 15 / 14)
    magnitude = build.immediate("arith.minsi", magnitude, _single_bits(top))
    shift = 23 - form.mantissa_bits
    odd = build.immediate("arith.andi", build.immediate("arith.shrui", magnitude, shift), 1)
    rounded = build.immediate("arith.addi", build.binary("arith.addi", magnitude, odd), (1 << (shift - 1)) - 1)
    normal = build.immediate("arith.shrui", rounded, shift)
    normal = build.immediate("arith.subi", normal, (127 - form.bias) << form.mantissa_bits)
    place = 2.0 ** (form.minimum_exponent - form.mantissa_bits + 23)
    placed = build.binary("arith.addf", build.bitcast(magnitude, "f32"), build.float(place, "f32", shape))
    subnormal = build.immediate("arith.subi", build.bitcast(placed, "i32"), _single_bits(place))
    least = build.integer(_single_bits(2.0**form.minimum_exponent), "i32", shape)
    made = build.select(build.compare("ult", magnitude, least), subnormal, normal)
    is_nan = build.compare("uno", value, value)
    if form.has_sign:
        sign = build.immediate("arith.andi", build.immediate("arith.shrui", bits, 32 - form.width), form.sign_mask)
        made = build.binary("arith.ori", made, sign)
    else:
        is_negative = build.compare("slt", bits, build.integer(0, "i32", shape))
        is_something = build.compare("ne", made, build.integer(0, "i32", shape))
        is_nan = build.binary("arith.ori", is_nan, build.binary("arith.andi", is_negative, is_something))
    # f4E2M1FN has no NaN.
    nan = form.largest if target is F4E2M1FN else form.quiet_nan
    return build.convert("arith.trunci", build.select(is_nan, build.integer(nan, "i32", shape), made), "i8")


def _single_bits(number: float) -> int:
    """The pattern of an f32."""
    return floats.from_double(floats.FORMATS["f32"], number)
