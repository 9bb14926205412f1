"""Exact software model of the float element types.

A float is its bit pattern, a non-negative `int`, together with its `FloatFormat`. All
arithmetic here is on integers, so no result depends on the host's floating point and every
conversion is correctly rounded (nearest, ties to even). A finite value is always
`(-1)**negative * significand * 2**exponent`.

The literals follow docs/reference/printing.md, section 6; name hints section 3.
"""

NAN_IEEE = "ieee"
"""All exponent bits set: zero mantissa is infinity, any other mantissa is NaN."""
NAN_ALL_ONES = "all_ones"
"""Only the pattern with every bit but the sign set is NaN; no infinity."""
NAN_NONE = "none"
"""Every pattern is finite."""


class FloatFormat:
    """The layout of one float element type: `[sign] exponent mantissa`, high bits first."""

    def __init__(
        self,
        name: str,
        *,
        exponent_bits: int,
        mantissa_bits: int,
        bias: int,
        nan_encoding: str = NAN_IEEE,
        has_sign: bool = True,
        has_zero: bool = True,
    ) -> None:
        self.name: str = name
        magnitude_bits = exponent_bits + mantissa_bits
        self.width: int = magnitude_bits + int(has_sign)
        """Bits of the pattern."""
        self.storage_bytes: int = (self.width + 7) // 8
        """Bytes of one element in constants and hexadecimal dumps."""
        self.precision: int = mantissa_bits + 1
        """Significant bits, the hidden one included."""
        self.mantissa_bits: int = mantissa_bits
        self.exponent_bits: int = exponent_bits
        self.bias: int = bias
        self.minimum_exponent: int = 1 - bias if has_zero else -bias
        """Exponent of the smallest normalized value."""
        self.has_sign: bool = has_sign
        self.has_zero: bool = has_zero
        """Whether exponent field 0 holds zero and the subnormals, as in all but f8E8M0FNU."""
        self.has_infinity: bool = nan_encoding == NAN_IEEE
        self.nan_encoding: str = nan_encoding
        self.sign_mask: int = 1 << magnitude_bits if has_sign else 0
        self.magnitude_mask: int = (1 << magnitude_bits) - 1
        top_exponent = ((1 << exponent_bits) - 1) << mantissa_bits
        self.infinity: int = top_exponent if self.has_infinity else -1
        """Pattern of positive infinity; -1 if the format has none."""
        self.quiet_nan: int = -1
        """Pattern of the canonical NaN; -1 if the format has none."""
        self.largest: int = self.magnitude_mask
        """Pattern of the largest finite value; every greater magnitude is infinity or NaN."""
        self.overflow: int = self.magnitude_mask
        """Magnitude that a too large value becomes: infinity, else NaN, else `largest`."""
        if nan_encoding == NAN_IEEE:
            self.quiet_nan = top_exponent | 1 << (mantissa_bits - 1)
            self.largest = top_exponent - 1
            self.overflow = top_exponent
        elif nan_encoding == NAN_ALL_ONES:
            self.quiet_nan = self.magnitude_mask
            self.largest = self.magnitude_mask - 1
        self.decimal_digits: int = 2 + self.precision * 59 // 196
        """Significant digits of the long literal form (docs/reference/printing.md, section 6, step 2)."""
        self.printed: dict[int, str] = {}
        """Literals already produced, at most `MEMO_LIMIT`."""
        self.parsed: dict[str, int] = {}
        """Literals already read, at most `MEMO_LIMIT`."""

    def __repr__(self) -> str:
        return "FloatFormat(" + self.name + ")"


F64 = FloatFormat("f64", exponent_bits=11, mantissa_bits=52, bias=1023)
F32 = FloatFormat("f32", exponent_bits=8, mantissa_bits=23, bias=127)
TF32 = FloatFormat("tf32", exponent_bits=8, mantissa_bits=10, bias=127)
F16 = FloatFormat("f16", exponent_bits=5, mantissa_bits=10, bias=15)
BF16 = FloatFormat("bf16", exponent_bits=8, mantissa_bits=7, bias=127)
F8E5M2 = FloatFormat("f8E5M2", exponent_bits=5, mantissa_bits=2, bias=15)
F8E4M3FN = FloatFormat("f8E4M3FN", exponent_bits=4, mantissa_bits=3, bias=7, nan_encoding=NAN_ALL_ONES)
F8E8M0FNU = FloatFormat(
    "f8E8M0FNU", exponent_bits=8, mantissa_bits=0, bias=127, nan_encoding=NAN_ALL_ONES,
    has_sign=False, has_zero=False,
)  # fmt: skip
FNV8E5M3FNU = FloatFormat(
    "fnv8E5M3FNU", exponent_bits=5, mantissa_bits=3, bias=15, nan_encoding=NAN_ALL_ONES,
    has_sign=False,
)  # fmt: skip
F4E2M1FN = FloatFormat("f4E2M1FN", exponent_bits=2, mantissa_bits=1, bias=1, nan_encoding=NAN_NONE)

