"""Functions of f32 in a few instructions: near results, not the interpreter's bits.

They are used where an operation asks for them (`rounding<approx>`) and in kernels compiled with `fast=True`.  Narrower
types go through f32; f64 keeps the exact functions.  docs/cpu.md states the error of each.

A function is a formula over traced values, as the exact ones are; what NumPy has no word for (fused multiply-add,
scaling by a power of two) is in `Machine`.  Each is written once for every width as an LLVM function of its own, which
is always inlined: there it may branch, which code in the middle of a kernel's loops may not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, cast

import numpy

from tileir.dialect.types import TileType
from tileir.execute.cpu import casting
from tileir.execute.cpu.casting import INT32, SINGLE, intrinsic
from tileir.execute.cpu.llvm import Builder, Register, value_type
from tileir.execute.cpu.tracing import Tracer
from tileir.ir.attributes import EnumAttribute
from tileir.ir.core import Operation
from tileir.ir.types import BF16, F16, F32

Formula = Callable[..., Any]

SHIFTER: Final = 1.5 * 2.0**23
"""Added and taken away again, it rounds to an integer; in between the integer is in the low bits."""


class Machine:
    """Instructions beyond NumPy's, on traced values."""

    __slots__ = ("builder", "width")

    def __init__(self, builder: Builder, width: int) -> None:
        self.builder: Builder = builder
        self.width: int = width

    def fma(self, left: Any, right: Any, addend: Any) -> Any:
        """`left * right + addend`, rounded once where the machine can."""
        if not self.builder.module.native_fma:
            return left * right + addend
        like = next(value for value in (left, right, addend) if isinstance(value, Tracer))
        operands = [like._operand(value, like.dtype) for value in (left, right, addend)]
        return Tracer(self.builder, intrinsic(self.builder, "fma", operands))

    def horner(self, value: Any, coefficients: Sequence[float]) -> Any:
        """The polynomial whose coefficients are given from the constant one up."""
        total: Any = coefficients[-1]
        for coefficient in reversed(coefficients[:-1]):
            total = self.fma(value, total, coefficient)
        return total

    def scale(self, value: Any, shifted: Any) -> Any:
        """A number near 1 times two to the power of a small integer; `shifted` is that plus `SHIFTER`.

        Two factors, each a normal number, give subnormal results with one rounding, and NaN for NaN.
        """
        if self.has_scalef:
            return self._scalef(value, shifted - SHIFTER)
        count = shifted.view(INT32) - _SHIFTER_BITS
        half = count >> 1
        first, second = [((part << 23) + _ONE_BITS).view(SINGLE) for part in (half, count - half)]
        return value * first * second

    @property
    def has_scalef(self) -> bool:
        return self.builder.module.native_scale and self.width in _VECTOR_BITS

    def _scalef(self, value: Tracer, power: Tracer) -> Tracer:
        kind = value_type(SINGLE, self.width)
        mask = f"i{max(self.width, 8)} -1"
        operands = [value.register.typed, power.register.typed, f"{kind} zeroinitializer", mask]
        if self.width == 16:
            operands.append("i32 4")
        name = f"llvm.x86.avx512.mask.scalef.ps.{_VECTOR_BITS[self.width]}"
        return Tracer(self.builder, Register(self.builder.call(kind, name, operands), SINGLE, self.width))


_VECTOR_BITS: Final = {4: 128, 8: 256, 16: 512}
_SHIFTER_BITS: Final = int(numpy.float32(SHIFTER).view(numpy.int32))
_ONE_BITS: Final = 0x3F800000


def _within(value: Any, least: float, greatest: float) -> Any:
    """Clamped; NaN stays."""
    value = numpy.where(value > greatest, greatest, value)
    return numpy.where(value < least, least, value)


# Exponentials

LOG2_E: Final = 1.4426950408889634
LN2_HIGH: Final = 0.693359375
"""Nine bits: its product with a small integer is exact."""
LN2_LOW: Final = -2.1219444005469058e-4

