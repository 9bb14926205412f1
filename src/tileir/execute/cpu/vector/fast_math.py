"""Functions of f32 in a few instructions, within about one unit in the last place (docs/internals/cpu.md).

Operations with `rounding<approx>` and kernels compiled with `fast=True` use them.  Narrower types go through f32; f64
keeps the exact functions.

A function is a formula over traced values.  Each is an always inlined LLVM function per width: there it may branch,
which code in the middle of a kernel's loops may not.  Polynomials are near-minimax, in Horner's order.  Results may be
subnormal; zeros, infinities and NaN come out as those of the exact functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, cast

import numpy

from tileir.dialect import ops
from tileir.dialect.types import TileType
from tileir.execute.arithmetic.functions import float_unary
from tileir.execute.cpu.vector import casting
from tileir.execute.cpu.vector.builder import Builder, Number, define_once
from tileir.execute.cpu.vector.casting import INT32, SINGLE, intrinsic
from tileir.execute.cpu.vector.lanes import in_parts, shuffled
from tileir.execute.cpu.vector.llvm import Register, literal, value_type
from tileir.execute.cpu.vector.tracing import Tracer
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.types import BF16, F16, F32

SHIFTER: Final = 1.5 * 2.0**23  # Adding and subtracting it rounds to an integer, which is in the low bits in between

_REGISTER_BITS: Final = {4: 128, 8: 256, 16: 512}
_SHIFTER_BITS: Final = int(numpy.float32(SHIFTER).view(numpy.int32))
ONE_BITS: Final = 0x3F800000


class Machine:
    """What the functions need beyond NumPy, on traced values; with AVX-512's instructions for first guesses and powers
    of two where the machine has them (`Module.native_scale`) and vectors fill registers."""

    def __init__(self, builder: Builder, width: int) -> None:
        self.builder: Builder = builder
        self.width: int = width

    def fma(self, left: Any, right: Any, addend: Any) -> Any:
        """`left * right + addend`, rounded once where the machine can."""
        if not self.builder.module.native_fma:
            return left * right + addend
        like = next(value for value in (left, right, addend) if isinstance(value, Tracer))
        operands = [like.operand(value, like.dtype) for value in (left, right, addend)]
        return Tracer(self.builder, intrinsic(self.builder, "fma", operands))

    def horner(self, value: Any, coefficients: Sequence[float]) -> Any:
        """The polynomial whose coefficients are given from the constant one up."""
        total: Any = coefficients[-1]
        for coefficient in reversed(coefficients[:-1]):
            total = self.fma(value, total, coefficient)
        return total

    def scale(self, value: Any, shifted: Any) -> Any:
        """A number near 1 times two to the power of a small integer; `shifted` is that plus `SHIFTER`.  Multiplying by
        two normal numbers rounds subnormal results once."""
        if self.has_guesses:
            return self._native("mask.scalef.ps", [value, shifted - SHIFTER])
        count = shifted.view(INT32) - _SHIFTER_BITS
        half = count >> 1
        first, second = [((part << 23) + ONE_BITS).view(SINGLE) for part in (half, count - half)]
        return value * first * second

    def divide(self, numerator: Any, denominator: Any, rest: Any = None) -> Any:
        """A quotient of normal numbers of medium size; `rest` is what rounding took from the denominator."""
        if self.has_guesses:
            guess = self._native("rcp14.ps", [denominator])
            inverse = self.fma(guess, self.fma(-denominator, guess, 1.0), guess)
        elif rest is None or not self.builder.module.native_fma:
            return numerator / denominator
        else:
            inverse = 1.0 / denominator
        quotient = inverse * numerator
        error = self.fma(-denominator, quotient, numerator)
        if rest is not None:
            error = self.fma(-rest, quotient, error)
        return self.fma(error, inverse, quotient)

    def reciprocal_root(self, value: Any) -> Any:
        if not self.has_guesses:
            return 1.0 / numpy.sqrt(value)
        guess = self._native("rsqrt14.ps", [value])
        error = self.fma(-(value * guess), guess, 1.0)
        # Of zero and infinity the guess is right, and its error is NaN.
        better = self.fma(guess * error, self.fma(error, 0.375, 0.5), guess)
        return numpy.where(error == error, better, guess)

    def unless_rare(self, rare: Any, usual: Any, exact: str, slow: Callable[[Any], Any], value: Any) -> Any:
        """`usual`, but `slow(value)` in lanes that are `rare`, one by one, in a branch that is hardly ever taken."""
        builder = self.builder
        mask = rare.register
        found = mask.name
        if self.width:
            found = builder.call("i1", f"llvm.vector.reduce.or.v{self.width}i1", [mask.typed])
        kind = value_type(SINGLE, self.width)

        def each_lane(inner: Builder) -> str:
            inner.do(f"%lanes = alloca {kind}, align 64")
            inner.do(f"store {kind} %value, ptr %lanes, align 64")

            def lane(number: Number) -> None:
                pointer = inner.emit(f"getelementptr float, ptr %lanes, i64 {number}")
                element = Tracer(inner, inner.load(SINGLE, 0, pointer))
                with numpy.errstate(all="ignore"):
                    result = slow(element)
                inner.store(result.register, pointer)

            inner.count(0, max(self.width, 1), 1, lane)
            return inner.emit(f"load {kind}, ptr %lanes, align 64")

        def few() -> list[str]:
            symbol = f"slow.{exact}.{self.width}"
            define_once(builder.module, symbol, kind, f"{kind} %value", "noinline cold", each_lane)
            answer = builder.emit(f"call {kind} @{symbol}({value.register.typed})")
            return [f"{kind} {builder.emit(f'select {mask.typed}, {kind} {answer}, {usual.register.typed}')}"]

        usually = builder.emit(f"xor i1 {found}, true")
        (chosen,) = builder.branch(usually, lambda: [usual.register.typed], few, likely=True)
        return Tracer(builder, Register(chosen, SINGLE, self.width))

    # AVX-512

    @property
    def has_guesses(self) -> bool:
        """Whether the instructions of AVX-512 take vectors of this width."""
        return self.builder.module.native_scale and (self.width in _REGISTER_BITS or self.width in (32, 64))

    def rest(self, value: Any) -> Any:
        """What the nearest integer leaves of a number, 0 of an infinity; where the machine `has_guesses`."""
        return self._native("mask.reduce.ps", [value], "i32 8")

    def scale_unless(self, vanishes: Any, value: Any, power: Any) -> Any:
        """A number times two to the power of an integer, and zero where it vanishes, which then takes no time."""
        registers = [value.register, power.register, numpy.logical_not(vanishes).register]

        def emit(parts: list[Register]) -> Register:
            return self._on_register("mask.scalef.ps", parts[:2], "", self._mask(parts[2]))

        return Tracer(self.builder, in_parts(self.builder, registers, 16, emit))

    def _mask(self, lanes: Register) -> str:
        """Truth in lanes as the bits of an integer, eight at least."""
        name = lanes.name
        if lanes.width < 8:
            name = shuffled(self.builder, lanes, literal(False, lanes.dtype, lanes.width), range(8)).name
        return self.builder.emit(f"bitcast <{max(lanes.width, 8)} x i1> {name} to i{max(lanes.width, 8)}")

    def _native(self, name: str, values: list[Any], control: str = "") -> Tracer:
        """One instruction on f32 vectors, or several on parts of a wide one."""
        registers = [value.register for value in values]
        found = in_parts(self.builder, registers, 16, lambda parts: self._on_register(name, parts, control))
        return Tracer(self.builder, found)

    def _on_register(self, name: str, values: list[Register], control: str, mask: str = "-1") -> Register:
        width = values[0].width
        kind = value_type(SINGLE, width)
        operands = [value.typed for value in values]
        operands += [control] if control else []
        operands += [f"{kind} zeroinitializer", f"i{max(width, 8)} {mask}"]
        if width == 16 and name in ("mask.scalef.ps", "mask.reduce.ps"):
            # Rounding and exceptions as they are in force.
            operands.append("i32 4")
        symbol = f"llvm.x86.avx512.{name}.{_REGISTER_BITS[width]}"
        return Register(self.builder.call(kind, symbol, operands), SINGLE, width)


Formula = Callable[..., Any]


def _numbers(*texts: str) -> tuple[float, ...]:
    return tuple([float.fromhex(text) for text in texts])


# Exponentials

LOG2_E: Final = 1.4426950408889634
# Nine bits, whose product with a small integer is exact, and the rest.
LN2_HIGH, LN2_LOW = 0.693359375, -2.1219444005469058e-4
_EXP: Final = (1.0, 1.0) + _numbers(
    "0x1.fffffcp-2", "0x1.555492p-3", "0x1.5558f2p-5", "0x1.123a0ap-7", "0x1.6a23f0p-10"
)
_EXP2: Final = (1.0,) + _numbers(
    "0x1.62e430p-1", "0x1.ebfbdcp-3", "0x1.c6aee8p-5", "0x1.3b2d4ep-7", "0x1.5f3e80p-10", "0x1.41fba0p-13"
)
_TANH: Final = _numbers("-0x1.55553ep-2", "0x1.1109aep-3", "-0x1.b898dep-5", "0x1.54b8a0p-6", "-0x1.825858p-8")
_EXP_VANISHES, _EXP2_VANISHES = -104.0, -151.0  # Below these the results are zero.


def _exp_parts(machine: Machine, value: Any) -> tuple[Any, Any]:
    """exp(value), for values from -104, as a number near 1 and, plus `SHIFTER`, the power of two to scale it by."""
    value = numpy.where(value > 90.0, 90.0, value)
    shifted = machine.fma(value, LOG2_E, SHIFTER)
    count = shifted - SHIFTER
    rest = machine.fma(count, -LN2_LOW, machine.fma(count, -LN2_HIGH, value))
    return machine.horner(rest, _EXP), shifted


def _unless_vanishing(value: Any, least: float, function: Callable[[Any], Any]) -> Any:
    """A function that is zero below `least`, without slow underflows; AVX-512 masks only its last instruction."""
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
    power = _exp(machine, numpy.where(magnitude > 10.0, 10.0, magnitude) * 2.0)
    large = 1.0 - machine.divide(numpy.float32(2.0), power + 1.0)
    return numpy.copysign(numpy.where(magnitude < 0.6, _odd(machine, magnitude, _TANH), large), value)


# Angles

_TWO_OVER_PI: Final = 0.6366197723675814
_HALF_PI_PARTS: Final = _numbers("0x1.921fb4p+0", "0x1.4442d0p-24", "0x1.846988p-48")
"""Three float32 numbers whose sum it is; all above zero, which keeps the sign of a zero angle."""
_ANGLE_LIMIT: Final = 71476.0  # Above it the parts are too few: the exact function is called.
_SINE: Final = _numbers("-0x1.555544p-3", "0x1.11071cp-7", "-0x1.993960p-13")
_COSINE: Final = (1.0, -0.5) + _numbers("0x1.55554ap-5", "-0x1.6c0c12p-10", "0x1.99e204p-16")


def _sine(machine: Machine, value: Any, function: OperationDeclaration, first: int) -> Any:
    """The sine of an angle plus `first` times pi / 2; exact without fused multiply-add."""
    exact = float_unary(function, F32)
    if not machine.builder.module.native_fma:
        return exact(value)
    # The multiple of pi / 2, an integer whose low bits are right, and the angle that is left, at most pi / 4.
    shifted = machine.fma(value, _TWO_OVER_PI, SHIFTER)
    count = shifted - SHIFTER
    angle = value
    for part in _HALF_PI_PARTS:
        angle = machine.fma(count, -part, angle)
    quadrant = shifted.view(INT32) + first
    sine = numpy.copysign(_odd(machine, angle, _SINE), angle)
    result = numpy.where((quadrant & 1) != 0, machine.horner(angle * angle, _COSINE), sine)
    # The sign changes after every second multiple.
    usual = (result.view(INT32) ^ ((quadrant & 2) << 30)).view(SINGLE)
    rare = numpy.logical_not(numpy.absolute(value) < _ANGLE_LIMIT)
    return machine.unless_rare(rare, usual, function.mnemonic, exact, value)


FORMULAS: Final[dict[OperationDeclaration, Formula]] = {
    ops.EXP: _exp,
    ops.EXP2: _exp2,
    ops.SIGMOID: _sigmoid,
    ops.TANH: _tanh,
    ops.SIN: partial(_sine, function=ops.SIN, first=0),
    ops.COS: partial(_sine, function=ops.COS, first=1),
    ops.RSQRT: Machine.reciprocal_root,
}


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
