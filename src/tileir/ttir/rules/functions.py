"""Mathematical functions that Tile IR lacks, written with those it has.

Those that find exact results and `erf` take f32 and f64, the others f64.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import Final

from tileir.dialect.types import with_element
from tileir.ir.core import Operation
from tileir.ir.types import F64, I32, I64, IntegerType
from tileir.ir.values import Value
from tileir.ttir.rules.formulas import Number, function
from tileir.ttir.translation import Translation, rule

cos, exp, log, log1p, sin = map(function, ("cos", "exp", "log", "log1p", "sin"))
atan2, ceil, floor, pow_, sqrt = map(function, ("atan2", "ceil", "floor", "pow", "sqrt"))


# --- parts of floats ---


def copysign(size: Number, sign: Number) -> Number:
    integer = integer_of(size)
    highest = -(1 << integer.width - 1)
    found = (size.bits(integer) & (highest ^ -1)) | (sign.bits(integer) & highest)
    return found.bits(size.element)


def integer_of(x: Number) -> IntegerType:
    return I64 if x.element is F64 else I32


def mantissa_bits(x: Number) -> int:
    return 52 if x.element is F64 else 23


def next_after(x: Number, target: Number) -> Number:
    """One step in the order of the bits, away from zero or toward it; from zero, the smallest number."""
    integer = integer_of(x)
    bits, target_bits = x.bits(integer), target.bits(integer)
    away = (x < target).apply("xori", x < 0)
    stepped = away.choose(bits + 1, bits - 1)
    smallest = (target_bits & -(1 << integer.width - 1)) | 1
    stepped = x.equals(0).choose(smallest, stepped)
    found = x.equals(target).choose(target, stepped.bits(x.element))
    return (x.compare("not_equal", x) | target.compare("not_equal", target)).choose(x + target, found)


def power_of_two(exponent: Number, like: Number) -> Number:
    """2 to the power of an integer as wide as the floats, in the range of normal numbers."""
    bias = 1023 if like.element is F64 else 127
    return ((exponent + bias) << mantissa_bits(like)).bits(like.element)


def scaled(x: Number, exponent: Number) -> Number:
    """x * 2**exponent, rounded once: steps down keep the result normal until the last one, if it can be."""
    exponent = exponent.apply("exti", with_element(x.type, I64), "signed")
    for _ in range(2):
        up, down = exponent > 1023, exponent < -1022
        step = up.choose(exponent.number(1023), down.choose(exponent.number(-969), 0))
        x, exponent = x * power_of_two(step, x), exponent - step
    exponent = exponent.apply("maxi", exponent.number(-1022), "signed")
    return x * power_of_two(exponent.apply("mini", exponent.number(1023), "signed"), x)


def exponent_of(x: Number) -> Number:
    """The exponent of a finite number that is not zero."""
    small = abs(x) < 2.0**-1022
    bits = small.choose(x * 2.0**54, x).bits(I64)
    return ((bits >> 52) & 2047) - small.choose(bits.number(1023 + 54), 1023)


def ilogb(x: Number) -> Number:
    """The exponent of a float: for an infinity the largest integer, for NaN and zero the smallest."""
    found = exponent_of(x)
    found = abs(x).equals(math.inf).choose(found.number(2**31 - 1), found)
    none = x.equals(0).apply("ori", x.compare("not_equal", x))
    return none.choose(found.number(-(2**31)), found)


def logb(x: Number) -> Number:
    found = exponent_of(x).apply("itof", x.type, "signed")
    found = x.equals(0).choose(x.number(-math.inf), found)
    return (abs(x) < math.inf).choose(found, x * x)


# --- integers as floats ---


def trunc(x: Number) -> Number:
    return (x < 0).choose(ceil(x), floor(x))


def rint(x: Number) -> Number:
    """To nearest, ties to even: what adding a number whose unit is 1 does to smaller ones."""
    unit = 2.0 ** mantissa_bits(x)
    rounded = copysign(abs(x) + unit - unit, x)
    return (abs(x) < unit).choose(rounded, x)


def round_away(x: Number) -> Number:
    """To nearest, ties away from zero."""
    whole = floor(abs(x))
    up = (abs(x) - whole) >= 0.5
    return (abs(x) < 2.0 ** mantissa_bits(x)).choose(copysign(up.choose(whole + 1, whole), x), x)


def remainder(x: Number, divisor: Number) -> Number:
    """x - n * divisor, with n the integer nearest to the quotient, the even one of two."""
    size = abs(divisor)
    rest = abs(x.apply("remf", divisor))
    odd = abs(x.apply("remf", size * 2)) >= size
    more = rest > size - rest
    more = more.apply("ori", rest.equals(size - rest).apply("andi", odd))
    found = more.choose(rest - size, rest)
    return copysign(x.number(1), x) * found


def to_integer(x: Number) -> Number:
    return x.apply("ftoi", with_element(x.type, I64), "signed")


# --- functions ---


def expm1(x: Number) -> Number:
    """Near zero x + x**2 / 2 + x**3 q(x), elsewhere exp(x) - 1."""
    near = x.fma(x * x.polynomial((0.5, *_EXPM1)), x)
    is_near = (x > -0.7).apply("andi", x < 1.1)
    return is_near.choose(copysign_of_zero(near, x), exp(x) - 1)


# (exp(x) - 1 - x - x**2 / 2) / x**3 from -0.75 to 1.125, by Chebyshev's interpolation.
_EXPM1: Final = (
    *(0.16666666666666666, 0.041666666666666664, 0.008333333333333333, 0.001388888888888892, 0.00019841269841269608),
    *(2.4801587301549283e-05, 2.75573192242985e-06, 2.7557319244375893e-07, 2.505210819006256e-08),
    *(2.0876751788832954e-09, 1.6059104059255545e-10, 1.1471326312465122e-11, 7.638267000998629e-13),
    *(4.767598248628415e-14, 3.3192766933217883e-15),
)


def asin(x: Number) -> Number:
    return atan2(x, sqrt((1 - x) * (x + 1)))


def acos(x: Number) -> Number:
    return atan2(sqrt((1 - x) * (x + 1)), x)


def asinh(x: Number) -> Number:
    """log(x + sqrt(x**2 + 1)) without loss near zero, and without overflow."""
    size = abs(x)
    square = size * size
    near = log1p(size + square / (sqrt(square + 1) + 1))
    return copysign((size < 2.0**30).choose(near, log(size) + math.log(2)), x)


def acosh(x: Number) -> Number:
    above = x - 1
    near = log1p(above + sqrt(above) * sqrt(above + 2))
    return (x < 2.0**30).choose(near, log(x) + math.log(2))


def atanh(x: Number) -> Number:
    size = abs(x)
    return copysign(log1p(size * 2 / (1 - size)) * 0.5, x)


def cbrt(x: Number) -> Number:
    """A power, and one step of Newton's method with the exact residual."""
    small = abs(x) < 2.0**-900
    size = small.choose(abs(x) * 2.0**300, abs(x))
    root = pow_(size, size.number(1 / 3))
    square = root * root
    residual = (-square).fma(root, size) - root.fma(root, -square) * root
    better = root + residual / (square * 3)
    better = small.choose(better * 2.0**-100, better)
    special = size.equals(0).apply("ori", size.equals(math.inf))
    return copysign(special.choose(size, better), x)