_EXP: Final = (
    1.0, 1.0, float.fromhex("0x1.fffffcp-2"), float.fromhex("0x1.555492p-3"), float.fromhex("0x1.5558f2p-5"),
    float.fromhex("0x1.123a0ap-7"), float.fromhex("0x1.6a23f0p-10"),
)  # fmt: skip
_EXP2: Final = (
    1.0, float.fromhex("0x1.62e430p-1"), float.fromhex("0x1.ebfbdcp-3"), float.fromhex("0x1.c6aee8p-5"),
    float.fromhex("0x1.3b2d4ep-7"), float.fromhex("0x1.5f3e80p-10"), float.fromhex("0x1.41fba0p-13"),
)  # fmt: skip


def _exp_parts(machine: Machine, value: Any) -> tuple[Any, Any]:
    """exp(value) as a number near 1 and, plus `SHIFTER`, the power of two to scale it by."""
    value = _within(value, -104.0, 89.0)
    shifted = machine.fma(value, LOG2_E, SHIFTER)
    count = shifted - SHIFTER
    rest = machine.fma(count, -LN2_LOW, machine.fma(count, -LN2_HIGH, value))
    return machine.horner(rest, _EXP), shifted


def _exp(machine: Machine, value: Any) -> Any:
    return machine.scale(*_exp_parts(machine, value))


def _exp2(machine: Machine, value: Any) -> Any:
    value = _within(value, -151.0, 128.5)
    shifted = value + SHIFTER
    rest = value - (shifted - SHIFTER)
    return machine.scale(machine.horner(rest, _EXP2), shifted)


FORMULAS: Final[dict[str, Formula]] = {
    "exp": _exp,
    "exp2": _exp2,
}
"""By mnemonic: the machine and f32 operands to an f32 result."""


def emit_fast(builder: Builder, operation: Operation, operands: list[Register]) -> Register | None:
    """An elementwise operation by its fast function, where it has one that may be used."""
    mnemonic = _SEED_NAMES.get(operation.declaration.mnemonic, operation.declaration.mnemonic)
    if mnemonic not in FORMULAS:
        return None
    mode = operation.attribute("rounding_mode")
    is_near = isinstance(mode, EnumAttribute) and mode.keyword == "approx"
    element = cast(TileType, operation.operands[0].type).element
    if not (builder.module.fast or is_near) or element not in (F32, F16, BF16):
        return None
    result = call(builder, mnemonic, [casting.to_single(builder, operand) for operand in operands])
    if "flush_to_zero" in operation.attributes:
        result = _flush(builder, result)
    return casting.cast(builder, result, operands[0].dtype)


_SEED_NAMES: Final = {"tanhf": "tanh", "powf": "pow"}


def _flush(builder: Builder, result: Register) -> Register:
    value = Tracer(builder, result)
    flushed: Any = numpy.where(numpy.absolute(value) < 2.0**-126, numpy.copysign(value * 0.0, value), value)
    return cast(Tracer, flushed).register


def call(builder: Builder, mnemonic: str, operands: list[Register]) -> Register:
    """A call of the function of f32 registers of one width, which the module gets on the first one."""
    width = operands[0].width
    symbol = f"fast.{mnemonic}.{width}"
    module = builder.module
    kind = value_type(SINGLE, width)
    if symbol not in module.symbols:
        module.symbols.add(symbol)
        module.functions.append(_definition(builder, symbol, mnemonic, len(operands), width))
    arguments = ", ".join([operand.typed for operand in operands])
    return builder.value(f"call {kind} @{symbol}({arguments})", SINGLE, width)


def _definition(builder: Builder, symbol: str, mnemonic: str, count: int, width: int) -> str:
    inner = Builder(builder.module)
    kind = value_type(SINGLE, width)
    names = [f"%operand{number}" for number in range(count)]
    values = [Tracer(inner, Register(name, SINGLE, width)) for name in names]
    with numpy.errstate(all="ignore"):
        result = FORMULAS[mnemonic](Machine(inner, width), *values)
    parameters = ", ".join([f"{kind} {name}" for name in names])
    inner.do(f"ret {result.register.typed}")
    header = f"define internal {kind} @{symbol}({parameters}) alwaysinline nounwind {{\nentry:\n"
    return header + "\n".join(inner.lines) + "\n}"


__all__ = ["FORMULAS", "call", "emit_fast"]
