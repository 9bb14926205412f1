"""Functions of f32 in a few instructions, within about one unit in the last place (docs/cpu.md).

They are used where an operation asks for them (`rounding<approx>`) and in kernels compiled with `fast=True`.  Narrower
types go through f32; f64 keeps the exact functions.

A function is a formula over traced values, as the exact ones are.  Each is written once for every width as an LLVM
function of its own, which is always inlined: there it may branch, which code in the middle of a kernel's loops may not.
Polynomials are near-minimax, in Horner's order.  Results may be subnormal, and zeros, infinities and NaN come out as
those of the exact functions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, cast

import numpy

from tileir.dialect import ops
from tileir.dialect.types import TileType
from tileir.execute.arithmetic.functions import float_unary
from tileir.execute.cpu.vector import casting
from tileir.execute.cpu.vector.builder import Builder, define_once
from tileir.execute.cpu.vector.casting import DOUBLE, INT32, INT64, SINGLE
from tileir.execute.cpu.vector.fast_machine import SHIFTER, Machine
from tileir.execute.cpu.vector.llvm import Register, value_type
from tileir.execute.cpu.vector.tracing import Tracer
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.types import BF16, F16, F32

Formula = Callable[..., Any]


def _numbers(*texts: str) -> tuple[float, ...]:
    return tuple([float.fromhex(text) for text in texts])


def _within(value: Any, least: float, greatest: float) -> Any:
    """Clamped; NaN stays."""
    value = numpy.where(value > greatest, greatest, value)
    return numpy.where(value < least, least, value)


# Exponentials

LOG2_E: Final = 1.4426950408889634
LN2_HIGH: Final = 0.693359375
"""Nine bits: its product with a small integer is exact."""
LN2_LOW: Final = -2.1219444005469058e-4

_EXP: Final = (1.0, 1.0) + _numbers(
    "0x1.fffffcp-2", "0x1.555492p-3", "0x1.5558f2p-5", "0x1.123a0ap-7", "0x1.6a23f0p-10"
)
_EXP2: Final = (1.0,) + _numbers(
    "0x1.62e430p-1", "0x1.ebfbdcp-3", "0x1.c6aee8p-5", "0x1.3b2d4ep-7", "0x1.5f3e80p-10", "0x1.41fba0p-13"
)
_TANH: Final = _numbers("-0x1.55553ep-2", "0x1.1109aep-3", "-0x1.b898dep-5", "0x1.54b8a0p-6", "-0x1.825858p-8")


_EXP_VANISHES, _EXP2_VANISHES = -104.0, -151.0
"""Below these the results are zero."""


def _exp_parts(machine: Machine, value: Any) -> tuple[Any, Any]:
    """exp(value), for values from -104, as a number near 1 and, plus `SHIFTER`, the power of two to scale it by."""
    value = numpy.where(value > 90.0, 90.0, value)
    shifted = machine.fma(value, LOG2_E, SHIFTER)
    count = shifted - SHIFTER
    rest = machine.fma(count, -LN2_LOW, machine.fma(count, -LN2_HIGH, value))
    return machine.horner(rest, _EXP), shifted


def _unless_vanishing(value: Any, least: float, function: Callable[[Any], Any]) -> Any:
    """A function that is zero below `least`: it is not asked there, as numbers that underflow take their time.

    AVX-512 leaves lanes out of an instruction for nothing, and the last one is enough.
    """
    vanishes = value < least
    return numpy.where(vanishes, 0.0, function(numpy.where(vanishes, 0.0, value)))


def _exp(machine: Machine, value: Any) -> Any:
    if machine.has_guesses:
        number, shifted = _exp_parts(machine, value)
        return machine.scale_unless(value < _EXP_VANISHES, number, shifted - SHIFTER)
    return _unless_vanishing(value, _EXP_VANISHES, lambda value: machine.scale(*_exp_parts(machine, value)))


def _exp2(machine: Machine, value: Any) -> Any:
    if machine.has_guesses:
        rest = machine.rest(value)
        return machine.scale_unless(value < _EXP2_VANISHES, machine.horner(rest, _EXP2), value - rest)

    def power(value: Any) -> Any:
        value = numpy.where(value > 128.5, 128.5, value)
        shifted = value + SHIFTER
        return machine.scale(machine.horner(value - (shifted - SHIFTER), _EXP2), shifted)

    return _unless_vanishing(value, _EXP2_VANISHES, power)


def _sigmoid(machine: Machine, value: Any) -> Any:
    small = _exp(machine, -numpy.absolute(value))
    total = small + 1.0
    return machine.divide(numpy.where(value < 0.0, small, 1.0), total, small - (total - 1.0))


def _odd(machine: Machine, value: Any, coefficients: tuple[float, ...]) -> Any:
    """`value` and its higher odd powers; the sign of a zero is lost."""
    square = value * value
    return machine.fma(value * square, machine.horner(square, coefficients), value)


def _tanh(machine: Machine, value: Any) -> Any:
    magnitude = numpy.absolute(value)
    power = _exp(machine, _within(magnitude, 0.0, 10.0) * 2.0)
    large = 1.0 - machine.divide(numpy.float32(2.0), power + 1.0)
    return numpy.copysign(numpy.where(magnitude < 0.6, _odd(machine, magnitude, _TANH), large), value)


# Angles

_TWO_OVER_PI: Final = 0.6366197723675814
_HALF_PI: Final = 1.5707963267948966
_HALF_PI_PARTS: Final = _numbers("0x1.921fb4p+0", "0x1.4442d0p-24", "0x1.846988p-48")
"""Three float32 numbers whose sum it is; all above zero, which keeps the sign of a zero angle."""
_HALF_PI_HIGH: Final = float.fromhex("0x1.921fb5p+0")
"""Few bits: its product with the number of quarter turns is exact in float64."""
_HALF_PI_LOW: Final = (_HALF_PI - _HALF_PI_HIGH) + 6.123233995736766e-17
_ANGLE_LIMIT: Final = 71476.0
"""Above it the parts are too few: the exact function is called."""
_SHIFTER_DOUBLE: Final = 1.5 * 2.0**52
_SINE: Final = _numbers("-0x1.555544p-3", "0x1.11071cp-7", "-0x1.993960p-13")
_COSINE: Final = (1.0, -0.5) + _numbers("0x1.55554ap-5", "-0x1.6c0c12p-10", "0x1.99e204p-16")


def _reduced(machine: Machine, value: Any) -> tuple[Any, Any]:
    """The number of quarter turns, an integer whose low bits are right, and the angle that is left, at most pi / 4: a
    float32, or a float64 without fused multiply-add."""
    if not machine.builder.module.native_fma:
        wide = value.astype(DOUBLE)
        turns = wide * _TWO_OVER_PI + _SHIFTER_DOUBLE
        count = turns - _SHIFTER_DOUBLE
        angle = (wide - count * _HALF_PI_HIGH) - count * _HALF_PI_LOW
        return turns.view(INT64).astype(INT32), angle
    turns = machine.fma(value, _TWO_OVER_PI, SHIFTER)
    count = turns - SHIFTER
    for part in _HALF_PI_PARTS:
        value = machine.fma(count, -part, value)
    return turns.view(INT32), value


def _sine(machine: Machine, value: Any, function: OperationDeclaration, first: int) -> Any:
    """The sine of an angle and some quarter turns."""
    turns, angle = _reduced(machine, value)
    sine = numpy.copysign(_odd(machine, angle, _SINE), angle)
    cosine = machine.horner(angle * angle, _COSINE)
    turns = turns + first if first else turns
    result = numpy.where((turns & 1) != 0, cosine, sine).astype(SINGLE)
    # With the other sign after two quarter turns.
    usual = (result.view(INT32) ^ ((turns & 2) << 30)).view(SINGLE)
    rare = numpy.logical_not(numpy.absolute(value) < _ANGLE_LIMIT)
    return machine.unless_rare(rare, usual, function.mnemonic, float_unary(function, F32), value)


FORMULAS: Final[dict[OperationDeclaration, Formula]] = {
    ops.EXP: _exp,
    ops.EXP2: _exp2,
    ops.SIGMOID: _sigmoid,
    ops.TANH: _tanh,
    ops.SIN: partial(_sine, function=ops.SIN, first=0),
    ops.COS: partial(_sine, function=ops.COS, first=1),
    ops.RSQRT: Machine.reciprocal_root,
}
"""The machine and f32 operands to an f32 result."""


def emit_fast(builder: Builder, operation: Operation, operands: list[Register]) -> Register | None:
    """An elementwise operation by its fast function, where it has one that may be used."""
    if operation.declaration not in FORMULAS:
        return None
    is_near = operation.keyword("rounding_mode") == "approx"
    element = cast(TileType, operation.operands[0].type).element
    if not (builder.module.fast or is_near) or element not in (F32, F16, BF16):
        return None
    result = call(builder, operation.declaration, casting.to_single(builder, operands[0]))
    if "flush_to_zero" in operation.attributes:
        value = Tracer(builder, result)
        flushed: Any = numpy.where(numpy.absolute(value) < 2.0**-126, numpy.copysign(value * 0.0, value), value)
        result = cast(Tracer, flushed).register
    return casting.cast(builder, result, operands[0].dtype)


def call(builder: Builder, function: OperationDeclaration, operand: Register) -> Register:
    """A call of the function of an f32 register, which the module gets on the first one."""
    width = operand.width
    symbol, kind = f"fast.{function.mnemonic}.{width}", value_type(SINGLE, width)

    def body(inner: Builder) -> str:
        with numpy.errstate(all="ignore"):
            result = FORMULAS[function](Machine(inner, width), Tracer(inner, Register("%operand", SINGLE, width)))
        return cast(Tracer, result).register.name

    define_once(builder.module, symbol, kind, f"{kind} %operand", "alwaysinline", body)
    return builder.value(f"call {kind} @{symbol}({operand.typed})", SINGLE, width)
