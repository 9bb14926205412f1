"""Integer and bitwise operations: two's complement, wrapping, on signless values.

i1 values are `bool_`; arithmetic on them runs on bytes and keeps the last bit, with true read as 1 unsigned and -1
signed.  What the specification leaves undefined, as division by zero, is defined here: docs/reference/numerics.md has
the results.  The overflow flags of an operation promise that nothing wraps; they do not change what is computed.
"""

from __future__ import annotations

from typing import Any, Final

import numpy

from tileir.dialect import ops
from tileir.execute.arithmetic.rounding import Binary, Unary
from tileir.execute.dtypes import DType, bits_dtype, signed, unsigned, value_dtype
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.types import I1, IntegerType

_WRAPPING: Final[dict[OperationDeclaration, Binary]] = {
    ops.ADDI: numpy.add,
    ops.SUBI: numpy.subtract,
    ops.MULI: numpy.multiply,
    ops.ANDI: numpy.bitwise_and,
    ops.ORI: numpy.bitwise_or,
    ops.XORI: numpy.bitwise_xor,
}
_TRUTH: Final[dict[OperationDeclaration, Binary]] = {
    # Modulo two a sum is 1 where the terms differ.
    ops.ADDI: numpy.not_equal,
    ops.SUBI: numpy.not_equal,
    ops.MULI: numpy.logical_and,
    ops.ANDI: numpy.logical_and,
    ops.ORI: numpy.logical_or,
    ops.XORI: numpy.not_equal,
    # A shift by one is past the width.
    ops.SHLI: numpy.greater,
}
PREDICATES: Final[dict[str, Binary]] = {
    "equal": numpy.equal,
    "not_equal": numpy.not_equal,
    "less_than": numpy.less,
    "less_than_or_equal": numpy.less_equal,
    "greater_than": numpy.greater,
    "greater_than_or_equal": numpy.greater_equal,
}


def integer_binary(declaration: OperationDeclaration, element: IntegerType) -> Binary:
    """The operations without a signedness attribute."""
    if declaration is ops.MULHII:
        return _multiply_high(element)
    if element is I1:
        return _TRUTH[declaration]
    if declaration is ops.SHLI:
        # NumPy shifts out everything where the amount is not below the width; a negative amount is a large one.
        return numpy.left_shift
    return _WRAPPING[declaration]


def integer_signed_binary(declaration: OperationDeclaration, element: IntegerType, signedness: str) -> Binary:
    """remi, maxi, mini and shri."""
    if declaration is ops.REMI:
        return _remainder(element, signedness)
    if element is I1 and declaration is ops.SHRI:
        # Past the width there is the sign, which is the value itself, or nothing.
        return (lambda a, b: a) if signedness == "signed" else numpy.greater
    if element is I1:
        # Signed, true is -1 and below false.
        return numpy.logical_or if (declaration is ops.MAXI) == (signedness == "unsigned") else numpy.logical_and
    operations: dict[OperationDeclaration, Binary] = {
        ops.SHRI: numpy.right_shift,
        ops.MAXI: numpy.maximum,
        ops.MINI: numpy.minimum,
    }
    return _with_sign(operations[declaration], element, signedness)


def _with_sign(operation: Binary, element: IntegerType, signedness: str) -> Binary:
    """An operation on values as they are if they are signed, else on the same bits unsigned."""
    bits, dtype = bits_dtype(element), value_dtype(element)
    if element is I1:
        read: Unary = signed if signedness == "signed" else unsigned
        return lambda a, b: numpy.bitwise_and(operation(read(a), read(b)), 1).astype(numpy.bool_)
    return operation if signedness == "signed" else lambda a, b: operation(a.view(bits), b.view(bits)).view(dtype)


def _multiply_high(element: IntegerType) -> Binary:
    dtype, width, bits = value_dtype(element), element.width, bits_dtype(element)
    if element is I1:
        return lambda a, b: numpy.not_equal(a, a)
    if width == 64:
        return multiply_high_wide

    def multiply_high(a: Any, b: Any) -> Any:
        product = numpy.multiply(a.view(bits).astype(numpy.uint64), b.view(bits).astype(numpy.uint64))
        return numpy.right_shift(product, numpy.uint64(width)).astype(dtype)

    return multiply_high


def multiply_high_wide(a: Any, b: Any) -> Any:
    """The high 64 bits of the product of 64-bit patterns."""
    low, half = numpy.uint64(0xFFFFFFFF), numpy.uint64(32)
    a, b = a.view(numpy.uint64), b.view(numpy.uint64)
    a_low, a_high = numpy.bitwise_and(a, low), numpy.right_shift(a, half)
    b_low, b_high = numpy.bitwise_and(b, low), numpy.right_shift(b, half)
    # Each sum stays below 2**64: (2**32 - 1)**2 + 2 * (2**32 - 1) is 2**64 - 1.
    middle = numpy.multiply(a_high, b_low) + numpy.right_shift(numpy.multiply(a_low, b_low), half)
    other = numpy.multiply(a_low, b_high) + numpy.bitwise_and(middle, low)
    result = numpy.multiply(a_high, b_high) + numpy.right_shift(middle, half) + numpy.right_shift(other, half)
    return result.view(numpy.int64)


