"""The functions' own definitions: constants, bounds of f64 against mpmath, f32 against f64, special values."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from typing import Any

import mpmath
import numpy
import pytest

from tileir.declarations import declaration_of
from tileir.execute.arithmetic import exponential, trigonometric
from tileir.execute.arithmetic.functions import float_atan2, float_power, float_unary
from tileir.ir.types import F32, F64

GENERATOR = numpy.random.default_rng(20)
_START = GENERATOR.bit_generator.state


@pytest.fixture(autouse=True)
def quiet():
    # Each test draws the same numbers, whichever ran before it.
    GENERATOR.bit_generator.state = _START
    with numpy.errstate(all="ignore"):
        yield


# Constants


def regular(function: Any, at_zero: float) -> Any:
    """A function with a removable singularity at zero, in enough digits for what cancels near it."""

    def evaluate(x: Any) -> Any:
        with mpmath.workdps(140):
            return mpmath.mpf(at_zero) if x == 0 else function(mpmath.mpf(x))

    return evaluate


def in_square(function: Any, at_zero: float) -> Any:
    return regular(lambda square: function(mpmath.sqrt(square)), at_zero)


def polynomials() -> dict[str, tuple[Any, Any, float, float]]:
    """`name: (constants, function, interval)`; intervals are a little wider than what reductions leave."""
    wider = mpmath.mpf("1.0001")
    # The first width with which fused operations change no f32: see `tests/execute/cpu/test_fusible.py`.
    margin = mpmath.mpf("1.0004") / wider
    half_ln2 = mpmath.log(2) / 2 * wider
    ratio = (mpmath.sqrt(2) - 1) / (mpmath.sqrt(2) + 1)
    eighth = (mpmath.sqrt(2) - 1) ** 2 * wider
    quarter = (mpmath.pi / 4) ** 2 * wider
    exp, sinh, atanh = mpmath.exp, mpmath.sinh, mpmath.atanh
    sin, cos, atan = mpmath.sin, mpmath.cos, mpmath.atan
    third, e, t = mpmath.mpf(1) / 3, exponential, trigonometric
    return {
        "exp, single": (e.EXP_SINGLE, exp, -half_ln2 * margin, half_ln2 * margin),
        "exp2, single": (e.EXP2_SINGLE, lambda r: 2**r, -mpmath.mpf(1) / 2, mpmath.mpf(1) / 2),
        "exp - 1, single": (e.EXP_MINUS_ONE_SINGLE, regular(lambda r: (exp(r) - 1) / r, 1), -half_ln2, half_ln2),
        "exp": (e.EXP_DOUBLE, regular(lambda r: (exp(r) - 1 - r) / r**2, 0.5), -half_ln2, half_ln2),
        "sinh": (e.SINH, in_square(lambda x: (sinh(x) - x) / x**3, third / 2), 0, 1),
        "log, single": (exponential.LOG_SINGLE, in_square(lambda s: 2 * atanh(s) / s, 2), 0, ratio**2 * wider),
        "log": (exponential.LOG_DOUBLE, in_square(lambda s: (2 * atanh(s) - 2 * s) / s**3, 2 * third), 0, ratio**2 * wider),
        "pow": (
            exponential.LOG_POWER,
            in_square(lambda s: (2 * atanh(s) - 2 * s - s**3 * 2 / 3) / s**5, mpmath.mpf(2) / 5),
            0,
            ratio**2 * wider,
        ),
        "sin, single": (t.SIN_SINGLE, in_square(lambda r: sin(r) / r, 1), 0, (mpmath.pi / 2) ** 2 * wider),
        "cos, single": (t.COS_SINGLE, in_square(cos, 1), 0, quarter),
        "sin": (t.SIN_DOUBLE, in_square(lambda r: (sin(r) - r) / r**3, -third / 2), 0, quarter),
        "cos": (t.COS_DOUBLE, in_square(lambda r: (cos(r) - 1 + r**2 / 2) / r**4, mpmath.mpf(1) / 24), 0, quarter),
        "atan, single": (t.ATAN_SINGLE, in_square(lambda z: atan(z) / z, 1), 0, eighth),
        "atan": (t.ATAN_DOUBLE, in_square(lambda z: (atan(z) - z) / z**3, -third), 0, eighth),
    }  # fmt: skip


@pytest.mark.filterwarnings("ignore:Descending:DeprecationWarning")
def test_constants_are_the_ones_described():
    with mpmath.workdps(60):
        for name, (constants, function, least, greatest) in polynomials().items():
            fitted = mpmath.chebyfit(function, [least, greatest], len(constants))
            assert list(constants) == [float(coefficient) for coefficient in fitted], name
        assert exponential.LN2 + mpmath.mpf(exponential.LN2_REST) == pytest.approx(mpmath.log(2), rel=1e-31)
        assert exponential.LN2_HIGH + mpmath.mpf(exponential.LN2_LOW) == pytest.approx(mpmath.log(2), rel=1e-28)
        assert exponential.LOG2_E + mpmath.mpf(exponential.LOG2_E_REST) == pytest.approx(1 / mpmath.log(2), rel=1e-31)
        parts = sum([mpmath.mpf(part) for part in trigonometric.HALF_PI_PARTS])
        assert parts == pytest.approx(mpmath.pi / 2, rel=1e-46)
        single = sum([mpmath.mpf(part) for part in trigonometric.HALF_PI_SINGLE])
        assert single == pytest.approx(mpmath.pi / 2, rel=1e-25)
    for part, width in [(exponential.LN2_HIGH, 42)] + [(part, 33) for part in trigonometric.HALF_PI_PARTS[:3]]:
        numerator = part.as_integer_ratio()[0]
        assert numerator.bit_length() <= width
    with mpmath.workprec(1400):
        assert int(mpmath.floor(2 / mpmath.pi * mpmath.mpf(2) ** 1280)) == trigonometric.TWO_OVER_PI_BITS


# f64 against mpmath


def units_off(got: float, want: Any) -> float:
    """The distance in units of the last place that the exact result has in f64."""
    if abs(want) >= mpmath.mpf(2) ** 1024 * (1 - mpmath.mpf(2) ** -54):
        return 0.0 if math.isinf(got) and (got > 0) == (want > 0) else math.inf
    if want == 0:
        return 0.0 if got == 0 else math.inf
    exponent = max(int(mpmath.frexp(want)[1]) - 1, -1022)
    return float(abs(mpmath.mpf(got) - want) / mpmath.ldexp(1, exponent - 52))


def uniform(span: float, count: int) -> numpy.ndarray:
    return GENERATOR.uniform(-span, span, count)


def any_magnitude(least: float, greatest: float, count: int) -> numpy.ndarray:
    """Values of both signs whose decimal exponents are spread evenly."""
    return (
        GENERATOR.choice([-1.0, 1.0], count)
        * GENERATOR.uniform(1, 10, count)
        * 10.0 ** GENERATOR.uniform(least, greatest, count)
    )


def growing(span: float, count: int) -> numpy.ndarray:
    """Arguments of exponentials: all of the range, near zero, and where reduction changes the integer."""
    steps = (numpy.arange(-40, 40) + 0.5) * math.log(2)
    near = numpy.concatenate([numpy.nextafter(steps, 9e9), steps, numpy.nextafter(steps, -9e9)])
    return numpy.concatenate([uniform(span, count), uniform(2, count), any_magnitude(-320, -1, count), near])


def positive(count: int) -> numpy.ndarray:
    """Arguments of logarithms: every exponent, near 1, and where reduction changes the exponent."""
    edges = numpy.sqrt([0.5, 2.0])
    near = numpy.concatenate(
        [edges, numpy.nextafter(edges, 9.0), numpy.nextafter(edges, 0.0), 1 + any_magnitude(-15.6, -1.1, count)]
    )
    powers = 2.0 ** numpy.arange(-1074, 1024, 7)
    return numpy.concatenate(
        [numpy.abs(any_magnitude(-322, 307, count)), near, powers, GENERATOR.uniform(0.5, 2, count)]
    )


HARD_ANGLES = [
    # 6381956970095103 * 2**797 is the double that comes nearest to a multiple of pi/2 (Kahan, Muller).
    6381956970095103.0 * 2.0**797, 5.319372648326541e255, 1e22, 1e300, 1.7976931348623157e308, 2.0**1023,
    # Numerators of convergents of pi and pi/2.
    22.0, 333.0, 355.0, 103993.0, 104348.0, 208341.0, 312689.0, 833719.0, 1146408.0, 4272943.0, 5419351.0, 80143857.0,
    165707065.0, 245850922.0, 411557987.0, 2.0**20, math.nextafter(2.0**20, math.inf), 2.0**52 + 1, 2.0**53 - 1,
]  # fmt: skip


def angles(count: int) -> numpy.ndarray:
    near = numpy.concatenate([numpy.arange(1, 200) * (math.pi / 4), numpy.arange(600_000, 600_100) * (math.pi / 2)])
    hard = numpy.array(HARD_ANGLES)
    return numpy.concatenate(
        [uniform(4, count), uniform(2e6, count), any_magnitude(-320, 307, count), near, hard, -hard]
    )


# The bounds of docs/reference/numerics.md.
BOUNDS: dict[str, tuple[float, Any, Any]] = {
    "rsqrt": (1.5, lambda x: 1 / mpmath.sqrt(x), positive),
    "exp": (0.7, mpmath.exp, lambda count: growing(708, count)),
    "exp2": (0.9, lambda x: mpmath.power(2, x), lambda count: growing(1021, count)),
    "log": (0.6, mpmath.log, positive),
    "log2": (0.6, lambda x: mpmath.log(x) / mpmath.log(2), positive),
    "log10": (1.4, mpmath.log10, positive),
    "log1p": (1.6, mpmath.log1p, lambda count: numpy.concatenate([positive(count), positive(count) - 1, any_magnitude(-17, -2, count)])),
    "sin": (0.8, mpmath.sin, angles),
    "cos": (0.8, mpmath.cos, angles),
    "tan": (1.0, mpmath.tan, angles),
    "sinh": (0.9, mpmath.sinh, lambda count: numpy.concatenate([growing(711, count), uniform(3, count)])),
    "cosh": (1.0, mpmath.cosh, lambda count: growing(711, count)),
    "tanh": (0.8, mpmath.tanh, lambda count: numpy.concatenate([growing(22, count), uniform(1, count)])),
    "sigmoid": (1.95, lambda x: 1 / (1 + mpmath.exp(-x)), lambda count: numpy.concatenate([growing(705, count), uniform(8, count)])),
}  # fmt: skip


def check_bound(name: str, count: int) -> None:
    bound, reference, arguments = BOUNDS[name]
    source = arguments(count)
    if name == "log1p":
        source = source[source > -1]
    result = float_unary(declaration_of(name), F64)(source)
    # Reducing a large angle takes as many bits as its exponent; exponents of tiny results as many again.
    with mpmath.workprec(1300 if name in ("sin", "cos", "tan", "log1p") else 160):
        worst = max(
            [(units_off(y, reference(mpmath.mpf(x))), x) for x, y in zip(source.tolist(), result.tolist(), strict=True)]
        )
    assert worst[0] <= bound, worst


@pytest.mark.parametrize("name", BOUNDS)
def test_doubles_are_within_the_documented_bound(name):
    check_bound(name, 200)


@pytest.mark.long
@pytest.mark.parametrize("name", BOUNDS)
def test_many_doubles_are_within_the_documented_bound(name):
    check_bound(name, 8_000)


@pytest.mark.parametrize("name", ["exp", "exp2", "sigmoid"])
def test_subnormal_doubles_are_within_two_units(name):
    least, greatest = {"exp": (-745, -708), "exp2": (-1074, -1022), "sigmoid": (-745, -708)}[name]
    source = GENERATOR.uniform(least, greatest, 500)
    result = float_unary(declaration_of(name), F64)(source)
    with mpmath.workprec(160):
        assert max([units_off(y, BOUNDS[name][1](mpmath.mpf(x))) for x, y in zip(source, result, strict=True)]) <= 1.5


def check_power(base: numpy.ndarray, exponent: numpy.ndarray, bound: float) -> None:
    result = float_power(F64)(base, exponent)
    with mpmath.workprec(160):
        for x, y, got in zip(base.tolist(), exponent.tolist(), result.tolist(), strict=True):
            want = mpmath.power(mpmath.mpf(x), mpmath.mpf(y))
            assert units_off(got, want) <= (bound if want > mpmath.mpf(2) ** -1022 else 1.5), (x, y)


@pytest.mark.parametrize("count", [1500, pytest.param(50_000, marks=pytest.mark.long)])
def test_powers_of_doubles_are_within_their_bound(count):
    base = numpy.abs(any_magnitude(-320, 307, count))
    base[: count // 2] = GENERATOR.uniform(0.5, 2, count // 2)
    base[: count // 4] = 1 + any_magnitude(-15.6, -2, count // 4)
    # Most results of a random power are zero or infinite: these exponents reach just over the range.
    exponent = uniform(746, count) / numpy.log(base)
    check_power(base, exponent, 0.8)
    check_power(base, numpy.rint(uniform(6, count)), 0.8)


@pytest.mark.parametrize("count", [1500, pytest.param(50_000, marks=pytest.mark.long)])
def test_angles_of_doubles_are_within_their_bound(count):
    y = any_magnitude(-320, 307, count)
    ratios = [any_magnitude(-3, 3, count), GENERATOR.uniform(-1.1, 1.1, count), any_magnitude(-300, 300, count)]
    for x in [y * ratio for ratio in ratios]:
        result = float_atan2(F64)(y, x)
        with mpmath.workprec(1200):
            for a, b, got in zip(y.tolist(), x.tolist(), result.tolist(), strict=True):
                if math.isfinite(b):
                    assert units_off(got, mpmath.atan2(mpmath.mpf(a), mpmath.mpf(b))) <= 0.7, (a, b)


# f32 against f64


SINGLES = [
    "exp",
    "exp2",
    "log",
    "log2",
    "log10",
    "log1p",
    "sin",
    "cos",
    "tan",
    "sinh",
    "cosh",
    "tanh",
    "sigmoid",
    "rsqrt",
]


def check_single(got: numpy.ndarray, near: numpy.ndarray) -> None:
    """The f32 results are those of f64, which are right to 2**-50, rounded: within 0.5008 of a unit."""
    finite = numpy.isfinite(near)
    assert numpy.isnan(got[numpy.isnan(near)]).all()
    assert (got[numpy.isinf(near)] == near[numpy.isinf(near)]).all()
    got = got[finite].astype(numpy.float64)
    near = near[finite]
    unit = numpy.ldexp(1.0, numpy.maximum(numpy.frexp(near)[1] - 1, -126) - 23)
    limit = 2.0**128 - 2.0**103
    beyond = numpy.isinf(got)
    assert (numpy.abs(near[beyond]) >= limit * (1 - 2.0**-30)).all()
    off = numpy.abs(got - near)[~beyond] / unit[~beyond]
    assert off.max() <= 0.5008, near[~beyond][off.argmax()]


def singles(stride: int) -> numpy.ndarray:
    return numpy.arange(0, 1 << 32, stride, dtype=numpy.uint32).view(numpy.float32)


# Primes, so that all low bits occur.
@pytest.mark.parametrize("stride", [32771, pytest.param(1031, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", SINGLES)
def test_singles_of_the_whole_range_agree_with_doubles(name, stride):
    source = singles(stride)
    check_single(
        float_unary(declaration_of(name), F32)(source),
        float_unary(declaration_of(name), F64)(source.astype(numpy.float64)),
    )


@pytest.mark.parametrize("name", SINGLES)
def test_singles_of_ordinary_size_agree_with_doubles(name):
    source = numpy.linspace(-110 if name == "exp" else -20, 95 if name == "exp" else 20, 60_001, dtype=numpy.float32)
    check_single(
        float_unary(declaration_of(name), F32)(source),
        float_unary(declaration_of(name), F64)(source.astype(numpy.float64)),
    )


@pytest.mark.parametrize("first", [0, 7, 100_003])
def test_powers_of_two_are_the_same_with_the_power_before_and_after_rounding(first):
    """`exp2_of_float32` goes the short way if all elements are within 125, and the other if one is not."""
    patterns = numpy.arange(first, 1 << 32, 9973, dtype=numpy.uint32).view(numpy.float32)
    ordinary = numpy.linspace(-126, 126, 100_000, dtype=numpy.float32)
    source = numpy.concatenate([patterns, ordinary, GENERATOR.uniform(-1, 1, 50_000).astype(numpy.float32)])
    wanted = exponential.exp2_single(source).astype(numpy.float32)
    near = numpy.abs(source) <= 125
    for chosen in (near, ~near, numpy.ones_like(near)):
        result = exponential.exp2_of_float32(source[chosen])
        assert result.dtype == numpy.float32
        same = (result.view(numpy.uint32) == wanted[chosen].view(numpy.uint32)) | numpy.isnan(wanted[chosen])
        assert source[chosen][~same].tolist() == []
        assert numpy.array_equal(numpy.isnan(result), numpy.isnan(wanted[chosen]))


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_singles_near_multiples_of_half_pi_agree_with_doubles(name):
    counts = numpy.concatenate([numpy.arange(1, 20_000), 2.0 ** numpy.arange(14, 126, 0.01)])
    near = (counts * (math.pi / 2)).astype(numpy.float32)
    # The f32 that comes nearest to a multiple of pi/2 is 16367173 * 2**72.
    source = numpy.concatenate(
        [near, numpy.nextafter(near, numpy.float32(0)), numpy.array([16367173 * 2.0**72], numpy.float32)]
    )
    source = numpy.concatenate([source, -source])
    check_single(
        float_unary(declaration_of(name), F32)(source),
        float_unary(declaration_of(name), F64)(source.astype(numpy.float64)),
    )


def test_powers_and_angles_of_singles_agree_with_doubles():
    bits = GENERATOR.integers(0, 1 << 32, (2, 100_000), dtype=numpy.uint64).astype(numpy.uint32)
    x, y = bits.view(numpy.float32)
    base = numpy.abs(x)
    base[::2] = GENERATOR.uniform(0.5, 2, 50_000)
    exponent = (uniform(110, 100_000) / numpy.log(base.astype(numpy.float64))).astype(numpy.float32)
    for kernel, a, b in (
        (float_power, base, exponent),
        (float_power, x, y),
        (float_atan2, x, y),
        (float_atan2, exponent, base),
    ):
        check_single(kernel(F32)(a, b), kernel(F64)(a.astype(numpy.float64), b.astype(numpy.float64)))


# Special values


def c_power(x: float, y: float) -> float:
    """C's pow, which `math.pow` is but for its exceptions."""
    negative = math.copysign(1, x) < 0 and math.isfinite(y) and math.fmod(y, 2) in (1, -1)
    try:
        return math.pow(x, y)
    except OverflowError:
        return -math.inf if negative else math.inf
    except ValueError:
        if x == 0:
            return -math.inf if negative else math.inf
        return math.nan


