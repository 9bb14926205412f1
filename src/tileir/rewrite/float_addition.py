"""Sums of float constants, exact in every format: integers added, then rounded once as the operation declares.

The folds draft's second contract: the rounding mode and flush-to-zero are those of the operation, and nothing but
finite numbers is touched.
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.ir.dense import DenseAttribute, dense_attribute, element_bytes
from tileir.ir.floats import FORMATS, FloatFormat, decode, is_finite
from tileir.ir.types import FloatType

ROUNDING_MODES: Final = ("nearest_even", "zero", "negative_inf", "positive_inf")


def add_constants(left: DenseAttribute, right: DenseAttribute, rounding: str, flush: bool) -> DenseAttribute | None:
    """The sums of the elements; None if one of them is not finite or the mode is not one of IEEE's."""
    element = left.element_type
    if not isinstance(element, FloatType) or rounding not in ROUNDING_MODES or left.type is not right.type:
        return None
    form = FORMATS[element.name]
    size = element_bytes(element)
    sums: dict[tuple[int, int], bytes] = {}
    parts: list[bytes] = []
    for index in range(1 if left.is_splat and right.is_splat else left.count):
        pair = (left.bits(index), right.bits(index))
        known = sums.get(pair)
        if known is None:
            total = add_bits(form, pair[0], pair[1], rounding, flush)
            if total is None:
                return None
            known = sums[pair] = total.to_bytes(size, "little")
        parts.append(known)
    return dense_attribute(left.type, left.shape, element, b"".join(parts))


def add_bits(form: FloatFormat, left: int, right: int, rounding: str, flush: bool) -> int | None:
    """The pattern of the sum of two patterns; None if an operand or the rounded sum is not finite."""
    if not form.has_zero or not is_finite(form, left) or not is_finite(form, right):
        return None
    if flush:
        left = _flushed(form, left)
        right = _flushed(form, right)
    left_negative, left_units, left_exponent = decode(form, left)
    right_negative, right_units, right_exponent = decode(form, right)
    exponent = min(left_exponent, right_exponent)
    total = _aligned(left_negative, left_units, left_exponent - exponent)
    total += _aligned(right_negative, right_units, right_exponent - exponent)
    if total == 0:
        # Of zeros of one sign the sum has that sign; any other zero is positive, unless rounding goes down.
        both = left_negative and right_negative and left_units == 0 and right_units == 0
        same = left_negative == right_negative
        negative = both or (rounding == "negative_inf" and not same)
        return form.sign_mask if negative and form.has_sign else 0
    bits = _rounded(form, total < 0, abs(total), exponent, rounding)
    return _flushed(form, bits) if bits is not None and flush else bits


def _aligned(negative: bool, units: int, shift: int) -> int:
    value = units << shift
    return -value if negative else value


def _flushed(form: FloatFormat, bits: int) -> int:
    """A subnormal becomes the zero of its sign."""
    magnitude = bits & form.magnitude_mask
    return bits & form.sign_mask if magnitude >> form.mantissa_bits == 0 else bits


def _rounded(form: FloatFormat, negative: bool, units: int, exponent: int, rounding: str) -> int | None:
    """`units * 2**exponent`, not zero, as a pattern; None if it becomes infinite or the format cannot hold its sign."""
    if negative and not form.has_sign:
        return None
    top = units.bit_length() + exponent - 1
    unit = max(top, form.minimum_exponent) - form.mantissa_bits
    shift = unit - exponent
    if shift <= 0:
        quotient = units << -shift
    else:
        quotient = units >> shift
        rest = units & ((1 << shift) - 1)
        if rest:
            half = 1 << (shift - 1)
            if rounding == "nearest_even":
                if rest > half or (rest == half and quotient & 1):
                    quotient += 1
            elif rounding == ("negative_inf" if negative else "positive_inf"):
                quotient += 1
    if quotient >> form.mantissa_bits == 0:
        magnitude = quotient
    else:
        # Adding, not or-ing, the significand lets a carry out of it reach the exponent field.
        field = unit + form.mantissa_bits + form.bias
        magnitude = (field << form.mantissa_bits) + quotient - (1 << form.mantissa_bits)
    if magnitude > form.largest:
        # Rounding that does not go outwards stops at the largest number.
        if rounding == "nearest_even" or rounding == ("negative_inf" if negative else "positive_inf"):
            return None
        magnitude = form.largest
    return magnitude | (form.sign_mask if negative else 0)
