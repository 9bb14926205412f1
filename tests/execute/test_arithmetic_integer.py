"""Integer and bitwise operations against Python integers: i1 and i8 for all operands, the others structured and random."""

from __future__ import annotations

import numpy
import pytest

from tileir.declarations import declaration_of
from tileir.execute.arithmetic.integer import (
    integer_binary,
    integer_compare,
    integer_division,
    integer_signed_binary,
    integer_unary,
)
from tileir.execute.dtypes import bits_dtype, from_bits, to_bits
from tileir.ir.types import I1, I8, I16, I32, I64, IntegerType

TYPES = [I1, I8, I16, I32, I64]
SIGNEDNESS = ["signed", "unsigned"]


@pytest.fixture(autouse=True)
def quiet():
    with numpy.errstate(all="ignore"):
        yield


def patterns(element: IntegerType, count: int, seed: int) -> list[int]:
    if element.width <= 8:
        return list(range(1 << element.width))
    top = 1 << (element.width - 1)
    notable = [
        0,
        1,
        2,
        3,
        7,
        8,
        15,
        16,
        31,
        32,
        33,
        63,
        64,
        65,
        top - 1,
        top,
        top + 1,
        2 * top - 2,
        2 * top - 1,
        0x5A5A,
    ]
    generator = numpy.random.default_rng(seed)
    wild = [int(x) & (2 * top - 1) for x in generator.integers(0, 1 << 63, count, numpy.uint64) * 2 + 1]
    # As many of small magnitude, for quotients and shifts.
    small = [int(x) & (2 * top - 1) for x in generator.integers(-100, 100, count)]
    return notable + wild + small


def all_pairs(element: IntegerType) -> tuple[list[int], list[int]]:
    first = patterns(element, 40, 1)
    second = patterns(element, 40, 2)
    return [a for a in first for _ in second], [b for _ in first for b in second]


def array(element: IntegerType, bits: list[int]) -> numpy.ndarray:
    return from_bits(element, numpy.array(bits, bits_dtype(element)))


def read(element: IntegerType, bits: int, signedness: str) -> int:
    return bits - (1 << element.width) if signedness == "signed" and bits >> (element.width - 1) else bits


def wrap(element: IntegerType, value: int) -> int:
    return value & ((1 << element.width) - 1)


def check(element, kernel, reference) -> None:
    lhs, rhs = all_pairs(element)
    result = kernel(array(element, lhs), array(element, rhs))
    assert result.dtype == array(element, [0]).dtype
    got = to_bits(element, result).tolist()
    for a, b, value in zip(lhs, rhs, got, strict=True):
        assert value == wrap(element, reference(a, b)), (a, b)


def shift_left(element: IntegerType, a: int, b: int) -> int:
    return a << b if b < element.width else 0


@pytest.mark.parametrize("element", TYPES, ids=str)
@pytest.mark.parametrize("name", ["addi", "subi", "muli", "mulhii", "andi", "ori", "xori", "shli"])
def test_binary_operation(name, element):
    references = {
        "addi": lambda a, b: a + b,
        "subi": lambda a, b: a - b,
        "muli": lambda a, b: a * b,
        "mulhii": lambda a, b: a * b >> element.width,
        "andi": lambda a, b: a & b,
        "ori": lambda a, b: a | b,
        "xori": lambda a, b: a ^ b,
        "shli": lambda a, b: shift_left(element, a, b),
    }
    check(element, integer_binary(declaration_of(name), element), references[name])


@pytest.mark.parametrize("signedness", SIGNEDNESS)
@pytest.mark.parametrize("element", TYPES, ids=str)
@pytest.mark.parametrize("name", ["maxi", "mini", "shri", "remi"])
def test_operation_with_signedness(name, element, signedness):
    def reference(a: int, b: int) -> int:
        x, y = read(element, a, signedness), read(element, b, signedness)
        if name == "maxi":
            return max(x, y)
        if name == "mini":
            return min(x, y)
        if name == "shri":
            # The amount is unsigned; Python shifts signed values arithmetically, however far.
            return x >> min(b, element.width)
        if y == 0:
            return x
        rest = abs(x) % abs(y)
        return -rest if x < 0 else rest

    check(element, integer_signed_binary(declaration_of(name), element, signedness), reference)