FORMATS: dict[str, FloatFormat] = {
    format.name: format for format in (F64, F32, TF32, F16, BF16, F8E5M2, F8E4M3FN, F8E8M0FNU, FNV8E5M3FNU, F4E2M1FN)
}

MEMO_LIMIT = 4096
"""Most literals remembered per format and direction: programs repeat the same few."""

# No midpoint between two f64 values has more significant decimal digits than this, so digits
# beyond it matter only as "something non-zero follows".
_DIGIT_LIMIT = 800
# Every value of at least 10**400 overflows every format, every value below 10**-400 vanishes.
_DECIMAL_EXPONENT_LIMIT = 400
_INFINITY = float("inf")


# Classification and decoding


def is_nan(format: FloatFormat, bits: int) -> bool:
    magnitude = bits & format.magnitude_mask
    return magnitude > format.largest and magnitude != format.infinity


def is_infinity(format: FloatFormat, bits: int) -> bool:
    return bits & format.magnitude_mask == format.infinity


def is_finite(format: FloatFormat, bits: int) -> bool:
    return bits & format.magnitude_mask <= format.largest


def is_zero(format: FloatFormat, bits: int) -> bool:
    return format.has_zero and bits & format.magnitude_mask == 0


def is_negative(format: FloatFormat, bits: int) -> bool:
    """Whether the sign bit is set, also for zero and NaN."""
    return bits & format.sign_mask != 0


def decode(format: FloatFormat, bits: int) -> tuple[bool, int, int]:
    """`(negative, significand, exponent)` of a finite pattern; ValueError for infinity, NaN."""
    magnitude = bits & format.magnitude_mask
    if magnitude > format.largest:
        raise ValueError(f"{format.name} pattern 0x{bits:X} is not finite")
    negative = bits & format.sign_mask != 0
    mantissa_bits = format.mantissa_bits
    field = magnitude >> mantissa_bits
    hidden = 1 << mantissa_bits
    mantissa = magnitude & (hidden - 1)
    if field == 0 and format.has_zero:
        return negative, mantissa, format.minimum_exponent - mantissa_bits
    return negative, mantissa | hidden, field - format.bias - mantissa_bits


def integral_value(format: FloatFormat, bits: int) -> int | None:
    """The value if it is integral, has no sign (-0.0 has one) and is below 2**64."""
    if bits & format.sign_mask or bits > format.largest:
        return None
    _, significand, exponent = decode(format, bits)
    if exponent >= 0:
        if significand.bit_length() + exponent > 64:
            return None
        return significand << exponent
    if significand & ((1 << -exponent) - 1):
        return None
    return significand >> -exponent


# Rounding


def encode(format: FloatFormat, negative: bool, significand: int, exponent: int) -> int:
    """The pattern nearest to `significand * 2**exponent`, ties to even.

    Too large values become infinity, or NaN without one, or the largest value without either.
    Values nearest to zero become the smallest value in f8E8M0FNU, which has no zero.
    A negative value, -0.0 included, in an unsigned format is a ValueError.
    """
    if significand == 0:
        return _vanish(format, negative)
    # The cheap bounds come first: a huge exponent must not become a huge integer.
    top = significand.bit_length() + exponent - 1
    if top > format.bias + 1:
        return _overflow(format, negative)
    if top < format.minimum_exponent - format.mantissa_bits - 1:
        return _vanish(format, negative)
    if exponent >= 0:
        return encode_ratio(format, negative, significand << exponent, 1)
    return encode_ratio(format, negative, significand, 1 << -exponent)


