"""Operations with one float operand, and the powers and atan2.

absf, negf, ceil, floor are exact; sqrt and recipf are correctly rounded in every mode.  The other functions are
evaluated in double and rounded to the element type, within 0.501 units in the last place for f32 and narrower and
within 2 units for f64; none is the C library's, so that they are the same bits everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy

from tileir.dialect import ops
from tileir.dialect.draft_formulas import FORMULAS, Formula, Operand
from tileir.execute.arithmetic import double, exponential, trigonometric
from tileir.execute.arithmetic.double import widened
from tileir.execute.arithmetic.elementary import NATIVE
from tileir.execute.arithmetic.integer import PREDICATES
from tileir.execute.arithmetic.rounding import (
    NEAREST_EVEN,
    Binary,
    Unary,
    float_format,
    flush_single,
    ieee_mode,
    narrow,
    through_double,
    widen,
)
from tileir.execute.dtypes import bits_dtype, value_dtype
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.types import BF16, F16, F32, F64, TF32, FloatType


def _reciprocal_root(x: Any) -> Any:
    return 1.0 / numpy.sqrt(widened(x))


FUNCTIONS: Final[dict[OperationDeclaration, tuple[Unary, Unary]]] = {
    ops.RSQRT: (_reciprocal_root, _reciprocal_root),
    ops.EXP: (exponential.exp_single, exponential.exp_double),
    ops.EXP2: (exponential.exp2_single, exponential.exp2_double),
    ops.LOG: (exponential.log_single, exponential.log_double),
    ops.LOG2: (exponential.log2_single, exponential.log2_double),
    ops.SIN: (trigonometric.sin_single, trigonometric.sin_double),
    ops.COS: (trigonometric.cos_single, trigonometric.cos_double),
    ops.TAN: (trigonometric.tan_single, trigonometric.tan_double),
    ops.SINH: (exponential.sinh_single, exponential.sinh_double),
    ops.COSH: (exponential.cosh_single, exponential.cosh_double),
    ops.TANH: (exponential.tanh_single, exponential.tanh_double),
}
"""The function for types of at most 24 bits, and that for f64: of arrays of doubles."""


def float_unary(
    declaration: OperationDeclaration, element: FloatType, rounding: str = NEAREST_EVEN, flush_to_zero: bool = False
) -> Unary:
    """The kernel of an operation with one float operand; `rounding` matters to sqrt alone."""
    kernel = _unary(declaration, element, ieee_mode(rounding))
    # No result of sqrt, rsqrt and exp2 lies so close below the smallest normal number that it is rounded to it.
    return (lambda a: flush_single(kernel(flush_single(a)))) if flush_to_zero else kernel


def _unary(declaration: OperationDeclaration, element: FloatType, rounding: str) -> Unary:
    if declaration is ops.ABSF or declaration is ops.NEGF:
        return _sign_operation(declaration, element)
    if declaration is ops.CEIL or declaration is ops.FLOOR:
        operation: Unary = numpy.ceil if declaration is ops.CEIL else numpy.floor
        return operation if element in (F16, F32, F64) else through_double(operation, element, narrow(element))
    if declaration is ops.SQRT:
        return _square_root(element, rounding)
    if declaration is ops.RECIPF and element in (F16, F32, F64):
        one = value_dtype(element).type(1.0)
        return lambda a: numpy.true_divide(one, a)
    if declaration is ops.RECIPF:
        # As divf: a narrow quotient in double needs no more care.
        return through_double(lambda a: 1.0 / a, element, narrow(element))
    if declaration is ops.EXP2 and element is F32:
        return exponential.exp2_of_float32
    if declaration in DRAFT_FUNCTIONS:
        function, down = DRAFT_FUNCTIONS[declaration], narrow(element)
    else:
        function, down = FUNCTIONS[declaration][element is F64], function_result(element)
    if element is F32:
        return lambda a: function(a).astype(numpy.float32)
    return function if element is F64 else through_double(function, element, down)


def _sign_operation(declaration: OperationDeclaration, element: FloatType) -> Unary:
    """absf and negf change the sign bit and nothing else, of NaN too."""
    if element in (F16, F32, F64, TF32):
        return numpy.absolute if declaration is ops.ABSF else numpy.negative
    form = float_format(element)
    if not form.has_sign:
        raise ValueError(f"{element.name} has no sign to change")
    dtype, bits = value_dtype(element), bits_dtype(element)
    if declaration is ops.ABSF:
        return lambda a: numpy.bitwise_and(a.view(bits), bits.type(form.magnitude_mask)).view(dtype)
    return lambda a: numpy.bitwise_xor(a.view(bits), bits.type(form.sign_mask)).view(dtype)


def _square_root(element: FloatType, rounding: str) -> Unary:
    if rounding == NEAREST_EVEN and element in (F16, F32, F64, BF16):
        # No root is subnormal, so the second rounding of f16 and bf16 is innocuous.
        return numpy.sqrt
    if element is F64:
        return double.square_root(rounding)
    # As with quotients: the root in double is a value or a midpoint of the format only if it is exact.
    return through_double(numpy.sqrt, element, narrow(element, rounding))


def function_result(element: FloatType) -> Unary:
    """Doubles to the element type, for values that are near the exact ones anyway."""
    if element is BF16:
        # Two roundings cost 2**-17 of a unit at most, within the 0.501 that functions are allowed.
        dtype = value_dtype(BF16)
        return lambda a: a.astype(numpy.float32).astype(dtype)
    return narrow(element)


def _two_operand_function(single: Binary, wide: Binary, element: FloatType) -> Binary:
    return wide if element is F64 else through_double(single, element, function_result(element))


def float_power(element: FloatType) -> Binary:
    """`a ** b` with the special cases of C's `pow`: anything to the power 0 is 1, 1 to any power is 1."""
    return _two_operand_function(exponential.power_single, exponential.power_double, element)


