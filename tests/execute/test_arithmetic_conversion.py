"""ftof, ftoi, itof, exti, trunci, bitcast, pack, unpack."""

from __future__ import annotations

from fractions import Fraction

import numpy
import pytest
from tests.execute.exact_model import (
    MODES,
    SATURATING,
    convert_fraction,
    exact_value,
    mismatches,
    notable_patterns,
    random_patterns,
    round_fraction,
    round_up,
    values,
)

from tileir.dialect.types import pointer_type
from tileir.execute.arithmetic.conversion import (
    bitcast,
    extend_integer,
    float_to_float,
    float_to_integer,
    integer_to_float,
    pack,
    truncate_integer,
    unpack,
)
from tileir.execute.dtypes import bits_dtype, from_bits, to_bits
from tileir.ir import floats
from tileir.ir.types import (
    BF16,
    F4E2M1FN,
    F8E4M3FN,
    F8E5M2,
    F8E8M0FNU,
    F16,
    F32,
    F64,
    FLOAT_TYPES,
    FNV8E5M3FNU,
    I1,
    I4,
    I8,
    I16,
    I32,
    I64,
    TF32,
    FloatType,
)

ALL = list(FLOAT_TYPES.values())
SMALL = [F8E4M3FN, F8E5M2, F8E8M0FNU, FNV8E5M3FNU, F4E2M1FN]
INTEGERS = [I1, I8, I16, I32, I64]


@pytest.fixture(autouse=True)
def quiet():
    with numpy.errstate(all="ignore"):
        yield


def expected_conversion(source: floats.FloatFormat, target: floats.FloatFormat, bits: int, mode: str) -> int:
    if source is target and not floats.is_nan(source, bits):
        return bits
    if floats.is_nan(source, bits):
        return -1 if target.quiet_nan >= 0 else target.largest
    negative = floats.is_negative(source, bits)
    sign = target.sign_mask if negative else 0
    if floats.is_infinity(source, bits):
        if negative and not target.has_sign:
            return -1
        if target.name in SATURATING:
            return target.largest | sign
        if target.has_infinity:
            return target.infinity | sign
        return -1 if target.quiet_nan >= 0 else target.largest | sign
    value = exact_value(source, bits)
    if not target.has_zero:
        # No zero, no subnormals: what lies below the smallest value becomes it.
        rounded = round_fraction(target, value, mode)
        return 0 if abs(value) < Fraction(2) ** target.minimum_exponent and rounded in (0, 1) else max(rounded, -1)
    return convert_fraction(target, value, mode, negative)


def check_conversion(source: FloatType, target: FloatType, mode: str, patterns: list[int]) -> None:
    source_form, target_form = floats.FORMATS[source.name], floats.FORMATS[target.name]
    result = float_to_float(source, target, mode)(values(source, patterns))
    expected = [expected_conversion(source_form, target_form, bits, mode) for bits in patterns]
    wrong = mismatches(target, result, expected)
    assert not wrong, [(hex(patterns[i]), hex(got), hex(want)) for i, got, want in wrong[:5]]


def interesting(source: FloatType, target: FloatType, count: int) -> list[int]:
    """Notable and random patterns, the values of the target, the midpoints between them, and their neighbors."""
    source_form, target_form = floats.FORMATS[source.name], floats.FORMATS[target.name]
    patterns = notable_patterns(source_form) + random_patterns(source_form, count, 3)
    chosen = range(1 << target_form.width) if target_form.width <= 8 else random_patterns(target_form, count, 4)
    for bits in chosen:
        bits &= target_form.magnitude_mask
        if not floats.is_finite(target_form, bits):
            continue
        exact = exact_value(target_form, bits)
        middle = exact
        if floats.is_finite(target_form, bits + 1) and bits < target_form.magnitude_mask:
            middle = (exact + exact_value(target_form, bits + 1)) / 2
        for value in (exact, middle, -middle):
            nearest = round_fraction(source_form, value, "zero")
            if nearest >= 0:
                patterns += [nearest, nearest + 1, max(nearest - 1, 0)]
    return [bits & ((1 << source_form.width) - 1) for bits in patterns]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("target", ALL, ids=str)
@pytest.mark.parametrize("source", ALL, ids=str)
def test_conversion_to_nearest_even(source, target):
    check_conversion(source, target, "nearest_even", interesting(source, target, 100))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("mode", [*MODES[1:], "nearest_away"])
@pytest.mark.parametrize("target", [t for t in ALL if t is not F64], ids=str)
@pytest.mark.parametrize("source", [F64, F32, BF16], ids=str)
def test_conversion_in_other_modes(source, target, mode):
    if source is target:
        return
    check_conversion(source, target, mode, interesting(source, target, 40))


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("source", "target"), [(F16, BF16), (BF16, F16), (F16, F8E4M3FN), (F16, F8E5M2)], ids=str)
def test_conversion_of_every_sixteen_bit_value(source, target):
    check_conversion(source, target, "nearest_even", list(range(1 << 16)))


