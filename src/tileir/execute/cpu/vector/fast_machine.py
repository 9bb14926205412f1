"""What the fast functions need beyond NumPy's words, on traced values.

The instructions of AVX-512 that give first guesses and scale by powers of two are used where `Module.native_scale` says
so and a vector fills a register or several; everything else is code for any machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy

from tileir.execute.cpu.vector.builder import Builder, Number, define_once
from tileir.execute.cpu.vector.casting import INT32, SINGLE, intrinsic
from tileir.execute.cpu.vector.lanes import in_parts, shuffled
from tileir.execute.cpu.vector.llvm import Register, literal, value_type
from tileir.execute.cpu.vector.tracing import Tracer

SHIFTER: Final = 1.5 * 2.0**23
"""Added and taken away again, it rounds to an integer; in between the integer is in the low bits."""

_REGISTER_BITS: Final = {4: 128, 8: 256, 16: 512}
_SHIFTER_BITS: Final = int(numpy.float32(SHIFTER).view(numpy.int32))
ONE_BITS: Final = 0x3F800000


class Machine:
    """Instructions, written to the function under construction."""

    __slots__ = ("builder", "width")

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
        """A number near 1 times two to the power of a small integer; `shifted` is that plus `SHIFTER`.

        Two factors, each a normal number, give subnormal results with one rounding, and NaN for NaN.
        """
        if self.has_guesses:
            return self._native("mask.scalef.ps", [value, shifted - SHIFTER])
        count = shifted.view(INT32) - _SHIFTER_BITS
        half = count >> 1
        first, second = [((part << 23) + ONE_BITS).view(SINGLE) for part in (half, count - half)]
        return value * first * second

    def divide(self, numerator: Any, denominator: Any, rest: Any = None) -> Any:
        """A quotient of normal numbers that are neither very large nor very small.

        What the denominator lost when it was rounded counts where there is fused multiply-add.
        """
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
        """`usual`, but `slow(value)` in the lanes that are `rare`: a branch that is hardly ever taken.

        The slow function goes through the lanes one by one, so that its code is small.
        """
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
                place = inner.emit(f"getelementptr float, ptr %lanes, i64 {number}")
                element = Tracer(inner, inner.value(f"load float, ptr {place}, align 4", SINGLE))
                with numpy.errstate(all="ignore"):
                    result = slow(element)
                inner.do(f"store {result.register.typed}, ptr {place}, align 4")

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
        there = numpy.logical_not(vanishes)
        registers = [value.register, power.register, there.register]

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