def float_integer_power(element: FloatType) -> Binary:
    """`a ** n`; `n` holds signed integers of at most 32 bits, an i1 is 0 or -1."""
    up, down = widen(element), narrow(element)

    def power(a: Any, n: Any) -> Any:
        exponent = n.astype(numpy.float64)
        if n.dtype == numpy.bool_:
            exponent = -exponent
        return down(exponential.power_double(up(a), exponent))

    return power


def float_atan2(element: FloatType) -> Binary:
    """The angle whose tangent is `a / b`, in the quadrant of the signs of both."""
    return _two_operand_function(trigonometric.atan2_single, trigonometric.atan2_double, element)


# Functions that only the drafts have, in double: the steps of `tileir.dialect.draft_formulas`

_STEPS: Final[dict[OperationDeclaration, Callable[..., Any]]] = {
    ops.ABSF: numpy.absolute,
    ops.EXP: exponential.exp_double,
    ops.LOG: exponential.log_double,
    ops.LOG2: exponential.log2_double,
    ops.NEGF: numpy.negative,
    ops.SELECT: numpy.where,
    **NATIVE,
}


def _draft_function(formula: Formula) -> Unary:
    constants: dict[Operand, Any] = {each: each.constant for each in formula.constants}
    steps = [
        (PREDICATES[step.predicate] if step.predicate else _STEPS[step.declaration], step.operands, step.result)
        for step in formula.steps
    ]

    def computed(x: Any) -> Any:
        known = {formula.argument: widened(x), **constants}
        for function, operands, result in steps:
            known[result] = function(*[known[operand] for operand in operands])
        return known[formula.steps[-1].result]

    return computed


DRAFT_FUNCTIONS: Final[dict[OperationDeclaration, Unary]] = {
    declaration: _draft_function(formula) for declaration, formula in FORMULAS.items()
}
