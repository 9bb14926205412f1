"""Matrix products in native code agree with the interpreter's chain of fma, on every kind of machine."""

from __future__ import annotations

import functools
from typing import Any

import numpy
import pytest
from tests.execute.exact_model import notable_patterns, values

from tileir.execute.arithmetic.elementary import matrix_float, matrix_integer, matrix_scaled
from tileir.execute.arithmetic.rounding import widen
from tileir.ir import floats
from tileir.ir.types import BF16, F4E2M1FN, F8E4M3FN, F8E5M2, F8E8M0FNU, F16, F32, F64, FNV8E5M3FNU, I8, I32, TF32

pytest.importorskip("llvmlite", reason="the CPU backend needs llvmlite")

from tests.execute.cpu.macrokernels import multiplied, positions, text_of

from tileir.execute.cpu.matmul.plan import make_plan, make_scaled_plan
from tileir.execute.cpu.runtime.llvm_compile import assemble, assembly
from tileir.execute.cpu.runtime.loader import load
from tileir.execute.cpu.runtime.target import host

HERE = host("native")
MACHINES = [name for name in ("native", "x86-64-v3", "x86-64", "neoverse-n1") if host(name).runnable]
PAIRS = [
    (F32, F32), (F64, F64), (F16, F16), (F16, F32), (BF16, F32), (TF32, F32), (F8E4M3FN, F16), (F8E4M3FN, F32),
    (F8E5M2, F32), (F8E5M2, F16),
]  # fmt: skip
SHAPES = [
    (1, 1, 1), (1, 2, 1), (2, 1, 4), (1, 64, 8), (64, 1, 8), (2, 4, 2), (4, 16, 4), (8, 2, 16), (16, 8, 16),
    (8, 32, 32), (1, 512, 4), (64, 64, 64),
]  # fmt: skip


@pytest.fixture(autouse=True)
def quiet():
    with numpy.errstate(all="ignore"):
        yield


# --- running one product ---


@functools.cache
def compiled(machine, key, extent):
    return load(assemble(text_of(CHOSEN[key], extent), host(machine)))


CHOSEN: dict[Any, Any] = {}


def product(machine, chosen, a, b, c):
    """C + A * B by the native code, in the dtype of C."""
    extent = a.shape[1] if a.shape[1] != chosen.k else 0
    key = repr(chosen)
    CHOSEN[key] = chosen
    return multiplied(compiled(machine, key, extent), chosen, a, b, c).astype(c.dtype)


def assert_same(result, expected):
    assert result.dtype == expected.dtype
    bits = f"u{result.dtype.itemsize}"
    same = result.view(bits) == numpy.ascontiguousarray(expected).view(bits)
    if result.dtype.kind == "f":
        same |= numpy.isnan(result) & numpy.isnan(expected)
    assert same.all(), numpy.argwhere(~same)[:4]


# --- numbers ---


def normal(element, shape, generator, scale=1.0):
    form = floats.FORMATS[element.name]
    numbers = generator.normal(0, scale, shape).reshape(-1)
    return values(element, [floats.from_double(form, float(x)) for x in numbers]).reshape(shape)


def notable(element, shape, generator):
    patterns = notable_patterns(floats.FORMATS[element.name])
    count = int(numpy.prod(shape))
    return values(element, [patterns[index] for index in generator.integers(0, len(patterns), count)]).reshape(shape)


def small(element, shape, generator):
    """Numbers whose products are near the end of what an accumulator holds."""
    form = floats.FORMATS[element.name]
    count = int(numpy.prod(shape))
    reach = {"f16": 9, "bf16": 70, "f32": 70, "tf32": 70, "f64": 535}.get(element.name, 6)
    numbers = generator.normal(0, 1, count) * 2.0 ** -generator.integers(reach - 6, reach + 6, count)
    return values(element, [floats.from_double(form, float(x)) for x in numbers]).reshape(shape)


def operands(element, accumulator, m, n, k, make, seed=0):
    generator = numpy.random.default_rng((m, n, k, seed))
    return make(element, (m, k), generator), make(element, (k, n), generator), make(accumulator, (m, n), generator)


# --- tests ---


@pytest.mark.sampled(3)
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(("element", "accumulator"), PAIRS, ids=str)
def test_float_product_is_the_interpreters_chain(element, accumulator, machine):
    for m, n, k in [(1, 1, 1), (4, 16, 8), (16, 64, 16)]:
        chosen = make_plan(host(machine), element, element, accumulator, (m, n, k), True)
        for make in (normal, notable, small):
            a, b, c = operands(element, accumulator, m, n, k, make)
            expected = matrix_float(element, accumulator, exact=True)(a, b, c)
            assert_same(product(machine, chosen, a, b, c), expected)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("element", [F32, F64, F16], ids=str)
