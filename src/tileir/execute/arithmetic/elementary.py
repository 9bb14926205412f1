"""addf, subf, mulf, divf, fma, remf, cmpf, maxf, minf and matmuls.

Three ways lead to a correctly rounded result:
- the bare ufunc: f64 and f32 to nearest even are IEEE operations of the machine; f16 goes through f32, whose 24 bits
  are 2 * 11 + 2, enough for the second rounding to change nothing (Figueroa, "When is double rounding innocuous?",
  1995), and so does bf16, but for products and quotients in its subnormal range, which are done again;
- for all formats of at most 24 bits, in double with the error of the operation, rounded to odd and then once;
- `double`, for f64 in the directed modes and f64 fma.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy

from tileir.dialect import ops
from tileir.execute.arithmetic import double
from tileir.execute.arithmetic.integer import PREDICATES
from tileir.execute.arithmetic.rounding import (
    NEAREST_EVEN,
    NEGATIVE_INF,
    RAISED,
    Binary,
    Ternary,
    Unary,
    as_array,
    float_format,
    flush_single,
    flush_tiny,
    ieee_mode,
    narrow,
    through_double,
    to_odd,
    two_sum,
    widen,
    widen_single,
)
from tileir.execute.dtypes import bits_dtype, from_bits, value_dtype
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.types import BF16, F16, F32, F64, TF32, FloatType

NATIVE: Final[dict[OperationDeclaration, Binary]] = {
    ops.ADDF: numpy.add,
    ops.SUBF: numpy.subtract,
    ops.MULF: numpy.multiply,
    ops.DIVF: numpy.true_divide,
}


def float_binary(
    declaration: OperationDeclaration, element: FloatType, rounding: str = NEAREST_EVEN, flush_to_zero: bool = False
) -> Binary:
    """addf, subf, mulf or divf; `flush_to_zero`, of f32, flushes subnormal operands and tiny results."""
    rounding = ieee_mode(rounding)
    is_sum = declaration in (ops.ADDF, ops.SUBF)
    if rounding == NEAREST_EVEN and (element in (F32, F64, F16) or (element is BF16 and is_sum)):
        kernel = NATIVE[declaration]
    elif rounding == NEAREST_EVEN and element is BF16:
        kernel = _brain_binary(declaration)
    elif element is F64:
        kernel = double.binary(declaration, rounding)
    else:
        kernel = _narrow(declaration, element, rounding)
    if not flush_to_zero:
        return kernel
    if is_sum:
        # A sum below the smallest normal number is exact.
        return lambda a, b: flush_single(kernel(flush_single(a), flush_single(b)))

    def flushed(a: Any, b: Any) -> Any:
        a, b = flush_single(a), flush_single(b)
        return flush_tiny(kernel(a, b), kernel(a * RAISED, b))

    return flushed


def float_fma(element: FloatType, rounding: str = NEAREST_EVEN, flush_to_zero: bool = False) -> Ternary:
    """`a * b + c` with one rounding."""
    rounding = ieee_mode(rounding)
    if element is F64:
        kernel = double.fma(rounding)
    elif element is F32 and rounding == NEAREST_EVEN:
        kernel = _single_fma
    else:
        kernel = _narrow(ops.FMA, element, rounding)
    if not flush_to_zero:
        return kernel

    def flushed(a: Any, b: Any, c: Any) -> Any:
        a, b, c = flush_single(a), flush_single(b), flush_single(c)
        return flush_tiny(kernel(a, b, c), kernel(a * RAISED, b, c * RAISED))

    return flushed


def _narrow(declaration: OperationDeclaration, element: FloatType, rounding: str) -> Callable[..., Any]:
    """Through double, with what double leaves out; every format of at most 24 bits, every mode."""
    up, down = widen(element), narrow(element, rounding)

    def add(a: Any, b: Any) -> Any:
        total = to_odd(*two_sum(a, b))
        return down(double.negative_zero(total, a, b) if rounding == NEGATIVE_INF else total)

    kernels: dict[OperationDeclaration, Callable[..., Any]] = {
        ops.ADDF: lambda a, b: add(up(a), up(b)),
        ops.SUBF: lambda a, b: add(up(a), -up(b)),
        # 48 bits at most: exact.
        ops.MULF: lambda a, b: down(up(a) * up(b)),
        # A quotient that is no value or midpoint of the format is at least 2**-50 of itself away from one, so the
        # rounding to double never lands there: it needs no correction in any mode.
        ops.DIVF: lambda a, b: down(up(a) / up(b)),
        ops.FMA: lambda a, b, c: add(up(a) * up(b), up(c)),
    }
    return kernels[declaration]


def _brain_binary(declaration: OperationDeclaration) -> Binary:
    """bf16 products and quotients: float32 has bf16's exponents, so its own subnormal rounding can spoil the second."""
    native, careful = NATIVE[declaration], _narrow(declaration, BF16, NEAREST_EVEN)
    magnitude, smallest_normal = numpy.uint16(0x7FFF), numpy.uint16(0x0080)

    def through_single(a: Any, b: Any) -> Any:
        result = as_array(native(a, b))
        doubtful = numpy.bitwise_and(result.view(numpy.uint16), magnitude) <= smallest_normal
        if numpy.count_nonzero(doubtful):
            # In the body of a reduction one of them may be a single number: `where` repeats it.
            left, right = (numpy.where(doubtful, operand, operand)[doubtful] for operand in (a, b))
            result[doubtful] = careful(left, right)
        return result

    return through_single


