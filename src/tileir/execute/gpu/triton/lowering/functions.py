"""Lowering of functions: exponentials, logarithms, trigonometry, roots, powers.

| form                           | f32                                          | f64           |
|--------------------------------|----------------------------------------------|---------------|
| the usual                      | the GPU's library: a few units at most       | the library   |
| exp2, rsqrt                    | one instruction, of two units                | the library   |
| `flush_to_zero`                | that instruction, with `.ftz`                |               |
| `approx`, and with `fast`      | the instructions ex2, lg2, sin, cos, tanh    |               |
| fpowi                          | the power in f64                             | the library   |

f16 and bf16 go through f32.
"""

from __future__ import annotations

from typing import Final

from tileir.dialect import ops
from tileir.execute.gpu.triton.lowering import library
from tileir.execute.gpu.triton.lowering.context import Lowering
from tileir.execute.gpu.triton.lowering.flushing import flushed
from tileir.execute.gpu.triton.ttir.values import TtirValue
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration

NAMES: Final[dict[OperationDeclaration, str]] = {
    ops.EXP: "exp",
    ops.EXP2: "exp2",
    ops.LOG: "log",
    ops.LOG2: "log2",
    ops.SIN: "sin",
    ops.COS: "cos",
    ops.TAN: "tan",
    ops.SINH: "sinh",
    ops.COSH: "cosh",
    ops.TANH: "tanh",
    ops.RSQRT: "rsqrt",
    ops.POW: "pow",
    ops.ATAN2: "atan2",
}
"""What the GPU's library calls each."""
_INSTRUCTIONS: Final[dict[OperationDeclaration, str]] = {ops.EXP2: "ex2.approx", ops.RSQRT: "rsqrt.approx"}
_FAST: Final[dict[OperationDeclaration, str]] = {
    **_INSTRUCTIONS,
    ops.LOG2: "lg2.approx",
    ops.SIN: "sin.approx",
    ops.COS: "cos.approx",
}
"""With `fast`."""
_LOG2_E: Final = 0x3FB8AA3B
"""log2(e), as f32."""
_LN_2: Final = 0x3F317218


def lower_function(lowering: Lowering, operation: Operation) -> None:
    """Those of one or two floats."""
    build = lowering.build
    values = lowering.operands(operation)
    element = values[0].element
    if element != "f64":
        values = [build.convert("arith.extf", value, "f32") for value in values]
    lowering.result(operation, build.convert("arith.truncf", _function(lowering, operation, values), element))


def _function(lowering: Lowering, operation: Operation, values: list[TtirValue]) -> TtirValue:
    build = lowering.build
    declaration = operation.declaration
    element = values[0].element
    if element == "f32" and lowering.has_ptx:
        is_fast = lowering.options.fast
        if is_fast or operation.keyword("rounding_mode") == "approx":
            made = _approximate(lowering, declaration, values)
            if made is not None:
                return made
        if declaration in _INSTRUCTIONS:
            flush = ".ftz" if is_fast or "flush_to_zero" in operation.attributes else ""
            return build.assembly(f"{_INSTRUCTIONS[declaration]}{flush}.f32", values, "f32")
    if "flush_to_zero" in operation.attributes and not lowering.has_ptx:
        values = [flushed(build, value) for value in values]
        return flushed(build, library.call(lowering, operation, NAMES[declaration], values))
    return library.call(lowering, operation, NAMES[declaration], values)


def _approximate(lowering: Lowering, declaration: OperationDeclaration, values: list[TtirValue]) -> TtirValue | None:
    """An instruction or two; None where there is none."""
    build = lowering.build
    shape = values[0].shape
    flush = ".ftz" if lowering.options.fast else ""
    if declaration is ops.TANH:
        return build.assembly("tanh.approx.f32", values, "f32")
    if declaration is ops.EXP:
        power = build.binary("arith.mulf", values[0], build.float_bits(_LOG2_E, "f32", shape))
        return build.assembly(f"ex2.approx{flush}.f32", [power], "f32")
    if declaration is ops.LOG:
        made = build.assembly(f"lg2.approx{flush}.f32", values, "f32")
        return build.binary("arith.mulf", made, build.float_bits(_LN_2, "f32", shape))
    if declaration in _FAST:
        return build.assembly(f"{_FAST[declaration]}{flush}.f32", values, "f32")
    return None


def lower_integer_power(lowering: Lowering, operation: Operation) -> None:
    """fpowi: by the power of f64, which has all integers of 32 bits for exponents."""
    build = lowering.build
    base, exponent = lowering.operands(operation)
    element = base.element
    wide = "f32" if lowering.options.fast and element != "f64" else "f64"
    base = build.convert("arith.extf", base, wide)
    # A single bit is 0 or -1.
    power = build.convert("arith.sitofp", exponent, wide)
    made = library.call(lowering, operation, "pow", [base, power])
    if element == "bf16" and wide == "f64":
        made = build.convert("arith.truncf", made, "f32")
    lowering.result(operation, build.convert("arith.truncf", made, element))
