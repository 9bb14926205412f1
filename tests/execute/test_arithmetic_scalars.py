"""Every kernel on 0-D tiles, as arrays and as NumPy scalars, agrees with itself on a 1-D tile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy
import pytest

from tileir.declarations import declaration_of
from tileir.execute.arithmetic.conversion import (
    bitcast,
    extend_integer,
    float_to_float,
    float_to_integer,
    integer_to_float,
    truncate_integer,
)
from tileir.execute.arithmetic.elementary import float_binary, float_compare, float_fma, float_minmax, float_remainder
from tileir.execute.arithmetic.functions import float_atan2, float_integer_power, float_power, float_unary
from tileir.execute.arithmetic.integer import (
    integer_binary,
    integer_compare,
    integer_division,
    integer_signed_binary,
    integer_unary,
)
from tileir.execute.dtypes import scalar_array, to_bits, value_dtype
from tileir.ir.types import BF16, F8E4M3FN, F8E8M0FNU, F16, F32, F64, FLOAT_TYPES, I1, I8, I16, I32, I64, TF32, Type

STANDARD = [F16, BF16, F32, F64]
INTEGERS = [I1, I8, I16, I32, I64]
FUNCTIONS = ["absf", "negf", "ceil", "floor", "sqrt", "recipf", "rsqrt", "exp", "exp2", "log", "log2", "log10", "log1p",
             "sin", "cos", "tan", "sinh", "cosh", "tanh", "sigmoid"]  # fmt: skip
MODES = ["nearest_even", "zero", "negative_inf", "positive_inf"]


def cases() -> Iterator[tuple[str, Any, list[Type], Type]]:
    """`(label, kernel, operand element types, result element type)`."""
    for element in STANDARD:
        for mode in MODES:
            for name in ("addf", "subf", "mulf", "divf"):
                yield (
                    f"{name} {element} {mode}",
                    float_binary(declaration_of(name), element, mode),
                    [element] * 2,
                    element,
                )
            yield f"fma {element} {mode}", float_fma(element, mode), [element] * 3, element
            yield (
                f"sqrt {element} {mode}",
                float_unary(declaration_of("sqrt"), element, mode),
                [element],
                element,
            )
        for name in FUNCTIONS:
            yield f"{name} {element}", float_unary(declaration_of(name), element), [element], element
        for name in ("maxf", "minf"):
            yield f"{name} {element}", float_minmax(declaration_of(name), element), [element] * 2, element
        yield f"remf {element}", float_remainder(element), [element] * 2, element
        yield f"pow {element}", float_power(element), [element] * 2, element
        yield f"fpowi {element}", float_integer_power(element), [element, I32], element
        yield f"atan2 {element}", float_atan2(element), [element] * 2, element
        for ordering in ("ordered", "unordered"):
            compare = float_compare("not_equal", ordering, element)
            yield f"cmpf {element} {ordering}", compare, [element] * 2, I1
    for name in ("addf", "mulf"):
        yield f"{name} ftz", float_binary(declaration_of(name), F32, "nearest_even", True), [F32] * 2, F32
    kernel: Any
    for integer in INTEGERS:
        for name in ("addi", "subi", "muli", "mulhii", "andi", "ori", "xori", "shli"):
            yield f"{name} {integer}", integer_binary(declaration_of(name), integer), [integer] * 2, integer
        for sign in ("signed", "unsigned"):
            for name in ("remi", "maxi", "mini", "shri"):
                kernel = integer_signed_binary(declaration_of(name), integer, sign)
                yield f"{name} {integer} {sign}", kernel, [integer] * 2, integer
            for mode in ("zero", "positive_inf"):
                kernel = integer_division(integer, sign, mode)
                yield f"divi {integer} {sign} {mode}", kernel, [integer] * 2, integer
            yield f"cmpi {integer} {sign}", integer_compare("less_than", integer, sign), [integer] * 2, I1
            for source in FLOAT_TYPES.values():
                kernel = float_to_integer(source, integer, sign)
                yield f"ftoi {source} {integer} {sign}", kernel, [source], integer
                if source is not F8E8M0FNU:
                    kernel = integer_to_float(integer, source, sign)
                    yield f"itof {integer} {source} {sign}", kernel, [integer], source
        for name in ("negi", "absi", "noti"):
            yield f"{name} {integer}", integer_unary(declaration_of(name), integer), [integer], integer
        if integer is not I1:
            for name in ("popcnt", "clz", "ctz", "brev"):
                yield f"{name} {integer}", integer_unary(declaration_of(name), integer), [integer], integer
            yield f"exti {integer}", extend_integer(I1, integer, "signed"), [I1], integer
            yield f"trunci {integer}", truncate_integer(integer, I1), [integer], I1
    for source in FLOAT_TYPES.values():
        for target in FLOAT_TYPES.values():
            if source is not target:
                yield f"ftof {source} {target}", float_to_float(source, target), [source], target
    yield "ftof away", float_to_float(F32, TF32, "nearest_away"), [F32], TF32
    yield "bitcast", bitcast(F8E4M3FN, I8), [F8E4M3FN], I8


@pytest.mark.parametrize("numbers", [(1.0, 0.0, 2.0), (0.0, 1.0, 0.0), (5.0, 3.0, 1.0)], ids=str)
def test_zero_dimensional_tiles(numbers):
    with numpy.errstate(all="ignore"):
        for label, kernel, elements, result in cases():
            operands = [scalar_array(element, x) for element, x in zip(elements, numbers, strict=False)]
            expected = to_bits(result, kernel(*[operand.reshape(1) for operand in operands]))
            for form in (operands, [operand[()] for operand in operands]):
                found = kernel(*form)
                assert numpy.shape(found) == (), label
                assert to_bits(result, numpy.asarray(found)).tolist() == expected[0], label


def test_results_are_of_the_value_dtype():
    with numpy.errstate(all="ignore"):
        for label, kernel, elements, result in cases():
            operands = [scalar_array(element, 1).reshape(1) for element in elements]
            assert kernel(*operands).dtype == value_dtype(result), label