@pytest.mark.parametrize("rounding", ["zero", "negative_inf", "positive_inf"])
@pytest.mark.parametrize("signedness", SIGNEDNESS)
@pytest.mark.parametrize("element", TYPES, ids=str)
def test_division_rounds_as_asked_and_gives_zero_for_a_zero_divisor(element, signedness, rounding):
    def reference(a: int, b: int) -> int:
        x, y = read(element, a, signedness), read(element, b, signedness)
        if y == 0:
            return 0
        if rounding == "negative_inf":
            return x // y
        if rounding == "positive_inf":
            return -(-x // y)
        return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)

    check(element, integer_division(element, signedness, rounding), reference)


def test_division_of_the_least_value_by_minus_one_wraps():
    for element in (I8, I16, I32, I64):
        least = array(element, [1 << (element.width - 1)])
        minus_one = array(element, [(1 << element.width) - 1])
        for rounding in ("zero", "negative_inf", "positive_inf"):
            assert integer_division(element, "signed", rounding)(least, minus_one) == least
        assert integer_signed_binary(declaration_of("remi"), element, "signed")(least, minus_one) == 0


def test_division_refuses_other_modes():
    with pytest.raises(ValueError, match="does not round a quotient"):
        integer_division(I32, "signed", "nearest_even")


@pytest.mark.parametrize("element", TYPES, ids=str)
def test_unary_operations(element):
    width = element.width
    bits = patterns(element, 200, 3)
    references = {
        "negi": lambda a: -a,
        "absi": lambda a: abs(read(element, a, "signed")),
        "noti": lambda a: ~a,
        "popcnt": lambda a: a.bit_count(),
        "clz": lambda a: width - a.bit_length(),
        "ctz": lambda a: (a & -a).bit_length() - 1 if a else width,
        "brev": lambda a: int(f"{a:0{width}b}"[::-1], 2),
    }
    for name, reference in references.items():
        if element is I1 and name in ("popcnt", "clz", "ctz", "brev"):
            continue
        result = integer_unary(declaration_of(name), element)(array(element, bits))
        assert result.dtype == array(element, [0]).dtype
        assert to_bits(element, result).tolist() == [wrap(element, reference(a)) for a in bits], name


@pytest.mark.parametrize("element", [I8, I16, I32, I64], ids=str)
def test_bit_counts_work_without_numpy_2(element, monkeypatch):
    monkeypatch.delattr(numpy, "bitwise_count", raising=False)
    bits = patterns(element, 50, 4)
    assert to_bits(element, integer_unary(declaration_of("popcnt"), element)(array(element, bits))).tolist() == [
        a.bit_count() for a in bits
    ]


@pytest.mark.parametrize("element", [I8, I16, I32, I64], ids=str)
def test_bit_operations_keep_shapes(element):
    for shape in ((), (2, 3)):
        tile = numpy.ones(shape, array(element, [0]).dtype)
        for name in ("popcnt", "clz", "ctz", "brev", "absi", "negi", "noti"):
            assert numpy.shape(integer_unary(declaration_of(name), element)(tile)) == shape, name


@pytest.mark.parametrize("signedness", SIGNEDNESS)
@pytest.mark.parametrize("element", TYPES, ids=str)
def test_comparison(element, signedness):
    lhs, rhs = all_pairs(element)
    predicates = {
        "equal": lambda x, y: x == y,
        "not_equal": lambda x, y: x != y,
        "less_than": lambda x, y: x < y,
        "less_than_or_equal": lambda x, y: x <= y,
        "greater_than": lambda x, y: x > y,
        "greater_than_or_equal": lambda x, y: x >= y,
    }
    first = [read(element, a, signedness) for a in lhs]
    second = [read(element, b, signedness) for b in rhs]
    for name, predicate in predicates.items():
        result = integer_compare(name, element, signedness)(array(element, lhs), array(element, rhs))
        assert result.dtype == numpy.bool_
        assert result.tolist() == [predicate(x, y) for x, y in zip(first, second, strict=True)], name


def test_scalars_of_zero_dimensional_tiles_wrap_silently():
    with numpy.errstate(all="raise", divide="ignore", over="ignore"):
        assert integer_binary(declaration_of("addi"), I32)(numpy.int32(2**31 - 1), numpy.int32(1)) == -(2**31)
        assert integer_binary(declaration_of("muli"), I64)(numpy.int64(2**62), numpy.int64(4)) == 0
        assert integer_division(I32, "signed")(numpy.int32(7), numpy.int32(0)) == 0
        assert integer_signed_binary(declaration_of("remi"), I32, "unsigned")(numpy.int32(7), numpy.int32(0)) == 7
