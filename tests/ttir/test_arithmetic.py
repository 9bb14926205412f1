"""Every operation on numbers, compared with NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest
from tests.ttir.programs import COUNT, NUMPY, applied, launch, module, run, store

RANDOM = np.random.default_rng(7)
SPECIAL = [0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0, 0.5]


def floats(type: str, low: float = -4.0, high: float = 4.0) -> np.ndarray:
    return RANDOM.uniform(low, high, COUNT).astype(NUMPY[type])


def special(type: str) -> np.ndarray:
    return np.array(SPECIAL + SPECIAL[::-1], NUMPY[type])


def integers(type: str) -> np.ndarray:
    if type == "i1":
        return RANDOM.integers(0, 2, COUNT).astype(np.bool_)
    bounds = np.iinfo(NUMPY[type])
    return RANDOM.integers(bounds.min, bounds.max, COUNT, NUMPY[type], endpoint=True)


def unsigned(values: np.ndarray) -> np.ndarray:
    return values.view(values.dtype.name.replace("int", "uint"))


def one(operation: str, *inputs: np.ndarray, type: str, attributes: str = "") -> np.ndarray:
    return applied(operation, inputs, [(type, inputs[0].shape)], attributes)[0]


def exactly(function: Callable[[int, int], int], bits: int) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """A function of Python's integers on arrays, with the low bits of its results."""

    def apply(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        found = [function(int(x), int(y)) & ((1 << bits) - 1) for x, y in zip(a, b, strict=True)]
        return np.array(found, f"uint{bits}").view(f"int{bits}")

    return apply


def truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


INTEGER: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "arith.addi": np.add,
    "arith.subi": np.subtract,
    "arith.muli": np.multiply,
    "arith.andi": np.bitwise_and,
    "arith.ori": np.bitwise_or,
    "arith.xori": np.bitwise_xor,
    "arith.maxsi": np.maximum,
    "arith.minsi": np.minimum,
    "arith.maxui": lambda a, b: np.maximum(unsigned(a), unsigned(b)).view(a.dtype),
    "arith.minui": lambda a, b: np.minimum(unsigned(a), unsigned(b)).view(a.dtype),
    "arith.divui": lambda a, b: (unsigned(a) // unsigned(b)).view(a.dtype),
    "arith.remui": lambda a, b: (unsigned(a) % unsigned(b)).view(a.dtype),
    "arith.divsi": lambda a, b: exactly(truncated, 8 * a.itemsize)(a, b),
    "arith.remsi": lambda a, b: exactly(lambda x, y: x - truncated(x, y) * y, 8 * a.itemsize)(a, b),
    "tt.mulhiui": lambda a, b: exactly(lambda x, y: x * y >> 8 * a.itemsize, 8 * a.itemsize)(unsigned(a), unsigned(b)),
}


@pytest.mark.parametrize("type", ["i8", "i16", "i32", "i64"])
@pytest.mark.parametrize("operation", INTEGER)
def test_integers(operation: str, type: str) -> None:
    a, b = integers(type), integers(type)
    b[b == 0] = 1
    assert np.array_equal(one(operation, a, b, type=type), INTEGER[operation](a, b))


@pytest.mark.parametrize("flags", ["none", "nsw", "nuw", "nsw, nuw"])
def test_overflow_flags_change_no_result(flags: str) -> None:
    a, b = np.arange(COUNT, dtype=np.int32), np.arange(COUNT, dtype=np.int32) + 7
    attributes = f"<{{overflowFlags = #arith.overflow<{flags}>}}>"
    assert np.array_equal(one("arith.addi", a, b, type="i32", attributes=attributes), a + b)


@pytest.mark.parametrize("type", ["i8", "i32", "i64"])
def test_shifts(type: str) -> None:
    a = integers(type)
    by = RANDOM.integers(0, 8 * a.itemsize, COUNT).astype(a.dtype)
    assert np.array_equal(one("arith.shli", a, by, type=type), a << by)
    assert np.array_equal(one("arith.shrsi", a, by, type=type), a >> by)
    assert np.array_equal(one("arith.shrui", a, by, type=type), (unsigned(a) >> unsigned(by)).view(a.dtype))


SIGNED_PREDICATES = (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal)


@pytest.mark.parametrize("predicate", range(10))
@pytest.mark.parametrize("type", ["i8", "i64"])
def test_integer_comparisons(type: str, predicate: int) -> None:
    a, b = integers(type), integers(type)
    b[:4] = a[:4]
    found = one("arith.cmpi", a, b, type="i1", attributes=f"<{{predicate = {predicate} : i64}}>")
    x, y = (a, b) if predicate < 6 else (unsigned(a), unsigned(b))
    assert np.array_equal(found, SIGNED_PREDICATES[predicate if predicate < 6 else predicate - 4](x, y))


FLOAT_PREDICATES = (np.equal, np.greater, np.greater_equal, np.less, np.less_equal, np.not_equal)


@pytest.mark.parametrize("predicate", range(16))
def test_float_comparisons(predicate: int) -> None:
    a, b = special("f32"), np.roll(special("f32"), 5)
    unordered = np.isnan(a) | np.isnan(b)
    expected = [np.zeros(COUNT, np.bool_), *[compare(a, b) & ~unordered for compare in FLOAT_PREDICATES], ~unordered]
    expected += [compare(a, b) | unordered for compare in FLOAT_PREDICATES]
    expected += [unordered, np.ones(COUNT, np.bool_)]
    found = one("arith.cmpf", a, b, type="i1", attributes=f"<{{predicate = {predicate} : i64}}>")
    assert np.array_equal(found, expected[predicate])


FLOAT: dict[str, Callable[..., np.ndarray]] = {
    "arith.addf": np.add,
    "arith.subf": np.subtract,
    "arith.mulf": np.multiply,
    "arith.divf": np.divide,
    "arith.remf": np.fmod,
    "arith.negf": np.negative,
    "arith.maxnumf": np.fmax,
    "arith.minnumf": np.fmin,
    "arith.maximumf": np.maximum,
    "arith.minimumf": np.minimum,
    "math.absf": np.abs,
    "math.ceil": np.ceil,
    "math.floor": np.floor,
    "math.sqrt": np.sqrt,
    "tt.precise_sqrt": np.sqrt,
    "tt.precise_divf": np.divide,
    "tt.approx_divf": np.divide,
}
UNARY = {"arith.negf", "math.absf", "math.ceil", "math.floor", "math.sqrt", "tt.precise_sqrt"}


@pytest.mark.parametrize("values", [floats, special])
@pytest.mark.parametrize("type", ["f16", "f32", "f64"])
@pytest.mark.parametrize("operation", FLOAT)
@np.errstate(all="ignore")
def test_floats(operation: str, type: str, values: Callable[[str], np.ndarray]) -> None:
    inputs = [values(type)] if operation in UNARY else [values(type), np.roll(values(type), 3)]
    assert np.array_equal(one(operation, *inputs, type=type), FLOAT[operation](*inputs), equal_nan=True)


@pytest.mark.parametrize("type", ["f8E4M3FN", "f8E5M2"])
@pytest.mark.parametrize("operation", FLOAT)
@np.errstate(all="ignore")
def test_floats_of_8_bits(operation: str, type: str) -> None:
    """Conversions to them have no infinity."""
    values = special if operation == "math.absf" else floats
    test_floats(operation, type, values)
    a, b = floats(type), floats(type)
    assert np.array_equal(one("arith.cmpf", a, b, type="i1", attributes="<{predicate = 4 : i64}>"), a < b)


FUNCTIONS: dict[str, Callable[[float], float]] = {
    "math.cos": math.cos,
    "math.sin": math.sin,
    "math.exp": math.exp,
    "math.exp2": lambda x: 2.0**x,
    "math.log": math.log,
    "math.log2": math.log2,
    "math.rsqrt": lambda x: 1 / math.sqrt(x),
    "math.erf": math.erf,
}


@pytest.mark.parametrize("type", ["f32", "f64"])
@pytest.mark.parametrize("operation", FUNCTIONS)
def test_functions(operation: str, type: str) -> None:
    x = floats(type, 0.001, 4.0)
    expected = np.array([FUNCTIONS[operation](float(each)) for each in x])
    np.testing.assert_allclose(one(operation, x, type=type), expected, rtol=4 * np.finfo(NUMPY[type]).eps)


@pytest.mark.parametrize("type", ["f32", "f64"])
def test_erf(type: str) -> None:
    x = np.concatenate([special(type), floats(type, -1.1, 1.1), floats(type, -7, 7), floats(type, -1e-20, 1e-20)])
    found = one("math.erf", x, type=type)
    expected = np.array([math.erf(float(each)) for each in x])
    np.testing.assert_allclose(found, expected, rtol=6 * np.finfo(NUMPY[type]).eps)
    assert np.array_equal(np.signbit(found), np.signbit(x))


def test_fma_rounds_once() -> None:
    a = floats("f32")
    found = one("math.fma", a, a, -(a * a), type="f32")
    assert np.array_equal(found, (a.astype(np.float64) ** 2 - (a * a).astype(np.float64)).astype(np.float32))
    assert np.any(found)


def test_absolute_integers() -> None:
    a = integers("i32")
    assert np.array_equal(one("math.absi", a, type="i32"), np.abs(a))


@pytest.mark.parametrize("keeps_nan", [False, True])
def test_clamp(keeps_nan: bool) -> None:
    x, low, high = special("f32"), np.full(COUNT, -0.75, np.float32), np.full(COUNT, 0.75, np.float32)
    found = one("tt.clampf", x, low, high, type="f32", attributes=f"<{{propagateNan = {65535 * keeps_nan} : i32}}>")
    expected = np.clip(x, -0.75, 0.75)
    assert np.array_equal(found, expected if keeps_nan else np.where(np.isnan(x), low, expected), equal_nan=True)


CONVERSIONS = [
    ("arith.extsi", "i8", "i32"),
    ("arith.extsi", "i16", "i64"),
    ("arith.trunci", "i64", "i8"),
    ("arith.trunci", "i32", "i16"),
    ("arith.extf", "f16", "f32"),
    ("arith.extf", "bf16", "f64"),
    ("arith.truncf", "f64", "f32"),
    ("arith.truncf", "f32", "bf16"),
    ("arith.sitofp", "i32", "f32"),
    ("arith.sitofp", "i64", "f16"),
    ("arith.uitofp", "i1", "f32"),
    ("arith.fptosi", "f32", "i32"),
    ("arith.fptosi", "f64", "i64"),
]


@pytest.mark.parametrize(("operation", "source", "target"), CONVERSIONS)
@np.errstate(all="ignore")
def test_conversions(operation: str, source: str, target: str) -> None:
    x = floats(source, -1000, 1000) if "f" in source else integers(source)
    assert np.array_equal(one(operation, x, type=target), x.astype(NUMPY[target]))


def test_truth_values_extend_by_name() -> None:
    x = integers("i1")
    assert np.array_equal(one("arith.extui", x, type="i32"), x.astype(np.int32))
    assert np.array_equal(one("arith.extsi", x, type="i32"), -x.astype(np.int32))


def test_unsigned_conversions() -> None:
    x = integers("i32")
    assert np.array_equal(one("arith.uitofp", x, type="f64"), unsigned(x).astype(np.float64))
    assert np.array_equal(one("arith.extui", x, type="i64"), unsigned(x).astype(np.int64))
    wide = RANDOM.uniform(2.0**31, 2.0**32 - 1024, COUNT).astype(np.float32)
    assert np.array_equal(unsigned(one("arith.fptoui", wide, type="i32")), wide.astype(np.uint32))


def test_floats_out_of_range_become_the_nearest_integer() -> None:
    x = np.array([3e9, -3e9, math.inf, -math.inf, math.nan, 1.9, -1.9, 0.0], np.float32)
    low, high = -(2**31), 2**31 - 1
    assert one("arith.fptosi", x, type="i32").tolist() == [high, low, high, low, 0, 1, -1, 0]


@pytest.mark.parametrize("target", ["f16", "bf16", "f8E5M2", "f8E4M3FN"])
def test_float_conversions_round_to_nearest(target: str) -> None:
    x = floats("f32", -100, 100)
    found = one("tt.fp_to_fp", x, type=target, attributes="<{rounding = 1 : i32}>")
    assert np.array_equal(found, x.astype(NUMPY[target]))


@pytest.mark.parametrize("source", ["f8E5M2", "f8E4M3FN"])
def test_small_floats_widen(source: str) -> None:
    x = floats(source)
    assert np.array_equal(one("tt.fp_to_fp", x, type="f32"), x.astype(np.float32))
    assert np.array_equal(one("tt.fp_to_fp", x, type="f16"), x.astype(np.float16))


def test_float_conversions_round_toward_zero() -> None:
    x = floats("f32", -100, 100)
    found = one("tt.fp_to_fp", x, type="bf16", attributes="<{rounding = 0 : i32}>")
    assert np.array_equal(found, (x.view(np.uint32) >> 16).astype(np.uint16).view(ml_dtypes.bfloat16))


@pytest.mark.parametrize("target", ["f8E5M2", "f8E4M3FN"])
@pytest.mark.parametrize("source", ["f16", "bf16", "f32"])
@np.errstate(all="ignore")
def test_conversions_to_8_bits_round_toward_zero(source: str, target: str) -> None:
    """Each number with 8 bits, those between it and the next one, and those beyond the largest."""
    each = np.arange(128, dtype=np.uint8).view(NUMPY[target]).astype(np.float64)
    each = np.sort(each[np.isfinite(each)])
    between = np.concatenate([each, each[:-1] + np.diff(each) * 0.75, [each[-1] * 1.06, math.inf, math.nan]])
    x = np.resize(np.concatenate([between, -between]), 512).astype(NUMPY[source])
    types = f"(tensor<512x{source}>) -> tensor<512x{target}>"
    found = {"y": np.zeros(512, NUMPY[target])}
    run(f'%y = "tt.fp_to_fp"(%x) <{{rounding = 0 : i32}}> : {types}', {"x": x}, found)
    size = np.abs(x.astype(np.float64))
    below = each[np.searchsorted(each, size, side="right") - 1]
    # Infinities become the largest number, as in conversions to nearest.
    expected = np.where(np.isnan(size), np.nan, below)
    np.testing.assert_array_equal(np.abs(found["y"].astype(np.float64)), expected)
    signs = np.signbit(found["y"].astype(np.float64))
    assert np.array_equal(signs[~np.isnan(expected)], np.signbit(x)[~np.isnan(expected)])


def test_bits_are_reinterpreted() -> None:
    x = floats("f32")
    assert np.array_equal(one("arith.bitcast", x, type="i32"), x.view(np.int32))
    assert np.array_equal(one("tt.bitcast", x, type="i32"), x.view(np.int32))
    small = floats("f8E5M2")
    assert np.array_equal(one("tt.bitcast", small, type="i8"), small.view(np.int8))


def test_select_by_tile_and_by_scalar() -> None:
    mask, a, b = integers("i1"), floats("f32"), floats("f32")
    assert np.array_equal(one("arith.select", mask, a, b, type="f32"), np.where(mask, a, b))
    body = """%yes = "arith.constant"() <{value = dense<1> : tensor<16xi32>}> : () -> tensor<16xi32>
    %no = "arith.constant"() <{value = dense<[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]> : tensor<16xi32>}> : () -> tensor<16xi32>
    %w = "arith.select"(%c, %yes, %no) : (i1, tensor<16xi32>, tensor<16xi32>) -> tensor<16xi32>
    """
    for condition in (False, True):
        y = np.zeros(COUNT, np.int32)
        launch(module("%c: i1, %y: !tt.ptr<i32>", body + store("w", "i32", "y")), np.bool_(condition), y)
        assert np.array_equal(y, np.ones(COUNT) if condition else np.arange(1, COUNT + 1))


CONSTANTS = [
    ("dense<true> : tensor<16xi1>", "i1", True),
    ("dense<-3> : tensor<16xi8>", "i8", -3),
    ("dense<1.500000e+00> : tensor<16xf16>", "f16", 1.5),
    ("dense<0x7FC0> : tensor<16xbf16>", "bf16", math.nan),
    ("dense<0xFF800000> : tensor<16xf32>", "f32", -math.inf),
    ("dense<3.500000e+00> : tensor<16xf8E5M2>", "f8E5M2", 3.5),
    ("dense<-1.000000e-300> : tensor<16xf64>", "f64", -1e-300),
]


@pytest.mark.parametrize(("literal", "type", "expected"), CONSTANTS)
def test_constants(literal: str, type: str, expected: float) -> None:
    body = f'%w = "arith.constant"() <{{value = {literal}}}> : () -> tensor<16x{type}>\n    '
    y = np.zeros(COUNT, NUMPY[type])
    launch(module(f"%y: !tt.ptr<{type}>", body + store("w", type, "y")), y)
    assert np.array_equal(y.astype(np.float64), np.full(COUNT, expected, np.float64), equal_nan=True)


def test_poison_is_zero() -> None:
    body = '%w = "ub.poison"() <{value = #ub.poison}> : () -> tensor<16xf32>\n    '
    body += '%p = "ub.poison"() <{value = #ub.poison}> : () -> !tt.ptr<f32>\n    '
    y = np.ones(COUNT, np.float32)
    launch(module("%y: !tt.ptr<f32>", body + store("w", "f32", "y")), y)
    assert not y.any()