def encode_ratio(format: FloatFormat, negative: bool, numerator: int, denominator: int) -> int:
    """The pattern nearest to `numerator / denominator`, both positive; otherwise as `encode`."""
    if numerator == 0:
        return _vanish(format, negative)
    # top: the exponent of the leading bit of the quotient.
    top = numerator.bit_length() - denominator.bit_length()
    if top >= 0:
        if numerator < denominator << top:
            top -= 1
    elif numerator << -top < denominator:
        top -= 1
    unit = max(top, format.minimum_exponent) - format.mantissa_bits
    if unit >= 0:
        denominator <<= unit
    else:
        numerator <<= -unit
    quotient, remainder = divmod(numerator, denominator)
    twice = remainder << 1
    if twice > denominator or (twice == denominator and quotient & 1):
        quotient += 1
    if quotient >> format.mantissa_bits == 0:
        if not format.has_zero:
            return _vanish(format, negative)
        magnitude = quotient
    else:
        # Adding, not or-ing, the significand lets a carry out of it reach the exponent field.
        field = unit + format.mantissa_bits + format.bias
        magnitude = (field << format.mantissa_bits) + quotient - (1 << format.mantissa_bits)
        if magnitude > format.largest:
            return _overflow(format, negative)
    return magnitude | _sign(format, negative)


def _sign(format: FloatFormat, negative: bool) -> int:
    if negative and not format.has_sign:
        raise ValueError(f"{format.name} has no negative values")
    return format.sign_mask if negative else 0


def _vanish(format: FloatFormat, negative: bool) -> int:
    # Pattern 0 is zero, or the smallest value of a format without zero.
    return _sign(format, negative)


def _overflow(format: FloatFormat, negative: bool) -> int:
    return format.overflow | _sign(format, negative)


# Python floats


def from_double(format: FloatFormat, value: float) -> int:
    """The pattern nearest to a Python float; NaN becomes the canonical positive NaN.

    ValueError for NaN in a format without NaN, and for negative values in an unsigned one.
    """
    if value != value:
        if format.quiet_nan < 0:
            raise ValueError(f"{format.name} has no NaN")
        return format.quiet_nan
    negative = value < 0.0 or (value == 0.0 and repr(value)[0] == "-")
    if value == _INFINITY or value == -_INFINITY:
        return _overflow(format, negative)
    numerator, denominator = value.as_integer_ratio()
    return encode_ratio(format, negative, abs(numerator), denominator)


def to_double(format: FloatFormat, bits: int) -> float:
    """The value as a Python float. Exact, as every format is a subset of f64."""
    negative = bits & format.sign_mask != 0
    magnitude = bits & format.magnitude_mask
    if magnitude > format.largest:
        value = _INFINITY if magnitude == format.infinity else float("nan")
    else:
        _, significand, exponent = decode(format, magnitude)
        # Both int -> float and int / int round correctly, hence are exact here.
        if exponent >= 0:
            value = float(significand << exponent)
        else:
            value = significand / (1 << -exponent)
    return -value if negative else value


# Decimal text


def parse_float(format: FloatFormat, text: str) -> int:
    """The pattern nearest to a decimal literal; ValueError if it is none.

    decimal ::= [-+]? digit+ (`.` digit*)? ([eE] [-+]? digit+)?
    """
    bits = format.parsed.get(text)
    if bits is None:
        bits = _parse_decimal(format, text)
        if len(format.parsed) < MEMO_LIMIT and len(text) < 32:
            format.parsed[text] = bits
    return bits


def _parse_decimal(format: FloatFormat, text: str) -> int:
    negative = text[:1] == "-"
    body = text[1:] if text[:1] in ("-", "+") else text
    mantissa, mark, exponent_text = body.partition("e")
    if not mark:
        mantissa, mark, exponent_text = body.partition("E")
    whole, _, fraction = mantissa.partition(".")
    if not _is_digits(whole) or (fraction and not _is_digits(fraction)):
        raise ValueError(f"malformed float literal {text!r}")
    exponent = _parse_exponent(exponent_text, text) if mark else 0
    exponent -= len(fraction)
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return _vanish(format, negative)
    if len(digits) > _DIGIT_LIMIT:
        # `1` stands for the non-zero digits cut off; it cannot move the value over a midpoint.
        tail = digits[_DIGIT_LIMIT:].strip("0")
        exponent += len(digits) - _DIGIT_LIMIT
        digits = digits[:_DIGIT_LIMIT]
        if tail:
            digits += "1"
            exponent -= 1
    leading = exponent + len(digits) - 1
    if leading >= _DECIMAL_EXPONENT_LIMIT:
        return _overflow(format, negative)
    if leading < -_DECIMAL_EXPONENT_LIMIT:
        return _vanish(format, negative)
    return _encode_decimal(format, negative, int(digits), exponent)


