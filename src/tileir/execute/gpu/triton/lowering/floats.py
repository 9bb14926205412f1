"""Lowering of float arithmetic, comparisons and functions: each result is rounded once, as the program requests.

f32 and f64 take one instruction in every rounding mode, f16 and bf16 to nearest only.  Their quotients and roots go
through f32, other modes through f32 *rounded to odd* (an inexact result has an odd last bit): with more than two bits
more, it can be rounded again in any mode.  Rounding down and up give the two neighbors of an inexact result, of which
one is odd.  `arith.divf` and `math.sqrt` of f32 are approximations, which `approx` and `fast` take.

Functions come from libdevice or OCML, f16 and bf16 through f32 (docs/reference/numerics.md).  LLVM (Triton 3.5 to 3.9)
crashes where it folds one to a subnormal number: a move hides constants that may lead to that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

from tileir.dialect import ops
from tileir.dialect.ops import CONSTANT
from tileir.execute.analysis.values import tile_of
from tileir.execute.dtypes import constant_elements, to_bits
from tileir.execute.gpu.triton.lowering.context import Lowering
from tileir.execute.gpu.triton.lowering.ttir_builder import TtirBuilder
from tileir.execute.gpu.triton.lowering.ttir_values import PREDICATES, TtirValue
from tileir.ir import floats
from tileir.ir.core import Operation
from tileir.ir.types import FloatType
from tileir.ir.values import Value

_LEAST: Final = 2.0**-64
_GREATEST: Final = 2.0**64
_FACTORS_BEFORE: Final = {"exp": 0x3FB8AA3B}
_FACTORS_AFTER: Final = {"log": 0x3F317218}
"""What approximations multiply by: log2(e) before a power of two, ln(2) after a logarithm to the base two, as f32."""


def flushed(build: TtirBuilder, value: TtirValue) -> TtirValue:
    """f32 with zeros, of the same sign, for subnormal numbers."""
    bits = build.bitcast(value, "i32")
    magnitude = build.apply("arith.andi", bits, 0x7FFFFFFF)
    is_small = build.compare("ult", magnitude, 0x00800000)
    return build.bitcast(build.select(is_small, build.apply("arith.andi", bits, 1 << 31), bits), "f32")


def call(build: Lowering, operation: Operation, name: str, values: Sequence[TtirValue]) -> TtirValue:
    """The function of f32 or f64, such as `exp`, of the operands of an operation."""
    element = values[0].element
    if not build.has_ptx:
        return build.external(f"__ocml_{name}_{element}", values)
    given = [
        build.assembly(f"mov.{element}", [value], element) if _is_extreme(operand) else value
        for operand, value in zip(operation.operands, values, strict=True)
    ]
    return build.external(f"__nv_{name}{'f' if element == 'f32' else ''}", given)


def _is_extreme(value: Value) -> bool:
    """Whether a value is a constant that may be near to numbers that are subnormal."""
    operation = value.defining_operation
    if operation is None or operation.declaration is not CONSTANT:
        return False
    element = tile_of(value).element
    elements = constant_elements(operation.value_attribute)
    if len(elements) > 1:
        return True
    if not isinstance(element, FloatType):
        return False
    number = floats.to_double(floats.FORMATS[element.name], int(to_bits(element, elements)[0]))
    return not _LEAST <= abs(number) <= _GREATEST


def function(
    build: Lowering, operation: Operation, name: str, approximation: str, instruction: str, *values: TtirValue
) -> TtirValue:
    """A function of one or two floats: by the library, or an instruction of PTX where one is given and suits."""
    element, ftz = values[0].element, ".ftz" if build.options.fast else ""
    if element != "f64":
        values = tuple([build.convert("arith.extf", value, "f32") for value in values])
        is_approximate = build.options.fast or operation.keyword("rounding_mode") == "approx"
        if approximation and is_approximate and build.has_ptx:
            if name in _FACTORS_BEFORE:
                factor = build.float_bits(_FACTORS_BEFORE[name], "f32", values[0].shape)
                values = (build.apply("arith.mulf", values[0], factor),)
            made = build.assembly(approximation.format(ftz=ftz), values, "f32")
            if name in _FACTORS_AFTER:
                factor = build.float_bits(_FACTORS_AFTER[name], "f32", made.shape)
                made = build.apply("arith.mulf", made, factor)
            return build.convert("arith.truncf", made, element)
        if instruction and build.has_ptx:
            flush = ".ftz" if "flush_to_zero" in operation.attributes else ftz
            made = build.assembly(instruction.format(ftz=flush), values, "f32")
            return build.convert("arith.truncf", made, element)
    flushes = "flush_to_zero" in operation.attributes and not build.has_ptx
    if flushes:
        values = tuple([flushed(build, value) for value in values])
    made = call(build, operation, name, values)
    return build.convert("arith.truncf", flushed(build, made) if flushes else made, element)


def integer_power(build: Lowering, operation: Operation, base: TtirValue, exponent: TtirValue) -> TtirValue:
    """By the power of f64, which has all integers of 32 bits for exponents."""
    element = base.element
    wide = "f32" if build.options.fast and element != "f64" else "f64"
    base = build.convert("arith.extf", base, wide)
    # A single bit is 0 or -1.
    power = build.convert("arith.sitofp", exponent, wide)
    made = call(build, operation, "pow", [base, power])
    if element == "bf16" and wide == "f64":
        made = build.convert("arith.truncf", made, "f32")
    return build.convert("arith.truncf", made, element)


MODES: Final = {"nearest_even": "rn", "zero": "rz", "negative_inf": "rm", "positive_inf": "rp"}


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
        made = build.select(is_nan, 0x7FC0, made)
    return build.bitcast(made, element)


def small_quotient(build: TtirBuilder, left: TtirValue, right: TtirValue) -> TtirValue:
    """The quotient of two bf16 in f32, ready to be rounded to bf16 once.

    f32 has the exponents of bf16: a subnormal quotient has been rounded there to fewer bits than it takes.  Below
    2**-125, that of 2**64 times as much is rounded at 2**-133, by adding a number whose last bit has that weight.
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
    element = values[0].element
    rounding = operation.keyword("rounding_mode")
    flush = "flush_to_zero" in operation.attributes
    if element in ("f16", "bf16") and rounding != "nearest_even":
        build.require_ptx(operation, f"rounding<{rounding}>")
        return _directed(build, mnemonic, values, MODES[rounding])
    if rounding in ("approx", "full"):
        return _approximate(build, mnemonic, values, rounding, flush)
    if rounding == "nearest_even" and not flush:
        if mnemonic in ("div", "sqrt"):
            return _quotient(build, *values) if mnemonic == "div" else _root(build, values[0])
        return build.apply("math.fma" if mnemonic == "fma" else f"arith.{mnemonic}f", *values)
    build.require_ptx(operation, "flush_to_zero" if flush else f"rounding<{rounding}>")
    mode = MODES[rounding] + (".ftz" if flush else "")
    if rounding == "nearest_even" and mnemonic in ("add", "sub"):
        # ptxas before CUDA 13 rounds ties of sums that it computes itself toward zero; it computes no fma.
        left, right = values if mnemonic == "add" else reversed(values)
        one = build.number(1.0 if mnemonic == "add" else -1.0, "f32", left.shape)
        mnemonic, values = "fma", (left, one, right)
    return build.assembly(f"{mnemonic}.{mode}.{element}", values, element)


