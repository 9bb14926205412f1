"""Functions of libdevice, written with Tile IR's: those that have no formula here are refused by name.

Float functions with inexact results compute in f64, also those of f32, and are as accurate as CUDA documents for
libdevice.  A name is a symbol without `__nv_` and without the letter of its type at the end.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import reduce
from typing import Final

from tileir.dialect.types import with_element
from tileir.ir.core import Operation
from tileir.ir.types import F64, I64, FloatType, IntegerType, Type
from tileir.ir.values import Value
from tileir.ttir.rules import functions as f
from tileir.ttir.rules.arithmetic import splat
from tileir.ttir.rules.formulas import Number, function
from tileir.ttir.translation import Translation, rule

Formula = Callable[..., Number]

_MODES: Final = {"n": "nearest_even", "z": "zero", "d": "negative_inf", "u": "positive_inf"}


# --- integers and bits ---


def unsigned_shift(x: Number, count: int) -> Number:
    return x.shift_right(count, "unsigned")


def low_24_bits(x: Number) -> Number:
    return (x << 8) >> 8


def high_product(a: Number, b: Number) -> Number:
    """The upper half of a signed product: that of the unsigned one, less the other operand for each negative one."""
    return a.apply("mulhii", b) - (a < 0).choose(b, 0) - (b < 0).choose(a, 0)


def byte_permutation(low: Number, high: Number, selector: Number) -> Number:
    """Four of eight bytes; the lower three bits of each nibble of the selector name one."""
    wide = with_element(low.type, I64)
    both = low.apply("exti", wide, "unsigned") | (high.apply("exti", wide, "unsigned") << 32)
    found = []
    for position in range(0, 32, 8):
        start = ((selector >> position // 2) & 7) << 3
        byte = both.shift_right(start.apply("exti", wide, "unsigned"), "unsigned") & 255
        found.append(byte << position)
    return reduce(Number.__or__, found).apply("trunci", low.type)


def first_one(x: Number) -> Number:
    return x.equals(0).choose(x.number(0), x.apply("ctz") + 1)


def halves_to_double(high: Number, low: Number) -> Number:
    wide = with_element(low.type, I64)
    return ((high.apply("exti", wide, "unsigned") << 32) | low.apply("exti", wide, "unsigned")).bits(F64)


# --- the tables ---

# The same operation, in the type of the operands.
_SAME: Final = {
    **{name: name for name in ("ceil", "cos", "cosh", "exp", "exp2", "floor", "fma", "log", "log10", "log1p", "log2")},
    **{name: name for name in ("atan2", "brev", "pow", "rsqrt", "sin", "sinh", "sqrt", "tan", "tanh")},
    **{f"fast_{name}": name for name in ("cos", "exp", "log", "log10", "log2", "pow", "sin", "tan")},
    "abs": "absi",
    "brevll": "brev",
    "fabs": "absf",
    "fast_fdivide": "divf",
    "fmod": "remf",
    "llabs": "absi",
    "clz": "clz",
    "clzll": "clz",
    "popc": "popcnt",
    "popcll": "popcnt",
    "umulhi": "mulhii",
    "umul64hi": "mulhii",
}
# Formulas in the type of the operands.
_FORMULAS: Final[dict[str, Formula]] = {
    "byte_perm": byte_permutation,
    "copysign": f.copysign,
    "double2hiint": lambda x: x.bits(I64) >> 32,
    "double2loint": lambda x: x.bits(I64),
    "fdim": f.positive_difference,
    "ffs": first_one,
    "ffsll": first_one,
    "finite": lambda x: abs(x) < math.inf,
    "hadd": lambda a, b: (a & b) + ((a ^ b) >> 1),
    "hiloint2double": halves_to_double,
    "isfinite": lambda x: abs(x) < math.inf,
    "isinf": lambda x: abs(x).equals(math.inf),
    "isnan": lambda x: x.compare("not_equal", x),
    "llrint": lambda x: f.to_integer(f.rint(x)),
    "llround": lambda x: f.to_integer(f.round_away(x)),
    "mul24": lambda a, b: low_24_bits(a) * low_24_bits(b),
    "mul64hi": high_product,
    "mulhi": high_product,
    "nearbyint": f.rint,
    "nextafter": f.next_after,
    "remainder": f.remainder,
    "rhadd": lambda a, b: (a | b) - ((a ^ b) >> 1),
    "rint": f.rint,
    "round": f.round_away,
    "sad": lambda a, b, c: a.apply("maxi", b, "signed") - a.apply("mini", b, "signed") + c,
    "saturate": lambda x: x.apply("maxf", x.number(0)).apply("minf", x.number(1)),
    "signbit": lambda x: unsigned_shift(x.bits(f.integer_of(x)), f.integer_of(x).width - 1),
    "trunc": f.trunc,
    "uhadd": lambda a, b: (a & b) + unsigned_shift(a ^ b, 1),
    "umul24": lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF),
    "urhadd": lambda a, b: (a | b) - unsigned_shift(a ^ b, 1),
    "usad": lambda a, b, c: a.apply("maxi", b, "unsigned") - a.apply("mini", b, "unsigned") + c,
}
# Formulas in f64.
_WIDE: Final[dict[str, Formula]] = {
    "acos": f.acos,
    "acosh": f.acosh,
    "asin": f.asin,
    "asinh": f.asinh,
    "atan": lambda x: f.atan2(x, x.number(1)),
    "atanh": f.atanh,
    "cbrt": f.cbrt,
    "cospi": f.cospi,
    "erf": f.erf,
    "exp10": lambda x: f.pow_(x.number(10), x),
    "expm1": f.expm1,
    "fast_exp10": lambda x: f.pow_(x.number(10), x),
    "frsqrt_rn": function("rsqrt"),
    "hypot": f.norm,
    "ilogb": f.ilogb,
    "ldexp": f.scaled,
    "logb": f.logb,
    "norm3d": f.norm,
    "norm4d": f.norm,
    "powi": lambda x, n: f.pow_(x, n.apply("itof", x.type, "signed")),
    "rcbrt": lambda x: 1 / f.cbrt(x),
    "rhypot": f.inverse_norm,
    "rnorm3d": f.inverse_norm,
    "rnorm4d": f.inverse_norm,
    "scalbn": f.scaled,
    "sinpi": f.sinpi,
}

_ROUNDED: Final = re.compile(r"[fd]?(add|sub|mul|div|sqrt|rcp|fma)f?_r([nzdu])")
_CONVERTED: Final = re.compile(r"(float|double|int|uint|ll|ull)2(float|double|int|uint|ll|ull)_r([nzdu])")
_REINTERPRETED: Final = re.compile(r"(u?int|float|longlong|double)_as_(u?int|float|longlong|double)")
_TO_WHOLE: Final[dict[str, Formula]] = {"n": f.rint, "z": lambda x: x, "d": f.floor, "u": f.ceil}


@rule("tt.extern_elementwise")
def call(t: Translation, op: Operation) -> Value:
    symbol, library = str(t.attribute(op, "symbol")), str(t.attribute(op, "libname", ""))
    type = t.result_type(op)
    operands = [Number(t.build, splat(t, each, type.shape)) for each in t.operands(op)]
    formula = _formula(symbol.removeprefix("__nv_"), type.element)
    if formula is None or not symbol.startswith("__nv_"):
        where = f"of the library '{library}'" if library not in ("", "libdevice") else "of libdevice"
        raise t.error(f"the function '{symbol}' {where} is not supported: Tile IR has no counterpart", op)
    return _as(formula(*operands), type.element).value


def _formula(name: str, target: Type) -> Formula | None:
    """The function of a name, None if there is none."""
    if found := _ROUNDED.fullmatch(name):
        return _rounded(found[1], _MODES[found[2]])
    if found := _CONVERTED.fullmatch(name):
        return _conversion(found[1], found[2], target, found[3])
    if _REINTERPRETED.fullmatch(name):
        return lambda x: x.bits(target)
    for each in (name, re.sub("[fd]$", "", name)):
        if each in _SAME:
            return function(_SAME[each])
        if each in _FORMULAS:
            return _FORMULAS[each]
        if each in _WIDE:
            return _in_double(_WIDE[each])
    return None


def _in_double(formula: Formula) -> Formula:
    def compute(*operands: Number) -> Number:
        return formula(*[_as(each, F64) if isinstance(each.element, FloatType) else each for each in operands])

    return compute


def _rounded(name: str, mode: str) -> Formula:
    """An operation with a rounding mode."""
    if name == "rcp":
        return lambda x: x.number(1).apply("divf", x, rounding_mode=mode)
    mnemonic = name if name in ("fma", "sqrt") else f"{name}f"
    return lambda x, *others: x.apply(mnemonic, *others, rounding_mode=mode)


def _conversion(source: str, name: str, target: Type, mode: str) -> Formula | None:
    """A conversion with a rounding mode, None for those of 64-bit integers that do not round to nearest."""
    signs = ["unsigned" if each.startswith("u") else "signed" for each in (source, name)]
    if source in ("float", "double"):
        if isinstance(target, FloatType):
            return lambda x: _rounded_from(x, target, mode)
        return lambda x: _TO_WHOLE[mode](x).apply("ftoi", with_element(x.type, target), signs[1])
    if mode == "n":
        return lambda x: x.apply("itof", with_element(x.type, target), signs[0])
    if source in ("ll", "ull"):
        return None
    # Every integer of 32 bits is a double.
    return lambda x: _rounded_from(x.apply("itof", with_element(x.type, F64), signs[0]), target, mode)


def _rounded_from(x: Number, target: Type, mode: str) -> Number:
    return x.apply("ftof", with_element(x.type, target), rounding_mode=_MODES[mode])


def _as(x: Number, element: Type) -> Number:
    """The numbers of a tile as another type; truth values are 0 and 1."""
    if x.element is element:
        return x
    type = with_element(x.type, element)
    if isinstance(x.element, FloatType):
        return x.apply("ftof", type)
    assert isinstance(element, IntegerType)
    return x.apply("trunci", type) if element.width < x.element.width else x.apply("exti", type, "unsigned")
