"""Matrix products: mmaf, mmai, mmaf_scaled, of tiles of rank two, or three with a batch dimension in front.

By default a product is `numpy.matmul` in the precision of the accumulator, in whatever order NumPy adds.  With `exact`
it is a chain of fma from the accumulator, for k = 0, 1, 2 and on, each rounded once to the accumulator's type: the
definition that engines are held to bit for bit.
An f16 accumulator is widened to float32, which the sum is made in, and the sum is rounded once to f16, when the
operation is done: both ways.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy

from tileir.execute.arithmetic.double import fma
from tileir.execute.arithmetic.elementary import single_from_sum
from tileir.execute.arithmetic.rounding import NEAREST_EVEN, Ternary, Unary, narrow, widen, widen_single
from tileir.execute.dtypes import value_dtype
from tileir.ir.types import F16, F32, F64, FloatType

Scaled: TypeAlias = Callable[[Any, Any, Any, Any, Any], Any]

_SINGLE_LIMIT: Final = 1 << 24
"""Integers up to here are exact in float32."""


def matrix_float(lhs: FloatType, accumulator: FloatType, exact: bool = False) -> Ternary:
    """mmaf; both operands have the element type `lhs`."""
    if exact:
        return _chain(lhs, accumulator)
    up = widen(lhs) if accumulator is F64 else widen_single(lhs)
    dtype = value_dtype(accumulator)
    return lambda a, b, c: (numpy.matmul(up(a), up(b)) + c).astype(dtype, copy=False)


def _chain(lhs: FloatType, accumulator: FloatType) -> Ternary:
    if accumulator is F64:
        return _steps(fma(NEAREST_EVEN), widen(F64))
    if accumulator is not F32 and accumulator is not F16:
        raise ValueError(f"no matrix product accumulates in {accumulator.name}")
    chain = _steps(_single_step, widen(lhs))
    if accumulator is F32:
        return chain
    return lambda a, b, c: chain(a, b, c.astype(numpy.float32)).astype(numpy.float16)


def _single_step(a: Any, b: Any, c: Any) -> Any:
    return single_from_sum(a * b, c.astype(numpy.float64))


def _steps(step: Ternary, up: Unary) -> Ternary:
    """One rank-1 update after another, on factors widened to double: their products are exact but for f64."""

    def multiply_add(a: Any, b: Any, c: Any) -> Any:
        a = up(a)
        b = up(b)
        for k in range(a.shape[-1]):
            c = step(a[..., :, k, None], b[..., k, None, :], c)
        return c

    return multiply_add


def matrix_integer(signedness_lhs: str, signedness_rhs: str) -> Ternary:
    """mmai: i8 factors, exact, added to i32 with wrapping."""
    lhs_dtype = numpy.int8 if signedness_lhs == "signed" else numpy.uint8
    rhs_dtype = numpy.int8 if signedness_rhs == "signed" else numpy.uint8
    largest = (128 if signedness_lhs == "signed" else 255) * (128 if signedness_rhs == "signed" else 255)

    def multiply_add(a: Any, b: Any, c: Any) -> Any:
        # Float products are exact while every partial sum is, and go through BLAS.
        dtype = numpy.float32 if largest * a.shape[-1] <= _SINGLE_LIMIT else numpy.float64
        product = numpy.matmul(a.view(lhs_dtype).astype(dtype), b.view(rhs_dtype).astype(dtype))
        return numpy.add(product.astype(numpy.int64), c).astype(numpy.int32)

    return multiply_add


def matrix_scaled(lhs: FloatType, scale: FloatType, exact: bool = False) -> Scaled:
    """mmaf_scaled: each scale multiplies a block of elements along K; scaled factors and their products are exact.

    By default the sum is made in double and rounded once to f32; with `exact` it is the chain of fma.
    """
    up, up_scale, down = widen(lhs), widen(scale), narrow(F32)
    chain = _steps(_single_step, widen(F64))

    def multiply_add(a: Any, b: Any, c: Any, a_scale: Any, b_scale: Any) -> Any:
        block = a.shape[-1] // a_scale.shape[-1]
        a = up(a) * numpy.repeat(up_scale(a_scale), block, axis=-1)
        b = up(b) * numpy.repeat(up_scale(b_scale), block, axis=-2)
        if exact:
            return chain(a, b, c)
        return down(numpy.matmul(a, b) + c)

    return multiply_add
