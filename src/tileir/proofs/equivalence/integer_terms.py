"""What integer operations mean, as terms of the solver: the bits of a result and when they are defined."""

from __future__ import annotations

from typing import Any, Final

from tileir.proofs.solving import z3_module

z3: Final[Any] = z3_module()

Bits = Any
Truth = Any
Meaning = tuple[Bits, Truth]


def _resize(bits: Bits, width: int, signed: bool) -> Bits:
    extra = width - bits.size()
    return z3.SignExt(extra, bits) if signed else z3.ZeroExt(extra, bits)


def _keeps(flag: str, wide_signed: Truth, wide_unsigned: Truth) -> Truth:
    """Whether a promise about wrapping is kept; the two conditions are those of the signed and the unsigned one."""
    if flag == "none":
        return z3.BoolVal(True)
    if flag == "no_signed_wrap":
        return wide_signed
    if flag == "no_unsigned_wrap":
        return wide_unsigned
    return z3.And(wide_signed, wide_unsigned)


def _exact(name: str, flag: str, left: Bits, right: Bits) -> Meaning:
    """Sums, differences, products: computed in more bits, the result must be the one in fewer."""
    width = left.size()
    wide = 2 * width + 1

    def apply(a: Bits, b: Bits) -> Bits:
        return a + b if name == "addi" else a - b if name == "subi" else a * b

    result = apply(left, right)
    if flag == "none":
        return result, z3.BoolVal(True)
    conditions = [
        _resize(result, wide, signed) == apply(_resize(left, wide, signed), _resize(right, wide, signed))
        for signed in (True, False)
    ]
    return result, _keeps(flag, conditions[0], conditions[1])


def compare(predicate: str, signedness: str, a: Bits, b: Bits) -> Truth:
    unsigned = signedness == "unsigned"
    if predicate == "equal":
        return a == b
    if predicate == "not_equal":
        return a != b
    if predicate == "less_than":
        return z3.ULT(a, b) if unsigned else a < b
    if predicate == "less_than_or_equal":
        return z3.ULE(a, b) if unsigned else a <= b
    if predicate == "greater_than":
        return z3.UGT(a, b) if unsigned else a > b
    return z3.UGE(a, b) if unsigned else a >= b


def bit(condition: Truth) -> Bits:
    return z3.If(condition, z3.BitVecVal(1, 1), z3.BitVecVal(0, 1))


def meaning(name: str, flags: tuple[str, ...], operands: list[Meaning], width: int) -> Meaning:
    """An operation with a result of this width; `flags` are the keywords of its attributes, as they are declared."""
    if name == "select":
        (condition, known), (chosen, one), (otherwise, other) = operands
        taken = condition == 1
        return z3.If(taken, chosen, otherwise), z3.And(known, z3.If(taken, one, other))
    known = z3.And([defined for _, defined in operands])
    a = operands[0][0]
    b = operands[-1][0]
    own = z3.BoolVal(True)
    if name in ("addi", "subi", "muli"):
        bits, own = _exact(name, flags[0], a, b)
    elif name == "negi":
        bits, own = _exact("subi", flags[0], z3.BitVecVal(0, width), a)
    elif name == "andi":
        bits = a & b
    elif name == "ori":
        bits = a | b
    elif name == "xori":
        bits = a ^ b
    elif name == "shli":
        bits = a << b
        kept = _keeps(flags[0], (bits >> b) == a, z3.LShR(bits, b) == a)
        own = z3.And(_within(b), kept)
    elif name == "shri":
        bits = a >> b if flags[0] == "signed" else z3.LShR(a, b)
        own = _within(b)
    elif name in ("mini", "maxi"):
        bits = z3.If(compare("less_than", flags[0], a, b) == (name == "mini"), a, b)
    elif name == "cmpi":
        bits = bit(compare(flags[0], flags[1], a, b))
    elif name == "exti":
        bits = _resize(a, width, flags[0] == "signed")
    elif name == "trunci":
        bits = z3.Extract(width - 1, 0, a)
        own = _keeps(flags[0], _resize(bits, a.size(), True) == a, _resize(bits, a.size(), False) == a)
    elif name == "remi":
        bits = z3.SRem(a, b) if flags[0] == "signed" else z3.URem(a, b)
        own = b != 0
    elif name == "absi":
        bits = z3.If(a < 0, -a, a)
    elif name == "mulhii":
        bits = z3.Extract(2 * width - 1, width, _resize(a, 2 * width, False) * _resize(b, 2 * width, False))
    elif name in ("popcnt", "clz", "ctz", "brev"):
        bits = _counted(name, a)
    elif name == "divi":
        bits, own = _quotient(a, b, flags[0] == "signed", flags[1])
    else:
        raise ValueError(f"'{name}' is not an operation on integers that has a meaning here")
    return bits, z3.And(known, own)


def _quotient(a: Bits, b: Bits, signed: bool, rounding: str) -> Meaning:
    width = a.size()
    quotient, remainder = (a / b, z3.SRem(a, b)) if signed else (z3.UDiv(a, b), z3.URem(a, b))
    known = b != 0
    if signed:
        known = z3.And(known, z3.Not(z3.And(a == 1 << (width - 1), b == -1)))
    inexact = remainder != 0
    same_sign = (a < 0) == (b < 0) if signed else z3.BoolVal(True)
    if rounding == "positive_inf":
        quotient = quotient + z3.If(z3.And(inexact, same_sign), z3.BitVecVal(1, width), z3.BitVecVal(0, width))
    elif rounding == "negative_inf":
        quotient = quotient - z3.If(z3.And(inexact, z3.Not(same_sign)), z3.BitVecVal(1, width), z3.BitVecVal(0, width))
    return quotient, known


def _counted(name: str, a: Bits) -> Bits:
    width = a.size()
    each = [z3.Extract(number, number, a) for number in range(width)]
    if name == "brev":
        return z3.Concat(*each) if width > 1 else a
    if name == "popcnt":
        return sum(
            [_resize(one, width, False) if width > 1 else one for one in each[1:]], _resize(each[0], width, False)
        )
    # The highest or lowest 1 decides, so it is tested last.
    found = z3.BitVecVal(width, width)
    for number in range(width) if name == "clz" else reversed(range(width)):
        zeros = width - 1 - number if name == "clz" else number
        found = z3.If(each[number] == 1, z3.BitVecVal(zeros, width), found)
    return found


def _within(amount: Bits) -> Truth:
    width = amount.size()
    return amount == 0 if width == 1 else z3.ULT(amount, width)
