"""addf, subf, mulf, divf, fma, sqrt, remf against exact fractions: every mode, every float type."""

from __future__ import annotations

import numpy
import pytest
from tests.execute.exact_model import (
    MODES,
    exact_value,
    flushed_binary,
    flushed_fma,
    mismatches,
    notable_patterns,
    pairs,
    random_patterns,
    reference_binary,
    reference_fma,
    reference_sqrt,
    round_fraction,
    values,
)

from tileir.declarations import declaration_of
from tileir.execute.arithmetic.elementary import float_binary, float_fma, float_remainder
from tileir.execute.arithmetic.functions import float_unary
from tileir.execute.dtypes import to_bits
from tileir.ir import floats
from tileir.ir.types import BF16, F4E2M1FN, F8E4M3FN, F8E5M2, F16, F32, F64, TF32, FloatType

STANDARD = [F16, BF16, F32, F64]
OTHERS = [TF32, F8E4M3FN, F8E5M2, F4E2M1FN]
NAMES = ["addf", "subf", "mulf", "divf"]


@pytest.fixture(autouse=True)
def quiet():
    with numpy.errstate(all="ignore"):
        yield


def check_binary(element: FloatType, name: str, mode: str, lhs: list[int], rhs: list[int]) -> None:
    form = floats.FORMATS[element.name]
    result = float_binary(declaration_of(name), element, mode)(values(element, lhs), values(element, rhs))
    expected = [reference_binary(form, name, a, b, mode) for a, b in zip(lhs, rhs, strict=True)]
    wrong = mismatches(element, result, expected)
    assert not wrong, [(hex(lhs[i]), hex(rhs[i]), hex(got), hex(want)) for i, got, want in wrong[:5]]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("element", STANDARD, ids=str)
def test_binary_operation_is_correctly_rounded(element, name, mode):
    check_binary(element, name, mode, *pairs(floats.FORMATS[element.name], 600, 7))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("element", OTHERS, ids=str)
def test_binary_operation_on_narrow_types_is_correctly_rounded(element, name, mode):
    check_binary(element, name, mode, *pairs(floats.FORMATS[element.name], 300, 11))


@pytest.mark.long
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("element", STANDARD, ids=str)
def test_binary_operation_is_correctly_rounded_on_many_pairs(element, name, mode):
    check_binary(element, name, mode, *pairs(floats.FORMATS[element.name], 60_000, 13))


@pytest.mark.parametrize("name", ["mulf", "divf"])
def test_brain_float_results_in_the_subnormal_range_are_rounded_once(name):
    form = floats.FORMATS["bf16"]
    generator = numpy.random.default_rng(3)
    fields = generator.integers(1, 127, 4000)
    # Exponents that meet just below the smallest normalized value.
    other = (127 - 12 - fields) if name == "mulf" else (fields + 127 + 12 - 20)
    other = numpy.clip(other + generator.integers(0, 20, 4000), 0, 254)
    lhs = (fields << 7 | generator.integers(0, 128, 4000)).tolist()
    rhs = (other << 7 | generator.integers(0, 128, 4000)).tolist()
    expected = [reference_binary(form, name, a, b, "nearest_even") for a, b in zip(lhs, rhs, strict=True)]
    assert sum(0 < bits < 0x80 for bits in expected) > 500
    check_binary(BF16, name, "nearest_even", lhs, rhs)


def small_results(form: floats.FloatFormat, name: str, count: int) -> tuple[list[int], list[int]]:
    """Operands whose product or quotient lies about the smallest normalized value."""
    generator = numpy.random.default_rng(41)
    fields = generator.integers(1, form.bias, count)
    other = form.bias - fields if name == "mulf" else fields + form.bias
    drift = generator.integers(-form.precision - 2, 3, count)
    other = numpy.clip(other + (drift if name == "mulf" else -drift), 0, 2 * form.bias)

    def patterns(exponents: numpy.ndarray) -> list[int]:
        mantissas = generator.integers(0, 1 << form.mantissa_bits, count)
        return [int(e) << form.mantissa_bits | int(m) for e, m in zip(exponents, mantissas, strict=True)]

    return patterns(fields), patterns(other)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["mulf", "divf"])