_LOW_BITS: Final = numpy.int64((1 << 29) - 1)
_MIDPOINT: Final = numpy.int64(1 << 28)
_SMALLEST_NORMAL: Final = 2.0**-126


def _single_fma(a: Any, b: Any, c: Any) -> Any:
    """f32 to nearest even: the sum in double is rounded again, which is wrong only from a midpoint of f32."""
    return single_from_sum(a.astype(numpy.float64) * b.astype(numpy.float64), c.astype(numpy.float64))


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


def float_remainder(element: FloatType) -> Binary:
    """`a - trunc(a / b) * b`, exact, with the sign of `a`; NaN for an infinite `a` and a zero `b`."""
    return numpy.fmod if element in (F16, F32, F64) else through_double(numpy.fmod, element, narrow(element))


# Comparing

_INVERSE: Final = {
    "less_than": "greater_than_or_equal",
    "less_than_or_equal": "greater_than",
    "greater_than": "less_than_or_equal",
    "greater_than_or_equal": "less_than",
}


def _different(a: Any, b: Any) -> Any:
    """Ordered and not equal."""
    return numpy.logical_or(numpy.less(a, b), numpy.greater(a, b))


def _negated(compare: Binary) -> Binary:
    return lambda a, b: numpy.logical_not(compare(a, b))


def float_compare(predicate: str, ordering: str, element: FloatType) -> Binary:
    """`ordered` is false where an operand is NaN, `unordered` is true there; -0.0 equals 0.0."""
    kernel = PREDICATES[predicate]
    if predicate == "not_equal":
        kernel = _different if ordering == "ordered" else kernel
    elif ordering != "ordered":
        # Unordered or less is not (greater or equal), NaN making the inner comparison false.
        kernel = _negated(_different if predicate == "equal" else PREDICATES[_INVERSE[predicate]])
    if element in (F16, F32, F64, BF16):
        return kernel
    up = widen_single(element)
    return lambda a, b: kernel(up(a), up(b))


def float_minmax(
    declaration: OperationDeclaration, element: FloatType, propagate_nan: bool = False, flush_to_zero: bool = False
) -> Binary:
    """maxf and minf: -0.0 is below 0.0, and a NaN result is the canonical one.  A NaN operand makes the result NaN with
    `propagate_nan`, and for maximumf and minimumf; otherwise the other operand is the result."""
    if element not in (F16, F32, F64, TF32, BF16):
        raise ValueError(f"{element.name} has no maximum and minimum operations")
    largest = declaration in (ops.MAXF, ops.MAXIMUMF)
    propagate = propagate_nan or declaration in (ops.MAXIMUMF, ops.MINIMUMF)
    bits, dtype = bits_dtype(element), value_dtype(element)
    choose: Binary = numpy.fmax if largest else numpy.fmin
    if propagate:
        choose = numpy.maximum if largest else numpy.minimum
    # `and` of two zeros is positive if either is positive; `or` is negative if either is negative.
    merge: Binary = numpy.bitwise_and if largest else numpy.bitwise_or
    canonical = from_bits(element, numpy.array(float_format(element).quiet_nan, bits))

    def select(a: Any, b: Any) -> Any:
        result = choose(a, b)
        zeros = numpy.equal(result, 0)
        if numpy.count_nonzero(zeros):
            zeros = numpy.logical_and(zeros, numpy.equal(a, b))
            result = numpy.where(zeros, merge(a.view(bits), b.view(bits)).view(dtype), result)
        nans = numpy.not_equal(result, result)
        if numpy.count_nonzero(nans):
            if not propagate:
                # NumPy lets a signaling NaN win, on some machines and in some places of an array.
                result = numpy.where(nans, numpy.where(numpy.not_equal(a, a), b, a), result)
                nans = numpy.not_equal(result, result)
            result = numpy.where(nans, canonical, result)
        return result

    return (lambda a, b: select(flush_single(a), flush_single(b))) if flush_to_zero else select


