"""Lowering of float arithmetic: each result is the exact one, rounded once, as the program asks for it.

    f32, f64    one instruction, in every rounding mode
    f16, bf16   one instruction to nearest; quotients and roots through f32; other modes in `directed.py`

Triton's own `arith.divf` and `math.sqrt` are approximations for f32: they are what `approx` and `fast` take.
"""

from __future__ import annotations

from typing import Final

from tileir.dialect import ops
from tileir.execute.gpu.triton.lowering import directed, library
from tileir.execute.gpu.triton.lowering.context import Lowering
from tileir.execute.gpu.triton.lowering.flushing import flushed
from tileir.execute.gpu.triton.ttir.values import TtirValue
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration

_NEAREST: Final[dict[OperationDeclaration, str]] = {
    ops.ADDF: "arith.addf",
    ops.SUBF: "arith.subf",
    ops.MULF: "arith.mulf",
}
_MNEMONICS: Final[dict[OperationDeclaration, str]] = {
    ops.ADDF: "add",
    ops.SUBF: "sub",
    ops.MULF: "mul",
    ops.DIVF: "div",
    ops.FMA: "fma",
    ops.SQRT: "sqrt",
}
_MODES: Final = {"nearest_even": "rn", "zero": "rz", "negative_inf": "rm", "positive_inf": "rp"}


def lower_arithmetic(lowering: Lowering, operation: Operation) -> None:
    """addf, subf, mulf, divf, fma, sqrt."""
    values = lowering.operands(operation)
    rounding = operation.keyword("rounding_mode")
    flush = "flush_to_zero" in operation.attributes
    declaration = operation.declaration
    if values[0].element in ("f16", "bf16") and rounding != "nearest_even":
        lowering.require_ptx(operation, f"rounding<{rounding}>")
        result = directed.narrow(lowering.build, _MNEMONICS[declaration], values, _MODES[rounding])
    elif rounding in ("approx", "full"):
        result = _approximate(lowering, operation, values, rounding, flush)
    elif rounding != "nearest_even" or flush:
        lowering.require_ptx(operation, "flush_to_zero" if flush else f"rounding<{rounding}>")
        mode = _MODES[rounding] + (".ftz" if flush else "")
        mnemonic = _MNEMONICS[declaration]
        if rounding == "nearest_even" and declaration in (ops.ADDF, ops.SUBF):
            # ptxas before CUDA 13 rounds ties of sums that it computes itself towards zero; it computes no fma.
            left, right = values if declaration is ops.ADDF else reversed(values)
            one = lowering.build.float(1.0 if declaration is ops.ADDF else -1.0, "f32", left.shape)
            mnemonic, values = "fma", [left, one, right]
        instruction = f"{mnemonic}.{mode}.{values[0].element}"
        result = lowering.build.assembly(instruction, values, values[0].element)
    else:
        result = _nearest(lowering, declaration, values)
    lowering.result(operation, result)


def _nearest(lowering: Lowering, declaration: OperationDeclaration, values: list[TtirValue]) -> TtirValue:
    build = lowering.build
    if declaration is ops.FMA:
        return build.fma(*values)
    if declaration is ops.DIVF:
        return _quotient(lowering, *values)
    if declaration is ops.SQRT:
        return _root(lowering, values[0])
    return build.binary(_NEAREST[declaration], *values)


def _approximate(
    lowering: Lowering, operation: Operation, values: list[TtirValue], rounding: str, flush: bool
) -> TtirValue:
    """f32 only."""
    build = lowering.build
    if not lowering.has_ptx:
        values = [flushed(build, value) for value in values] if flush else values
        made = build.binary("arith.divf", *values) if len(values) == 2 else build.unary("math.sqrt", values[0])
        return flushed(build, made) if flush else made
    instruction = f"{_MNEMONICS[operation.declaration]}.{rounding}{'.ftz' if flush else ''}.f32"
    return build.assembly(instruction, values, "f32")


def _quotient(lowering: Lowering, left: TtirValue, right: TtirValue) -> TtirValue:
    build = lowering.build
    element = left.element
    if element == "f64":
        return build.binary("arith.divf", left, right)
    divide = "arith.divf" if lowering.options.fast else "tt.precise_divf"
    if element == "f32":
        return build.binary(divide, left, right)
    left, right = build.convert("arith.extf", left, "f32"), build.convert("arith.extf", right, "f32")
    if element == "bf16" and not lowering.options.fast:
        quotient = directed.small_quotient(build, left, right)
    else:
        # 24 bits are twice the 11 of f16 and two more: the second rounding changes nothing.
        quotient = build.binary(divide, left, right)
    return build.convert("arith.truncf", quotient, element)


def _root(lowering: Lowering, value: TtirValue) -> TtirValue:
    build = lowering.build
    if value.element == "f64":
        return build.unary("math.sqrt", value)
    # No root is subnormal, so that the second rounding, of f16 and bf16, changes nothing.
    single = build.convert("arith.extf", value, "f32")
    root = build.unary("math.sqrt" if lowering.options.fast else "tt.precise_sqrt", single)
    return build.convert("arith.truncf", root, value.element)


def lower_remainder(lowering: Lowering, operation: Operation) -> None:
    """remf: exact, and so is the way through f32."""
    build = lowering.build
    left, right = lowering.operands(operation)
    element = left.element
    if element != "f64":
        left, right = build.convert("arith.extf", left, "f32"), build.convert("arith.extf", right, "f32")
    made = library.call(lowering, operation, "fmod", [left, right])
    lowering.result(operation, build.convert("arith.truncf", made, element))


def lower_sign(lowering: Lowering, operation: Operation) -> None:
    """absf, negf: the sign bit, and nothing else, of NaN too."""
    build = lowering.build
    value = lowering.value(operation.operands[0])
    sign = 1 << (value.bits - 1)
    bits = build.bitcast(value, f"i{value.bits}")
    if operation.declaration is ops.ABSF:
        bits = build.immediate("arith.andi", bits, sign - 1)
    else:
        bits = build.immediate("arith.xori", bits, sign)
    lowering.result(operation, build.bitcast(bits, value.element))


def lower_integral(lowering: Lowering, operation: Operation) -> None:
    """floor, ceil: exact, and so is the way through f32."""
    build = lowering.build
    value = lowering.value(operation.operands[0])
    name = "math.floor" if operation.declaration is ops.FLOOR else "math.ceil"
    wide = value if value.element == "f64" else build.convert("arith.extf", value, "f32")
    lowering.result(operation, build.convert("arith.truncf", build.unary(name, wide), value.element))
