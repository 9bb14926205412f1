"""Functions of f32 in a few instructions: near results, not the interpreter's bits.

They are used where an operation asks for them (`rounding<approx>`) and in kernels compiled with `fast=True`.  Narrower
types go through f32; f64 keeps the exact functions.  docs/cpu.md states the error of each.

A function is a formula over traced values, as the exact ones are.  Each is written once for every width as an LLVM
function of its own, which is always inlined: there it may branch, which code in the middle of a kernel's loops may not.
"""

from __future__ import annotations

from typing import Any, cast

import numpy

from tileir.dialect.types import TileType
from tileir.execute.cpu.vector import casting
from tileir.execute.cpu.vector.builder import Builder, Module
from tileir.execute.cpu.vector.casting import SINGLE
from tileir.execute.cpu.vector.fast_functions import FORMULAS
from tileir.execute.cpu.vector.fast_machine import Machine
from tileir.execute.cpu.vector.llvm import Register, value_type
from tileir.execute.cpu.vector.tracing import Tracer
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.types import BF16, F16, F32


def emit_fast(builder: Builder, operation: Operation, operands: list[Register]) -> Register | None:
    """An elementwise operation by its fast function, where it has one that may be used."""
    if operation.declaration not in FORMULAS:
        return None
    is_near = operation.keyword("rounding_mode") == "approx"
    element = cast(TileType, operation.operands[0].type).element
    if not (builder.module.fast or is_near) or element not in (F32, F16, BF16):
        return None
    result = call(builder, operation.declaration, [casting.to_single(builder, operand) for operand in operands])
    if "flush_to_zero" in operation.attributes:
        result = _flush(builder, result)
    return casting.cast(builder, result, operands[0].dtype)


def _flush(builder: Builder, result: Register) -> Register:
    value = Tracer(builder, result)
    flushed: Any = numpy.where(numpy.absolute(value) < 2.0**-126, numpy.copysign(value * 0.0, value), value)
    return cast(Tracer, flushed).register


def call(builder: Builder, function: OperationDeclaration, operands: list[Register]) -> Register:
    """A call of the function of f32 registers of one width, which the module gets on the first one."""
    width = operands[0].width
    symbol = f"fast.{function.mnemonic}.{width}"
    module = builder.module
    kind = value_type(SINGLE, width)
    if symbol not in module.symbols:
        module.symbols.add(symbol)
        _define(module, symbol, function, len(operands), width)
    arguments = ", ".join([operand.typed for operand in operands])
    return builder.value(f"call {kind} @{symbol}({arguments})", SINGLE, width)


def _define(module: Module, symbol: str, function: OperationDeclaration, count: int, width: int) -> None:
    inner = Builder(module)
    kind = value_type(SINGLE, width)
    names = [f"%operand{number}" for number in range(count)]
    values = [Tracer(inner, Register(name, SINGLE, width)) for name in names]
    with numpy.errstate(all="ignore"):
        result = FORMULAS[function](Machine(inner, width), *values)
    parameters = ", ".join([f"{kind} {name}" for name in names])
    inner.do(f"ret {result.register.typed}")
    module.define(f"define internal {kind} @{symbol}({parameters}) alwaysinline nounwind", inner.lines)


__all__ = ["call", "emit_fast"]
