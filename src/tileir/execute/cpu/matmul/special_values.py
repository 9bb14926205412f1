"""Special values that a matrix unit does not multiply exactly: how they are found, and f16 as two bf16.

| guard       | elements                                                                                             |
|-------------|------------------------------------------------------------------------------------------------------|
| `subnormal` | bf16 below 2^-126: units take it for zero, and it may be multiplied with something large             |
| `infinite`  | f16 that is split: infinity times the low part of a number, which is mostly zero, is NaN.  NaNs count |

f16 has 11 significant bits and bf16 eight: what is cut off after eight has three at most, the same sign, and is a
normal number of bf16 for the least numbers of f16 too.  So x = high + low exactly, a product of two is four products
without an error, and their magnitudes add up to its own.  The low part of infinities and NaNs is zero.
"""

from __future__ import annotations

from typing import Final

import ml_dtypes
import numpy

from tileir.execute.cpu.vector.builder import Builder, Number
from tileir.execute.cpu.vector.casting import SINGLE
from tileir.execute.cpu.vector.lanes import shuffled
from tileir.execute.cpu.vector.llvm import Register, literal

_BFLOAT16: Final = numpy.dtype(ml_dtypes.bfloat16)
_LANES: Final = 32
SUBNORMAL: Final = "subnormal"
INFINITE: Final = "infinite"


class SpecialValueScan:
    """Searches vectors of bf16 for what a guard names: a test of the least, or the largest, of all bit patterns."""

    __slots__ = ("_combine", "_first", "_is_subnormal", "_test")

    def __init__(self, guard: str) -> None:
        self._is_subnormal: bool = guard == SUBNORMAL
        # Twice a pattern is without the sign; one less, zero is the largest.
        self._combine: str = "umin" if self._is_subnormal else "umax"
        self._first: int = -1 if self._is_subnormal else 0
        self._test: str = "icmp ult i16 {}, 255" if self._is_subnormal else "icmp uge i16 {}, 65280"

    def start(self, width: int) -> Register:
        """The state of a scan of nothing."""
        return Register(f"splat (i16 {self._first})", _BFLOAT16, width)

    def add(self, builder: Builder, state: Register, vector: Register) -> Register:
        """The state after a vector of elements, as wide as the state."""
        kind = f"<{vector.width} x i16>"
        number = builder.emit(f"shl {kind} {vector.name}, splat (i16 1)")
        if self._is_subnormal:
            number = builder.emit(f"add {kind} {number}, splat (i16 -1)")
        return self._combined(builder, state, number)

    def _combined(self, builder: Builder, state: Register, number: str) -> Register:
        kind = f"<{state.width} x i16>"
        function = f"llvm.{self._combine}.v{state.width}i16"
        return Register(
            builder.call(kind, function, [f"{kind} {state.name}", f"{kind} {number}"]), _BFLOAT16, state.width
        )

    def result(self, builder: Builder, states: list[Register]) -> str:
        """An i1: a special value was found."""
        state, *others = states
        for other in others:
            state = self._combined(builder, state, other.name)
        function = f"llvm.vector.reduce.{self._combine}.v{state.width}i16"
        return builder.emit(self._test.format(builder.call("i16", function, [f"<{state.width} x i16> {state.name}"])))

    def add_memory(self, builder: Builder, pointer: str, size: Number, states: list[Register]) -> list[Register]:
        """The states after so many bytes in memory, a multiple of the size of a matrix tile."""

        def line(offset: Number, before: list[Register]) -> list[Register]:
            found = []
            for number, state in enumerate(before):
                here = builder.moved(builder.moved(pointer, offset), number * 2 * _LANES)
                vector = builder.value(f"load <{_LANES} x i16>, ptr {here}, align 64", _BFLOAT16, _LANES)
                found.append(self.add(builder, state, vector))
            return found

        return builder.carry(0, size, 2 * _LANES * len(states), states, line)

    def memory(self, builder: Builder, pointer: str, size: Number) -> str:
        """An i1: there is a special value in so many bytes of memory, a multiple of the size of a matrix tile."""
        return self.result(builder, self.add_memory(builder, pointer, size, [self.start(_LANES)] * 4))


def split_bf16(builder: Builder, value: Register) -> list[Register]:
    """The high and the low part of f16 in a vector."""
    width = value.width
    single, words = f"<{width} x float>", f"<{width} x i32>"
    wide = builder.emit(f"fpext {value.typed} to {single}")
    bits = builder.emit(f"bitcast {single} {wide} to {words}")
    top = builder.emit(f"and {words} {bits}, splat (i32 {-1 << 16})")
    high = builder.emit(f"bitcast {words} {top} to {single}")
    rest = builder.emit(f"fsub {single} {wide}, {high}")
    finite = builder.emit(f"fcmp ord {single} {rest}, {literal(0.0, SINGLE, width).name}")
    low = builder.emit(f"select <{width} x i1> {finite}, {single} {rest}, {single} zeroinitializer")
    return [_upper_halves(builder, part, width) for part in (wide, low)]


def _upper_halves(builder: Builder, numbers: str, width: int) -> Register:
    """The upper half of each f32."""
    halves = builder.value(f"bitcast <{width} x float> {numbers} to <{2 * width} x i16>", _BFLOAT16, 2 * width)
    return shuffled(builder, halves, None, range(1, 2 * width, 2))