def norm(*parts: Number) -> Number:
    """The root of the sum of squares, infinity if a part is infinite; scaled so that squares are in range."""
    total, _, scale = squares(parts)
    return infinite(parts).choose(total.number(math.inf), sqrt(total) * (1 / scale))


def inverse_norm(*parts: Number) -> Number:
    """A root, and one step of Newton's method with the rounding errors of the sum and of the product."""
    total, low, scale = squares(parts)
    root = total.apply("rsqrt")
    product = total * root
    residual = (-product).fma(root, 1) - root * (total.fma(root, -product) + low * root)
    better = (total > 0).choose((root * 0.5).fma(residual, root), root)
    return infinite(parts).choose(total.number(0), better * scale)


def squares(parts: Sequence[Number]) -> tuple[Number, Number, Number]:
    """The sum of squares of the parts times a power of two, its rounding error, and that power."""
    sizes = [abs(each) for each in parts]
    largest = reduce(lambda a, b: a.apply("maxf", b), sizes)
    scale = (largest > 2.0**500).choose(largest.number(2.0**-600), 1)
    scale = (largest < 2.0**-400).choose(largest.number(2.0**600), scale)
    sizes = [each * scale for each in sizes]
    total, low = largest.number(0), largest.number(0)
    for each in sizes:
        square = each * each
        both = total + square
        part = both - total
        low = low + each.fma(each, -square) + ((total - (both - part)) + (square - part))
        total = both
    return total, low, scale