def test_float_product_has_any_shape(element, shape, machine):
    chosen = make_plan(host(machine), element, element, element, shape, True)
    a, b, c = operands(element, element, shape[0], shape[1], shape[2], normal)
    assert_same(product(machine, chosen, a, b, c), matrix_float(element, element, exact=True)(a, b, c))


def test_addends_that_cancel_keep_the_sign_of_zero():
    chosen = make_plan(HERE, F32, F32, F32, (2, 2, 2), True)
    a = numpy.array([[1, -1], [-0.0, 0.0]], numpy.float32)
    b = numpy.array([[3, -3], [3, -3]], numpy.float32)
    c = numpy.array([[-0.0, 0.0], [-0.0, 0.0]], numpy.float32)
    assert_same(product("native", chosen, a, b, c), matrix_float(F32, F32, exact=True)(a, b, c))


@pytest.mark.parametrize("machine", MACHINES)
def test_sum_just_off_a_midpoint_is_rounded_once(machine):
    chosen = make_plan(host(machine), F32, F32, F32, (2, 2, 1), True)
    bits, offset, dtype = 24, 20, numpy.float32
    last, little = 2.0 ** (1 - bits), 2.0**-offset
    a = numpy.array([[1 + little], [-1 - little]], dtype)
    b = numpy.array([[(1 - little) * last / 2, (1 + little) * last / 2]], dtype)
    c = numpy.array([[1 + last, 1], [-1 - last, 1]], dtype)
    result = product(machine, chosen, a, b, c)
    assert_same(result, matrix_float(F32, F32, exact=True)(a, b, c))
    assert result[0, 0] == c[0, 0], "the sum is less than half a unit above"


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("signs", ["ss", "su", "us", "uu"])
def test_integer_product_wraps(signs, machine):
    names = ["signed" if sign == "s" else "unsigned" for sign in signs]
    dtypes = [numpy.int8 if sign == "s" else numpy.uint8 for sign in signs]
    for m, n, k in [
        (1, 1, 1), (2, 1, 2), (1, 2, 4), (4, 4, 1), (8, 8, 16), (16, 16, 64), (32, 32, 128), (64, 16, 64), (64, 256, 64),
    ]:  # fmt: skip
        generator = numpy.random.default_rng((m, n, k))
        a = generator.integers(0, 256, (m, k), numpy.uint8).view(numpy.int8)
        b = generator.integers(0, 256, (k, n), numpy.uint8).view(numpy.int8)
        c = generator.choice(numpy.array([-(2**31), 2**31 - 1, 0], numpy.int32), (m, n))
        a[0] = -128 if signs[0] == "s" else -1
        b[:, 0] = -128 if signs[1] == "s" else -1
        chosen = make_plan(host(machine), I8, I8, I32, (m, n, k), True, (signs[0] == "s", signs[1] == "s"))
        result = product(machine, chosen, a.view(dtypes[0]), b.view(dtypes[1]), c)
        assert_same(result, matrix_integer(*names)(a, b, c))


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("element", "scale"),
    [(F8E4M3FN, F8E8M0FNU), (F8E5M2, F8E8M0FNU), (F4E2M1FN, F8E8M0FNU), (F4E2M1FN, F8E4M3FN), (F4E2M1FN, FNV8E5M3FNU)],
    ids=str,
)
def test_scaled_product_is_the_interpreters_chain(element, scale, machine):
    m, n, k = 8, 16, 32
    generator = numpy.random.default_rng(8)
    chosen = make_scaled_plan(host(machine), scale, (m, n, k))
    for make in (normal, notable):
        a, b, c = make(element, (m, k), generator), make(element, (k, n), generator), make(F32, (m, n), generator)
        patterns = generator.integers(0, 1 << floats.FORMATS[scale.name].width, (m + n) * 2)
        scales = values(scale, [int(pattern) for pattern in patterns])
        a_scale, b_scale = scales[: 2 * m].reshape(m, 2), scales[2 * m :].reshape(2, n)
        expected = matrix_scaled(element, scale, exact=True)(a, b, c, a_scale, b_scale)
        left = widen(element)(a) * numpy.repeat(widen(scale)(a_scale), 16, axis=1)
        right = widen(element)(b) * numpy.repeat(widen(scale)(b_scale), 16, axis=0)
        assert_same(product(machine, chosen, left, right, c), expected)