def _is_digits(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _parse_exponent(text: str, literal: str) -> int:
    digits = text[1:] if text[:1] in ("-", "+") else text
    if not _is_digits(digits):
        raise ValueError(f"malformed float literal {literal!r}")
    digits = digits.lstrip("0")
    # A bounded value is enough: no mantissa is long enough to bring 10**(10**18) back in range.
    magnitude = 10**18 if len(digits) > 18 else int(digits or "0")
    return -magnitude if text[:1] == "-" else magnitude


def _encode_decimal(format: FloatFormat, negative: bool, number: int, exponent: int) -> int:
    """The pattern nearest to `number * 10**exponent`."""
    if exponent >= 0:
        return encode_ratio(format, negative, number * int(10**exponent), 1)
    return encode_ratio(format, negative, number, int(10**-exponent))


def format_float(format: FloatFormat, bits: int) -> str:
    """The literal of a pattern, exactly as the reference tools print it."""
    text = format.printed.get(bits)
    if text is None:
        text = _literal(format, bits)
        if len(format.printed) < MEMO_LIMIT:
            format.printed[bits] = text
    return text


def _literal(format: FloatFormat, bits: int) -> str:
    """docs/reference/printing.md, section 6: steps 1, 2 and 3 in order."""
    magnitude = bits & format.magnitude_mask
    if magnitude > format.largest:
        return f"0x{bits:X}"
    _, significand, exponent = decode(format, magnitude)
    sign = "-" if bits & format.sign_mask else ""
    if significand == 0:
        return sign + "0.000000e+00"
    # The value is exactly number * 10**tens.
    unit_count = significand
    zero_bits = (significand & -significand).bit_length() - 1
    significand >>= zero_bits
    exponent += zero_bits
    if exponent >= 0:
        number = significand << exponent
        tens = 0
    else:
        number = significand * int(5**-exponent)
        tens = exponent
    if number < 1000000:
        # At most six digits: nothing is rounded, so the text parses back for certain.
        return sign + _padded_scientific(str(number), tens)
    digits, power = _generate_digits(number, tens, 6)
    # One unit in the last place is number / unit_count, and a decimal parses back within half
    # a unit; below a power of two within a quarter. Only what lies between needs the rounding.
    error = 2 * unit_count * abs(int(digits) * int(10 ** (power - tens)) - number)
    if error <= number and (2 * error < number or _encode_decimal(format, False, int(digits), power) == magnitude):
        return sign + _padded_scientific(digits, power)
    digits, power = _generate_digits(number, tens, format.decimal_digits)
    text = _shortest_notation(digits, power, format.decimal_digits)
    return sign + text if "." in text else f"0x{bits:X}"


def _generate_digits(number: int, tens: int, count: int) -> tuple[str, int]:
    """At most `count` significant digits of `number * 10**tens`, without trailing zeros, and
    the power of ten of the last one.

    The reference first truncates to about `count` digits worth of bits and only then rounds
    half up, so the last digit is not always the correctly rounded one.
    """
    excess = number.bit_length() - (196 * count + 58) // 59
    if excess > 0:
        dropped = excess * 59 // 196
        number //= int(10**dropped)
        tens += dropped
    text = str(number)
    digits = text.rstrip("0")
    tens += len(text) - len(digits)
    if len(digits) > count:
        tens += len(digits) - count
        if digits[count] >= "5":
            text = str(int(digits[:count]) + 1)
        else:
            text = digits[:count]
        digits = text.rstrip("0")
        tens += len(text) - len(digits)
    return digits, tens


def _padded_scientific(digits: str, power: int) -> str:
    """`d.dddddde+XX` of at most seven digits."""
    power += len(digits) - 1
    sign = "+" if power >= 0 else "-"
    return f"{digits[0]}.{digits[1:]:0<6}e{sign}{abs(power):02}"


def _shortest_notation(digits: str, power: int, count: int) -> str:
    """Fixed notation where it needs at most three padding zeros, else scientific."""
    leading = power + len(digits) - 1
    if power >= 0:
        if power <= 3 and len(digits) + power <= count:
            return digits + "0" * power
    elif leading >= 0:
        return digits[: leading + 1] + "." + digits[leading + 1 :]
    elif leading >= -3:
        return "0." + "0" * (-leading - 1) + digits
    sign = "+" if leading >= 0 else "-"
    return f"{digits[0]}.{digits[1:] or '0'}E{sign}{abs(leading)}"
