"""addf, subf, mulf, divf, fma and remf.

Three ways lead to a correctly rounded result:
- the bare ufunc: f64 and f32 to nearest even are IEEE operations of the machine; f16 goes through f32, whose 24 bits
  are 2 * 11 + 2, enough for the second rounding to change nothing (Figueroa, "When is double rounding innocuous?",
  1995), and so does bf16, but for products and quotients in its subnormal range, which are done again;
- for all formats of at most 24 bits, in double with the error of the operation, rounded to odd and then once;
- `double`, for f64 in the directed modes and f64 fma.
"""

from __future__ import annotations

from typing import Any, Final

import numpy

from tileir.dialect import ops
from tileir.execute.arithmetic import double
from tileir.execute.arithmetic.rounding import (
    NEAREST_EVEN,
    NEGATIVE_INF,
    RAISED,
    Binary,
    Ternary,
    as_array,
    flush_single,
    flush_tiny,
    ieee_mode,
    narrow,
    through_double,
    to_odd,
    two_sum,
    widen,
)
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.types import BF16, F16, F32, F64, FloatType

_NATIVE: Final[dict[OperationDeclaration, Binary]] = {
    ops.ADDF: numpy.add,
    ops.SUBF: numpy.subtract,
    ops.MULF: numpy.multiply,
    ops.DIVF: numpy.true_divide,
}
_DOUBLE: Final = {ops.ADDF: double.add, ops.SUBF: double.subtract, ops.MULF: double.multiply, ops.DIVF: double.divide}


def float_binary(
    declaration: OperationDeclaration, element: FloatType, rounding: str = NEAREST_EVEN, flush_to_zero: bool = False
) -> Binary:
    """addf, subf, mulf or divf; `flush_to_zero`, of f32, flushes subnormal operands and tiny results."""
    kernel = _binary(declaration, element, ieee_mode(rounding))
    return _flushed_binary(declaration, kernel) if flush_to_zero else kernel


def _binary(declaration: OperationDeclaration, element: FloatType, rounding: str) -> Binary:
    if rounding == NEAREST_EVEN:
        if element in (F32, F64, F16):
            return _NATIVE[declaration]
        if element is BF16:
            return _NATIVE[declaration] if declaration in (ops.ADDF, ops.SUBF) else _brain_binary(declaration)
    elif element is F64:
        return _DOUBLE[declaration](rounding)
    return _narrow_binary(declaration, element, rounding)


def _flushed_binary(declaration: OperationDeclaration, kernel: Binary) -> Binary:
    def flushed_sum(a: Any, b: Any) -> Any:
        # A sum below the smallest normal number is exact.
        return flush_single(kernel(flush_single(a), flush_single(b)))

    def flushed(a: Any, b: Any) -> Any:
        a = flush_single(a)
        b = flush_single(b)
        return flush_tiny(kernel(a, b), kernel(a * RAISED, b))

    return flushed_sum if declaration in (ops.ADDF, ops.SUBF) else flushed


def _narrow_binary(declaration: OperationDeclaration, element: FloatType, rounding: str) -> Binary:
    """Through double, with what double leaves out; every format of at most 24 bits, every mode."""
    up = widen(element)
    down = narrow(element, rounding)
    downwards = rounding == NEGATIVE_INF

    def add(a: Any, b: Any) -> Any:
        a = up(a)
        b = up(b)
        total, low = two_sum(a, b)
        total = to_odd(total, low)
        if downwards:
            total = double.negative_zero(total, a, b)
        return down(total)

    def subtract(a: Any, b: Any) -> Any:
        a = up(a)
        b = -up(b)
        total, low = two_sum(a, b)
        total = to_odd(total, low)
        if downwards:
            total = double.negative_zero(total, a, b)
        return down(total)

    def multiply(a: Any, b: Any) -> Any:
        # 48 bits at most: exact.
        return down(up(a) * up(b))

    def divide(a: Any, b: Any) -> Any:
        # A quotient that is no value or midpoint of the format is at least 2**-50 of itself away from one, so the
        # rounding to double never lands there: it needs no correction in any mode.
        return down(up(a) / up(b))

    kernels: dict[OperationDeclaration, Binary] = {
        ops.ADDF: add,
        ops.SUBF: subtract,
        ops.MULF: multiply,
        ops.DIVF: divide,
    }
    return kernels[declaration]


