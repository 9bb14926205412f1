"""What a matrix unit does not take as it should, and how it is found in packed operands.

| guard       | what                                                                                            |
|-------------|-------------------------------------------------------------------------------------------------|
| `subnormal` | bf16 below 2^-126: units count it as zero, and it may be multiplied with something large        |
| `infinite`  | f16 that is split (`halves`): infinity times the low part of a number, zero mostly, is no number |

NaNs count as infinite.  Whether there is such an element is a question to the least, or the largest, of all patterns.
"""

from __future__ import annotations

from typing import Final

import ml_dtypes
import numpy

from tileir.execute.cpu.vector.builder import Builder, Number
from tileir.execute.cpu.vector.llvm import Register

_BFLOAT16: Final = numpy.dtype(ml_dtypes.bfloat16)
_LANES: Final = 32
SUBNORMAL: Final = "subnormal"
INFINITE: Final = "infinite"


class Guard:
    """Looks for what its name says, in vectors of bf16."""

    __slots__ = ("_combine", "_first", "_is_subnormal", "_test")

    def __init__(self, name: str) -> None:
        self._is_subnormal: bool = name == SUBNORMAL
        # Twice a pattern is without the sign; one less, zero is the largest.
        self._combine: str = "umin" if self._is_subnormal else "umax"
        self._first: int = -1 if self._is_subnormal else 0
        self._test: str = "icmp ult i16 {}, 255" if self._is_subnormal else "icmp uge i16 {}, 65280"

    def start(self, width: int) -> Register:
        """What stands for nothing seen yet."""
        return Register(f"splat (i16 {self._first})", _BFLOAT16, width)

    def seen(self, builder: Builder, before: Register, vector: Register) -> Register:
        """What is seen with a vector of elements, after others as wide."""
        kind = f"<{vector.width} x i16>"
        number = builder.emit(f"shl {kind} {vector.name}, splat (i16 1)")
        if self._is_subnormal:
            number = builder.emit(f"add {kind} {number}, splat (i16 -1)")
        name = builder.call(
            kind, f"llvm.{self._combine}.v{vector.width}i16", [f"{kind} {before.name}", f"{kind} {number}"]
        )
        return Register(name, before.dtype, before.width)

    def answer(self, builder: Builder, seen: list[Register]) -> str:
        """An i1: there was such an element."""
        first, *others = seen
        kind = f"<{first.width} x i16>"
        name = first.name
        for other in others:
            name = builder.call(
                kind, f"llvm.{self._combine}.v{first.width}i16", [f"{kind} {name}", f"{kind} {other.name}"]
            )
        last = builder.call("i16", f"llvm.vector.reduce.{self._combine}.v{first.width}i16", [f"{kind} {name}"])
        return builder.emit(self._test.format(last))

    def looking(self, builder: Builder, pointer: str, size: Number, seen: list[Register]) -> list[Register]:
        """What is seen after so many bytes in memory, a multiple of the size of a tile."""

        def line(place: Number, before: list[Register]) -> list[Register]:
            found = []
            for number, one in enumerate(before):
                here = builder.moved(builder.moved(pointer, place), number * 2 * _LANES)
                vector = builder.value(f"load <{_LANES} x i16>, ptr {here}, align 64", _BFLOAT16, _LANES)
                found.append(self.seen(builder, one, vector))
            return found

        return builder.carry(0, size, 2 * _LANES * len(seen), seen, line)

    def looked(self, builder: Builder, pointer: str, size: Number) -> str:
        """An i1: there is such an element in so many bytes of memory, a multiple of the size of a tile."""
        return self.answer(builder, self.looking(builder, pointer, size, [self.start(_LANES)] * 4))