def infinite(parts: Sequence[Number]) -> Number:
    return reduce(lambda a, b: a.apply("ori", b), [abs(each).equals(math.inf) for each in parts])


def quarter_turns(x: Number) -> tuple[Number, Number]:
    """The number of right angles in x * pi, and the angle that is left."""
    x = x.apply("remf", x.number(2))
    turns = rint(x * 2)
    angle = (x - turns * 0.5) * math.pi
    return turns.apply("ftoi", with_element(x.type, I32), "signed"), angle


def sinpi(x: Number) -> Number:
    turns, angle = quarter_turns(x)
    return copysign_of_zero(quadrant(turns, sin(angle), cos(angle)), x)


def cospi(x: Number) -> Number:
    turns, angle = quarter_turns(x)
    return quadrant(turns + 1, sin(angle), cos(angle)) + 0.0


def quadrant(turns: Number, sine: Number, cosine: Number) -> Number:
    """The sine of an angle plus `turns` right angles."""
    found = (turns & 1).equals(0).choose(sine, cosine)
    return (turns & 2).equals(0).choose(found, -found)


def copysign_of_zero(value: Number, x: Number) -> Number:
    return value.equals(0).choose(copysign(value, x), value)


def positive_difference(x: Number, y: Number) -> Number:
    return (x <= y).choose(x.number(0), x - y)


# A limit; where erf(x) rounds to 1; erf(x) / x in powers of x**2 up to the limit; log(1 - erf(x)) in powers of x above
# it.  Both interpolate at the Chebyshev nodes of their interval.  Results are within 3 units in the last place in f32
# and 2 in f64.
_ERF_F32: Final = (
    1.0,
    4.0,
    (
        *(1.1283791065216064, -0.3761262595653534, 0.11283594369888306, -0.02685421146452427, 0.005189087241888046),
        *(-0.000801686430349946, 7.875874871388078e-05),
    ),
    (
        *(0.0003201380604878068, -1.1302334070205688, -0.6318260431289673, -0.11008008569478989, 0.026421135291457176),
        *(-0.004759596195071936, 0.0005968056502752006, -4.605804133461788e-05, 1.6371513993362896e-06),
    ),
)
_ERF_F64: Final = (
    1.25,
    6.0,
    (
        *(1.1283791670955126, -0.37612638903183754, 0.11283791670955097, -0.026866170645125722),
        *(0.005223977625387409, -0.0008548327020180941, 0.0001205533285425926, -1.4925646943345033e-05),
        *(1.6462049632839944e-06, -1.63649613991563e-07, 1.4798469004412754e-08, -1.2228551876345938e-09),
        *(9.111659606143843e-11, -5.6506481870594715e-12, 2.169506620003183e-13),
    ),
    (
        *(-6.480919195786886e-07, -1.1283737341689888, -0.6366409144573167, -0.10272224812490773),
        *(0.019047420605903174, 0.0002997039868609198, -0.0017626901288190589, 0.0006112386575998931),
        *(-6.288492088935594e-06, -0.00010259020043693619, 6.497317271212996e-05, -2.6068959659215475e-05),
        *(7.947514721693003e-06, -1.9444397615652713e-06, 3.897140938493023e-07, -6.438332633813662e-08),
        *(8.748788440199793e-09, -9.694301224065113e-10, 8.625951897309504e-11, -6.0168295644788395e-12),
        *(3.1690122091289897e-13, -1.1848807546268688e-14, 2.8024139243533386e-16, -3.1513832901556194e-18),
    ),
)


@rule("math.erf")
def error_function(t: Translation, op: Operation) -> Value:
    return erf(Number(t.build, t.operands(op)[0])).value


def erf(x: Number) -> Number:
    """x p(x**2) near zero, +-(1 - exp(q(|x|))) elsewhere."""
    near, limit, near_zero, elsewhere = _ERF_F64 if x.element is F64 else _ERF_F32
    size = abs(x)
    bounded = size.apply("minf", size.number(limit), propagate_nan=True)
    far = 1 - bounded.polynomial(elsewhere).apply("exp")
    far = (x < 0).choose(-far, far)
    return (size < near).choose(x * (x * x).polynomial(near_zero), far)
