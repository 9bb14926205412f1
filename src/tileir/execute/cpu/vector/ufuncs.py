"""NumPy's ufuncs as LLVM instructions: what each computes on operands that have the dtypes of its loop.

Floats follow NumPy bit for bit, but for the payload of NaNs and, where NumPy's own loops differ from machine to
machine, the sign of a zero that minimum and maximum choose between two equal ones.  f16, bf16 and narrower formats
compute in float32 and round, as NumPy and ml_dtypes do.  No lane ever traps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy

from tileir.execute.cpu.vector import casting
from tileir.execute.cpu.vector.builder import Builder
from tileir.execute.cpu.vector.casting import BOOL, DOUBLE, binary, cast, choose, compare, constant, convert, intrinsic
from tileir.execute.cpu.vector.llvm import Register
from tileir.execute.cpu.vector.nans import literal_float
from tileir.execute.dtypes import DType
from tileir.ir import floats
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.traits import FUSIBLE
from tileir.ir.types import BF16, F16, F32, Type

_INSTRUCTIONS: Final[dict[str, tuple[str, str, str, str]]] = {
    "add": ("fadd", "add", "add", "or"),
    "subtract": ("fsub", "sub", "sub", ""),
    "multiply": ("fmul", "mul", "mul", "and"),
    "divide": ("fdiv", "", "", ""),
    # Exact: a call of C's fmod per lane.
    "fmod": ("frem", "", "", ""),
    "copysign": ("llvm.copysign", "", "", ""),
    "sqrt": ("llvm.sqrt", "", "", ""),
    **{name: (f"llvm.{name}", "same", "same", "same") for name in ("floor", "ceil", "trunc", "rint")},
    "absolute": ("llvm.fabs", "llvm.abs", "same", "same"),
    "equal": ("fcmp oeq", "icmp eq", "icmp eq", "icmp eq"),
    "not_equal": ("fcmp une", "icmp ne", "icmp ne", "icmp ne"),
    "less": ("fcmp olt", "icmp slt", "icmp ult", "icmp ult"),
    "less_equal": ("fcmp ole", "icmp sle", "icmp ule", "icmp ule"),
    "greater": ("fcmp ogt", "icmp sgt", "icmp ugt", "icmp ugt"),
    "greater_equal": ("fcmp oge", "icmp sge", "icmp uge", "icmp uge"),
    **dict.fromkeys(("maximum", "fmax"), ("", "llvm.smax", "llvm.umax", "or")),
    **dict.fromkeys(("minimum", "fmin"), ("", "llvm.smin", "llvm.umin", "and")),
    **{f"bitwise_{name}": ("", name, name, name) for name in ("and", "or", "xor")},
    "left_shift": ("", "shl", "shl", ""),
    "right_shift": ("", "ashr", "lshr", ""),
    "floor_divide": ("", "sdiv", "udiv", ""),
    "negative": ("fneg", "sub", "sub", ""),
}
"""The instruction of a ufunc for floats, signed and unsigned integers, and truth values; where it has none, it is not
supported, or the functions below have more to do."""
UFUNCS: Final = frozenset(_INSTRUCTIONS)


def _kind(dtype: DType) -> int:
    """The position in a row of the table."""
    return 3 if dtype == BOOL else {"i": 1, "u": 2}.get(dtype.kind, 0)


def emit_ufunc(builder: Builder, name: str, operands: list[Register]) -> Register:
    """What a ufunc computes of operands that have the dtypes of its loop."""
    like = operands[0]
    kind = _kind(like.dtype)
    is_narrow = kind == 0 and not casting.is_machine_float(like.dtype)
    if name in ("negative", "absolute") and is_narrow:
        return _on_sign(builder, name, like)
    if kind == 0 and name in _EXTREMES:
        return _extreme(builder, *_EXTREMES[name], operands)
    instruction = _INSTRUCTIONS[name][kind]
    if not instruction:
        raise casting.unsupported(name, like.dtype)
    if instruction == "same":
        return like
    if name in _ON_INTEGERS:
        return _ON_INTEGERS[name](builder, instruction, *operands)
    if is_narrow:
        operands = [casting.to_single(builder, operand) for operand in operands]
    if name == "negative":
        return _negative(builder, like)
    if "cmp" in instruction:
        return compare(builder, instruction, *operands)
    if instruction.startswith("llvm."):
        extra = "i1 false" if instruction == "llvm.abs" else ""
        result = intrinsic(builder, instruction.removeprefix("llvm."), operands, extra)
    else:
        result = _arithmetic(builder, instruction, *operands)
    return cast(builder, result, like.dtype) if is_narrow else result


# Floats


def is_fusible(function: OperationDeclaration, element: Type) -> bool:
    """Whether fusing the multiplications and additions of a function changes no result.

    The interpreter computes functions of f32 and narrower types in double and rounds once.  Fused multiply-adds take
    two thirds of the time and change the last bits of the doubles, which rounding hides but for one argument in 2**30.
    The trait means that none of the 2**32 arguments is such a one: `tests/execute/cpu/test_fusible.py` compares them
    all with `make test-long`, and every argument of the narrower types always.  Two operands would have too many.
    """
    return function.has_trait(FUSIBLE) and element in (F32, F16, BF16)


@contextmanager
def fused(builder: Builder, function: OperationDeclaration, element: Type) -> Iterator[None]:
    """Fuse what is traced within, where that changes no result and the machine can."""
    if builder.module.native_fma and is_fusible(function, element):
        builder.products = {}
    try:
        yield
    finally:
        builder.products = None


def _arithmetic(builder: Builder, instruction: str, left: Register, right: Register) -> Register:
    """An instruction; a sum or difference with a product in it is one operation in fusible functions."""
    products = builder.products
    if products is None or left.dtype != DOUBLE:
        return binary(builder, instruction, left, right)
    if instruction in ("fadd", "fsub"):
        is_sum = instruction == "fadd"
        if left.name in products:
            addend = right if is_sum else _negative(builder, right)
            return intrinsic(builder, "fma", [*products[left.name], addend])
        if right.name in products:
            first, second = products[right.name]
            return intrinsic(builder, "fma", [first if is_sum else _negative(builder, first), second, left])
    result = binary(builder, instruction, left, right)
    if instruction == "fmul":
        products[result.name] = left, right
    return result


def _negative(builder: Builder, value: Register) -> Register:
    if _kind(value.dtype):
        return binary(builder, "sub", constant(0, value), value)
    return builder.value(f"fneg {value.typed}", value.dtype, value.width)


def _on_sign(builder: Builder, name: str, value: Register) -> Register:
    """A narrow float whose pattern is combined with its sign bit, or with all the others."""
    pattern = casting.bits(builder, value)
    sign = 1 << (3 if value.dtype.name == "float4_e2m1fn" else value.dtype.itemsize * 8 - 1)
    instruction, number = ("xor", sign) if name == "negative" else ("and", sign - 1)
    return casting.reinterpret(builder, binary(builder, instruction, pattern, number), value.dtype)


_EXTREMES: Final = {"maximum": (True, True), "minimum": (False, True), "fmax": (True, False), "fmin": (False, False)}
"""Whether a ufunc takes the larger one, and whether it takes a NaN operand or the other one."""


def _extreme(builder: Builder, largest: bool, propagate: bool, operands: list[Register]) -> Register:
    left, right = operands
    a, b = (casting.to_machine(builder, operand) for operand in operands)
    predicate = "ge" if largest else "le"
    # Chosen is `a` where it compares so or the doubtful operand is NaN.
    doubtful, other = (a, b) if propagate else (b, a)
    if _is_number(other):
        return choose(builder, compare(builder, f"fcmp u{predicate}", a, b), left, right)
    chosen = compare(builder, f"fcmp o{predicate}", a, b)
    if not _is_number(doubtful):
        chosen = binary(builder, "or", chosen, compare(builder, "fcmp uno", doubtful, doubtful))
    return choose(builder, chosen, left, right)


def _is_number(value: Register) -> bool:
    """Whether a float register is a constant and not NaN."""
    known = literal_float(value)
    return known is not None and known == known


# Integers: every amount and every divisor has a result


def literal_integer(value: Register) -> int | None:
    """The number that an integer register holds in all lanes, where that is known."""
    text = value.name
    if text.startswith("splat ("):
        text = text[7:-1].split(" ", 1)[1]
    return int(text) if text.lstrip("-").isdigit() else None


def _shift(builder: Builder, instruction: str, value: Register, amount: Register) -> Register:
    """shl, lshr or ashr; amounts are unsigned, and past the width everything is shifted out."""
    width = value.dtype.itemsize * 8
    known = literal_integer(amount)
    if known is not None and 0 <= known < width:
        return binary(builder, instruction, value, amount)
    if instruction == "ashr":
        return binary(builder, instruction, value, intrinsic(builder, "umin", [amount, constant(width - 1, amount)]))
    inside = compare(builder, "icmp ult", amount, width)
    return choose(builder, inside, binary(builder, instruction, value, amount), 0)


def _divide(builder: Builder, instruction: str, left: Register, right: Register) -> tuple[Register, Register]:
    """The quotient toward zero, and where the divisor is zero; there, and on overflow, the divisor counts as 1."""
    is_signed = instruction == "sdiv"
    size = left.dtype.itemsize
    known = literal_integer(right)
    if known is not None and known not in (0, -1):
        return binary(builder, instruction, left, right), constant(False, right, BOOL)
    by_zero = compare(builder, "icmp eq", right, 0)
    unsafe = by_zero
    if is_signed and size >= 4:
        least = compare(builder, "icmp eq", left, -(1 << (size * 8 - 1)))
        overflow = binary(builder, "and", least, compare(builder, "icmp eq", right, -1))
        unsafe = binary(builder, "or", by_zero, overflow)
    safe = choose(builder, unsafe, 1, right)
    if size == 8 or (size == 4 and not left.width):
        return binary(builder, instruction, left, safe), by_zero
    # Vectors of integers have no division.  Quotients of integers miss the next integer by more than a unit in the last
    # place of a float with half as many bits again, so the float quotient truncates to the right one.
    form = DOUBLE if size == 4 else casting.SINGLE
    wide = "sitofp" if is_signed else "uitofp"
    quotient = binary(builder, "fdiv", convert(builder, wide, left, form), convert(builder, wide, safe, form))
    if size == 4:
        return convert(builder, "fptosi" if is_signed else "fptoui", quotient, left.dtype), by_zero
    return convert(builder, "trunc", convert(builder, "fptosi", quotient, casting.INT32), left.dtype), by_zero


def _floor_divide(builder: Builder, instruction: str, left: Register, right: Register) -> Register:
    quotient, by_zero = _divide(builder, instruction, left, right)
    if instruction == "sdiv":
        rest = binary(builder, "sub", left, binary(builder, "mul", quotient, right))
        opposite = compare(builder, "icmp slt", binary(builder, "xor", rest, right), 0)
        lower = binary(builder, "and", opposite, compare(builder, "icmp ne", rest, 0))
        quotient = binary(builder, "sub", quotient, cast(builder, lower, left.dtype))
    return choose(builder, by_zero, 0, quotient)


_ON_INTEGERS: Final[dict[str, Callable[[Builder, str, Register, Register], Register]]] = {
    "left_shift": _shift,
    "right_shift": _shift,
    "floor_divide": _floor_divide,
}


# Formulas of several instructions, which are traced


def _sign(value: Any) -> Any:
    """Zeros of both signs give 0, NaN stays."""
    return numpy.where(value > 0, 1, numpy.where(value < 0, -1, numpy.where(value == 0, 0, value)))


def _magnitude(value: Any) -> Any:
    return numpy.absolute(value if casting.is_machine_float(value.dtype) else value.astype(casting.SINGLE))


def _form_of(value: Any, name: str) -> tuple[floats.FloatFormat, DType]:
    """The fields of float32 or float64, and the integers as wide."""
    if not casting.is_machine_float(value.dtype):
        raise casting.unsupported(name, value.dtype)
    return floats.F64 if value.dtype == DOUBLE else floats.F32, numpy.dtype(f"i{value.dtype.itemsize}")


def _is_regular(value: Any) -> Any:
    """Whether a float is neither zero nor infinite nor NaN."""
    return (numpy.absolute(value) < numpy.inf) & (value != 0)


def _nextafter(value: Any, toward: Any) -> Any:
    _, integer = _form_of(value, "nextafter")
    pattern = value.view(integer)
    one = integer.type(1)
    # Away from zero a pattern grows.
    grows = (value < toward) ^ (pattern < 0)
    sign = toward.view(integer) & numpy.iinfo(integer).min
    moved = numpy.where(value == 0, sign | one, pattern + numpy.where(grows, one, -one))
    result = numpy.where(value == toward, toward, moved.view(value.dtype))
    return numpy.where((value != value) | (toward != toward), value + toward, result)


def _frexp(value: Any) -> tuple[Any, Any]:
    """Magnitudes from 1/2 to 1 and int32 exponents; zeros, infinities and NaN have the exponent 0."""
    form, integer = _form_of(value, "frexp")
    field, bias = form.infinity, form.bias - 1
    pattern = value.view(integer)
    subnormal = (pattern & field) == 0
    lift = form.mantissa_bits + 2
    pattern = numpy.where(subnormal, (value * 2.0**lift).view(integer), pattern)
    exponent = ((pattern & field) >> form.mantissa_bits) - numpy.where(
        subnormal, integer.type(bias + lift), integer.type(bias)
    )
    half = (pattern & ~field) | (bias << form.mantissa_bits)
    regular = _is_regular(value)
    return numpy.where(regular, half.view(value.dtype), value), numpy.where(regular, exponent, 0).astype(casting.INT32)


def _ldexp(value: Any, power: Any) -> Any:
    """Times a power of two, rounded once to nearest even where the result is subnormal."""
    form, integer = _form_of(value, "ldexp")
    mantissa, exponent = _frexp(value)
    # Past these bounds nothing changes, and no sum below overflows.
    bound = 4 * form.bias
    total = numpy.clip(power, -bound, bound).astype(integer) + exponent.astype(integer)
    least = 2 - form.bias
    # What will be subnormal is made a normal number first, as many places higher; the last product rounds it.
    small = total < least
    lift = 2 * form.mantissa_bits
    exponent = numpy.where(small, numpy.maximum(total + lift, least), total)
    scaled = (mantissa.view(integer) + (exponent << form.mantissa_bits)).view(value.dtype)
    result = numpy.where(small, scaled * 2.0**-lift, scaled)
    result = numpy.where(total > form.bias + 1, numpy.copysign(numpy.inf, value), result)
    return numpy.where(_is_regular(value), result, value)


FORMULAS: Final[dict[str, Callable[..., Any]]] = {
    "sign": _sign,
    "signbit": lambda value: value.view(f"i{value.dtype.itemsize}") < 0,
    "isnan": lambda value: value != value,
    "isinf": lambda value: _magnitude(value) == numpy.inf,
    "isfinite": lambda value: _magnitude(value) < numpy.inf,
    "invert": lambda value: value ^ numpy.invert(numpy.zeros((), value.dtype)),
    "logical_and": lambda left, right: left.astype(BOOL) & right.astype(BOOL),
    "logical_or": lambda left, right: left.astype(BOOL) | right.astype(BOOL),
    "logical_not": lambda value: value.astype(BOOL) ^ True,
    "nextafter": _nextafter,
    "frexp": _frexp,
    "ldexp": _ldexp,
}
"""By the ufunc's name, over traced values."""
