"""The math functions against mpmath, and the exact operations with one operand."""

from __future__ import annotations

import math

import mpmath
import numpy
import pytest
from tests.execute.exact_model import mismatches, notable_patterns, random_patterns, units_off, values

from tileir.declarations import declaration_of
from tileir.execute.arithmetic.functions import float_atan2, float_integer_power, float_power, float_unary
from tileir.execute.dtypes import to_bits
from tileir.ir import floats
from tileir.ir.types import BF16, F8E4M3FN, F8E5M2, F16, F32, F64, TF32, FloatType

STANDARD = [F16, BF16, F32, F64]
LIMIT = {"f16": 0.501, "bf16": 0.501, "f32": 0.501, "f64": 2.0}


@pytest.fixture(autouse=True)
def quiet():
    with numpy.errstate(all="ignore"):
        yield


def one_over_root(x):
    return 1 / mpmath.sqrt(x)


def sigmoid(x):
    return 1 / (1 + mpmath.exp(-x))


FUNCTIONS = {
    "rsqrt": one_over_root,
    "exp": mpmath.exp,
    "exp2": lambda x: mpmath.power(2, x),
    "log": mpmath.log,
    "log2": lambda x: mpmath.log(x) / mpmath.log(2),
    "log10": mpmath.log10,
    "log1p": mpmath.log1p,
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "tan": mpmath.tan,
    "sinh": mpmath.sinh,
    "cosh": mpmath.cosh,
    "tanh": mpmath.tanh,
    "sigmoid": sigmoid,
}
POSITIVE = ("rsqrt", "log", "log2", "log10")
# Beyond these the result overflows, vanishes or is flat, and random exponents would show nothing else.
SPAN = {"exp": 750, "exp2": 1080, "sinh": 720, "cosh": 720, "tanh": 30, "sigmoid": 750}


def samples(element: FloatType, name: str, count: int) -> numpy.ndarray:
    form = floats.FORMATS[element.name]
    patterns = [
        bits for bits in notable_patterns(form) + random_patterns(form, count, 5) if floats.is_finite(form, bits)
    ]
    arguments = values(element, patterns).astype(numpy.float64)
    generator = numpy.random.default_rng(6)
    span = min(SPAN.get(name, 20), floats.to_double(form, form.largest))
    more = [generator.uniform(-span, span, count), generator.uniform(-2, 2, count)]
    arguments = numpy.concatenate([arguments, *more])
    if name in POSITIVE:
        arguments = numpy.abs(arguments)
        arguments = arguments[arguments > 0]
    if name == "log1p":
        arguments = arguments[arguments > -1]
    dtype = values(element, [0]).dtype
    return arguments.astype(numpy.float32).astype(dtype) if element is not F64 else arguments


def check_function(element: FloatType, name: str, source: numpy.ndarray) -> None:
    form = floats.FORMATS[element.name]
    result = float_unary(declaration_of(name), element)(source)
    assert result.dtype == source.dtype
    worst = (0.0, 0.0)
    # Reducing a large angle takes as many bits as its exponent.
    with mpmath.workprec(1300 if element is F64 and name in ("sin", "cos", "tan") else 300):
        for x, y in zip(source.astype(numpy.float64).tolist(), result.astype(numpy.float64).tolist(), strict=True):
            if name == "log1p" and x <= -1:
                continue
            if not math.isfinite(x):
                continue
            worst = max(worst, (units_off(form, y, FUNCTIONS[name](mpmath.mpf(x))), x))
    assert worst[0] <= LIMIT[element.name], worst