# Division


def _truncated(a: Any, b: Any) -> Any:
    quotient = numpy.floor_divide(a, b)
    # The floor is one too low where the signs differ and something is left.
    inexact = numpy.multiply(quotient, b) != a
    return numpy.add(quotient, (inexact & ((a ^ b) < 0) & (b != 0)).astype(a.dtype))


def _ceiling(a: Any, b: Any) -> Any:
    quotient = numpy.floor_divide(a, b)
    return numpy.add(quotient, ((numpy.multiply(quotient, b) != a) & (b != 0)).astype(a.dtype))


def integer_division(element: IntegerType, signedness: str, rounding: str = "zero") -> Binary:
    """divi rounding to zero, `positive_inf` or `negative_inf`."""
    operation: Binary
    if rounding == "positive_inf":
        operation = _ceiling
    elif rounding == "negative_inf" or signedness == "unsigned":
        operation = numpy.floor_divide
    elif rounding == "zero":
        operation = _truncated
    else:
        raise ValueError(f"rounding mode '{rounding}' does not round a quotient of integers")
    return _with_sign(operation, element, signedness)


def _remainder(element: IntegerType, signedness: str) -> Binary:
    quotient: Binary = _truncated if signedness == "signed" else numpy.floor_divide

    def remainder(a: Any, b: Any) -> Any:
        # Of a quotient by zero, which is 0, this leaves the dividend.
        return numpy.subtract(a, numpy.multiply(quotient(a, b), b))

    return _with_sign(remainder, element, signedness)


# One operand


def integer_unary(declaration: OperationDeclaration, element: IntegerType) -> Unary:
    if element is I1:
        # Modulo two a value is its own negative and its own magnitude.
        return numpy.logical_not if declaration is ops.NOTI else lambda a: a
    bits, dtype, width = bits_dtype(element), value_dtype(element), element.width

    def leading(a: Any) -> Any:
        smeared = a.view(bits)
        shift = 1
        while shift < width:
            smeared = smeared | numpy.right_shift(smeared, bits.type(shift))
            shift *= 2
        return numpy.subtract(bits.type(width), _population(smeared, bits)).astype(dtype)

    def trailing(a: Any) -> Any:
        patterns = a.view(bits)
        below = numpy.invert(patterns) & numpy.subtract(patterns, bits.type(1))
        return _population(below, bits).astype(dtype)

    def reverse(a: Any) -> Any:
        # Neighboring bits change places, then pairs, and so on to the two halves.
        patterns = a.view(bits)
        distance = 1
        while distance < bits.itemsize * 8:
            mask = bits.type(_low_groups(bits, distance))
            shift = bits.type(distance)
            patterns = ((patterns & mask) << shift) | ((patterns >> shift) & mask)
            distance *= 2
        return patterns.view(dtype)

    operations: dict[OperationDeclaration, Unary] = {
        ops.NEGI: numpy.negative,
        ops.ABSI: numpy.absolute,
        ops.NOTI: numpy.invert,
        ops.POPCNT: lambda a: _population(a.view(bits), bits).astype(dtype),
        ops.CLZ: leading,
        ops.CTZ: trailing,
        ops.BREV: reverse,
    }
    return operations[declaration]


def _low_groups(bits: DType, size: int) -> int:
    """The pattern in which groups of `size` set and `size` clear bits alternate, beginning with set ones."""
    return ((1 << bits.itemsize * 8) - 1) // ((1 << size) + 1)


def _population(patterns: Any, bits: DType) -> Any:
    """The number of set bits: counts of two bits, of four, of eight; a product adds up the bytes."""
    twos = patterns - ((patterns >> bits.type(1)) & bits.type(_low_groups(bits, 1)))
    low = bits.type(_low_groups(bits, 2))
    fours = (twos & low) + ((twos >> bits.type(2)) & low)
    eights = (fours + (fours >> bits.type(4))) & bits.type(_low_groups(bits, 4))
    ones = ((1 << bits.itemsize * 8) - 1) // 255
    return (eights * bits.type(ones)) >> bits.type(bits.itemsize * 8 - 8)


# Comparison


def integer_compare(predicate: str, element: IntegerType, signedness: str) -> Binary:
    operation = PREDICATES[predicate]
    # Of i1, true is -1 and below false if they are signed.
    if predicate in ("equal", "not_equal") or (signedness == "unsigned") == (element is I1):
        return operation
    bits = bits_dtype(element)
    return (lambda a, b: operation(b, a)) if element is I1 else lambda a, b: operation(a.view(bits), b.view(bits))