NOTABLE = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 2.0**-1074, 2.0**1000, 2.0**52 + 1, 2.0**53 - 1, 2.0**53, 2.0**60, math.inf]


def same(got: numpy.ndarray, want: list[float]) -> bool:
    expected = numpy.array(want)
    equal = (got == expected) & (numpy.signbit(got) == numpy.signbit(expected))
    return bool(numpy.all(equal | (numpy.isnan(got) & numpy.isnan(expected))))


def pairs() -> tuple[numpy.ndarray, numpy.ndarray]:
    numbers = [*NOTABLE, *[-x for x in NOTABLE], math.nan]
    left = [x for x in numbers for _ in numbers]
    return numpy.array(left), numpy.array(numbers * len(numbers))


def test_powers_of_notable_values_are_those_of_c():
    x, y = pairs()
    got = float_power(F64)(x, y)
    want = numpy.array([c_power(a, b) for a, b in zip(x.tolist(), y.tolist(), strict=True)])
    # Where the result is no special value and not exact, C does not say which neighbor it is.
    special = ~numpy.isfinite(want) | (want == 0) | (numpy.abs(want) == 1)
    assert same(got[special], want[special].tolist())
    assert numpy.allclose(got[~special], want[~special], rtol=2.0**-51, atol=0)


def test_exact_powers_are_exact():
    base, exponent = numpy.meshgrid(numpy.arange(-30.0, 31.0), numpy.arange(0.0, 11.0))
    want = [float(int(x) ** int(y)) for x, y in zip(base.ravel().tolist(), exponent.ravel().tolist(), strict=True)]
    assert float_power(F64)(base, exponent).ravel().tolist() == want