@pytest.mark.parametrize("element", STANDARD, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_is_within_its_bound(name, element):
    check_function(element, name, samples(element, name, 150))


@pytest.mark.long
@pytest.mark.parametrize("element", [F16, BF16], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_is_within_its_bound_for_every_sixteen_bit_value(name, element):
    form = floats.FORMATS[element.name]
    source = values(element, [bits for bits in range(1 << 16) if floats.is_finite(form, bits)])
    if name in POSITIVE:
        source = source[source > 0]
    check_function(element, name, source)


@pytest.mark.long
@pytest.mark.parametrize("element", [F32, F64], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_is_within_its_bound_on_many_values(name, element):
    check_function(element, name, samples(element, name, 15_000))


INFINITY = math.inf
NAN = math.nan
SPECIAL = {
    "rsqrt": [(0.0, INFINITY), (-0.0, -INFINITY), (INFINITY, 0.0), (-1.0, NAN), (4.0, 0.5)],
    "sqrt": [(-0.0, -0.0), (INFINITY, INFINITY), (-1.0, NAN)],
    "exp": [(-INFINITY, 0.0), (INFINITY, INFINITY), (0.0, 1.0)],
    "exp2": [(-INFINITY, 0.0), (INFINITY, INFINITY), (3.0, 8.0), (-1.0, 0.5)],
    "log": [(0.0, -INFINITY), (-0.0, -INFINITY), (-1.0, NAN), (1.0, 0.0), (INFINITY, INFINITY)],
    "log2": [(0.0, -INFINITY), (-1.0, NAN), (8.0, 3.0), (INFINITY, INFINITY)],
    "log10": [(0.0, -INFINITY), (-1.0, NAN), (100.0, 2.0), (INFINITY, INFINITY)],
    "log1p": [(-1.0, -INFINITY), (-2.0, NAN), (-0.0, -0.0), (INFINITY, INFINITY)],
    "sin": [(-0.0, -0.0), (INFINITY, NAN)],
    "cos": [(0.0, 1.0), (-INFINITY, NAN)],
    "tan": [(-0.0, -0.0), (INFINITY, NAN)],
    "sinh": [(-0.0, -0.0), (-INFINITY, -INFINITY)],
    "cosh": [(0.0, 1.0), (-INFINITY, INFINITY)],
    "tanh": [(-0.0, -0.0), (INFINITY, 1.0), (-INFINITY, -1.0)],
    "sigmoid": [(0.0, 0.5), (INFINITY, 1.0), (-INFINITY, 0.0)],
    "recipf": [(0.0, INFINITY), (-0.0, -INFINITY), (INFINITY, 0.0), (4.0, 0.25)],
    "ceil": [(-0.5, -0.0), (0.5, 1.0), (INFINITY, INFINITY), (-0.0, -0.0)],
    "floor": [(-0.5, -1.0), (0.5, 0.0), (-INFINITY, -INFINITY), (-0.0, -0.0)],
}


@pytest.mark.parametrize("element", STANDARD, ids=str)
@pytest.mark.parametrize("name", SPECIAL)
def test_special_values(name, element):
    form = floats.FORMATS[element.name]
    cases = [*SPECIAL[name], (NAN, NAN)]
    source = values(element, [floats.from_double(form, x) for x, _ in cases])
    expected = [-1 if y != y else floats.from_double(form, y) for _, y in cases]
    assert not mismatches(element, float_unary(declaration_of(name), element)(source), expected)


@pytest.mark.parametrize("element", [F16, BF16, F32, F64, TF32, F8E4M3FN, F8E5M2], ids=str)
def test_absf_and_negf_change_the_sign_bit_alone(element):
    form = floats.FORMATS[element.name]
    patterns = notable_patterns(form) + random_patterns(form, 200, 8)
    source = values(element, patterns)
    assert to_bits(element, float_unary(declaration_of("absf"), element)(source)).tolist() == [
        p & form.magnitude_mask for p in patterns
    ]
    assert to_bits(element, float_unary(declaration_of("negf"), element)(source)).tolist() == [
        p ^ form.sign_mask for p in patterns
    ]


@pytest.mark.parametrize("element", [F16, BF16], ids=str)
def test_ceil_and_floor_of_every_sixteen_bit_value(element):
    form = floats.FORMATS[element.name]
    patterns = [bits for bits in range(1 << 16) if floats.is_finite(form, bits)]
    source = values(element, patterns)
    for name, function in (("ceil", math.ceil), ("floor", math.floor)):
        result = float_unary(declaration_of(name), element)(source).astype(numpy.float64).tolist()
        assert result == [function(x) for x in source.astype(numpy.float64).tolist()]


def test_flushing_functions_flush_operand_and_result():
    tiny = numpy.array([2.0**-140, -(2.0**-140)], numpy.float32)
    assert float_unary(declaration_of("rsqrt"), F32, flush_to_zero=True)(tiny).tolist() == [INFINITY, -INFINITY]
    assert float_unary(declaration_of("rsqrt"), F32)(tiny[:1]).tolist() == [2.0**70]
    assert float_unary(declaration_of("sqrt"), F32, "nearest_even", True)(tiny).tolist() == [0.0, 0.0]
    assert float_unary(declaration_of("exp2"), F32, flush_to_zero=True)(
        numpy.array([-130], numpy.float32)
    ).tolist() == [0.0]
    assert float_unary(declaration_of("exp2"), F32)(numpy.array([-130], numpy.float32)).tolist() == [2.0**-130]


# Two operands


@pytest.mark.parametrize("element", STANDARD, ids=str)
def test_power_and_atan2_are_within_their_bounds(element):
    form = floats.FORMATS[element.name]
    generator = numpy.random.default_rng(9)
    dtype = values(element, [0]).dtype
    base = numpy.abs(generator.normal(0, 5, 1500)).astype(numpy.float32).astype(dtype)
    exponent = generator.normal(0, 6, 1500).astype(numpy.float32).astype(dtype)
    power = float_power(element)(base, exponent)
    angle = float_atan2(element)(exponent, base)
    wide = [array.astype(numpy.float64).tolist() for array in (base, exponent, power, angle)]
    with mpmath.workprec(200):
        for x, y, p, a in zip(*wide, strict=True):
            if x > 0:
                assert units_off(form, p, mpmath.power(mpmath.mpf(x), mpmath.mpf(y))) <= LIMIT[element.name], (x, y)
            assert units_off(form, a, mpmath.atan2(mpmath.mpf(y), mpmath.mpf(x))) <= LIMIT[element.name], (y, x)


def test_power_has_the_special_cases_of_c():
    power = float_power(F32)
    cases = [
        (NAN, 0.0, 1.0), (1.0, NAN, 1.0), (-8.0, 1 / 3, NAN), (-2.0, 3.0, -8.0), (0.0, -1.0, INFINITY),
        (-0.0, -1.0, -INFINITY), (-0.0, -2.0, INFINITY), (-1.0, INFINITY, 1.0), (0.5, -INFINITY, INFINITY),
        (-INFINITY, 3.0, -INFINITY), (2.0, 200.0, INFINITY),
    ]  # fmt: skip
    for x, y, want in cases:
        got = float(power(numpy.float32(x), numpy.float32(y)))
        assert got == want or (got != got and want != want), (x, y, got)


def test_atan2_takes_the_numerator_first_and_heeds_signed_zeros():
    atan2 = float_atan2(F64)
    cases = [(1.0, 1.0, math.pi / 4), (1.0, -1.0, 3 * math.pi / 4), (0.0, -1.0, math.pi), (-0.0, -1.0, -math.pi),
             (2.0, 0.0, math.pi / 2)]  # fmt: skip
    for x, y, want in cases:
        assert float(atan2(numpy.float64(x), numpy.float64(y))) == want


@pytest.mark.parametrize("element", STANDARD, ids=str)
def test_integer_power_is_within_its_bound(element):
    form = floats.FORMATS[element.name]
    generator = numpy.random.default_rng(10)
    dtype = values(element, [0]).dtype
    base = generator.normal(0, 3, 500).astype(numpy.float32).astype(dtype)
    exponent = generator.integers(-20, 20, 500).astype(numpy.int32)
    result = float_integer_power(element)(base, exponent)
    with mpmath.workprec(200):
        for x, n, y in zip(base.astype(numpy.float64).tolist(), exponent.tolist(), result.astype(numpy.float64).tolist(),
                           strict=True):  # fmt: skip
            assert units_off(form, y, mpmath.power(mpmath.mpf(x), n)) <= LIMIT[element.name], (x, n)


def test_integer_power_reads_the_exponent_signed():
    power = float_integer_power(F32)
    two = numpy.array([2, 2], numpy.float32)
    assert power(two, numpy.array([-1, 3], numpy.int8)).tolist() == [0.5, 8.0]
    assert power(two, numpy.array([True, False])).tolist() == [0.5, 1.0]
