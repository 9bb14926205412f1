"""Lowering of float arithmetic and comparisons: each result is the exact one, rounded once, as the program requests.

    f32, f64    one instruction, in every rounding mode
    f16, bf16   one instruction to nearest; quotients and roots through f32; other modes through f32 rounded to odd

Triton's own `arith.divf` and `math.sqrt` are approximations for f32: they are what `approx` and `fast` take.

A GPU rounds f16 and bf16 to nearest only.  f32 has more than two bits more than either, so that a result *rounded to
odd* there (an inexact one has an odd last bit) can be rounded again, in any mode, to what the exact one is rounded to.
Rounding down and rounding up give the two neighbors of an inexact result, of which one is odd.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

from tileir.dialect import ops
from tileir.execute.analysis.values import tile_of
from tileir.execute.dtypes import constant_elements, to_bits
from tileir.execute.gpu.triton.lowering.context import Lowering
from tileir.execute.gpu.triton.lowering.functions import call, flushed
from tileir.execute.gpu.triton.lowering.integers import PREDICATES
from tileir.execute.gpu.triton.lowering.ttir_builder import TtirBuilder
from tileir.execute.gpu.triton.lowering.ttir_values import TtirValue
from tileir.ir import floats
from tileir.ir.core import Operation
from tileir.ir.types import FloatType
from tileir.ir.values import Value

_MODES: Final = {"nearest_even": "rn", "zero": "rz", "negative_inf": "rm", "positive_inf": "rp"}


def _directed(build: TtirBuilder, mnemonic: str, values: Sequence[TtirValue], mode: str) -> TtirValue:
    """An operation on f16 or bf16 in one of the modes rz, rm, rp."""
    element = values[0].element
    wide = [build.convert("arith.extf", value, "f32") for value in values]
    down = build.assembly(f"{mnemonic}.rm.f32", wide, "f32")
    up = build.assembly(f"{mnemonic}.rp.f32", wide, "f32")
    # Where they are zeros of different sign, none is odd: a sum of zero is negative only if it is rounded down.
    first, second = (up, down) if mode == "rm" else (down, up)
    last = build.apply("arith.andi", build.bitcast(first, "i32"), 1)
    is_odd = build.compare("ne", last, 0)
    return round_single(build, build.select(is_odd, first, second), element, mode)


def round_single(build: TtirBuilder, value: TtirValue, element: str, mode: str) -> TtirValue:
    """f32 to f16 or bf16 in one of the modes rz, rm, rp."""
    shape = value.shape
    bits = build.bitcast(value, "i32")
    if element == "f16":
        made = build.assembly("cvt.rz.f16.f32", [value], "i16")
        exact = build.convert("arith.extf", build.bitcast(made, "f16"), "f32")
        is_inexact = build.compare("one", exact, value)
    else:
        made = build.convert("arith.trunci", build.apply("arith.shrui", bits, 16), "i16")
        low = build.apply("arith.andi", bits, 0xFFFF)
        is_inexact = build.compare("ne", low, 0)
    if mode != "rz":
        # One further from zero, which reaches infinity after the largest number.
        sign = build.compare("slt" if mode == "rm" else "sge", bits, 0)
        step = build.convert("arith.extui", build.apply("arith.andi", is_inexact, sign), "i16")
        made = build.apply("arith.addi", made, step)
    if element == "bf16":
        is_nan = build.compare("uno", value, value)
        made = build.select(is_nan, build.integer(0x7FC0, "i16", shape), made)
    return build.bitcast(made, element)


def small_quotient(build: TtirBuilder, left: TtirValue, right: TtirValue) -> TtirValue:
    """The quotient of two bf16 in f32, ready to be rounded to bf16 once.

    f32 has the exponents of bf16: a subnormal quotient has been rounded there to fewer bits than it takes.  Below
    2**-125, that of 2**64 times as much is computed and rounded where bf16 does, at 2**-133: the addition of a number
    whose last bit has that weight does so.
    """
    shape = left.shape
    raised = build.apply("arith.mulf", left, 2.0**64)
    magnitudes = [build.apply("math.absf", value) for value in (raised, right)]
    lowered = build.apply("arith.mulf", magnitudes[1], 2.0 ** (64 - 125))
    is_small = build.compare("olt", magnitudes[0], lowered)
    quotient = build.apply("tt.precise_divf", build.select(is_small, raised, left), right)
    bits = build.bitcast(quotient, "i32")
    sign = build.apply("arith.andi", bits, 1 << 31)
    magnitude = build.bitcast(build.apply("arith.andi", bits, (1 << 31) - 1), "f32")
    place = build.number(2.0 ** (23 - 133 + 64), "f32", shape)
    rounded = build.apply("arith.subf", build.apply("arith.addf", magnitude, place), place)
    small = build.apply("arith.mulf", rounded, 2.0**-64)
    small = build.bitcast(build.apply("arith.ori", build.bitcast(small, "i32"), sign), "f32")
    return build.select(is_small, small, quotient)


def arithmetic(build: Lowering, operation: Operation, mnemonic: str, *values: TtirValue) -> TtirValue:
    """Sums, differences, products, quotients, fma and square roots."""
    element = values[0].element
    rounding = operation.keyword("rounding_mode")
    flush = "flush_to_zero" in operation.attributes
    if element in ("f16", "bf16") and rounding != "nearest_even":
        build.require_ptx(operation, f"rounding<{rounding}>")
        return _directed(build, mnemonic, values, _MODES[rounding])
    if rounding in ("approx", "full"):
        return _approximate(build, mnemonic, values, rounding, flush)
    if rounding == "nearest_even" and not flush:
        return _nearest(build, mnemonic, values)
    build.require_ptx(operation, "flush_to_zero" if flush else f"rounding<{rounding}>")
    mode = _MODES[rounding] + (".ftz" if flush else "")
    if rounding == "nearest_even" and mnemonic in ("add", "sub"):
        # ptxas before CUDA 13 rounds ties of sums that it computes itself towards zero; it computes no fma.
        left, right = values if mnemonic == "add" else reversed(values)
        one = build.number(1.0 if mnemonic == "add" else -1.0, "f32", left.shape)
        mnemonic, values = "fma", (left, one, right)
    return build.assembly(f"{mnemonic}.{mode}.{element}", values, element)


def _nearest(build: Lowering, mnemonic: str, values: Sequence[TtirValue]) -> TtirValue:
    if mnemonic == "fma":
        return build.apply("math.fma", *values)
    if mnemonic == "div":
        return _quotient(build, *values)
    if mnemonic == "sqrt":
        return _root(build, values[0])
    return build.apply(f"arith.{mnemonic}f", *values)


def _approximate(build: Lowering, mnemonic: str, values: Sequence[TtirValue], rounding: str, flush: bool) -> TtirValue:
    """f32 only."""
    if not build.has_ptx:
        values = [flushed(build, value) for value in values] if flush else values
        made = build.apply("arith.divf", *values) if len(values) == 2 else build.apply("math.sqrt", values[0])
        return flushed(build, made) if flush else made
    return build.assembly(f"{mnemonic}.{rounding}{'.ftz' if flush else ''}.f32", values, "f32")


def _quotient(build: Lowering, left: TtirValue, right: TtirValue) -> TtirValue:
    element = left.element
    if element == "f64":
        return build.apply("arith.divf", left, right)
    divide = "arith.divf" if build.options.fast else "tt.precise_divf"
    if element == "f32":
        return build.apply(divide, left, right)
    left, right = build.convert("arith.extf", left, "f32"), build.convert("arith.extf", right, "f32")
    if element == "bf16" and not build.options.fast:
        quotient = small_quotient(build, left, right)
    else:
        # 24 bits are twice the 11 of f16 and two more: the second rounding changes nothing.
        quotient = build.apply(divide, left, right)
    return build.convert("arith.truncf", quotient, element)


def _root(build: Lowering, value: TtirValue) -> TtirValue:
    if value.element == "f64":
        return build.apply("math.sqrt", value)
    # No root is subnormal, so that the second rounding, of f16 and bf16, changes nothing.
    single = build.convert("arith.extf", value, "f32")
    root = build.apply("math.sqrt" if build.options.fast else "tt.precise_sqrt", single)
    return build.convert("arith.truncf", root, value.element)


def remainder(build: Lowering, operation: Operation, left: TtirValue, right: TtirValue) -> TtirValue:
    """Exact, and so is the way through f32."""
    element = left.element
    if element != "f64":
        left, right = build.convert("arith.extf", left, "f32"), build.convert("arith.extf", right, "f32")
    return build.convert("arith.truncf", call(build, operation, "fmod", [left, right]), element)


def magnitude(build: Lowering, operation: Operation, value: TtirValue) -> TtirValue:
    """The sign bit is cleared, and nothing else, of NaN too."""
    bits = build.bitcast(value, f"i{value.bits}")
    return build.bitcast(build.apply("arith.andi", bits, (1 << (value.bits - 1)) - 1), value.element)


def negation(build: Lowering, operation: Operation, value: TtirValue) -> TtirValue:
    """The sign bit is flipped, and nothing else, of NaN too."""
    bits = build.bitcast(value, f"i{value.bits}")
    return build.bitcast(build.apply("arith.xori", bits, 1 << (value.bits - 1)), value.element)


def integral(build: Lowering, operation: Operation, name: str, value: TtirValue) -> TtirValue:
    """Exact, and so is the way through f32."""
    wide = value if value.element == "f64" else build.convert("arith.extf", value, "f32")
    return build.convert("arith.truncf", build.apply(name, wide), value.element)


# --- comparisons ---


def comparison(build: Lowering, operation: Operation, left: TtirValue, right: TtirValue) -> TtirValue:
    ordering = "o" if operation.comparison_ordering == "ordered" else "u"
    return build.compare(ordering + PREDICATES[operation.comparison_predicate], left, right)


def select(build: Lowering, operation: Operation, *values: TtirValue) -> TtirValue:
    return build.select(*values)


def extremum(build: Lowering, operation: Operation, name: str, *values: TtirValue) -> TtirValue:
    left, right = [_without_signal(build, value) for value in operation.operands]
    propagates = "propagate_nan" in operation.attributes
    if "flush_to_zero" in operation.attributes and not build.has_ptx:
        left, right = flushed(build, left), flushed(build, right)
    elif "flush_to_zero" in operation.attributes:
        return build.assembly(f"{name}.ftz{'.NaN' if propagates else ''}.f32", [left, right], "f32")
    return build.apply(f"arith.{name}{'imumf' if propagates else 'numf'}", left, right)


def _without_signal(build: Lowering, value: Value) -> TtirValue:
    """An operand of a maximum: a constant NaN as a quiet one, because LLVM has a signalling one win."""
    operation = value.defining_operation
    if operation is not None and operation.declaration is ops.CONSTANT:
        type = tile_of(value)
        elements = constant_elements(operation.value_attribute)
        if len(elements) == 1:
            bits = int(to_bits(type.element, elements)[0])
            form = floats.FORMATS[cast(FloatType, type.element).name]
            if bits & form.magnitude_mask > form.infinity:
                element, shape = build.type_of(value)
                return build.float_bits(form.quiet_nan, element, shape)
    return build.value(value)
