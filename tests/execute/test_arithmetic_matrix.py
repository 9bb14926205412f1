"""mmaf, mmai, mmaf_scaled."""

from __future__ import annotations

import numpy
import pytest
from tests.execute.exact_model import exact_value, mismatches, random_patterns, reference_fma, round_fraction, values

from tileir.execute.arithmetic.elementary import matrix_float, matrix_integer, matrix_scaled
from tileir.execute.dtypes import to_bits
from tileir.ir import floats
from tileir.ir.types import BF16, F4E2M1FN, F8E4M3FN, F8E5M2, F8E8M0FNU, F16, F32, F64, FNV8E5M3FNU, TF32

PAIRS = [
    (F16, F16), (F16, F32), (BF16, F32), (F32, F32), (TF32, F32), (F64, F64), (F8E4M3FN, F16), (F8E4M3FN, F32),
    (F8E5M2, F32),
]  # fmt: skip


@pytest.fixture(autouse=True)
def quiet():
    with numpy.errstate(all="ignore"):
        yield


def tile(element, shape, seed, scale=1.0):
    generator = numpy.random.default_rng(seed)
    form = floats.FORMATS[element.name]
    numbers = generator.normal(0, scale, shape)
    if not form.has_sign:
        numbers = numpy.abs(numbers)
    patterns = [floats.from_double(form, float(x)) for x in numbers.reshape(-1)]
    return values(element, patterns).reshape(shape)


@pytest.mark.parametrize(("element", "accumulator"), PAIRS, ids=str)
@pytest.mark.parametrize("batch", [(), (3,)], ids=["flat", "batched"])
def test_default_product_is_near_the_double_product(element, accumulator, batch):
    a, b, c = tile(element, (*batch, 4, 8), 1), tile(element, (*batch, 8, 16), 2), tile(accumulator, (*batch, 4, 16), 3)
    result = matrix_float(element, accumulator)(a, b, c)
    assert result.dtype == c.dtype and result.shape == c.shape
    exact = numpy.matmul(a.astype(numpy.float64), b.astype(numpy.float64)) + c.astype(numpy.float64)
    tolerance = {"f16": 2e-2, "f32": 1e-5, "f64": 1e-13}[accumulator.name]
    assert numpy.allclose(result.astype(numpy.float64), exact, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("element", "accumulator"), PAIRS, ids=str)
def test_exact_product_is_a_chain_of_single_rounded_fma(element, accumulator):
    a, b, c = tile(element, (2, 8), 4, 30.0), tile(element, (8, 4), 5, 30.0), tile(accumulator, (2, 4), 6)
    result = matrix_float(element, accumulator, exact=True)(a, b, c)
    assert result.dtype == c.dtype
    # An f16 accumulator takes part as f32, and only the end of the chain is rounded to f16.
    form = floats.FORMATS["f64" if accumulator is F64 else "f32"]
    start = c if accumulator is F64 else c.astype(numpy.float32)
    wide_a, wide_b = a.astype(numpy.float64), b.astype(numpy.float64)
    expected = []
    for i in range(2):
        for j in range(4):
            total = int(to_bits(F64 if accumulator is F64 else F32, start)[i, j])
            for k in range(8):
                factors = [floats.from_double(floats.FORMATS["f64"], float(x)) for x in (wide_a[i, k], wide_b[k, j])]
                total = chained(form, factors[0], factors[1], total)
            if accumulator is F16:
                total = round_fraction(
                    floats.FORMATS["f16"], exact_value(form, total), "nearest_even", bool(total >> 31)
                )
            expected.append(total)
    assert not mismatches(accumulator, result.reshape(-1), expected)


def chained(form: floats.FloatFormat, a: int, b: int, c: int) -> int:
    """fma of f64 factors and an addend of the accumulator's format."""
    if form.name == "f64":
        return reference_fma(form, a, b, c, "nearest_even")
    f64 = floats.FORMATS["f64"]
    value = exact_value(f64, a) * exact_value(f64, b) + exact_value(form, c)
    return round_fraction(form, value, "nearest_even")


@pytest.mark.parametrize("exact", [False, True], ids=["default", "exact"])
def test_half_accumulator_is_rounded_once_for_each_operation(exact):
    """At 2048 the last place of f16 is 2: terms of a half are lost one by one, and 256 of them are 128."""
    k = 256
    a = numpy.full((1, k), 0.5, numpy.float16)
    b = numpy.ones((k, 1), numpy.float16)
    c = numpy.full((1, 1), 2048, numpy.float16)
    kernel = matrix_float(F16, F16, exact)
    assert kernel(a, b, c)[0, 0] == 2048 + 128
    # Two operations are two roundings: each adds a quarter of a unit.
    small = numpy.full((1, 1), 0.5, numpy.float16)
    one = numpy.ones((1, 1), numpy.float16)
    assert kernel(small, one, kernel(small, one, c))[0, 0] == 2048


