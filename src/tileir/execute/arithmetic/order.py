"""Comparing floats: cmpf, maxf, minf."""

from __future__ import annotations

from typing import Any, Final

import numpy

from tileir.dialect import ops
from tileir.execute.arithmetic.rounding import Binary, float_format, flush_single, widen_single
from tileir.execute.dtypes import bits_dtype, from_bits, value_dtype
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.types import BF16, F16, F32, F64, TF32, FloatType

_ORDERED: Final[dict[str, Binary]] = {
    "equal": numpy.equal,
    "less_than": numpy.less,
    "less_than_or_equal": numpy.less_equal,
    "greater_than": numpy.greater,
    "greater_than_or_equal": numpy.greater_equal,
}
_INVERSE: Final = {
    "less_than": "greater_than_or_equal",
    "less_than_or_equal": "greater_than",
    "greater_than": "less_than_or_equal",
    "greater_than_or_equal": "less_than",
}


def _different(a: Any, b: Any) -> Any:
    """Ordered and not equal."""
    return numpy.logical_or(numpy.less(a, b), numpy.greater(a, b))


def _not_different(a: Any, b: Any) -> Any:
    return numpy.logical_not(_different(a, b))


def float_compare(predicate: str, ordering: str, element: FloatType) -> Binary:
    """`ordered` is false where an operand is NaN, `unordered` is true there; -0.0 equals 0.0."""
    kernel: Binary
    if predicate == "not_equal":
        kernel = _different if ordering == "ordered" else numpy.not_equal
    elif ordering == "ordered":
        kernel = _ORDERED[predicate]
    elif predicate == "equal":
        kernel = _not_different
    else:
        # Unordered or less is not (greater or equal), NaN making the inner comparison false.
        inverse = _ORDERED[_INVERSE[predicate]]

        def negated(a: Any, b: Any) -> Any:
            return numpy.logical_not(inverse(a, b))

        kernel = negated
    if element in (F16, F32, F64, BF16):
        return kernel
    up = widen_single(element)

    def compare(a: Any, b: Any) -> Any:
        return kernel(up(a), up(b))

    return compare


def float_minmax(
    declaration: OperationDeclaration, element: FloatType, propagate_nan: bool = False, flush_to_zero: bool = False
) -> Binary:
    """maxf and minf: -0.0 is below 0.0, a NaN result is the canonical one.

    With `propagate_nan` (and for maximumf, minimumf) a NaN operand makes the result NaN, otherwise the other operand is
    the result.
    """
    largest = declaration in (ops.MAXF, ops.MAXIMUMF)
    propagate = propagate_nan or declaration in (ops.MAXIMUMF, ops.MINIMUMF)
    choose: Binary
    if largest:
        choose = numpy.maximum if propagate else numpy.fmax
    else:
        choose = numpy.minimum if propagate else numpy.fmin
    kernel = _minmax(choose, largest, propagate, element)
    if not flush_to_zero:
        return kernel

    def flushed(a: Any, b: Any) -> Any:
        return kernel(flush_single(a), flush_single(b))

    return flushed


def _minmax(choose: Binary, largest: bool, propagate: bool, element: FloatType) -> Binary:
    if element not in (F16, F32, F64, TF32, BF16):
        raise ValueError(f"{element.name} has no maximum and minimum operations")
    bits = bits_dtype(element)
    dtype = value_dtype(element)
    # Of two zeros, `and` gives the positive one if there is one, `or` the negative one.
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
                # NumPy lets a signalling NaN win, on some machines and in some places of an array.
                result = numpy.where(nans, numpy.where(numpy.not_equal(a, a), b, a), result)
                nans = numpy.not_equal(result, result)
            result = numpy.where(nans, canonical, result)
        return result

    return select
