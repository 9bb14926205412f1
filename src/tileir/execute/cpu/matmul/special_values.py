"""Special values that a matrix unit does not multiply exactly: how they are found, and f16 as two bf16.

| guard       | elements                                                                                              |
|-------------|-------------------------------------------------------------------------------------------------------|
| `subnormal` | bf16 below 2^-126: units take it for zero, and it may be multiplied with something large              |
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
from tileir.execute.cpu.vector.casting import BOOL, SINGLE
from tileir.execute.cpu.vector.lanes import shuffled
from tileir.execute.cpu.vector.llvm import Register, literal

BFLOAT16: Final = numpy.dtype(ml_dtypes.bfloat16)
SUBNORMAL: Final = "subnormal"
INFINITE: Final = "infinite"
SCANNED: Final = 32  # Elements of a scan of memory that are tested at once.


def nothing_found(width: int) -> Register:
    """The state of a scan of nothing: no lane is special."""
    return Register("zeroinitializer", BOOL, width)


def scanned(builder: Builder, guard: str, state: Register, vector: Register) -> Register:
    """The state after a vector of bf16: the lanes that had what a guard names."""
    kind = f"<{vector.width} x i16>"
    # Twice a pattern is without the sign; one less, zero is the largest.
    number = builder.emit(f"shl {kind} {vector.name}, splat (i16 1)")
    if guard == SUBNORMAL:
        number = builder.emit(f"add {kind} {number}, splat (i16 -1)")
    test = f"ult {kind} {number}, splat (i16 255)" if guard == SUBNORMAL else f"uge {kind} {number}, splat (i16 -256)"
    return builder.value(f"or {state.typed}, {builder.emit(f'icmp {test}')}", BOOL, state.width)


def is_found(builder: Builder, state: Register) -> str:
    """An i1: a special value was found."""
    return builder.call("i1", f"llvm.vector.reduce.or.v{state.width}i1", [state.typed])


def scan_memory(builder: Builder, guard: str, pointer: str, size: Number, state: Register) -> Register:
    """The state, of `SCANNED` lanes, after so many bytes, a multiple of the size of a matrix tile."""

    def line(offset: Number, states: list[Register]) -> list[Register]:
        text = f"load <{SCANNED} x i16>, ptr {builder.moved(pointer, offset)}, align 64"
        return [scanned(builder, guard, states[0], builder.value(text, BFLOAT16, SCANNED))]

    return builder.carry(0, size, 2 * SCANNED, [state], line)[0]


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
    found = []
    for part in (wide, low):
        halves = builder.value(f"bitcast {single} {part} to <{2 * width} x i16>", BFLOAT16, 2 * width)
        found.append(shuffled(builder, halves, None, range(1, 2 * width, 2)))
    return found
