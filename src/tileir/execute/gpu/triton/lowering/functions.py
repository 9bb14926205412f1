"""Lowering of functions: exponentials, logarithms, trigonometry, roots, powers.

| form                           | f32                                          | f64           |
|--------------------------------|----------------------------------------------|---------------|
| the usual                      | the GPU's library: a few units at most       | the library   |
| exp2, rsqrt                    | one instruction, of two units                | the library   |
| `flush_to_zero`                | that instruction, with `.ftz`                |               |
| `approx`, and with `fast`      | the instructions ex2, lg2, sin, cos, tanh    |               |
| fpowi                          | the power in f64                             | the library   |

f16 and bf16 go through f32.  The library is libdevice for NVIDIA's GPUs, OCML for AMD's; both come with Triton.

LLVM crashes where it computes a subnormal number of constants while it inlines such a function (in Triton 3.5 to 3.9).
So constants from which that may come are hidden from it, behind an instruction that moves them; functions of constants
alone have been computed before (`preparing/simplify.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tileir.dialect.ops import CONSTANT
from tileir.execute.analysis.values import tile_of
from tileir.execute.dtypes import constant_elements, to_bits
from tileir.execute.gpu.triton.lowering.context import Lowering
from tileir.execute.gpu.triton.lowering.ttir_builder import TtirBuilder
from tileir.execute.gpu.triton.lowering.ttir_values import TtirValue
from tileir.ir import floats
from tileir.ir.core import Operation
from tileir.ir.types import FloatType
from tileir.ir.values import Value

_LEAST: Final = 2.0**-64
_GREATEST: Final = 2.0**64
_LOG2_E: Final = 0x3FB8AA3B
"""log2(e), as f32."""
_LN_2: Final = 0x3F317218


def flushed(build: TtirBuilder, value: TtirValue) -> TtirValue:
    """f32 with zeros, of the same sign, for subnormal numbers."""
    bits = build.bitcast(value, "i32")
    magnitude = build.apply("arith.andi", bits, 0x7FFFFFFF)
    is_small = build.compare("ult", magnitude, 0x00800000)
    return build.bitcast(build.select(is_small, build.apply("arith.andi", bits, 1 << 31), bits), "f32")


def call(build: Lowering, operation: Operation, name: str, values: Sequence[TtirValue]) -> TtirValue:
    """The function of f32 or f64, `exp` say, of the operands of an operation."""
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
    element = values[0].element
    if element != "f64":
        values = tuple([build.convert("arith.extf", value, "f32") for value in values])
        if approximation and _is_approximate(build, operation, values[0]):
            made = build.assembly(approximation.format(ftz=_ftz(build)), values, "f32")
            return build.convert("arith.truncf", made, element)
        if instruction and build.has_ptx:
            flush = ".ftz" if "flush_to_zero" in operation.attributes else _ftz(build)
            made = build.assembly(instruction.format(ftz=flush), values, "f32")
            return build.convert("arith.truncf", made, element)
    flushes = "flush_to_zero" in operation.attributes and not build.has_ptx
    if flushes:
        values = tuple([flushed(build, value) for value in values])
    made = call(build, operation, name, values)
    return build.convert("arith.truncf", flushed(build, made) if flushes else made, element)


def exponential(build: Lowering, operation: Operation, value: TtirValue) -> TtirValue:
    """Approximated by a power of two."""
    if not _is_approximate(build, operation, value):
        return function(build, operation, "exp", "", "", value)
    single = build.convert("arith.extf", value, "f32")
    power = build.apply("arith.mulf", single, build.float_bits(_LOG2_E, "f32", value.shape))
    made = build.assembly(f"ex2.approx{_ftz(build)}.f32", [power], "f32")
    return build.convert("arith.truncf", made, value.element)


def logarithm(build: Lowering, operation: Operation, value: TtirValue) -> TtirValue:
    """Approximated by the logarithm to the base two."""
    if not _is_approximate(build, operation, value):
        return function(build, operation, "log", "", "", value)
    made = build.assembly(f"lg2.approx{_ftz(build)}.f32", [build.convert("arith.extf", value, "f32")], "f32")
    made = build.apply("arith.mulf", made, build.float_bits(_LN_2, "f32", value.shape))
    return build.convert("arith.truncf", made, value.element)


def _is_approximate(build: Lowering, operation: Operation, value: TtirValue) -> bool:
    is_requested = build.options.fast or operation.keyword("rounding_mode") == "approx"
    return is_requested and build.has_ptx and value.element != "f64"


def _ftz(build: Lowering) -> str:
    return ".ftz" if build.options.fast else ""


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
