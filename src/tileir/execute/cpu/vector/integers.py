"""Shifts, counts and divisions of integers as LLVM instructions: every amount and every divisor has a result."""

from __future__ import annotations

from tileir.execute.cpu.vector.builder import Builder
from tileir.execute.cpu.vector.casting import (
    BOOL,
    DOUBLE,
    INT32,
    SINGLE,
    UINT8,
    binary,
    cast,
    choose,
    compare,
    constant,
    convert,
    intrinsic,
    is_integer,
    retag,
    unsupported,
)
from tileir.execute.cpu.vector.llvm import Register


def literal_integer(value: Register) -> int | None:
    """The number that an integer register holds in all lanes, where that is known."""
    text = value.name
    if text.startswith("splat ("):
        text = text[7:-1].split(" ", 1)[1]
    return int(text) if text.lstrip("-").isdigit() else None


def shift(builder: Builder, instruction: str, value: Register, amount: Register) -> Register:
    """shl, lshr or ashr; amounts are unsigned, and past the width everything is shifted out."""
    width = value.dtype.itemsize * 8
    known = literal_integer(amount)
    if known is not None and 0 <= known < width:
        return binary(builder, instruction, value, amount)
    if instruction == "ashr":
        return binary(builder, instruction, value, intrinsic(builder, "umin", [amount, constant(width - 1, amount)]))
    inside = compare(builder, "icmp ult", amount, constant(width, amount))
    return choose(builder, inside, binary(builder, instruction, value, amount), constant(0, value))


def left_shift(builder: Builder, operands: list[Register]) -> Register:
    return shift(builder, "shl", operands[0], operands[1])


def right_shift(builder: Builder, operands: list[Register]) -> Register:
    return shift(builder, "ashr" if operands[0].dtype.kind == "i" else "lshr", operands[0], operands[1])


def bitwise_count(builder: Builder, operands: list[Register]) -> Register:
    (value,) = operands
    if value.dtype.kind == "i":
        value = intrinsic(builder, "abs", [value], "i1 false")
    count = intrinsic(builder, "ctpop", [value])
    if value.dtype.itemsize == 1:
        return retag(count, UINT8)
    return convert(builder, "trunc", count, UINT8)


def divide_integers(builder: Builder, left: Register, right: Register) -> tuple[Register, Register]:
    """The quotient towards zero, and where the divisor is zero.

    There, and where the quotient overflows, the divisor counts as 1.
    """
    is_signed = left.dtype.kind == "i"
    size = left.dtype.itemsize
    instruction = "sdiv" if is_signed else "udiv"
    known = literal_integer(right)
    if known is not None and known not in (0, -1):
        return binary(builder, instruction, left, right), constant(False, right, BOOL)
    by_zero = compare(builder, "icmp eq", right, constant(0, right))
    unsafe = by_zero
    if is_signed and size >= 4:
        least = compare(builder, "icmp eq", left, constant(-(1 << (size * 8 - 1)), left))
        overflow = binary(builder, "and", least, compare(builder, "icmp eq", right, constant(-1, right)))
        unsafe = binary(builder, "or", by_zero, overflow)
    safe = choose(builder, unsafe, constant(1, right), right)
    if size == 8 or (size == 4 and not left.width):
        return binary(builder, instruction, left, safe), by_zero
    # Vectors of integers have no division.  Quotients of integers miss the next integer by more than a unit in the last
    # place of a float with half as many bits again, so the float quotient truncates to the right one.
    form = DOUBLE if size == 4 else SINGLE
    wide = "sitofp" if is_signed else "uitofp"
    quotient = binary(builder, "fdiv", convert(builder, wide, left, form), convert(builder, wide, safe, form))
    if size == 4:
        return convert(builder, "fptosi" if is_signed else "fptoui", quotient, left.dtype), by_zero
    return convert(builder, "trunc", convert(builder, "fptosi", quotient, INT32), left.dtype), by_zero


def floor_divide(builder: Builder, operands: list[Register]) -> Register:
    left, right = operands
    if not is_integer(left.dtype):
        raise unsupported("floor_divide", left.dtype)
    quotient, by_zero = divide_integers(builder, left, right)
    if left.dtype.kind == "i":
        rest = binary(builder, "sub", left, binary(builder, "mul", quotient, right))
        zero = constant(0, left)
        opposite = compare(builder, "icmp slt", binary(builder, "xor", rest, right), zero)
        lower = binary(builder, "and", opposite, compare(builder, "icmp ne", rest, zero))
        quotient = binary(builder, "sub", quotient, cast(builder, lower, left.dtype))
    return choose(builder, by_zero, constant(0, left), quotient)


def remainder(builder: Builder, operands: list[Register]) -> Register:
    left, right = operands
    if not is_integer(left.dtype):
        raise unsupported("remainder", left.dtype)
    quotient = floor_divide(builder, operands)
    rest = binary(builder, "sub", left, binary(builder, "mul", quotient, right))
    by_zero = compare(builder, "icmp eq", right, constant(0, right))
    return choose(builder, by_zero, constant(0, left), rest)
