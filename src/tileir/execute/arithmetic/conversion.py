"""Conversions: ftof, ftoi, itof, exti, trunci, bitcast, pack, unpack."""

from __future__ import annotations

from typing import Any, Final

import numpy

from tileir.dialect import ops
from tileir.execute.arithmetic import double
from tileir.execute.arithmetic.rounding import (
    NEAREST_EVEN,
    NEGATIVE_INF,
    POSITIVE_INF,
    ZERO,
    Unary,
    float_format,
    identity,
    ieee_mode,
    narrow,
    to_odd,
    two_sum,
    widen,
    widen_single,
)
from tileir.execute.dtypes import TF32_UNUSED_BITS, bits_dtype, from_bits, to_bits, value_dtype
from tileir.ir import floats
from tileir.ir.types import BF16, F4E2M1FN, F8E4M3FN, F8E5M2, F16, F32, F64, I1, I4, TF32, FloatType, IntegerType, Type

# Floats


def float_to_float(source: FloatType, target: FloatType, rounding: str = NEAREST_EVEN) -> Unary:
    """ftof: rounds at most once.  A NaN comes out quiet, but not from bf16 to f32, where the bits only move."""
    mode = rounding if rounding == "nearest_away" else ieee_mode(rounding)
    if source is target:
        return identity
    if mode == NEAREST_EVEN:
        direct = _direct_cast(source, target)
        if direct is not None:
            return direct
    up, down = _widen(source), _saturating(target, narrow(target, mode))
    return _quiet_half(lambda array: down(up(array))) if target is F16 else lambda array: down(up(array))


_SATURATING: Final = (F8E4M3FN, F8E5M2)
"""What is too large for them becomes the largest value, infinities too: so do NVIDIA's conversion instructions."""


def _saturating(target: FloatType, down: Unary) -> Unary:
    if target not in _SATURATING:
        return down
    largest = floats.to_double(float_format(target), float_format(target).largest)
    # NaN wins.
    return lambda array: down(numpy.minimum(numpy.maximum(array, -largest), largest))


def _quiet_half(convert: Unary) -> Unary:
    """NumPy makes signaling halves of signaling NaNs, on some machines."""

    def convert_quietly(array: Any) -> Any:
        half = convert(array)
        nan = numpy.isnan(half)
        if numpy.count_nonzero(nan):
            quiet = numpy.bitwise_or(half.view(numpy.uint16), numpy.uint16(0x0200)).view(numpy.float16)
            half = numpy.where(nan, quiet, half)
        return half

    return convert_quietly


def _direct_cast(source: FloatType, target: FloatType) -> Unary | None:
    """Casts of NumPy and ml_dtypes that are known to round once, to nearest even."""
    dtype = value_dtype(target)
    if target is F64:
        return _widen(source)
    if target is F32:
        return narrow(F32) if source is F64 else widen_single(source)
    if target is TF32 and source is F32:
        return _round_to_tf32
    if target is F16 and source in (F32, F64):
        return _quiet_half(narrow(F16))
    if source is F64 or target not in (BF16, *_SATURATING):
        return None
    up, down = widen_single(source), _saturating(target, lambda array: array.astype(dtype))
    return lambda array: down(up(array))


def _widen(source: FloatType) -> Unary:
    """Values as doubles; of f16 through the table of f32, whose NaNs are quiet."""
    up = widen_single(F16)
    return widen(source) if source is not F16 else lambda array: up(array).astype(numpy.float64)


def _round_to_tf32(array: Any) -> Any:
    """f32 to nearest even at the last of the ten mantissa bits, on the patterns; a carry reaches the exponent."""
    bits = array.view(numpy.uint32)
    odd = numpy.bitwise_and(numpy.right_shift(bits, numpy.uint32(TF32_UNUSED_BITS)), numpy.uint32(1))
    odd += bits
    odd += numpy.uint32((1 << TF32_UNUSED_BITS - 1) - 1)
    odd &= numpy.uint32(0xFFFFFFFF >> TF32_UNUSED_BITS << TF32_UNUSED_BITS)
    result = odd.view(numpy.float32)
    nan = numpy.isnan(array)
    # A large payload would carry into the sign.
    return numpy.where(nan, numpy.float32(numpy.nan), result) if numpy.count_nonzero(nan) else result


_INTEGRAL: Final[dict[str, Unary]] = {
    "nearest_int_to_zero": numpy.trunc,
    ZERO: numpy.trunc,
    NEAREST_EVEN: numpy.rint,
    "full": numpy.rint,
    "approx": numpy.rint,
    NEGATIVE_INF: numpy.floor,
    POSITIVE_INF: numpy.ceil,
}