@pytest.mark.long
@pytest.mark.parametrize("mode", [*MODES, "nearest_away"])
@pytest.mark.parametrize("target", ALL, ids=str)
@pytest.mark.parametrize("source", [F16, BF16], ids=str)
def test_conversion_of_every_sixteen_bit_value_in_every_mode(source, target, mode):
    if source is not target:
        check_conversion(source, target, mode, list(range(1 << 16)))


@pytest.mark.parametrize("target", ALL, ids=str)
@pytest.mark.parametrize("source", SMALL, ids=str)
def test_conversion_of_every_small_value_in_every_mode(source, target):
    patterns = list(range(1 << floats.FORMATS[source.name].width))
    for mode in MODES:
        if source is not target:
            check_conversion(source, target, mode, patterns)


def converted(value: float, source: FloatType, target: FloatType, mode: str = "nearest_even") -> int:
    form = floats.FORMATS[source.name]
    return int(
        to_bits(target, float_to_float(source, target, mode)(values(source, [floats.from_double(form, value)])))[0]
    )


def test_overflow_becomes_infinity_else_nan_else_the_largest_value():
    assert converted(1e6, F32, F16) == 0x7C00
    assert converted(-1e6, F32, F4E2M1FN) == 0xF
    assert converted(1e6, F32, FNV8E5M3FNU) == 0xFF
    assert converted(float("inf"), F32, F8E8M0FNU) == 0xFF


@pytest.mark.parametrize("source", [F16, BF16, TF32, F32, F64], ids=str)
@pytest.mark.parametrize("mode", [*MODES, "nearest_away"])
def test_conversions_to_two_types_of_eight_bits_saturate(source, mode):
    for value in (float("inf"), 60000.0 if source is F16 else 1e30):
        assert converted(value, source, F8E4M3FN, mode) == 0x7E
        assert converted(-value, source, F8E4M3FN, mode) == 0xFE
        assert converted(value, source, F8E5M2, mode) == 0x7B
        assert converted(-value, source, F8E5M2, mode) == 0xFB
    for target in (F8E4M3FN, F8E5M2):
        assert floats.is_nan(floats.FORMATS[target.name], converted(float("nan"), source, target, mode))
    assert converted(464.0, source, F8E4M3FN, mode) == 0x7E
    assert converted(float("inf"), F8E5M2, F8E4M3FN) == 0x7E