def test_exact_product_of_batches_is_the_product_of_each():
    a, b, c = tile(F16, (3, 4, 8), 7), tile(F16, (3, 8, 2), 8), tile(F32, (3, 4, 2), 9)
    kernel = matrix_float(F16, F32, exact=True)
    whole = kernel(a, b, c)
    assert all((whole[i] == kernel(a[i], b[i], c[i])).all() for i in range(3))


def test_products_leave_their_operands_alone():
    for exact in (False, True):
        a, b, c = tile(F32, (4, 4), 1), tile(F32, (4, 4), 2), tile(F32, (4, 4), 3)
        copies = [x.copy() for x in (a, b, c)]
        matrix_float(F32, F32, exact)(a, b, c)
        assert all((x == y).all() for x, y in zip((a, b, c), copies, strict=True))


@pytest.mark.parametrize("depth", [16, 2048])
@pytest.mark.parametrize("lhs", ["signed", "unsigned"])
@pytest.mark.parametrize("rhs", ["signed", "unsigned"])
def test_integer_product_is_exact_and_wraps(lhs, rhs, depth):
    generator = numpy.random.default_rng(11)
    a = generator.integers(-128, 128, (2, depth)).astype(numpy.int8)
    b = generator.integers(-128, 128, (depth, 4)).astype(numpy.int8)
    # The extremes, where every partial sum is largest.
    a[0] = -128 if lhs == "signed" else -1
    b[:, 0] = -128 if rhs == "signed" else -1
    c = numpy.array([[2**31 - 1, -(2**31), 0, 5]] * 2, numpy.int32)
    result = matrix_integer(lhs, rhs)(a, b, c)
    wide_a = a.astype(numpy.int64) if lhs == "signed" else a.view(numpy.uint8).astype(numpy.int64)
    wide_b = b.astype(numpy.int64) if rhs == "signed" else b.view(numpy.uint8).astype(numpy.int64)
    assert result.dtype == numpy.int32
    assert (result == (wide_a @ wide_b + c).astype(numpy.int32)).all()


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(
    ("element", "scale"),
    [(F8E4M3FN, F8E8M0FNU), (F8E5M2, F8E8M0FNU), (F4E2M1FN, F8E8M0FNU), (F4E2M1FN, F8E4M3FN), (F4E2M1FN, FNV8E5M3FNU)],
    ids=str,
)
def test_scaled_product_scales_blocks_along_k(element, scale, exact):
    form = floats.FORMATS[scale.name]
    a, b, c = tile(element, (4, 64), 1, 2.0), tile(element, (64, 8), 2, 2.0), tile(F32, (4, 8), 3)
    a_scale, b_scale = tile(scale, (4, 2), 4, 2.0), tile(scale, (2, 8), 5, 2.0)
    result = matrix_scaled(element, scale, exact)(a, b, c, a_scale, b_scale)

    def wide(x, form):
        return numpy.array([floats.to_double(form, int(p)) for p in x.reshape(-1).view(numpy.uint8)]).reshape(x.shape)

    full_a = a.astype(numpy.float64) * numpy.repeat(wide(a_scale, form), 32, axis=1)
    full_b = b.astype(numpy.float64) * numpy.repeat(wide(b_scale, form), 32, axis=0)
    assert result.dtype == numpy.float32
    assert numpy.allclose(result, full_a @ full_b + c, rtol=1e-4, atol=1e-4)


def test_scaled_product_does_not_overflow_where_scales_cancel():
    a = tile(F8E4M3FN, (1, 32), 1)
    b = tile(F8E4M3FN, (32, 1), 2)
    zero = numpy.zeros((1, 1), numpy.float32)
    large = values(F8E8M0FNU, [254]).reshape(1, 1)
    small = values(F8E8M0FNU, [0]).reshape(1, 1)
    one = values(F8E8M0FNU, [127]).reshape(1, 1)
    kernel = matrix_scaled(F8E4M3FN, F8E8M0FNU, exact=True)
    assert kernel(a, b, zero, large, small) == kernel(a, b, zero, one, one)


def test_nan_scale_makes_the_block_nan():
    patterns = random_patterns(floats.FORMATS["f4E2M1FN"], 32, 3)
    a, b = values(F4E2M1FN, patterns).reshape(1, 32), values(F4E2M1FN, patterns).reshape(32, 1)
    zero = numpy.zeros((1, 1), numpy.float32)
    one, nan = (values(F8E8M0FNU, [bits]).reshape(1, 1) for bits in (127, 255))
    assert numpy.isnan(matrix_scaled(F4E2M1FN, F8E8M0FNU)(a, b, zero, one, nan)).all()