def test_angles_of_notable_values_are_those_of_c():
    y, x = pairs()
    want = [math.atan2(a, b) for a, b in zip(y.tolist(), x.tolist(), strict=True)]
    got = float_atan2(F64)(y, x)
    assert numpy.allclose(got, want, rtol=2.0**-51, atol=0, equal_nan=True)
    assert (numpy.signbit(got) == numpy.signbit(want))[~numpy.isnan(got)].all()


def test_odd_functions_keep_the_sign_of_zero_and_of_subnormals():
    source = numpy.array([0.0, -0.0, 2.0**-1074, -(2.0**-1074), 2.0**-1022, -(2.0**-1030)])
    for name in ("sin", "tan", "sinh", "tanh", "log1p"):
        assert same(float_unary(declaration_of(name), F64)(source), source.tolist()), name
        single = source.astype(numpy.float32)
        assert same(float_unary(declaration_of(name), F32)(single).astype(numpy.float64), single.tolist()), name


def test_powers_of_two_have_exact_exponentials_and_logarithms():
    exponents = numpy.arange(-1074.0, 1024.0)
    powers = numpy.ldexp(1.0, exponents.astype(numpy.int32))
    assert (float_unary(declaration_of("exp2"), F64)(exponents) == powers).all()
    assert (float_unary(declaration_of("log2"), F64)(powers) == exponents).all()