# Matmuls: mmaf, mmai, mmaf_scaled, of tiles of rank two, or three with a batch dimension in front.
#
# By default `numpy.matmul` computes in the precision of the accumulator, in NumPy's order of additions.  With `exact`
# each element is a chain of fma from the accumulator, for k = 0, 1, 2 and on, each rounded once to the accumulator's
# type: the definition that every engine matches bit for bit.  Both accumulate f16 in float32 and round at the end.

Scaled: TypeAlias = Callable[[Any, Any, Any, Any, Any], Any]


def matrix_float(lhs: FloatType, accumulator: FloatType, exact: bool = False) -> Ternary:
    """mmaf; both operands have the element type `lhs`."""
    if not exact:
        up = widen(lhs) if accumulator is F64 else widen_single(lhs)

        def multiply_add(a: Any, b: Any, c: Any) -> Any:
            total = numpy.matmul(up(a), up(b))
            total += c
            return total

        return (lambda a, b, c: multiply_add(a, b, c).astype(numpy.float16)) if accumulator is F16 else multiply_add
    if accumulator is F64:
        return _steps(double.fma(NEAREST_EVEN), widen(F64))
    if accumulator is not F32 and accumulator is not F16:
        raise ValueError(f"no matmul accumulates in {accumulator.name}")
    chain = _steps(_single_step, widen(lhs))
    return chain if accumulator is F32 else lambda a, b, c: chain(a, b, c.astype(numpy.float32)).astype(numpy.float16)


def _single_step(a: Any, b: Any, c: Any) -> Any:
    return single_from_sum(a * b, c.astype(numpy.float64))


def _steps(step: Ternary, up: Unary) -> Ternary:
    """One rank-1 update after another, on operands widened to double: all products but those of f64 are exact."""

    def multiply_add(a: Any, b: Any, c: Any) -> Any:
        a, b = up(a), up(b)
        for k in range(a.shape[-1]):
            c = step(a[..., :, k, None], b[..., k, None, :], c)
        return c

    return multiply_add


def matrix_integer(signedness_lhs: str, signedness_rhs: str) -> Ternary:
    """mmai: exact products of i8, added to i32 with wrapping."""
    lhs_dtype = numpy.int8 if signedness_lhs == "signed" else numpy.uint8
    rhs_dtype = numpy.int8 if signedness_rhs == "signed" else numpy.uint8
    largest = (128 if signedness_lhs == "signed" else 255) * (128 if signedness_rhs == "signed" else 255)

    def multiply_add(a: Any, b: Any, c: Any) -> Any:
        # Float products are exact while every partial sum is, up to 2**24 in float32, and go through BLAS.
        dtype = numpy.float32 if largest * a.shape[-1] <= 1 << 24 else numpy.float64
        product = numpy.matmul(a.view(lhs_dtype).astype(dtype), b.view(rhs_dtype).astype(dtype))
        return numpy.add(product.astype(numpy.int64), c).astype(numpy.int32)

    return multiply_add


def matrix_scaled(lhs: FloatType, scale: FloatType, exact: bool = False) -> Scaled:
    """mmaf_scaled: each scale multiplies a block of elements along K; scaled operands and their products are exact.
    By default the sum is in double, rounded once to f32; with `exact` it is the chain of fma."""
    up, up_scale, down = widen(lhs), widen(scale), narrow(F32)
    chain = _steps(_single_step, widen(F64))

    def multiply_add(a: Any, b: Any, c: Any, a_scale: Any, b_scale: Any) -> Any:
        block = a.shape[-1] // a_scale.shape[-1]
        a = up(a) * numpy.repeat(up_scale(a_scale), block, axis=-1)
        b = up(b) * numpy.repeat(up_scale(b_scale), block, axis=-2)
        return chain(a, b, c) if exact else down(numpy.matmul(a, b) + c)

    return multiply_add