def float_to_integer(
    source: FloatType, target: IntegerType, signedness: str, rounding: str = "nearest_int_to_zero"
) -> Unary:
    """ftoi: rounds to an integer, then saturates, with or without `saturating`; NaN becomes 0
    (docs/reference/conflicts.md C10). An i1 is whether the operand differs from zero, as fractions and NaN do."""
    integral = _INTEGRAL[rounding]
    up = widen(source)
    if target is I1:
        return lambda array: numpy.not_equal(up(array), 0)
    is_signed = signedness == "signed"
    least = -(1 << (target.width - 1)) if is_signed else 0
    greatest = least + (1 << target.width) - 1
    dtype = value_dtype(target)
    stage = dtype if is_signed else bits_dtype(target)
    # The first double past the range; the greatest 64-bit integers are no doubles.
    past = float(greatest + 1)

    def convert(array: Any) -> Any:
        value = integral(up(array))
        above = value >= past
        # NaN is not usable either.
        unusable = numpy.logical_or(above, numpy.logical_not(value >= float(least)))
        if not numpy.count_nonzero(unusable):
            return value.astype(stage).view(dtype)
        whole = numpy.where(unusable, 0.0, value).astype(stage)
        whole = numpy.where(above, stage.type(greatest), whole)
        return numpy.where(value < float(least), stage.type(least), whole).view(dtype)

    return convert


def integer_to_float(source: IntegerType, target: FloatType, signedness: str, rounding: str = NEAREST_EVEN) -> Unary:
    """itof: rounded once; what is too large follows `rounding.narrow`, and saturates where `ftof` does."""
    mode = ieee_mode(rounding)
    read = _read_integer(source, signedness)
    down = _saturating(target, narrow(target, mode))
    if source.width < 64:
        # At most 32 bits are exact in double.
        return lambda array: down(read(array).astype(numpy.float64))
    if mode == NEAREST_EVEN and target in (F32, F64):
        dtype = value_dtype(target)
        return lambda array: read(array).astype(dtype)
    if target is F64:
        add = double.binary(ops.ADDF, mode)
        return lambda array: add(*_halves(read(array)))
    return lambda array: down(to_odd(*two_sum(*_halves(read(array)))))


def _halves(array: Any) -> tuple[Any, Any]:
    """A 64-bit integer as the exact sum of two doubles."""
    kind = array.dtype.type
    low = numpy.bitwise_and(array, kind(0xFFFFFFFF)).astype(numpy.float64)
    return numpy.right_shift(array, kind(32)).astype(numpy.float64) * 4294967296.0, low


def _read_integer(source: IntegerType, signedness: str) -> Unary:
    """Integers of the source type in a dtype that shows their value."""
    if source is I1 and signedness == "signed":
        return lambda array: numpy.negative(array.view(numpy.int8))
    if signedness == "signed":
        return identity
    bits = bits_dtype(source)
    return (lambda array: to_bits(I4, array)) if source is I4 else lambda array: array.view(bits)


# Integers


def extend_integer(source: IntegerType, target: IntegerType, signedness: str) -> Unary:
    """exti: an i1 extends to 0 or -1 signed, to 0 or 1 unsigned."""
    read = _read_integer(source, signedness)
    dtype = value_dtype(target)
    return lambda array: read(array).astype(dtype)


def truncate_integer(source: IntegerType, target: IntegerType) -> Unary:
    dtype = value_dtype(target)
    if target is I1:
        return lambda array: numpy.not_equal(numpy.bitwise_and(array, 1), 0)
    if target is I4:
        return lambda array: from_bits(I4, array.astype(numpy.uint8))
    return lambda array: array.astype(dtype)


# Bits


def bitcast(source: Type, target: Type) -> Unary:
    """The same bits as another type of the same width; also the casts between pointers and i64."""
    dtype = value_dtype(target)
    special = (I1, I4, F4E2M1FN, TF32)
    # To the same type it is a copy, which keeps the bits of a tf32 that are not part of its value.
    if source != target and (source in special or target in special):
        return lambda array: from_bits(target, to_bits(source, array))
    return lambda array: array.view(dtype)


_FOURS: Final = (I4, F4E2M1FN)


def pack(source: Type) -> Unary:
    """A rank-1 tile as its bytes, little endian; the first of several elements in a byte is in the low bits."""

    def pack_fours(array: Any) -> Any:
        fours = to_bits(source, numpy.ascontiguousarray(array))
        return numpy.bitwise_or(fours[0::2], numpy.left_shift(fours[1::2], numpy.uint8(4))).view(numpy.int8)

    if source is I1:
        return lambda array: numpy.packbits(array, bitorder="little").view(numpy.int8)
    return pack_fours if source in _FOURS else lambda array: numpy.ascontiguousarray(array).view(numpy.int8)


def unpack(target: Type) -> Unary:
    dtype = value_dtype(target)

    def unpack_bytes(array: Any) -> Any:
        packed = numpy.ascontiguousarray(array).view(numpy.uint8)
        if target is I1:
            return numpy.unpackbits(packed, bitorder="little").astype(dtype)
        if target in _FOURS:
            return from_bits(target, numpy.stack((packed & numpy.uint8(15), packed >> numpy.uint8(4)), 1).reshape(-1))
        return packed.view(dtype)

    return unpack_bytes