@pytest.mark.parametrize("mode", [*MODES, "nearest_away"])
@pytest.mark.parametrize("target", [F16, BF16, TF32, F32, F64], ids=str)
@pytest.mark.parametrize("source", [F16, BF16, TF32, F32, F64, F8E5M2], ids=str)
def test_signalling_nan_is_converted_to_a_quiet_one(source, target, mode):
    form, result_form = floats.FORMATS[source.name], floats.FORMATS[target.name]
    if source is target or (source is BF16 and target is F32):
        return
    patterns = [form.infinity + 1, form.infinity + (form.quiet_nan - form.infinity) // 2, form.quiet_nan + 1]
    patterns += [bits | form.sign_mask for bits in patterns]
    result = float_to_float(source, target, mode)(values(source, patterns))
    for bits in to_bits(target, result).tolist():
        assert floats.is_nan(result_form, bits) and bits & result_form.quiet_nan == result_form.quiet_nan, hex(bits)
    if target is TF32:
        assert not numpy.any(result.view(numpy.uint32) & 0x1FFF)


def test_nan_moves_from_bf16_to_f32_as_it_is():
    assert float_to_float(BF16, F32)(values(BF16, [0x7F81, 0xFFC1])).view(numpy.uint32).tolist() == [
        0x7F810000,
        0xFFC10000,
    ]


def test_low_bits_of_tf32_do_not_count_where_it_is_converted():
    held = numpy.array([0x3F801FFF, 0xBF803FFF, 0x7F800001, 0xFFFFFFFF, 0x00001FFF], numpy.uint32).view(numpy.float32)
    single = float_to_float(TF32, F32)(held)
    assert single.view(numpy.uint32).tolist() == [0x3F800000, 0xBF802000, 0x7FC00000, 0xFFFFE000, 0]
    assert float_to_float(TF32, F64)(held)[:2].tolist() == [1.0, -1.0009765625]
    assert float_to_float(TF32, F16)(held)[:2].tolist() == [1.0, -1.0009765625]
    assert float_to_integer(TF32, I32, "signed")(
        numpy.array([0x3FFFFFFF], numpy.uint32).view(numpy.float32)
    ).tolist() == [1]
    assert float_to_integer(TF32, I1, "unsigned")(held).tolist() == [True, True, True, True, False]


def test_nan_of_the_format_without_one_is_its_largest_value():
    assert converted(float("nan"), F32, F4E2M1FN) == 0x7
    assert converted(float("nan"), F64, F4E2M1FN) == 0x7


def test_unsigned_formats_have_nan_for_what_is_below_zero():
    assert converted(-1.0, F32, FNV8E5M3FNU) == 0xFF
    assert converted(-1.0, F32, F8E8M0FNU) == 0xFF
    assert converted(-0.0, F32, FNV8E5M3FNU) == 0


def test_format_without_zero_has_its_smallest_value_for_it():
    for value in (0.0, -0.0, 1e-45, 2.0**-127):
        assert converted(value, F64, F8E8M0FNU, "zero") == 0
    assert converted(3.0, F32, F8E8M0FNU, "zero") == 128
    assert converted(3.0, F32, F8E8M0FNU, "positive_inf") == 129


def test_tf32_keeps_ten_bits_of_mantissa_in_a_float32():
    result = float_to_float(F32, TF32)(numpy.array([1 + 2.0**-11, 1 + 3 * 2.0**-11], numpy.float32))
    assert result.dtype == numpy.float32
    assert result.tolist() == [1.0, 1 + 2 * 2.0**-10]
    away = float_to_float(F32, TF32, "nearest_away")(numpy.array([1 + 2.0**-11], numpy.float32))
    assert away.tolist() == [1 + 2.0**-10]


# ftoi


@pytest.mark.sampled(2)
@pytest.mark.parametrize("signedness", ["signed", "unsigned"])
@pytest.mark.parametrize("target", INTEGERS, ids=str)
@pytest.mark.parametrize("source", ALL, ids=str)
def test_float_to_integer_saturates_and_has_zero_for_nan_but_i1_tells_what_is_not_zero(source, target, signedness):
    form = floats.FORMATS[source.name]
    patterns = notable_patterns(form) + random_patterns(form, 300, 7)
    edges = [Fraction(0), Fraction(2) ** (target.width - 1), Fraction(2) ** target.width]
    for edge in edges:
        for mode in MODES:
            near = round_fraction(form, edge, mode)
            if near >= 0:
                patterns += [near, near | form.sign_mask, max(near - 1, 0), max(near - 1, 0) | form.sign_mask]
    source_array = values(source, patterns)
    least = -(1 << (target.width - 1)) if signedness == "signed" else 0
    greatest = least + (1 << target.width) - 1
    modes = {"nearest_int_to_zero": "zero", "nearest_even": "nearest_even", "negative_inf": "negative_inf",
             "positive_inf": "positive_inf"}  # fmt: skip
    for rounding, mode in modes.items():
        result = float_to_integer(source, target, signedness, rounding)(source_array)
        assert result.dtype == from_bits(target, numpy.zeros(1, bits_dtype(target))).dtype
        got = to_bits(target, result).tolist()
        for bits, value in zip(patterns, got, strict=True):
            if target is I1:
                want = 0 if floats.is_zero(form, bits) else 1
            elif floats.is_nan(form, bits):
                want = 0
            elif floats.is_infinity(form, bits):
                want = least if floats.is_negative(form, bits) else greatest
            else:
                exact = exact_value(form, bits)
                whole, rest = divmod(abs(exact.numerator), exact.denominator)
                whole += round_up(whole, rest, exact.denominator, exact < 0, mode)
                want = min(max(-whole if exact < 0 else whole, least), greatest)
            assert value == want & ((1 << target.width) - 1), (hex(bits), rounding)


# itof


@pytest.mark.sampled(2)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("signedness", ["signed", "unsigned"])
@pytest.mark.parametrize("source", INTEGERS, ids=str)
def test_integer_to_float_is_rounded_once(source, signedness, mode):
    generator = numpy.random.default_rng(9)
    width = source.width
    patterns = [0, 1, (1 << width) - 1, 1 << (width - 1), (1 << (width - 1)) - 1]
    for _ in range(200):
        # Of every length, half of them with few bits set so that ties occur.
        length = int(generator.integers(1, width + 1))
        bits = int(generator.integers(0, 1 << 63)) >> (63 - min(length, 63))
        patterns.append(bits & (1 << width) - 1)
        ones = (1 << length - 1) | (1 << int(generator.integers(0, length)))
        patterns += [ones, ones + 1 & (1 << width) - 1, ones - 1, -ones & (1 << width) - 1]
    source_array = from_bits(source, numpy.array(patterns, bits_dtype(source)))
    for target in ALL:
        if target is F8E8M0FNU:
            continue
        form = floats.FORMATS[target.name]
        expected = []
        for bits in patterns:
            value = bits - (1 << width) if signedness == "signed" and bits >> (width - 1) else bits
            expected.append(convert_fraction(form, Fraction(value), mode))
        result = integer_to_float(source, target, signedness, mode)(source_array)
        wrong = mismatches(target, result, expected)
        assert not wrong, (target, [(hex(patterns[i]), hex(got), hex(want)) for i, got, want in wrong[:5]])


def test_integer_to_half_is_not_rounded_through_single():
    # 2**24 + 2**13 + 1 would become a tie in float32.
    value = numpy.array([(2049 << 4) + 8 + 1, 33554433 + 32], numpy.int32)
    exact = [round_fraction(floats.FORMATS["bf16"], Fraction(int(v)), "nearest_even") for v in value]
    assert to_bits(BF16, integer_to_float(I32, BF16, "signed")(value)).tolist() == exact


# exti and trunci


@pytest.mark.parametrize("signedness", ["signed", "unsigned"])
@pytest.mark.parametrize("target", [I4, I8, I16, I32, I64], ids=str)
@pytest.mark.parametrize("source", [I1, I4, I8, I16, I32], ids=str)
def test_extension_and_truncation_round_trip(source, target, signedness):
    if source.width >= target.width:
        return
    generator = numpy.random.default_rng(12)
    patterns = [0, 1, (1 << source.width) - 1, 1 << (source.width - 1)]
    patterns += [int(x) for x in generator.integers(0, 1 << source.width, 50)]
    wide = extend_integer(source, target, signedness)(from_bits(source, numpy.array(patterns, bits_dtype(source))))
    mask = (1 << target.width) - 1
    expected = [
        (p - (1 << source.width) if signedness == "signed" and p >> (source.width - 1) else p) & mask for p in patterns
    ]
    assert to_bits(target, wide).tolist() == expected
    assert to_bits(source, truncate_integer(target, source)(wide)).tolist() == patterns


def test_truncation_keeps_the_low_bits():
    wide = numpy.array([0x1FF, -1, 0x80, 2], numpy.int64)
    assert truncate_integer(I64, I8)(wide).tolist() == [-1, -1, -128, 2]
    assert truncate_integer(I64, I1)(wide).tolist() == [True, True, False, False]
    assert truncate_integer(I64, I4)(wide).tolist() == [-1, -1, 0, 2]


# Bits


@pytest.mark.parametrize(
    ("source", "target"),
    [(F32, I32), (F16, BF16), (BF16, I16), (F64, I64), (F8E4M3FN, I8), (F4E2M1FN, I4), (I4, F4E2M1FN), (I1, I1)],
    ids=str,
)
def test_bitcast_keeps_bits(source, target):
    width = source.width
    patterns = sorted({0, 1, (1 << width) - 1, 1 << (width - 1), (1 << (width - 1)) - 1})
    result = bitcast(source, target)(from_bits(source, numpy.array(patterns, bits_dtype(source))))
    assert to_bits(target, result).tolist() == patterns
    back = bitcast(target, source)(result)
    assert to_bits(source, back).tolist() == patterns


def test_pointer_casts_keep_addresses():
    pointer = pointer_type(F32)
    addresses = numpy.array([2**64 - 16, 4096], numpy.uint64)
    integers = bitcast(pointer, I64)(addresses)
    assert integers.tolist() == [-16, 4096]
    assert bitcast(I64, pointer)(integers).tolist() == addresses.tolist()
    assert bitcast(pointer, pointer_type(I32))(addresses).tolist() == addresses.tolist()


@pytest.mark.parametrize("element", [F16, F32, F64, TF32, BF16, F4E2M1FN, I1, I4, I16, I32, I64], ids=str)
def test_unpack_undoes_pack(element):
    generator = numpy.random.default_rng(14)
    width = 32 if element is TF32 else element.width
    patterns = numpy.array([int(x) & (1 << element.width) - 1 for x in generator.integers(0, 1 << 62, 64)])
    tile = from_bits(element, patterns.astype(bits_dtype(element)))
    packed = pack(element)(tile)
    assert packed.dtype == numpy.int8 and packed.shape == (64 * width // 8,)
    assert (to_bits(element, unpack(element)(packed)) == to_bits(element, tile)).all()


def test_pack_puts_the_first_element_in_the_low_bits():
    fours = from_bits(F4E2M1FN, numpy.array([1, 2, 15, 0], numpy.uint8))
    assert pack(F4E2M1FN)(fours).tolist() == [0x21, 0x0F]
    assert pack(I1)(numpy.array([True] + [False] * 6 + [True])).view(numpy.uint8).tolist() == [0x81]
    assert pack(I16)(numpy.array([0x0102], numpy.int16)).tolist() == [2, 1]
