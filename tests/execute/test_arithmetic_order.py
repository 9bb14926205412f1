"""cmpf, maxf, minf."""

from __future__ import annotations

import math

import numpy
import pytest
from tests.execute.exact_model import notable_patterns, pairs, values

from tileir.declarations import declaration_of
from tileir.execute.arithmetic.elementary import float_compare, float_minmax
from tileir.execute.dtypes import to_bits
from tileir.ir import floats
from tileir.ir.types import BF16, F8E4M3FN, F8E8M0FNU, F16, F32, F64, FNV8E5M3FNU, TF32

STANDARD = [F16, BF16, F32, F64, TF32]
PREDICATES = {
    "equal": lambda x, y: x == y,
    "not_equal": lambda x, y: x < y or x > y,
    "less_than": lambda x, y: x < y,
    "less_than_or_equal": lambda x, y: x <= y,
    "greater_than": lambda x, y: x > y,
    "greater_than_or_equal": lambda x, y: x >= y,
}


@pytest.fixture(autouse=True)
def quiet():
    with numpy.errstate(all="ignore"):
        yield


@pytest.mark.parametrize("ordering", ["ordered", "unordered"])
@pytest.mark.parametrize("predicate", PREDICATES)
@pytest.mark.parametrize("element", [*STANDARD, F8E4M3FN, F8E8M0FNU, FNV8E5M3FNU], ids=str)
def test_comparison_is_false_or_true_for_nan_as_ordering_says(element, predicate, ordering):
    form = floats.FORMATS[element.name]
    lhs, rhs = pairs(form, 200, 3)
    result = float_compare(predicate, ordering, element)(values(element, lhs), values(element, rhs))
    assert result.dtype == numpy.bool_
    for a, b, got in zip(lhs, rhs, result.tolist(), strict=True):
        x, y = floats.to_double(form, a), floats.to_double(form, b)
        want = ordering == "unordered" if math.isnan(x) or math.isnan(y) else PREDICATES[predicate](x, y)
        assert got == want, (x, y)


def expected_choice(form: floats.FloatFormat, largest: bool, propagate: bool, a: int, b: int) -> int:
    nans = [floats.is_nan(form, a), floats.is_nan(form, b)]
    if all(nans) or (propagate and any(nans)):
        return form.quiet_nan
    if any(nans):
        return b if nans[0] else a
    x, y = floats.to_double(form, a), floats.to_double(form, b)
    # Equal values differ at most in the sign of zero: negative zero is the smaller.
    first = (x, not floats.is_negative(form, a)) > (y, not floats.is_negative(form, b))
    return a if first == largest else b


@pytest.mark.parametrize("propagate", [False, True])
@pytest.mark.parametrize("name", ["maxf", "minf", "maximumf", "minimumf"])
@pytest.mark.parametrize("element", STANDARD, ids=str)
def test_maximum_and_minimum_order_zeros_and_treat_nan_as_asked(element, name, propagate):
    form = floats.FORMATS[element.name]
    lhs, rhs = pairs(form, 300, 5)
    largest = name.startswith("max")
    result = float_minmax(declaration_of(name), element, propagate)(values(element, lhs), values(element, rhs))
    expected = [
        expected_choice(form, largest, propagate or name in ("maximumf", "minimumf"), a, b)
        for a, b in zip(lhs, rhs, strict=True)
    ]
    assert to_bits(element, result).tolist() == expected


@pytest.mark.parametrize("element", STANDARD, ids=str)
def test_maximum_and_minimum_take_scalars(element):
    form = floats.FORMATS[element.name]
    negative_zero = values(element, [form.sign_mask])[0]
    zero = values(element, [0])[0]
    assert to_bits(element, numpy.asarray(float_minmax(declaration_of("maxf"), element)(negative_zero, zero))) == 0
    assert (
        to_bits(element, numpy.asarray(float_minmax(declaration_of("minf"), element)(zero, negative_zero)))
        == form.sign_mask
    )


def test_maximum_flushes_operands():
    form = floats.FORMATS["f32"]
    patterns = [bits for bits in notable_patterns(form) if not floats.is_nan(form, bits)]
    lhs = [a for a in patterns for _ in patterns]
    rhs = [b for _ in patterns for b in patterns]

    def flushed(bits: int) -> int:
        return bits & 0x80000000 if bits & 0x7F800000 == 0 else bits

    for name in ("maxf", "minf"):
        result = float_minmax(declaration_of(name), F32, flush_to_zero=True)(values(F32, lhs), values(F32, rhs))
        expected = [
            expected_choice(form, name == "maxf", False, flushed(a), flushed(b)) for a, b in zip(lhs, rhs, strict=True)
        ]
        assert to_bits(F32, result).tolist() == expected
