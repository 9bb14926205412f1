"""Each elementwise operation reaches the right kernel with the right attributes, on tiles and on scalars.

The kernels themselves are swept in test_arithmetic_*.py; here a few values tell the operations apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy
import pytest
from tests.execute.evaluation import evaluate, same

from tileir.execute.interpreter.kernels import KERNELS

F: Any = numpy.float32
X = numpy.array([0.5, -1.25, 3.0, 0.1], F)
Y = numpy.array([2.0, 0.75, -1.5, 7.3], F)
P = numpy.array([0.5, 1.25, 3.0, 0.1], F)
I = numpy.array([7, -9, 100, -(2**31)], numpy.int32)  # noqa: E741
J = numpy.array([2, 4, -7, 3], numpy.int32)
U: Any = numpy.uint32


def _wide(function: Callable[..., Any]) -> Callable[..., Any]:
    """A reference computed in f64 and rounded."""
    return lambda *values: numpy.array([function(*map(float, row)) for row in zip(*values, strict=True)]).astype(F)


def _whole(function: Callable[..., int], unsigned: bool = False) -> Callable[..., Any]:
    """A reference on Python integers, wrapped to 32 bits."""

    def reference(*values: Any) -> Any:
        rows = [[int(v) % 2**32 if unsigned else int(v) for v in row] for row in zip(*values, strict=True)]
        return numpy.array([function(*row) % 2**32 for row in rows], U).view(numpy.int32)

    return reference


def _truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


T = "tile<4xf32>"
N = "tile<4xi32>"
FLOAT: list[tuple[str, str, tuple[Any, ...], Any]] = [
    ("addf", f"addf %x, %y : {T}", (X, Y), lambda x, y: x + y),
    ("addf", f"addf %x, %y rounding<negative_inf> : {T}", (F([1]), F([2**-30])), lambda x, y: F([1])),
    ("addf", f"addf %x, %y rounding<positive_inf> : {T}", (F([1]), F([2**-30])), lambda x, y: F([1 + 2**-23])),
    ("addf", f"addf %x, %y flush_to_zero : {T}", (F([1e-40]), F([0])), lambda x, y: F([0])),
    ("subf", f"subf %x, %y : {T}", (X, Y), lambda x, y: x - y),
    ("mulf", f"mulf %x, %y : {T}", (X, Y), lambda x, y: x * y),
    ("divf", f"divf %x, %y : {T}", (X, Y), lambda x, y: x / y),
    (
        "divf",
        f"divf %x, %y rounding<zero> : {T}",
        (F([2]), F([3])),
        lambda x, y: numpy.nextafter(F(2 / 3), F(0)).reshape(1),
    ),
    ("remf", f"remf %x, %y : {T}", (X, Y), numpy.fmod),
    ("fma", f"fma %x, %y, %x : {T}", (X, Y), _wide(lambda x, y: x * y + x)),
    ("maxf", f"maxf %x, %y : {T}", (F([1, math.nan]), F([2, 5])), lambda x, y: F([2, 5])),
    ("maxf", f"maxf %x, %y propagate_nan : {T}", (F([1, math.nan]), F([2, 5])), lambda x, y: F([2, math.nan])),
    ("minf", f"minf %x, %y : {T}", (F([1, math.nan]), F([2, 5])), lambda x, y: F([1, 5])),
    ("maximumf", f"maximumf %x, %y : {T}", (F([1, math.nan]), F([2, 5])), lambda x, y: F([2, math.nan])),
    ("minimumf", f"minimumf %x, %y : {T}", (F([1, math.nan]), F([2, 5])), lambda x, y: F([1, math.nan])),
    ("pow", f"pow %x, %y : {T}", (P, Y), _wide(math.pow)),
    ("pow", f"powf %x, %y : {T}", (P, Y), _wide(math.pow)),
    ("atan2", f"atan2 %x, %y : {T}", (X, Y), _wide(math.atan2)),
    ("absf", f"absf %x : {T}", (X,), numpy.abs),
    ("negf", f"negf %x : {T}", (X,), numpy.negative),
    ("ceil", f"ceil %x : {T}", (X,), numpy.ceil),
    ("floor", f"floor %x : {T}", (X,), numpy.floor),
    ("sqrt", f"sqrt %x : {T}", (P,), numpy.sqrt),
    ("sqrt", f"sqrt %x rounding<positive_inf> : {T}", (F([2]),), lambda x: numpy.nextafter(numpy.sqrt(x), F(9))),
    ("rsqrt", f"rsqrt %x : {T}", (P,), _wide(lambda x: 1 / math.sqrt(x))),
    ("recipf", f"recipf %x : {T}", (X,), lambda x: F(1) / x),
    ("exp", f"exp %x : {T}", (X,), _wide(math.exp)),
    ("exp", f"exp %x rounding<approx> : {T}", (X,), _wide(math.exp)),
    ("exp2", f"exp2 %x : {T}", (X,), _wide(lambda x: 2.0**x)),
    ("log", f"log %x : {T}", (P,), _wide(math.log)),
    ("log2", f"log2 %x : {T}", (P,), _wide(math.log2)),
    ("log10", f"log10 %x : {T}", (P,), _wide(math.log10)),
    ("log1p", f"log1p %x : {T}", (P,), _wide(math.log1p)),
    ("sin", f"sin %x : {T}", (X,), _wide(math.sin)),
    ("cos", f"cos %x : {T}", (X,), _wide(math.cos)),
    ("tan", f"tan %x : {T}", (X,), _wide(math.tan)),
    ("sinh", f"sinh %x : {T}", (X,), _wide(math.sinh)),
    ("cosh", f"cosh %x : {T}", (X,), _wide(math.cosh)),
    ("tanh", f"tanh %x : {T}", (X,), _wide(math.tanh)),
    ("tanh", f"tanhf %x : {T}", (X,), _wide(math.tanh)),
    ("sigmoid", f"sigmoid %x : {T}", (X,), _wide(lambda x: 1 / (1 + math.exp(-x)))),
]
INTEGER: list[tuple[str, str, tuple[Any, ...], Any]] = [
    ("addi", f"addi %x, %y : {N}", (I, J), _whole(lambda x, y: x + y)),
    ("subi", f"subi %x, %y : {N}", (I, J), _whole(lambda x, y: x - y)),
    ("muli", f"muli %x, %y : {N}", (I, J), _whole(lambda x, y: x * y)),
    ("mulhii", f"mulhii %x, %y : {N}", (I, J), _whole(lambda x, y: x * y >> 32, True)),
    ("mulhii", f"mulhi %x, %y : {N}", (I, J), _whole(lambda x, y: x * y >> 32, True)),
    ("andi", f"andi %x, %y : {N}", (I, J), _whole(lambda x, y: x & y)),
    ("ori", f"ori %x, %y : {N}", (I, J), _whole(lambda x, y: x | y)),
    ("xori", f"xori %x, %y : {N}", (I, J), _whole(lambda x, y: x ^ y)),
    ("shli", f"shli %x, %y : {N}", (I, abs(J)), _whole(lambda x, y: x << y)),
    ("shri", f"shri %x, %y signed : {N}", (I, abs(J)), _whole(lambda x, y: x >> y)),
    ("shri", f"shri %x, %y unsigned : {N}", (I, abs(J)), _whole(lambda x, y: x >> y, True)),
    ("remi", f"remi %x, %y signed : {N}", (I, J), _whole(lambda x, y: x - _truncated(x, y) * y)),
    ("remi", f"remi %x, %y unsigned : {N}", (I, J), _whole(lambda x, y: x % y, True)),
    ("divi", f"divi %x, %y signed : {N}", (I, J), _whole(_truncated)),
    ("divi", f"divi %x, %y signed rounding<negative_inf> : {N}", (I, J), _whole(lambda x, y: x // y)),
    ("divi", f"divi %x, %y signed rounding<positive_inf> : {N}", (I, J), _whole(lambda x, y: -(-x // y))),
    ("divi", f"divi %x, %y unsigned : {N}", (I, J), _whole(lambda x, y: x // y, True)),
    ("maxi", f"maxi %x, %y signed : {N}", (I, J), _whole(max)),
    ("maxi", f"maxi %x, %y unsigned : {N}", (I, J), _whole(max, True)),
    ("mini", f"mini %x, %y signed : {N}", (I, J), _whole(min)),
    ("mini", f"mini %x, %y unsigned : {N}", (I, J), _whole(min, True)),
    ("negi", f"negi %x : {N}", (I,), _whole(lambda x: -x)),
    ("negi", f"negsi %x : {N}", (I,), _whole(lambda x: -x)),
    ("absi", f"absi %x : {N}", (I,), _whole(abs)),
    ("noti", f"noti %x : {N}", (I,), _whole(lambda x: ~x)),
    ("popcnt", f"popcnt %x : {N}", (I,), _whole(lambda x: bin(x).count("1"), True)),
    ("clz", f"clz %x : {N}", (I,), _whole(lambda x: 32 - x.bit_length(), True)),
    ("ctz", f"ctz %x : {N}", (I,), _whole(lambda x: (x & -x).bit_length() - 1, True)),
    ("brev", f"brev %x : {N}", (I,), _whole(lambda x: int(f"{x:032b}"[::-1], 2), True)),
]


def _sized(body: str, count: int) -> str:
    return body.replace("<4x", f"<{count}x")


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("name", "body", "operands", "reference"), FLOAT + INTEGER, ids=lambda v: v if isinstance(v, str) else ""
)
def test_operation_on_a_tile_and_on_a_scalar(name: str, body: str, operands: Any, reference: Any) -> None:
    expected = reference(*operands)
    count = len(operands[0])
    element = "f32" if expected.dtype == F else "i32"
    arrays = dict(zip("xy", operands, strict=False))
    whole = evaluate(f"%r = {_sized(body, count)}", **arrays, r=f"tile<{count}x{element}>")
    assert same(whole, expected)
    scalar = evaluate(f"%r = {body.replace('<4x', '<')}", **{n: a[0] for n, a in arrays.items()}, r=f"tile<{element}>")
    assert same(scalar, expected[:1].reshape(()))


def test_every_elementwise_operation_is_in_this_file() -> None:
    here = {name for name, *_ in FLOAT + INTEGER} | {
        "cmpf", "cmpi", "ftof", "ftoi", "itof", "exti", "trunci", "bitcast", "int_to_ptr", "ptr_to_int", "ptr_to_ptr",
        "pack", "unpack", "mmaf", "mmai", "mmaf_scaled", "fpowi",
    }  # fmt: skip
    assert {declaration.mnemonic for declaration in KERNELS} == here


def test_fpowi_raises_to_integer_powers() -> None:
    powers = numpy.array([3, -2, 0, 1], numpy.int32)
    found = evaluate("%r = fpowi %x, %y : tile<4xf32>, tile<4xi32>", x=X, y=powers, r=T)
    assert numpy.allclose(found, X.astype("f8") ** powers, rtol=1e-6)


@pytest.mark.parametrize(
    "predicate", ["equal", "not_equal", "less_than", "less_than_or_equal", "greater_than", "greater_than_or_equal"]
)
def test_comparisons(predicate: str) -> None:
    compare = {
        "equal": numpy.equal, "not_equal": numpy.not_equal, "less_than": numpy.less,
        "less_than_or_equal": numpy.less_equal, "greater_than": numpy.greater,
        "greater_than_or_equal": numpy.greater_equal,
    }[predicate]  # fmt: skip
    a, b = F([1, 2, math.nan, 2]), F([2, 2, 1, 1])
    ordered = evaluate(f"%r = cmpf {predicate} ordered %x, %y : {T} -> tile<4xi1>", x=a, y=b, r="tile<4xi1>")
    unordered = evaluate(f"%r = cmpf {predicate} unordered %x, %y : {T} -> tile<4xi1>", x=a, y=b, r="tile<4xi1>")
    nan = numpy.array([False, False, True, False])
    assert same(ordered, compare(a, b) & ~nan)
    assert same(unordered, compare(a, b) | nan)
    c, d = numpy.array([-1, 5, 3, 2], "i4"), numpy.array([1, 5, -3, 9], "i4")
    assert same(
        evaluate(f"%r = cmpi {predicate} %x, %y, signed : {N} -> tile<4xi1>", x=c, y=d, r="tile<4xi1>"), compare(c, d)
    )
    assert same(
        evaluate(f"%r = cmpi {predicate} %x, %y, unsigned : {N} -> tile<4xi1>", x=c, y=d, r="tile<4xi1>"),
        compare(c.view(U), d.view(U)),
    )


def test_conversions_between_numbers() -> None:
    bf16 = ml_dtypes.bfloat16
    assert same(evaluate("%r = ftof %x : tile<4xf32> -> tile<4xbf16>", x=X, r="tile<4xbf16>"), X.astype(bf16))
    assert same(evaluate("%r = ftof %x : tile<4xbf16> -> tile<4xf32>", x=X.astype(bf16), r=T), X.astype(bf16).astype(F))
    wild = F([2.9, -2.9, 1e30, math.nan])
    saturated = numpy.array([2, -2, 2**31 - 1, 0], "i4")
    assert same(evaluate("%r = ftoi %x signed : tile<4xf32> -> tile<4xi32>", x=wild, r=N), saturated)
    assert same(evaluate("%r = itof %x signed : tile<4xi32> -> tile<4xf32>", x=I, r=T), I.astype(F))
    assert same(evaluate("%r = itof %x unsigned : tile<4xi32> -> tile<4xf32>", x=I, r=T), I.view(U).astype(F))
    narrow = numpy.array([1, -1, 127, -128], "i1")
    assert same(evaluate("%r = exti %x signed : tile<4xi8> -> tile<4xi32>", x=narrow, r=N), narrow.astype("i4"))
    assert same(
        evaluate("%r = exti %x unsigned : tile<4xi8> -> tile<4xi32>", x=narrow, r=N), narrow.view("u1").astype("i4")
    )
    assert same(evaluate("%r = trunci %x : tile<4xi32> -> tile<4xi8>", x=I, r="tile<4xi8>"), I.astype("i1"))


def test_bits_keep_their_value() -> None:
    assert same(evaluate("%r = bitcast %x : tile<4xf32> -> tile<4xi32>", x=X, r=N), X.view("i4"))
    assert same(
        evaluate("%r = bitcast %x : tile<f32> -> tile<i32>", x=X[0], r="tile<i32>"), X[0].view("i4").reshape(())
    )
    assert same(evaluate("%r = pack %x : tile<4xf32> -> tile<16xi8>", x=X, r="tile<16xi8>"), X.view("i1"))
    assert same(evaluate("%r = unpack %x : tile<16xi8> -> tile<4xf32>", x=X.view("i1"), r=T), X)
    half_bytes = numpy.array([0x21, 0x43], "i1")
    found = evaluate(
        "%i = unpack %x : tile<2xi8> -> tile<4xi4>\n%r = exti %i signed : tile<4xi4> -> tile<4xi32>", x=half_bytes, r=N
    )
    assert same(found, numpy.array([1, 2, 3, 4], "i4"))


def test_pointers_are_numbers() -> None:
    found = evaluate(
        "%p = int_to_ptr %x : tile<4xi64> -> tile<4xptr<f32>>\n"
        "%q = ptr_to_ptr %p : tile<4xptr<f32>> -> tile<4xptr<i16>>\n"
        "%o = offset %q, %y : tile<4xptr<i16>>, tile<4xi32> -> tile<4xptr<i16>>\n"
        "%r = ptr_to_int %o : tile<4xptr<i16>> -> tile<4xi64>",
        x=numpy.array([0, 100, 200, -8], "i8"),
        y=numpy.array([1, -1, 2, 4], "i4"),
        r="tile<4xi64>",
    )
    assert found.tolist() == [2, 98, 204, 0]


def test_matrix_products() -> None:
    rng = numpy.random.default_rng(0)
    a, b, c = (rng.integers(-8, 8, (4, 4)) for _ in range(3))
    half = numpy.float16
    found = evaluate(
        "%r = mmaf %x, %y, %z : tile<4x4xf16>, tile<4x4xf16>, tile<4x4xf32>",
        x=a.astype(half), y=b.astype(half), z=c.astype(F), r="tile<4x4xf32>",
    )  # fmt: skip
    assert same(found, (a @ b + c).astype(F))
    byte = evaluate(
        "%r = mmai %x, %y, %z signed unsigned : tile<4x4xi8>, tile<4x4xi8>, tile<4x4xi32>",
        x=a.astype("i1"), y=b.astype("i1"), z=c.astype("i4"), r="tile<4x4xi32>",
    )  # fmt: skip
    assert same(byte, (a @ b.astype("i1").view("u1").astype("i8") + c).astype("i4"))
    batch = evaluate(
        "%r = mmaf %x, %y, %z : tile<2x2x4xf32>, tile<2x4x2xf32>, tile<2x2x2xf32>",
        x=a.astype(F).reshape(2, 2, 4), y=b.astype(F).reshape(2, 4, 2), z=numpy.zeros((2, 2, 2), F), r="tile<2x2x2xf32>",
    )  # fmt: skip
    assert same(batch, (a.reshape(2, 2, 4) @ b.reshape(2, 4, 2)).astype(F))


def test_scaled_matrix_product_multiplies_blocks_by_their_scales() -> None:
    rng = numpy.random.default_rng(1)
    f8, e8 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e8m0fnu
    a, b = (rng.integers(-3, 4, shape).astype(f8) for shape in ((32, 64), (64, 32)))
    sa, sb = (2.0 ** rng.integers(-2, 3, shape) for shape in ((32, 2), (2, 32)))
    found = evaluate(
        "%r = mmaf_scaled %a, %b, %c, %sa, %sb : tile<32x64xf8E4M3FN>, tile<64x32xf8E4M3FN>, tile<32x32xf32>, "
        "tile<32x2xf8E8M0FNU>, tile<2x32xf8E8M0FNU>",
        a=a, b=b, c=numpy.ones((32, 32), F), sa=sa.astype(e8), sb=sb.astype(e8), r="tile<32x32xf32>",
    )  # fmt: skip
    wide = (a.astype("f8") * sa.repeat(32, 1)) @ (b.astype("f8") * sb.repeat(32, 0)) + 1
    assert same(found, wide.astype(F))
