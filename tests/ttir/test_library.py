"""Functions of libdevice: accuracy against mpmath, and the exact ones bit for bit.

A bound is the largest difference from the correctly rounded result, in units in the last place, that CUDA's
documentation states for f32 and f64.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np
import pytest
from tests.execute.exact_model import units_off
from tests.ttir.programs import NUMPY, Array, applied, each_backend, module

from tileir.ir.floats import FORMATS
from tileir.ttir import TTIRError, translate

COUNT = 128


def called(symbol: str, operands: Sequence[Array], result: str, backend: str = "interpreter") -> Array:
    attributes = f'<{{libname = "", libpath = "", pure = true, symbol = "{symbol}"}}>'
    return applied("tt.extern_elementwise", operands, [(result, operands[0].shape)], attributes, backend)[0]


def norm(*parts: Any) -> Any:
    return mpmath.sqrt(sum([each * each for each in parts]))


UNARY: dict[str, tuple[Callable[..., Any], tuple[float, float], float, float]] = {
    "acos": (mpmath.acos, (2, 2), -1, 1),
    "acosh": (mpmath.acosh, (4, 3), 1, 1e30),
    "asin": (mpmath.asin, (2, 2), -1, 1),
    "asinh": (mpmath.asinh, (3, 3), -1e30, 1e30),
    "atan": (mpmath.atan, (2, 2), -1e30, 1e30),
    "atanh": (mpmath.atanh, (3, 2), -1, 1),
    "cbrt": (lambda x: mpmath.sign(x) * mpmath.root(abs(x), 3), (1, 1), -1e38, 1e38),
    "cos": (mpmath.cos, (2, 2), -1e5, 1e5),
    "cosh": (mpmath.cosh, (2, 1), -88, 88),
    "cospi": (mpmath.cospi, (1, 2), -1e3, 1e3),
    "erf": (mpmath.erf, (2, 2), -6, 6),
    "exp": (mpmath.exp, (2, 1), -100, 88),
    "exp10": (lambda x: mpmath.power(10, x), (2, 1), -45, 38),
    "exp2": (lambda x: mpmath.power(2, x), (2, 1), -140, 127),
    "expm1": (mpmath.expm1, (1, 1), -88, 88),
    "log": (mpmath.log, (1, 1), 0, 1e38),
    "log10": (mpmath.log10, (2, 1), 0, 1e38),
    "log1p": (mpmath.log1p, (1, 1), -1, 1e38),
    "log2": (lambda x: mpmath.log(x, 2), (1, 1), 0, 1e38),
    "rcbrt": (lambda x: mpmath.sign(x) / mpmath.root(abs(x), 3), (1, 1), -1e38, 1e38),
    "rsqrt": (lambda x: 1 / mpmath.sqrt(x), (2, 1), 0, 1e38),
    "sin": (mpmath.sin, (2, 2), -1e5, 1e5),
    "sinh": (mpmath.sinh, (3, 2), -88, 88),
    "sinpi": (mpmath.sinpi, (1, 2), -1e3, 1e3),
    "sqrt": (mpmath.sqrt, (0, 0), 0, 1e38),
    "tan": (mpmath.tan, (4, 2), -1e5, 1e5),
    "tanh": (mpmath.tanh, (2, 2), -20, 20),
}
SEVERAL: dict[str, tuple[int, Callable[..., Any], tuple[float, float]]] = {
    "atan2": (2, mpmath.atan2, (3, 2)),
    "hypot": (2, norm, (3, 2)),
    "norm3d": (3, norm, (3, 2)),
    "norm4d": (4, norm, (3, 2)),
    "pow": (2, lambda x, y: mpmath.power(abs(x), y), (4, 2)),
    "rhypot": (2, lambda *x: 1 / norm(*x), (2, 1)),
    "rnorm3d": (3, lambda *x: 1 / norm(*x), (2, 1)),
    "rnorm4d": (4, lambda *x: 1 / norm(*x), (2, 1)),
}


def symbol_of(name: str, type: str) -> str:
    return f"__nv_{name}{'f' if type == 'f32' else ''}"


def samples(low: float, high: float, type: str, seed: int = 0) -> Array:
    """Numbers of an interval: evenly spread, and with evenly spread exponents."""
    random = np.random.default_rng(seed)
    even = random.uniform(max(low, -20), min(high, 20), COUNT // 2)
    sizes = np.exp2(random.uniform(-60, math.log2(max(abs(low), high)), COUNT // 2))
    wide = np.where((random.random(COUNT // 2) < 0.5) & (low < 0), -sizes, sizes)
    with np.errstate(over="ignore"):
        found = np.concatenate([even, np.clip(wide, low, high)]).astype(NUMPY[type])
    return np.where((found <= low) | (found >= high), NUMPY[type]((low + min(high, 3 * low + 3)) / 2), found)


def check(found: Array, operands: Sequence[Array], exact: Callable[..., Any], bound: float, type: str) -> None:
    worst = (0.0, ())
    with mpmath.workprec(300):
        for got, *arguments in zip(found.tolist(), *[each.tolist() for each in operands], strict=True):
            want = exact(*[mpmath.mpf(each) for each in arguments])
            worst = max(worst, (units_off(FORMATS[type], got, want), tuple(arguments)))
    assert worst[0] <= bound + 0.5, worst


@pytest.mark.parametrize("type", ["f32", "f64"])
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_number_are_within_the_documented_bounds(name: str, type: str) -> None:
    exact, bounds, low, high = UNARY[name]
    x = samples(low, high, type)
    check(called(symbol_of(name, type), [x], type), [x], exact, bounds[type == "f64"], type)


@pytest.mark.parametrize("type", ["f32", "f64"])
@pytest.mark.parametrize("name", SEVERAL)
def test_functions_of_several_numbers_are_within_the_documented_bounds(name: str, type: str) -> None:
    count, exact, bounds = SEVERAL[name]
    operands = [samples(-1e12, 1e12, type, seed) for seed in range(count)]
    if name == "pow":
        operands = [np.abs(operands[0]), (operands[1] % 3).astype(NUMPY[type])]
    check(called(symbol_of(name, type), operands, type), operands, exact, bounds[type == "f64"], type)


SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, math.inf, -math.inf, math.nan, 5e-324, -1e-40, 1e-310, 3e38]


def exact_samples(type: str) -> Array:
    with np.errstate(over="ignore"):
        return np.concatenate([SPECIAL, samples(-1e6, 1e6, type)]).astype(NUMPY[type])


def pairs(type: str) -> tuple[Array, Array]:
    """Each special number with each, and random ones; the second ones are near the first ones."""
    x = exact_samples(type)
    first, second = np.repeat(x[:16], 16), np.tile(x[:16], 16)
    return np.concatenate([first, x[:128]]), np.concatenate([second, np.roll(x, 1)[:128] / 3]).astype(x.dtype)


SPECIAL_VALUES = ["acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "cos", "exp", "exp2", "expm1", "log1p"]
SPECIAL_VALUES += ["log", "sin", "sinh", "sqrt", "tan", "tanh"]


@pytest.mark.parametrize("type", ["f32", "f64"])
@pytest.mark.parametrize("name", SPECIAL_VALUES)
@np.errstate(all="ignore")
def test_special_values(name: str, type: str) -> None:
    numpy_name = {"acos": "arccos", "asin": "arcsin", "atan": "arctan", "acosh": "arccosh", "asinh": "arcsinh"}
    x = exact_samples(type)[:16]
    expected = getattr(np, numpy_name.get(name, "arctanh" if name == "atanh" else name))(x)
    found = called(symbol_of(name, type), [x], type)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=0)
    assert np.array_equal(np.signbit(found)[~np.isnan(found)], np.signbit(expected)[~np.isnan(expected)])


def half_away(x: Array) -> Array:
    return np.where(np.abs(x) < 2.0**52, np.copysign(np.floor(np.abs(x) + 0.5), x), x).astype(x.dtype)


def exponents(x: Array) -> Array:
    return np.where(x == 0, -np.inf, np.where(np.isinf(x), np.inf, np.frexp(x)[1] - 1.0 + 0 * x)).astype(x.dtype)


EXACT: dict[str, tuple[Callable[..., Array], str]] = {
    "ceil": (np.ceil, ""),
    "finite": (np.isfinite, "i32"),
    "floor": (np.floor, ""),
    "isinf": (np.isinf, "i32"),
    "isnan": (np.isnan, "i32"),
    "logb": (exponents, ""),
    "nearbyint": (np.rint, ""),
    "rint": (np.rint, ""),
    "round": (half_away, ""),
    "signbit": (np.signbit, "i32"),
    "trunc": (np.trunc, ""),
}
EXACT_PAIRS: dict[str, Callable[..., Array]] = {
    "copysign": np.copysign,
    "fdim": lambda x, y: np.where(x <= y, 0, x - y).astype(x.dtype),
    "fmod": np.fmod,
    "nextafter": np.nextafter,
    "remainder": np.vectorize(lambda x, y: math.remainder(x, y) if math.isfinite(x) and y else math.nan * x),
}


@each_backend
@pytest.mark.parametrize("type", ["f32", "f64"])
@pytest.mark.parametrize("name", EXACT)
@np.errstate(all="ignore")
def test_exact_functions(name: str, type: str, backend: str) -> None:
    function, result = EXACT[name]
    x = exact_samples(type)
    letter = {"f32": "f", "f64": "d" if name in ("isinf", "isnan", "signbit") else ""}[type]
    symbol = "__nv_isfinited" if (name, type) == ("finite", "f64") else f"__nv_{name}{letter}"
    found, expected = called(symbol, [x[:128]], result or type, backend), function(x[:128])
    assert np.array_equal(found, expected.astype(found.dtype), equal_nan=True)
    if not result:
        assert np.array_equal(np.signbit(found[found == 0]), np.signbit(expected[expected == 0]))


@each_backend
@pytest.mark.parametrize("type", ["f32", "f64"])
@pytest.mark.parametrize("name", EXACT_PAIRS)
@np.errstate(all="ignore")
def test_exact_functions_of_pairs(name: str, type: str, backend: str) -> None:
    operands = [each[:256] for each in pairs(type)]
    found = called(symbol_of(name, type), operands, type, backend)
    expected = EXACT_PAIRS[name](*operands).astype(found.dtype)
    assert np.array_equal(found, expected, equal_nan=True)
    here = found == 0
    assert np.array_equal(np.signbit(found[here]), np.signbit(expected[here]))


@each_backend
@pytest.mark.parametrize("type", ["f32", "f64"])
@np.errstate(all="ignore")
def test_powers_of_two(type: str, backend: str) -> None:
    x = exact_samples(type)[:128]
    for shift in (0, 1, -1, 130, -140, -1070, 2098, -2200, 2**31 - 1, -(2**31)):
        n = np.full(x.shape, shift, np.int32)
        found = called(symbol_of("ldexp", type), [x, n], type, backend)
        assert np.array_equal(found, np.ldexp(x, n), equal_nan=True), shift
    found = called(symbol_of("ilogb", type), [x], "i32", backend)
    sure = np.isfinite(x) & (x != 0)
    assert np.array_equal(found[sure], np.frexp(x[sure])[1] - 1)
    assert np.array_equal(found[~sure], np.where(np.isinf(x[~sure]), 2**31 - 1, -(2**31)))


def bits_of(x: int, count: int) -> str:
    return f"{int(x) & (1 << count) - 1:0{count}b}"


INTEGERS: dict[str, tuple[str, Callable[..., int]]] = {
    "abs": ("i32 i32", abs),
    "brev": ("i32 i32", lambda x: int(bits_of(x, 32)[::-1], 2)),
    "brevll": ("i64 i64", lambda x: int(bits_of(x, 64)[::-1], 2)),
    "clz": ("i32 i32", lambda x: (bits_of(x, 32) + "1").index("1")),
    "clzll": ("i64 i32", lambda x: (bits_of(x, 64) + "1").index("1")),
    "ffs": ("i32 i32", lambda x: (x & -x).bit_length()),
    "ffsll": ("i64 i32", lambda x: (x & -x).bit_length()),
    "hadd": ("i32 i32 i32", lambda x, y: (x + y) >> 1),
    "llabs": ("i64 i64", abs),
    "mul24": ("i32 i32 i32", lambda x, y: signed24(x) * signed24(y)),
    "mul64hi": ("i64 i64 i64", lambda x, y: x * y >> 64),
    "mulhi": ("i32 i32 i32", lambda x, y: x * y >> 32),
    "popc": ("i32 i32", lambda x: bits_of(x, 32).count("1")),
    "popcll": ("i64 i32", lambda x: bits_of(x, 64).count("1")),
    "rhadd": ("i32 i32 i32", lambda x, y: (x + y + 1) >> 1),
    "sad": ("i32 i32 i32 i32", lambda x, y, z: abs(x - y) + z),
    "uhadd": ("i32 i32 i32", lambda x, y: (x % 2**32 + y % 2**32) >> 1),
    "umul24": ("i32 i32 i32", lambda x, y: x % 2**24 * (y % 2**24)),
    "umul64hi": ("i64 i64 i64", lambda x, y: x % 2**64 * (y % 2**64) >> 64),
    "umulhi": ("i32 i32 i32", lambda x, y: x % 2**32 * (y % 2**32) >> 32),
    "urhadd": ("i32 i32 i32", lambda x, y: (x % 2**32 + y % 2**32 + 1) >> 1),
    "usad": ("i32 i32 i32 i32", lambda x, y, z: abs(x % 2**32 - y % 2**32) + z),
    "byte_perm": ("i32 i32 i32 i32", lambda x, y, s: selected_bytes(x % 2**32 | y % 2**32 << 32, s)),
}


def signed24(x: int) -> int:
    return (x + 2**23) % 2**24 - 2**23


def selected_bytes(both: int, selector: int) -> int:
    return sum([(both >> 8 * (selector >> 4 * each & 7) & 255) << 8 * each for each in range(4)])


@each_backend
@pytest.mark.parametrize("name", INTEGERS)
def test_integer_functions(name: str, backend: str) -> None:
    types, function = INTEGERS[name]
    *sources, result = [NUMPY[each] for each in types.split()]
    random = np.random.default_rng(7)
    operands: list[np.ndarray] = []
    for each in sources:
        low, high = np.iinfo(each).min, np.iinfo(each).max
        values = random.integers(low, high, 64, each, endpoint=True)
        values[:8] = [0, 1, -1, low, high, 2, 24, -24]
        operands.append(np.roll(values, len(operands)))
    found = called(f"__nv_{name}", operands, types.split()[-1], backend)
    width = np.iinfo(result).bits
    expected = [bits_of(function(*each), width) for each in zip(*[o.tolist() for o in operands], strict=True)]
    assert [bits_of(each, width) for each in found.tolist()] == expected


MODES = {"rn": "n", "rz": "d", "rd": "f", "ru": "c"}
"""The rounding modes and their letters in mpmath."""


def rounded(x: Any, precision: int, mode: str) -> Any:
    """An exact number with so many bits."""
    with mpmath.workprec(precision):
        return mpmath.fdiv(x, 1, rounding=MODES[mode])


@each_backend
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("type", ["f32", "f64"])
def test_arithmetic_with_a_rounding_mode(type: str, mode: str, backend: str) -> None:
    letter, precision = ("f", 24) if type == "f32" else ("d", 53)
    x, y, z = [samples(0.01, 1e3, type, seed) for seed in range(3)]
    exact: dict[str, tuple[Sequence[Array], Callable[..., Any]]] = {
        f"{letter}add": ([x, y], lambda a, b: a + b),
        f"{letter}sub": ([x, y], lambda a, b: a - b),
        f"{letter}mul": ([x, y], lambda a, b: a * b),
        f"{letter}div": ([x, y], lambda a, b: a / b),
        f"{letter}rcp": ([x], lambda a: 1 / a),
        f"{letter}sqrt": ([x], mpmath.sqrt),
        "fmaf" if type == "f32" else "fma": ([x, y, z], lambda a, b, c: a * b + c),
    }
    for name, (operands, function) in exact.items():
        found = called(f"__nv_{name}_{mode}", operands, type, backend).tolist()
        with mpmath.workprec(600):
            arguments = [
                [mpmath.mpf(each) for each in row] for row in zip(*[o.tolist() for o in operands], strict=True)
            ]
            expected = [float(rounded(function(*row), precision, mode)) for row in arguments]
        assert found == expected, name


@each_backend
@pytest.mark.parametrize("mode", MODES)
def test_conversions_with_a_rounding_mode(mode: str, backend: str) -> None:
    to_whole = {"rn": np.rint, "rz": np.trunc, "rd": np.floor, "ru": np.ceil}[mode]
    for type, name in (("f32", "float"), ("f64", "double")):
        x = samples(-1e6, 1e6, type)
        for target, letters in (("i32", "int"), ("i64", "ll")):
            found = called(f"__nv_{name}2{letters}_{mode}", [x], target, backend)
            assert np.array_equal(found, to_whole(x).astype(found.dtype))
            found = called(f"__nv_{name}2u{letters}_{mode}", [abs(x)], target, backend)
            assert np.array_equal(found, to_whole(abs(x)).astype(found.dtype))
    x = samples(-1e6, 1e6, "f64")
    wide = np.array([rounded(mpmath.mpf(each), 24, mode) for each in x.tolist()], np.float32)
    assert np.array_equal(called(f"__nv_double2float_{mode}", [x], "f32", backend), wide)
    n = np.random.default_rng(1).integers(-(2**31), 2**31, 64, np.int32)
    for symbol, numbers in (("int", n.tolist()), ("uint", n.view(np.uint32).tolist())):
        expected = np.array([rounded(mpmath.mpf(each), 24, mode) for each in numbers], np.float32)
        assert np.array_equal(called(f"__nv_{symbol}2float_{mode}", [n], "f32", backend), expected)


def test_conversions_of_integers_to_nearest() -> None:
    n = np.random.default_rng(2).integers(-(2**63), 2**63, 64, np.int64)
    for source, target in (("ll", "float"), ("ll", "double"), ("ull", "float"), ("ull", "double")):
        type = "f32" if target == "float" else "f64"
        expected = (n.view(np.uint64) if source == "ull" else n).astype(NUMPY[type])
        assert np.array_equal(called(f"__nv_{source}2{target}_rn", [n], type), expected)
    assert np.array_equal(called("__nv_uint2double_rn", [np.array([-1], np.int32)], "f64"), [2.0**32 - 1])


def test_reinterpreted_bits() -> None:
    x = samples(-1e6, 1e6, "f64")
    low, high = x.view(np.int32)[::2].copy(), x.view(np.int32)[1::2].copy()
    assert np.array_equal(called("__nv_double2loint", [x], "i32"), low)
    assert np.array_equal(called("__nv_double2hiint", [x], "i32"), high)
    assert np.array_equal(called("__nv_hiloint2double", [high, low], "f64"), x)
    assert np.array_equal(called("__nv_double_as_longlong", [x], "i64"), x.view(np.int64))
    assert np.array_equal(called("__nv_uint_as_float", [low], "f32"), low.view(np.float32), equal_nan=True)


@pytest.mark.parametrize(
    ("symbol", "library", "message"),
    [
        ("__nv_j0f", "", "the function '__nv_j0f' of libdevice is not supported: Tile IR has no counterpart"),
        ("__nv_erfcf", "", "'__nv_erfcf' of libdevice"),
        ("__nv_ll2float_rz", "", "'__nv_ll2float_rz' of libdevice"),
        ("my_function", "mine", "'my_function' of the library 'mine'"),
    ],
)
def test_other_functions_are_refused_by_name(symbol: str, library: str, message: str) -> None:
    attributes = f'<{{libname = "{library}", libpath = "", pure = true, symbol = "{symbol}"}}>'
    text = module("%x: f32", f'%y = "tt.extern_elementwise"(%x) {attributes} : (f32) -> f32 loc("user.py":7:3)')
    with pytest.raises(TTIRError) as caught:
        translate(text)
    assert message in str(caught.value) and "user.py:7" in str(caught.value)