def _approximate(build: Lowering, mnemonic: str, values: Sequence[TtirValue], rounding: str, flush: bool) -> TtirValue:
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


def of_sign(build: Lowering, operation: Operation, name: str, value: TtirValue) -> TtirValue:
    """The sign bit is cleared or flipped, and nothing else, of NaN too."""
    mask = 1 << (value.bits - 1)
    bits = build.apply(name, build.bitcast(value, f"i{value.bits}"), mask if name == "arith.xori" else mask - 1)
    return build.bitcast(bits, value.element)


def integral(build: Lowering, operation: Operation, name: str, value: TtirValue) -> TtirValue:
    """Exact, and so is the way through f32."""
    wide = value if value.element == "f64" else build.convert("arith.extf", value, "f32")
    return build.convert("arith.truncf", build.apply(name, wide), value.element)


def comparison(build: Lowering, operation: Operation, left: TtirValue, right: TtirValue) -> TtirValue:
    ordering = "o" if operation.comparison_ordering == "ordered" else "u"
    return build.compare(ordering + PREDICATES[operation.comparison_predicate], left, right)


def extremum(build: Lowering, operation: Operation, name: str, *values: TtirValue) -> TtirValue:
    left, right = [_without_signal(build, value) for value in operation.operands]
    propagates = "propagate_nan" in operation.attributes
    if "flush_to_zero" in operation.attributes and not build.has_ptx:
        left, right = flushed(build, left), flushed(build, right)
    elif "flush_to_zero" in operation.attributes:
        return build.assembly(f"{name}.ftz{'.NaN' if propagates else ''}.f32", [left, right], "f32")
    return build.apply(f"arith.{name}{'imumf' if propagates else 'numf'}", left, right)


def _without_signal(build: Lowering, value: Value) -> TtirValue:
    """An operand of a maximum: a constant NaN as a quiet one, because LLVM has a signaling one win."""
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