def _brain_binary(declaration: OperationDeclaration) -> Binary:
    """bf16 products and quotients: float32 has bf16's exponents, so its own subnormal rounding can spoil the second."""
    native = _NATIVE[declaration]
    careful = _narrow_binary(declaration, BF16, NEAREST_EVEN)
    magnitude: Final = numpy.uint16(0x7FFF)
    smallest_normal: Final = numpy.uint16(0x0080)

    def through_single(a: Any, b: Any) -> Any:
        result = as_array(native(a, b))
        doubtful = numpy.bitwise_and(result.view(numpy.uint16), magnitude) <= smallest_normal
        if numpy.count_nonzero(doubtful):
            # In the body of a reduction one of them may be a single number: `where` repeats it.
            left, right = (numpy.where(doubtful, operand, operand)[doubtful] for operand in (a, b))
            result[doubtful] = careful(left, right)
        return result

    return through_single


# fma


def float_fma(element: FloatType, rounding: str = NEAREST_EVEN, flush_to_zero: bool = False) -> Ternary:
    """`a * b + c` with one rounding."""
    rounding = ieee_mode(rounding)
    if element is F64:
        kernel = double.fma(rounding)
    elif element is F32 and rounding == NEAREST_EVEN:
        kernel = _single_fma
    else:
        kernel = _narrow_fma(element, rounding)
    if not flush_to_zero:
        return kernel

    def flushed(a: Any, b: Any, c: Any) -> Any:
        a = flush_single(a)
        b = flush_single(b)
        c = flush_single(c)
        return flush_tiny(kernel(a, b, c), kernel(a * RAISED, b, c * RAISED))

    return flushed


def _narrow_fma(element: FloatType, rounding: str) -> Ternary:
    """fma of a format of at most 24 bits."""
    up = widen(element)
    down = narrow(element, rounding)
    downwards = rounding == NEGATIVE_INF

    def fused(a: Any, b: Any, c: Any) -> Any:
        product = up(a) * up(b)
        c = up(c)
        total, low = two_sum(product, c)
        total = to_odd(total, low)
        if downwards:
            total = double.negative_zero(total, product, c)
        return down(total)

    return fused


_LOW_BITS: Final = numpy.int64((1 << 29) - 1)
_MIDPOINT: Final = numpy.int64(1 << 28)
_SMALLEST_NORMAL: Final = 2.0**-126


def _single_fma(a: Any, b: Any, c: Any) -> Any:
    """f32 to nearest even: the sum in double is rounded again, which is wrong only from a midpoint of f32."""
    product = a.astype(numpy.float64) * b.astype(numpy.float64)
    return single_from_sum(product, c.astype(numpy.float64))


def single_from_sum(product: Any, addend: Any) -> Any:
    """The sum of two doubles of at most 48 bits and f32's magnitudes, rounded once to f32."""
    total = as_array(product + addend)
    result = total.astype(numpy.float32)
    doubtful = numpy.bitwise_and(total.view(numpy.int64), _LOW_BITS) == _MIDPOINT
    doubtful |= numpy.abs(total) < _SMALLEST_NORMAL
    if numpy.count_nonzero(doubtful):
        exact, low = two_sum(as_array(product)[doubtful], as_array(addend)[doubtful])
        result[doubtful] = to_odd(exact, low).astype(numpy.float32)
    return result


# remf


def float_remainder(element: FloatType) -> Binary:
    """`a - trunc(a / b) * b`, exact, with the sign of `a`; NaN for an infinite `a` and a zero `b`."""
    return numpy.fmod if element in (F16, F32, F64) else through_double(numpy.fmod, element, narrow(element))