@pytest.mark.parametrize("element", [F32, I8], ids=str)
def test_k_may_go_on_beyond_the_plan(element):
    m, n, k = 16, 64, 64
    generator = numpy.random.default_rng(3)
    if element is F32:
        a, b, c = operands(F32, F32, m, n, 3 * k, normal)
        chosen = make_plan(HERE, F32, F32, F32, (m, n, k), True)
        expected = matrix_float(F32, F32, exact=True)(a, b, c)
    else:
        a = generator.integers(-128, 128, (m, 3 * k), numpy.int8)
        b = generator.integers(-128, 128, (3 * k, n), numpy.int8)
        c = generator.integers(-1000, 1000, (m, n), numpy.int32)
        chosen = make_plan(HERE, I8, I8, I32, (m, n, k), True)
        expected = matrix_integer("signed", "signed")(a, b, c)
    assert_same(product("native", chosen, a, b, c), expected)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("length", [1, 2, 32, 33, 70])
@pytest.mark.parametrize("rows", [16, 64])
def test_rows_that_are_copied_may_be_longer_than_the_room_for_them(rows, length):
    generator = numpy.random.default_rng(length)
    chosen = make_plan(HERE, I8, I8, I32, (rows, 256, 64), True)
    a = generator.integers(-128, 128, (rows, length * 64), numpy.int8)
    b = generator.integers(-128, 128, (length * 64, 256), numpy.int8)
    c = generator.integers(-1000, 1000, (rows, 256), numpy.int32)
    assert_same(product("native", chosen, a, b, c), matrix_integer("signed", "signed")(a, b, c))


def test_no_exact_plan_for_floats_uses_matrix_tiles():
    target = host("sapphirerapids")
    assert make_plan(target, BF16, BF16, F32, (64, 64, 64), False).kind == "amx"
    assert make_plan(target, BF16, BF16, F32, (64, 64, 64), True).kind == "fma"
    assert make_plan(target, F16, F16, F32, (64, 64, 64), True).kind == "fma"
    assert make_plan(target, BF16, BF16, F32, (8, 64, 64), True).kind == "fma"
    assert make_plan(target, I8, I8, I32, (64, 64, 64), True).kind == "amx"
    assert make_plan(target, I8, I8, I32, (64, 64, 32), True).kind == "pairs"


@pytest.mark.parametrize("name", ["neoverse-v1", "apple-m2", "cortex-a72", "sapphirerapids", "x86-64"])
def test_every_kind_becomes_code_for_other_machines(name):
    target = host(name)
    plans = [
        make_plan(target, F32, F32, F32, (16, 64, 32), True),
        make_plan(target, F64, F64, F64, (16, 64, 32), True),
        make_plan(target, F16, F16, F16, (16, 64, 32), True),
        make_plan(target, BF16, BF16, F32, (16, 64, 32), False),
        make_plan(target, I8, I8, I32, (16, 64, 64), True),
        make_scaled_plan(target, F8E8M0FNU, (16, 64, 32)),
    ]
    for chosen in plans:
        assert "worker" in assembly(text_of(chosen), target)
    single = assembly(text_of(plans[0]), target)
    assert ("fmla" if target.is_aarch64 else "vfmadd231ps" if target.has_fma else "cvtpd2ps") in single
    assert "fmaf" not in single


@pytest.mark.parametrize("name", ["x86-64", "x86-64-v3", "x86-64-v4", "neoverse-v1"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_packed_positions_are_a_permutation(name, shape):
    m, n, k = shape
    for chosen in (
        make_plan(host(name), F32, F32, F32, (m, n, k), True),
        make_plan(host(name), I8, I8, I32, (m, n, k), True),
    ):
        assert set(positions(chosen, 1, (k, n)).reshape(-1)) == set(range(k * n))
        assert n % chosen.nr == 0 and k % chosen.k_group == 0


@pytest.mark.parametrize("name", ["x86-64", "x86-64-v3", "x86-64-v4", "neoverse-v1"])
@pytest.mark.parametrize("m", [1 << power for power in range(10)])
def test_blocks_of_rows_are_all_rows(name, m):
    for n in (1, 8, 16, 32, 64, 256):
        chosen = make_plan(host(name), F32, F32, F32, (m, n, 8), True)
        start = 0
        for rows, end in chosen.row_blocks:
            assert start < end and (end - start) % rows == 0 and rows <= chosen.mr
            # Enough sums at a time to keep the units busy, which take four cycles or five for each.
            assert rows * chosen.nr // chosen.lanes >= min(8, m * n // chosen.lanes)
            start = end
        assert start == m
