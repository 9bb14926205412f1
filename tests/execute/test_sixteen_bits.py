"""Every value of sixteen bits through the operations with one operand, and beside notable second operands through others.

The references are not the interpreter's arithmetic: Python's integers and fractions, and the C library's functions in
double precision, whose error is far below the bound that is checked.  The long tests of `test_arithmetic_functions`
hold the same functions against mpmath.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy
import pytest
from tests.execute.exact_model import convert_fraction, random_patterns, round_fraction, values
from tests.sampling import one_in

from tileir.declarations import declaration_of
from tileir.execute.arithmetic.conversion import extend_integer, float_to_integer, integer_to_float, truncate_integer
from tileir.execute.arithmetic.elementary import float_binary
from tileir.execute.arithmetic.functions import float_unary
from tileir.execute.arithmetic.integer import integer_binary, integer_division, integer_signed_binary, integer_unary
from tileir.execute.dtypes import from_bits, to_bits
from tileir.ir import floats
from tileir.ir.types import BF16, F8E4M3FN, F8E5M2, F16, F32, F64, I1, I8, I16, I32, I64, FloatType

ALL = numpy.arange(1 << 16, dtype=numpy.uint16)
INTEGERS = [I1, I8, I16, I32, I64]


@pytest.fixture(autouse=True)
def quiet() -> Any:
    with numpy.errstate(all="ignore"):
        yield


# --- functions ---


def _infinite(function: Callable[[float], float]) -> Callable[[float], float]:
    """A function of `math` with infinity where that raises OverflowError."""

    def call(x: float) -> float:
        try:
            return function(x)
        except OverflowError:
            return math.copysign(math.inf, x) if function is math.sinh else math.inf

    return call


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x > -700 else math.exp(x)


FUNCTIONS: dict[str, Callable[[float], float]] = {
    "rsqrt": lambda x: 1 / math.sqrt(x),
    "exp": _infinite(math.exp),
    "exp2": _infinite(lambda x: math.pow(2, x)),
    "log": math.log,
    "log2": math.log2,
    "log10": math.log10,
    "log1p": math.log1p,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "sinh": _infinite(math.sinh),
    "cosh": _infinite(math.cosh),
    "tanh": math.tanh,
    "sigmoid": _sigmoid,
}
LOWEST = {"rsqrt": 0.0, "log": 0.0, "log2": 0.0, "log10": 0.0, "log1p": -1.0}


@pytest.mark.parametrize("element", [F16, BF16], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_of_every_value_is_within_its_bound(name: str, element: FloatType) -> None:
    form = floats.FORMATS[element.name]
    source = from_bits(element, ALL)
    wide = source.astype(numpy.float64)
    chosen = numpy.isfinite(wide) & (wide > LOWEST.get(name, -math.inf))
    got = float_unary(declaration_of(name), element)(source[chosen]).astype(numpy.float64)
    want = numpy.array([FUNCTIONS[name](x) for x in wide[chosen].tolist()])
    # Half a unit past the largest number, results are infinite.
    unit_of_largest = 2.0 ** (math.frexp(floats.to_double(form, form.largest))[1] - 1 - form.mantissa_bits)
    limit = floats.to_double(form, form.largest) + unit_of_largest / 2
    large = numpy.abs(want) >= limit * (1 - 1e-12)
    assert (numpy.isinf(got[large]) & (numpy.sign(got[large]) == numpy.sign(want[large]))).all()
    exponents = numpy.maximum(numpy.frexp(want[~large])[1] - 1, form.minimum_exponent)
    units = numpy.abs(got[~large] - want[~large]) / numpy.ldexp(1.0, exponents - form.mantissa_bits)
    assert units.max() <= 0.501, wide[chosen][~large][units.argmax()]


@pytest.mark.parametrize("element", [F16, BF16], ids=str)
def test_arithmetic_of_values_of_all_sizes_with_notable_ones_is_rounded_once(element: FloatType) -> None:
    check_arithmetic(element, 61)


@pytest.mark.long
@pytest.mark.parametrize("element", [F16, BF16], ids=str)
def test_arithmetic_of_every_value_with_notable_ones_is_rounded_once(element: FloatType) -> None:
    check_arithmetic(element, 1)


def check_arithmetic(element: FloatType, step: int) -> None:
    form = floats.FORMATS[element.name]
    chosen = [int(bits) for bits in ALL[::step] if floats.is_finite(form, int(bits))]
    # One, a third, the largest, the least normal and the least number, and a negative one.
    third = round_fraction(form, Fraction(1, 3), "nearest_even")
    one = round_fraction(form, Fraction(1), "nearest_even")
    for bits in (one, third, form.largest, 1 << form.mantissa_bits, 1, third | 1 << 15):
        for name, exact in (
            ("addf", lambda a, b: a + b),
            ("subf", lambda a, b: a - b),
            ("mulf", lambda a, b: a * b),
            ("divf", lambda a, b: a / b),
        ):
            left = from_bits(element, numpy.array(chosen, numpy.uint16))
            right = from_bits(element, numpy.full(len(chosen), bits, numpy.uint16))
            got = to_bits(element, float_binary(declaration_of(name), element, "nearest_even")(left, right)).tolist()
            second = Fraction(floats.to_double(form, bits))
            for first, result in zip(chosen, got, strict=True):
                value = exact(Fraction(floats.to_double(form, first)), second)
                if value == 0:
                    # Signs of zero are the subject of test_arithmetic_elementary.
                    assert result & 0x7FFF == 0, (name, first, bits)
                else:
                    assert result == round_fraction(form, value, "nearest_even"), (name, first, bits)


@pytest.mark.parametrize("element", [F16, BF16, F32, F64], ids=str)
def test_reciprocal_is_rounded_once(element: FloatType) -> None:
    form = floats.FORMATS[element.name]
    patterns = list(range(1, 1 << 16)) if form.width == 16 else random_patterns(form, 3000, 9)
    chosen = [bits for bits in patterns if floats.is_finite(form, bits) and floats.to_double(form, bits)]
    got = to_bits(element, float_unary(declaration_of("recipf"), element)(values(element, chosen))).tolist()
    for bits, result in zip(chosen, got, strict=True):
        assert result == round_fraction(form, 1 / Fraction(floats.to_double(form, bits)), "nearest_even"), hex(bits)


# --- conversions ---


@pytest.mark.parametrize("signedness", ["signed", "unsigned"])
@pytest.mark.parametrize("target", INTEGERS, ids=str)
@pytest.mark.parametrize("source", [F16, BF16], ids=str)
def test_every_float_becomes_the_nearest_integer_toward_zero(source: FloatType, target: Any, signedness: str) -> None:
    low, high = (0, (1 << target.width) - 1)
    if signedness == "signed":
        low, high = -(1 << (target.width - 1)), (1 << (target.width - 1)) - 1
    floating = from_bits(source, ALL)
    got = to_bits(target, float_to_integer(source, target, signedness)(floating)).tolist()
    for x, result in zip(floating.astype(numpy.float64).tolist(), got, strict=True):
        if target is I1:
            assert result == (x != 0), x
            continue
        whole = 0 if math.isnan(x) else low if x == -math.inf else high if x == math.inf else int(x)
        assert result == min(max(whole, low), high) & ((1 << target.width) - 1), x


@pytest.mark.sampled(2)
@pytest.mark.parametrize("signedness", ["signed", "unsigned"])
@pytest.mark.parametrize(
    "target", one_in(2, [F16, F32, BF16, F8E5M2, F8E4M3FN], ["f16", "f32", "bf16", "f8E5M2", "f8E4M3FN"])
)
def test_every_integer_becomes_the_nearest_float(target: FloatType, signedness: str) -> None:
    form = floats.FORMATS[target.name]
    got = to_bits(target, integer_to_float(I16, target, signedness)(from_bits(I16, ALL))).tolist()
    for bits, result in enumerate(got):
        number = bits - (1 << 16) if signedness == "signed" and bits >> 15 else bits
        assert result == (convert_fraction(form, Fraction(number), "nearest_even") if number else 0), number


@pytest.mark.parametrize("signedness", ["signed", "unsigned"])
def test_every_integer_is_extended_and_truncated(signedness: str) -> None:
    integers = from_bits(I16, ALL)
    for target in (I32, I64):
        got = to_bits(target, extend_integer(I16, target, signedness)(integers)).tolist()
        for bits, result in enumerate(got):
            number = bits - (1 << 16) if signedness == "signed" and bits >> 15 else bits
            assert result == number & ((1 << target.width) - 1), bits
    for target in (I1, I8):
        got = to_bits(target, truncate_integer(I16, target)(integers)).tolist()
        assert got == [bits & ((1 << target.width) - 1) for bits in range(1 << 16)]


# --- integers ---


def _signed(bits: int) -> int:
    return bits - (1 << 16) if bits >> 15 else bits


UNARY: dict[str, Callable[[int], int]] = {
    "negi": lambda a: -a,
    "absi": lambda a: abs(_signed(a)),
    "noti": lambda a: ~a,
    "popcnt": lambda a: a.bit_count(),
    "clz": lambda a: 16 - a.bit_length(),
    "ctz": lambda a: (a & -a).bit_length() - 1 if a else 16,
    "brev": lambda a: int(f"{a:016b}"[::-1], 2),
}


@pytest.mark.parametrize("name", UNARY)
def test_integer_operation_on_every_value(name: str) -> None:
    got = to_bits(I16, integer_unary(declaration_of(name), I16)(from_bits(I16, ALL))).tolist()
    assert got == [UNARY[name](bits) & 0xFFFF for bits in range(1 << 16)]


BINARY: dict[str, Callable[[int, int], int]] = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "mulhii": lambda a, b: a * b >> 16,
    "andi": lambda a, b: a & b,
    "ori": lambda a, b: a | b,
    "xori": lambda a, b: a ^ b,
    "shli": lambda a, b: a << b if b < 16 else 0,
}
SECOND = (1, 3, 15, 0x7FFF, 0x8000, 0xFFFF)


@pytest.mark.parametrize("name", BINARY)
def test_integer_operation_on_every_value_and_a_notable_one(name: str) -> None:
    for second in SECOND:
        right = from_bits(I16, numpy.full(1 << 16, second, numpy.uint16))
        got = to_bits(I16, integer_binary(declaration_of(name), I16)(from_bits(I16, ALL), right)).tolist()
        assert got == [BINARY[name](bits, second) & 0xFFFF for bits in range(1 << 16)], second


def test_signed_and_unsigned_operations_on_every_value_and_a_notable_one() -> None:
    for second in SECOND:
        right = from_bits(I16, numpy.full(1 << 16, second, numpy.uint16))
        for signedness, read in (("signed", _signed), ("unsigned", lambda bits: bits)):
            y = read(second)
            for name, reference in (
                ("maxi", lambda x, y=y: max(x, y)),
                ("mini", lambda x, y=y: min(x, y)),
                ("shri", lambda x, second=second: x >> min(second, 16)),
                ("remi", lambda x, y=y: int(math.fmod(x, y))),
            ):
                got = to_bits(
                    I16, integer_signed_binary(declaration_of(name), I16, signedness)(from_bits(I16, ALL), right)
                ).tolist()
                assert got == [reference(read(bits)) & 0xFFFF for bits in range(1 << 16)], (name, second)
            got = to_bits(I16, integer_division(I16, signedness, "negative_inf")(from_bits(I16, ALL), right)).tolist()
            assert got == [read(bits) // y & 0xFFFF for bits in range(1 << 16)], second
