"""f16 and bf16 in directed rounding modes, and quotients of bf16, through f32.

A GPU rounds f16 and bf16 to nearest only.  f32 has more than two bits more than either, so that a result *rounded to
odd* there (an inexact one has an odd last bit) can be rounded again, in any mode, to what the exact one is rounded to.
Rounding down and rounding up give the two neighbours of an inexact result, of which one is odd.
"""

from __future__ import annotations

from collections.abc import Sequence

from tileir.execute.gpu.triton.ttir.operations import TtirOperations
from tileir.execute.gpu.triton.ttir.values import TtirValue


def narrow(build: TtirOperations, mnemonic: str, values: Sequence[TtirValue], mode: str) -> TtirValue:
    """An operation on f16 or bf16 in one of the modes rz, rm, rp."""
    element = values[0].element
    wide = [build.convert("arith.extf", value, "f32") for value in values]
    down = build.assembly(f"{mnemonic}.rm.f32", wide, "f32")
    up = build.assembly(f"{mnemonic}.rp.f32", wide, "f32")
    # Where they are zeros of different sign, none is odd: a sum of zero is negative only if it is rounded down.
    first, second = (up, down) if mode == "rm" else (down, up)
    last = build.immediate("arith.andi", build.bitcast(first, "i32"), 1)
    is_odd = build.compare("ne", last, build.integer(0, "i32", last.shape))
    return round_single(build, build.select(is_odd, first, second), element, mode)


def round_single(build: TtirOperations, value: TtirValue, element: str, mode: str) -> TtirValue:
    """f32 to f16 or bf16 in one of the modes rz, rm, rp."""
    shape = value.shape
    bits = build.bitcast(value, "i32")
    if element == "f16":
        made = build.assembly("cvt.rz.f16.f32", [value], "i16")
        exact = build.convert("arith.extf", build.bitcast(made, "f16"), "f32")
        is_inexact = build.compare("one", exact, value)
    else:
        made = build.convert("arith.trunci", build.immediate("arith.shrui", bits, 16), "i16")
        low = build.immediate("arith.andi", bits, 0xFFFF)
        is_inexact = build.compare("ne", low, build.integer(0, "i32", shape))
    if mode != "rz":
        # One further from zero, which reaches infinity after the largest number.
        sign = build.compare("slt" if mode == "rm" else "sge", bits, build.integer(0, "i32", shape))
        step = build.convert("arith.extui", build.binary("arith.andi", is_inexact, sign), "i16")
        made = build.binary("arith.addi", made, step)
    if element == "bf16":
        is_nan = build.compare("uno", value, value)
        made = build.select(is_nan, build.integer(0x7FC0, "i16", shape), made)
    return build.bitcast(made, element)


def small_quotient(build: TtirOperations, left: TtirValue, right: TtirValue) -> TtirValue:
    """The quotient of two bf16 in f32, ready to be rounded to bf16 once.

    f32 has the exponents of bf16: a subnormal quotient has been rounded there to fewer bits than it takes.  Below
    2**-125, that of 2**64 times as much is computed and rounded where bf16 does, at 2**-133: the addition of a number
    whose last bit has that weight does so.
    """
    shape = left.shape
    raised = build.binary("arith.mulf", left, build.float(2.0**64, "f32", shape))
    magnitudes = [build.unary("math.absf", value) for value in (raised, right)]
    lowered = build.binary("arith.mulf", magnitudes[1], build.float(2.0 ** (64 - 125), "f32", shape))
    is_small = build.compare("olt", magnitudes[0], lowered)
    quotient = build.binary("tt.precise_divf", build.select(is_small, raised, left), right)
    bits = build.bitcast(quotient, "i32")
    sign = build.immediate("arith.andi", bits, 1 << 31)
    magnitude = build.bitcast(build.immediate("arith.andi", bits, (1 << 31) - 1), "f32")
    place = build.float(2.0 ** (23 - 133 + 64), "f32", shape)
    rounded = build.binary("arith.subf", build.binary("arith.addf", magnitude, place), place)
    small = build.binary("arith.mulf", rounded, build.float(2.0**-64, "f32", shape))
    small = build.bitcast(build.binary("arith.ori", build.bitcast(small, "i32"), sign), "f32")
    return build.select(is_small, small, quotient)
