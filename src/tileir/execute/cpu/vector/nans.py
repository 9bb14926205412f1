"""Which NaN a result is (docs/reference/numerics.md): where instructions alone leave it open, or LLVM drops one.

Arithmetic instructions make every NaN quiet.  LLVM takes signaling NaNs for quiet ones, though, and replaces `x * 1`
and its like by `x`: `handed_on` finds those, and `quieted` makes their results quiet.

Maxima and minima: NaN loses or wins, signaling or not, a NaN that is left is the canonical one, and -0.0 is below 0.0.
No machine has an instruction for that.  Those of 64-bit ARM and, for vectors, one of AVX-512 order zeros and take a
quiet NaN as they should.  Elsewhere it is x86's `a > b ? a : b` both ways round: for two zeros
these differ, and `and` or `or` of their bits is right.
"""

from __future__ import annotations

import numpy

from tileir.execute.cpu.vector import casting
from tileir.execute.cpu.vector.builder import Builder
from tileir.execute.cpu.vector.casting import binary, bits, choose, compare, intrinsic, reinterpret, to_machine
from tileir.execute.cpu.vector.lanes import in_parts
from tileir.execute.cpu.vector.llvm import Register
from tileir.execute.dtypes import DType
from tileir.ir import floats


def literal_float(value: Register) -> float | None:
    """The number that a float register holds in all lanes, where that is known; NaN for any NaN."""
    text = value.name
    if text.startswith("%"):
        return None
    text = text.removeprefix("splat (").removesuffix(")").rpartition(" ")[2]
    if value.dtype == casting.HALF:
        return float(numpy.uint16(int(text[3:], 16)).view(numpy.float16)) if text.startswith("0xH") else None
    if value.dtype.name == "bfloat16":
        return float(numpy.uint32(int(text) << 16).view(numpy.float32)) if text.isdigit() else None
    return float(numpy.uint64(int(text, 16)).view(numpy.float64)) if text.startswith("0x") else None


def is_negative_zero(value: float) -> bool:
    return value == 0 and bool(numpy.signbit(value))


def handed_on(instruction: str, left: Register, right: Register) -> Register | None:
    """The operand that LLVM takes for the result, or for its negative."""
    first, second = literal_float(left), literal_float(right)
    is_sum = instruction in ("fadd", "fsub")
    if first is not None and (is_negative_zero(first) if is_sum else instruction == "fmul" and abs(first) == 1):
        return right
    if second is None:
        return None
    if is_sum:
        return left if second == 0 and is_negative_zero(second) == (instruction == "fadd") else None
    return left if abs(second) == 1 else None


def quieted(builder: Builder, operand: Register, result: Register) -> Register:
    """The result of an operation that returns its operand or the negative; a NaN becomes a quiet one."""
    form = {**casting.FORMATS, "float32": floats.F32, "float64": floats.F64}[operand.dtype.name]
    pattern = bits(builder, operand)
    magnitude = binary(builder, "and", pattern, form.magnitude_mask)
    nan = compare(builder, "icmp ugt", magnitude, form.infinity)
    quiet = binary(builder, "or", pattern, form.quiet_nan - form.infinity)
    return reinterpret(builder, choose(builder, nan, quiet, bits(builder, result)), result.dtype)


# Maxima and minima


def extreme(builder: Builder, largest: bool, propagates: bool, left: Register, right: Register) -> Register:
    """maxf or minf of operands of one type."""
    dtype = left.dtype
    left, right = (ready(builder, propagates, operand) for operand in (left, right))
    if builder.module.native_extremes or not propagates:
        return canonical(builder, joined(builder, largest, propagates, left, right), dtype)
    nan = compare(builder, "fcmp uno", left, right)
    return casting.cast(builder, _canonical_where(builder, nan, _of_numbers(builder, largest, left, right)), dtype)


# In three steps, so that a reduction takes the first and the last once: elements made ready, joined, and the result.


def ready(builder: Builder, propagates: bool, value: Register) -> Register:
    """An operand of `joined`."""
    value = to_machine(builder, value)
    if not propagates and (builder.module.native_extremes or _has_range(builder, value)):
        # The instruction would let a signaling NaN win.
        return intrinsic(builder, "canonicalize", [value])
    return value


def joined(builder: Builder, largest: bool, propagates: bool, left: Register, right: Register) -> Register:
    """The larger or smaller one, or some NaN, which may be joined again."""
    if builder.module.native_extremes:
        return intrinsic(builder, ("maximum" if largest else "minimum") + ("" if propagates else "num"), [left, right])
    if not propagates and _has_range(builder, left):
        lanes = 64 // left.dtype.itemsize
        return in_parts(builder, [left, right], lanes, lambda parts: _range(builder, largest, parts))
    first, second = _is_nan(builder, left), _is_nan(builder, right)
    if not propagates:
        left = choose(builder, first, right, left)
        return _of_numbers(builder, largest, left, choose(builder, second, left, right))
    result = choose(builder, second, right, _of_numbers(builder, largest, left, right))
    return choose(builder, first, left, result)


def _has_range(builder: Builder, value: Register) -> bool:
    """Whether the instruction of AVX-512 takes a vector, or parts of it."""
    return builder.module.native_range and value.width * value.dtype.itemsize in (16, 32, 64, 128, 256)


def _range(builder: Builder, largest: bool, operands: list[Register]) -> Register:
    """One instruction: it orders zeros, and of a number and a quiet NaN it returns the number."""
    like = operands[0]
    size = like.dtype.itemsize
    whole = 8 * like.width * size
    # The sign is that of the operand it chooses.
    arguments = [*[operand.typed for operand in operands], f"i32 {5 if largest else 4}"]
    arguments += [f"{like.type} zeroinitializer", f"i{max(like.width, 8)} -1"]
    if whole == 512:
        # Exceptions as they are in force.
        arguments.append("i32 4")
    symbol = f"llvm.x86.avx512.mask.range.{'ps' if size == 4 else 'pd'}.{whole}"
    return Register(builder.call(like.type, symbol, arguments), like.dtype, like.width)


def canonical(builder: Builder, result: Register, dtype: DType) -> Register:
    """What was joined, as the result: the canonical NaN for any."""
    return casting.cast(builder, _canonical_where(builder, _is_nan(builder, result), result), dtype)


def _of_numbers(builder: Builder, largest: bool, left: Register, right: Register) -> Register:
    """Of operands that are no NaN, or of one NaN twice, which is the result."""
    predicate = "fcmp ogt" if largest else "fcmp olt"
    one = choose(builder, compare(builder, predicate, left, right), left, right)
    other = choose(builder, compare(builder, predicate, right, left), right, left)
    joined = binary(builder, "and" if largest else "or", bits(builder, one), bits(builder, other))
    return reinterpret(builder, joined, left.dtype)


def _is_nan(builder: Builder, value: Register) -> Register:
    value = to_machine(builder, value)
    return compare(builder, "fcmp uno", value, value)


def _canonical_where(builder: Builder, nan: Register, result: Register) -> Register:
    return choose(builder, nan, numpy.nan, result)
