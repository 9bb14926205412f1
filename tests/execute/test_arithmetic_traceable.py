"""Kernels are straight-line programs over a few exactly defined NumPy operations, which an engine can compile.

A `Recorder` stands for an array, takes every branch and computes what a branch guards for all elements: the results
must be the kernel's, and no operation may be one whose bits depend on the C library of a machine.
"""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from numpy.lib.mixins import NDArrayOperatorsMixin
from tests.execute.test_arithmetic_scalars import cases

from tileir.declarations import declaration_of
from tileir.execute.arithmetic.conversion import float_to_float, integer_to_float
from tileir.execute.arithmetic.elementary import float_binary, float_minmax
from tileir.execute.dtypes import bits_dtype, from_bits, to_bits, value_dtype
from tileir.ir import floats
from tileir.ir.types import F4E2M1FN, F32, F64, I1, I4, I8, TF32, FloatType, Type

UFUNCS = frozenset([
    "add", "subtract", "multiply", "divide", "negative", "absolute", "sqrt", "floor", "ceil", "trunc", "rint", "fmod",
    "copysign", "signbit", "isnan", "isinf", "isfinite", "sign", "minimum", "maximum", "fmin", "fmax", "nextafter",
    "ldexp", "frexp", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "bitwise_and",
    "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift", "logical_and", "logical_or", "logical_not",
    "floor_divide", "remainder",
])  # fmt: skip


class Recorder(NDArrayOperatorsMixin):
    """A symbolic array that also computes."""

    def __init__(self, value: Any) -> None:
        self.value = value

    @property
    def dtype(self) -> Any:
        return self.value.dtype

    def astype(self, dtype: Any, copy: bool = True) -> Recorder:
        return Recorder(self.value.astype(dtype))

    def view(self, dtype: Any) -> Recorder:
        assert numpy.dtype(dtype).itemsize == self.value.dtype.itemsize, "a view of another width"
        return Recorder(self.value.view(dtype))

    def look_up(self, table: Any) -> Recorder:
        assert isinstance(table, numpy.ndarray) and table.ndim == 1
        return Recorder(table.take(self.value))

    def __getitem__(self, mask: Any) -> Recorder:
        assert isinstance(mask, Recorder) and mask.dtype == numpy.bool_
        return Recorder(self.value)

    def __setitem__(self, mask: Any, other: Any) -> None:
        assert isinstance(mask, Recorder) and mask.dtype == numpy.bool_
        self.value = numpy.where(mask.value, bare(other), self.value)

    def __bool__(self) -> bool:
        raise AssertionError("a branch on elements")

    def __array__(self, *arguments: Any, **keywords: Any) -> Any:
        raise AssertionError("the elements as an array")

    def __array_ufunc__(self, ufunc: numpy.ufunc, method: str, *inputs: Any, **keywords: Any) -> Any:
        assert method == "__call__" and ufunc.__name__ in UFUNCS, f"{ufunc.__name__} {method}"
        out = keywords.pop("out", None)
        assert not keywords, keywords
        result = ufunc(*[bare(value) for value in inputs])
        if out is not None:
            # a += b
            assert out[0].dtype == result.dtype
            out[0].value = result
            return out[0]
        return tuple([Recorder(part) for part in result]) if isinstance(result, tuple) else Recorder(result)

    def __array_function__(self, function: Any, types: Any, arguments: Any, keywords: Any) -> Any:
        assert not keywords, keywords
        if function is numpy.count_nonzero:
            return 1
        if function is numpy.shape:
            return ()
        assert function in (numpy.where, numpy.clip, numpy.broadcast_to), function
        return Recorder(function(*[bare(value) for value in arguments]))


def bare(value: Any) -> Any:
    return value.value if isinstance(value, Recorder) else value


def samples(element: Type, seed: int) -> Any:
    """Random patterns, small integers, and for all but the smallest floats values near 1 and the notable ones."""
    generator = numpy.random.default_rng(seed)
    width = {I1: 1, I4: 4, F4E2M1FN: 4, TF32: 19}.get(element, bits_dtype(element).itemsize * 8)
    patterns = [int(x) & ((1 << width) - 1) for x in generator.integers(0, 1 << 63, 150).tolist()]
    patterns += [x * 2 + 1 & ((1 << width) - 1) for x in patterns] + [x & ((1 << width) - 1) for x in range(-20, 20)]
    if isinstance(element, FloatType) and width > 8:
        form = floats.FORMATS[element.name]
        notable = [0.0, -0.0, 1.0, -1.0, numpy.inf, -numpy.inf, numpy.nan, *generator.normal(0, 4, 150).tolist()]
        patterns += [floats.from_double(form, float(x)) for x in notable]
    generator.shuffle(patterns)
    return from_bits(element, numpy.array(patterns, bits_dtype(element)))


def more_cases() -> Any:
    for mode in ("nearest_even", "zero", "negative_inf", "positive_inf"):
        for source in (I8, I1):
            yield f"itof {source} {mode}", integer_to_float(source, F32, "signed", mode), [source], F32
        yield f"ftof {mode}", float_to_float(F64, F32, mode), [F64], F32
        yield f"addf flushed {mode}", float_binary(declaration_of("addf"), F32, mode, True), [F32] * 2, F32
    for propagate in (True, False):
        yield "maxf flushed", float_minmax(declaration_of("maxf"), F32, propagate, True), [F32] * 2, F32


@pytest.mark.parametrize("seed", range(2))
def test_kernels_are_straight_line_programs_over_exact_operations(seed):
    with numpy.errstate(all="ignore"):
        for label, kernel, elements, result in [*cases(), *more_cases()]:
            count = min([samples(element, 0).size for element in elements])
            operands = [samples(element, seed * 7 + place)[:count] for place, element in enumerate(elements)]
            expected = kernel(*operands)
            try:
                found = bare(kernel(*[Recorder(operand) for operand in operands]))
            except AssertionError as error:
                raise AssertionError(f"{label}: {error}") from error
            assert found.dtype == value_dtype(result), label
            same = to_bits(result, found) == to_bits(result, expected)
            if isinstance(result, FloatType):
                same |= numpy.not_equal(found, found) & numpy.not_equal(expected, expected)
            assert numpy.all(same), (label, [operand[~same][:3] for operand in operands])