def test_powers_of_ten_have_exact_decimal_logarithms():
    exponents = numpy.arange(0.0, 23.0)
    powers = numpy.array([10.0**exponent for exponent in range(23)])
    assert (float_unary(declaration_of("log10"), F64)(powers) == exponents).all()


def test_a_nan_of_any_payload_stays_one():
    payloads = numpy.array([0x7FF8000000000FFF, 0xFFFFFFFFFFFFFFFF, 0x7FF0000000000001], numpy.uint64).view(
        numpy.float64
    )
    for name in SINGLES:
        assert numpy.isnan(float_unary(declaration_of(name), F64)(payloads)).all(), name
    single = numpy.array([0x7FC00FFF, 0xFFFFFFFF], numpy.uint32).view(numpy.float32)
    for name in SINGLES:
        assert numpy.isnan(float_unary(declaration_of(name), F32)(single)).all(), name


# The same bits everywhere

DIGEST = """
import hashlib, numpy
from tileir.declarations import declaration_of
from tileir.execute.arithmetic.functions import float_atan2, float_power, float_unary
from tileir.ir.types import F32, F64
digest = hashlib.sha256()
bits = numpy.random.default_rng(1).integers(0, 1 << 63, 8000, dtype=numpy.uint64)
ordinary = numpy.random.default_rng(2).normal(0, 20, 8000)
with numpy.errstate(all="ignore"):
    for element, dtype in ((F64, numpy.float64), (F32, numpy.float32)):
        x = numpy.concatenate([(bits * numpy.uint64(2)).view(dtype)[:8000], ordinary.astype(dtype)])
        results = [float_unary(declaration_of(name), element)(x) for name in NAMES]
        results += [float_power(element)(x, x[::-1]), float_atan2(element)(x, x[::-1])]
        for result in results:
            digest.update(numpy.where(numpy.isnan(result), dtype(numpy.nan), result).tobytes())
print(digest.hexdigest())
"""


def test_results_do_not_depend_on_the_instructions_that_numpy_uses():
    umath = getattr(numpy, "_core", None) or numpy.core
    features = " ".join(umath._multiarray_umath.__cpu_dispatch__)
    digests = set()
    for disabled in ("", features):
        environment = {**os.environ, "NPY_DISABLE_CPU_FEATURES": disabled}
        program = DIGEST.replace("NAMES", repr(SINGLES))
        command = [sys.executable, "-W", "ignore", "-c", program]
        finished = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        digests.add(finished.stdout)
    assert len(digests) == 1 and len(digests.pop()) == 65