@pytest.mark.parametrize("element", [F16, F32, F64], ids=str)
def test_results_in_the_subnormal_range_are_rounded_once(element, name, mode):
    check_binary(element, name, mode, *small_results(floats.FORMATS[element.name], name, 1000))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("element", [F32, F64], ids=str)
def test_fma_in_the_subnormal_range_is_rounded_once(element, mode):
    form = floats.FORMATS[element.name]
    lhs, rhs = small_results(form, "mulf", 2000)
    generator = numpy.random.default_rng(43)
    # Addends of a few last places make ties with the product's tail.
    addends = [int(x) for x in generator.integers(0, 4, 2000)]
    addends = [
        x | (form.sign_mask if sign else 0) for x, sign in zip(addends, generator.integers(0, 2, 2000), strict=True)
    ]
    # Factors with short mantissas make exact ties.
    keep = ~((1 << form.mantissa_bits // 2 + 1) - 1)
    lhs = lhs[:1000] + [a & keep for a in lhs[1000:]]
    rhs = rhs[:1000] + [b & keep for b in rhs[1000:]]
    check_fma(element, mode, (lhs, rhs, addends))


def fma_patterns(element: FloatType, count: int, seed: int) -> tuple[list[int], list[int], list[int]]:
    """Random triples, half of them with an addend near the product or near its rounding error."""
    form = floats.FORMATS[element.name]
    lhs, rhs = pairs(form, count, seed)
    addends = random_patterns(form, len(lhs), seed + 5)
    generator = numpy.random.default_rng(seed)
    notable = notable_patterns(form)
    for index in range(len(lhs)):
        choice = int(generator.integers(0, 4))
        if choice == 0:
            addends[index] = notable[int(generator.integers(0, len(notable)))]
        elif choice != 3 and floats.is_finite(form, lhs[index]) and floats.is_finite(form, rhs[index]):
            product = exact_value(form, lhs[index]) * exact_value(form, rhs[index])
            rounded = round_fraction(form, -product, "zero")
            if choice == 1 or not floats.is_finite(form, rounded):
                addends[index] = rounded
            else:
                # Far below the product, so that only its sign can matter: near a midpoint, or beyond.
                field = (rounded & form.magnitude_mask) >> form.mantissa_bits
                lower = max(field - form.precision - int(generator.integers(-1, 3)), 0)
                addends[index] = lower << form.mantissa_bits | (addends[index] & (form.sign_mask | 1))
    return lhs, rhs, addends


def check_fma(element: FloatType, mode: str, triples: tuple[list[int], list[int], list[int]]) -> None:
    form = floats.FORMATS[element.name]
    a, b, c = triples
    result = float_fma(element, mode)(values(element, a), values(element, b), values(element, c))
    expected = [reference_fma(form, x, y, z, mode) for x, y, z in zip(a, b, c, strict=True)]
    wrong = mismatches(element, result, expected)
    assert not wrong, [(hex(a[i]), hex(b[i]), hex(c[i]), hex(got), hex(want)) for i, got, want in wrong[:5]]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("element", STANDARD + OTHERS, ids=str)
def test_fma_is_rounded_once(element, mode):
    check_fma(element, mode, fma_patterns(element, 600, 17))


@pytest.mark.long
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("element", STANDARD, ids=str)
def test_fma_is_rounded_once_on_many_triples(element, mode):
    check_fma(element, mode, fma_patterns(element, 60_000, 19))


def test_single_fma_differs_from_double_rounding_where_it_must():
    # The sum in double is a midpoint of f32 with something left over.
    a = numpy.array([1 + 2.0**-12], numpy.float32)
    b = numpy.array([1 + 2.0**-12], numpy.float32)
    c = numpy.array([2.0**-60], numpy.float32)
    naive = (a.astype(numpy.float64) * b + c).astype(numpy.float32)
    assert float_fma(F32)(a, b, c)[0] == numpy.float32(1 + 2.0**-11 + 2.0**-23)
    assert naive[0] != float_fma(F32)(a, b, c)[0]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("element", [F16, BF16], ids=str)
def test_sqrt_is_correctly_rounded_for_every_sixteen_bit_value(element, mode):
    form = floats.FORMATS[element.name]
    kernel = float_unary(declaration_of("sqrt"), element, mode)
    finite = list(range(1, form.infinity))
    source = values(element, finite).astype(numpy.float64)
    root = kernel(values(element, finite))
    patterns = to_bits(element, root).astype(numpy.int64)
    exact = root.astype(numpy.float64)
    below = values(element, (patterns - 1).tolist()).astype(numpy.float64)
    above = values(element, (patterns + 1).tolist()).astype(numpy.float64)
    # Squares of values and of midpoints have at most 24 bits: these comparisons are exact.
    if mode == "nearest_even":
        assert (((exact + below) / 2) ** 2 < source).all() and (((exact + above) / 2) ** 2 > source).all()
    elif mode == "positive_inf":
        assert (exact**2 >= source).all() and (below**2 < source).all()
    else:
        assert (exact**2 <= source).all() and (above**2 > source).all()
    assert to_bits(element, kernel(values(element, [0, form.sign_mask, form.infinity]))).tolist() == [
        0,
        form.sign_mask,
        form.infinity,
    ]
    invalid = list(range(form.sign_mask + 1, 1 << 16)) + list(range(form.infinity + 1, form.sign_mask))
    assert numpy.isnan(kernel(values(element, invalid)).astype(numpy.float64)).all()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("element", [F32, F64, TF32, F8E4M3FN, F8E5M2, F4E2M1FN], ids=str)
def test_sqrt_is_correctly_rounded(element, mode):
    form = floats.FORMATS[element.name]
    patterns = notable_patterns(form) + random_patterns(form, 3000, 23)
    # Squares and their neighbors, where roots are exact or just not.
    for root in random_patterns(form, 500, 29):
        root &= form.magnitude_mask
        if floats.is_finite(form, root):
            square = round_fraction(form, exact_value(form, root) ** 2, "zero")
            patterns += [square, min(square + 1, form.largest), max(square - 1, 0)]
    expected = [reference_sqrt(form, bits, mode) for bits in patterns]
    if form.quiet_nan < 0:
        expected = [form.largest if want == -1 else want for want in expected]
    wrong = mismatches(element, float_unary(declaration_of("sqrt"), element, mode)(values(element, patterns)), expected)
    assert not wrong, [(hex(patterns[i]), hex(got), hex(want)) for i, got, want in wrong[:5]]


@pytest.mark.parametrize("mode", ["approx", "full"])
def test_approximate_modes_give_the_correctly_rounded_quotient(mode):
    check = numpy.random.default_rng(1).random(100, numpy.float32)
    assert (float_binary(declaration_of("divf"), F32, mode)(check, check[::-1]) == check / check[::-1]).all()


@pytest.mark.parametrize("mode", ["nearest_int_to_zero", "nearest_away", "up"])
def test_mode_that_arithmetic_does_not_have_is_refused(mode):
    with pytest.raises(ValueError, match="does not round floats"):
        float_binary(declaration_of("addf"), F32, mode)


# flush_to_zero

TINY = 2.0**-126


def check_flushed(name: str, mode: str, lhs: list[int], rhs: list[int]) -> None:
    result = float_binary(declaration_of(name), F32, mode, True)(values(F32, lhs), values(F32, rhs))
    expected = [flushed_binary(name, a, b, mode) for a, b in zip(lhs, rhs, strict=True)]
    wrong = mismatches(F32, result, expected)
    assert not wrong, [(hex(lhs[i]), hex(rhs[i]), hex(got), hex(want)) for i, got, want in wrong[:5]]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("mode", MODES)
def test_flush_to_zero_flushes_operands_and_results_and_keeps_signs(name, mode):
    check_flushed(name, mode, *pairs(floats.FORMATS["f32"], 600, 31))


def almost_normal(name: str, count: int) -> tuple[list[int], list[int]]:
    """f32 factors, or dividends and divisors, whose exact result is the smallest normal number less up to 2**-22 of it."""
    generator = numpy.random.default_rng(71)
    lhs, rhs = [], []
    for field, mantissa, below, signs in zip(
        generator.integers(1, 126, count), generator.integers(1, 1 << 23, count), generator.uniform(0, 4, count),
        generator.integers(0, 4, count), strict=True,
    ):  # fmt: skip
        other = numpy.float64(numpy.uint32(int(field) << 23 | int(mantissa)).view(numpy.float32))
        wanted = TINY * (1 - below * 2.0**-24)
        found = numpy.float32(wanted / other if name != "divf" else wanted * 2.0**64 * other)
        if name == "divf":
            other *= 2.0**64
        lhs.append(int(found.view(numpy.uint32)) | int(signs & 1) << 31)
        rhs.append(int(numpy.float32(other).view(numpy.uint32)) | int(signs >> 1) << 31)
    return lhs, rhs


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["mulf", "divf"])
@pytest.mark.parametrize("mode", MODES)
def test_flush_to_zero_judges_after_rounding_with_any_exponent(name, mode):
    lhs, rhs = almost_normal(name, 2000)
    check_flushed(name, mode, lhs, rhs)
    flushing = [flushed_binary(name, a, b, mode) for a, b in zip(lhs, rhs, strict=True)]
    keeping = [reference_binary(floats.F32, name, a, b, mode) for a, b in zip(lhs, rhs, strict=True)]
    edge = [f for f, k in zip(flushing, keeping, strict=True) if k & 0x7FFFFFFF == 0x00800000]
    # Of those that round to the smallest normal number some are tiny; toward zero there is none.
    assert mode == "zero" or {bits & 0x7FFFFFFF for bits in edge} == {0, 0x00800000}


@pytest.mark.parametrize("mode", MODES)
def test_flush_to_zero_of_fma_judges_after_rounding_with_any_exponent(mode):
    lhs, rhs = almost_normal("mulf", 1500)
    generator = numpy.random.default_rng(73)
    least = 0x00800000
    addends = [0] * 500 + [least | int(s) << 31 for s in generator.integers(0, 2, 500)]
    # A product of about twice the smallest normal number, less that number.
    lhs[1000:] = [a + least for a in lhs[1000:]]
    addends += [
        least | 0x80000000 if (a ^ b) >> 31 == 0 else least for a, b in zip(lhs[1000:], rhs[1000:], strict=True)
    ]
    kernel = float_fma(F32, mode, True)
    expected = [flushed_fma(a, b, c, mode) for a, b, c in zip(lhs, rhs, addends, strict=True)]
    assert not mismatches(F32, kernel(values(F32, lhs), values(F32, rhs), values(F32, addends)), expected)
    many = fma_patterns(F32, 600, 79)
    expected = [flushed_fma(a, b, c, mode) for a, b, c in zip(*many, strict=True)]
    assert not mismatches(F32, kernel(*[values(F32, bits) for bits in many]), expected)


def test_flush_to_zero_of_the_largest_product_below_the_smallest_normal_number():
    # 1 - 2**-24 times the smallest normal number needs 24 bits: it is a value with any exponent, and tiny.
    a = numpy.array([1 - 2.0**-24, -(1 - 2.0**-24)], numpy.float32)
    b = numpy.array([TINY, TINY], numpy.float32)
    assert (float_binary(declaration_of("mulf"), F32)(a, b) == [TINY, -TINY]).all()
    flushing = float_binary(declaration_of("mulf"), F32, "nearest_even", True)(a, b)
    assert to_bits(F32, flushing).tolist() == [0, 0x80000000]


@pytest.mark.parametrize("name", ["sqrt", "rsqrt", "exp2"])
def test_no_function_that_flushes_rounds_up_to_the_smallest_normal_number(name):
    # rsqrt and sqrt of normal numbers are far above; exp2 passes the number at -126, where the next argument is a step of
    # 2**-17 away and the next result 2**-18 of it below.
    nearest = numpy.nextafter(numpy.float32(-126), numpy.float32(-127))
    arguments = numpy.array([-126, nearest, 2.0**-126, numpy.finfo(numpy.float32).max], numpy.float32)
    raw = float_unary(declaration_of(name), F32)(arguments)
    flushing = float_unary(declaration_of(name), F32, flush_to_zero=True)(arguments)
    expected = numpy.where(numpy.abs(raw) < TINY, 0, raw)
    assert numpy.array_equal(flushing, expected, equal_nan=True)
    assert (raw == TINY).sum() == (1 if name == "exp2" else 0)


def test_flush_to_zero_of_fma_keeps_the_sign_of_a_flushed_result():
    kernel = float_fma(F32, "nearest_even", True)
    half = numpy.array([-TINY / 2], numpy.float32)
    one = numpy.array([1], numpy.float32)
    zero = numpy.array([0], numpy.float32)
    assert to_bits(F32, kernel(numpy.array([-TINY], numpy.float32), one / 2, -zero)).tolist() == [0x80000000]
    # The subnormal factor is already zero.
    assert kernel(half, numpy.array([2.0**100], numpy.float32), one)[0] == 1


# remf


@pytest.mark.parametrize("element", [F16, BF16, F32, F64, TF32, F8E5M2], ids=str)
def test_remainder_is_exact_and_has_the_sign_of_the_dividend(element):
    form = floats.FORMATS[element.name]
    lhs, rhs = pairs(form, 800, 37)
    result = float_remainder(element)(values(element, lhs), values(element, rhs))
    expected = []
    for a, b in zip(lhs, rhs, strict=True):
        if floats.is_nan(form, a) or floats.is_nan(form, b) or not floats.is_finite(form, a) or floats.is_zero(form, b):
            expected.append(-1)
        elif not floats.is_finite(form, b):
            expected.append(a)
        else:
            x, y = exact_value(form, a), exact_value(form, b)
            rest = abs(x) % abs(y)
            expected.append(round_fraction(form, -rest if x < 0 else rest, "zero", floats.is_negative(form, a)))
    wrong = mismatches(element, result, expected)
    assert not wrong, [(hex(lhs[i]), hex(rhs[i]), hex(got), hex(want)) for i, got, want in wrong[:5]]


# Shapes


@pytest.mark.parametrize("element", [F16, BF16, F32, F64], ids=str)
@pytest.mark.parametrize("mode", MODES)
def test_kernels_take_any_shape(element, mode):
    form = floats.FORMATS[element.name]
    one = values(element, [form.bias << form.mantissa_bits] * 8)
    for shape in ((), (1,), (2, 4), (2, 2, 2)):
        tile = one[: int(numpy.prod(shape))].reshape(shape)
        for name in NAMES:
            result = float_binary(declaration_of(name), element, mode)(tile, tile)
            assert numpy.shape(result) == shape and result.dtype == tile.dtype
        result = float_fma(element, mode)(tile, tile, tile)
        assert numpy.shape(result) == shape and result.dtype == tile.dtype
        assert numpy.all(numpy.asarray(result).astype(numpy.float64) == 2.0)
        result = float_unary(declaration_of("sqrt"), element, mode)(tile)
        assert numpy.shape(result) == shape and result.dtype == tile.dtype
