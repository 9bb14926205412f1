"""Numbers of f16 as two of bf16.

f16 has 11 significant bits and bf16 eight: what is cut off after eight has three at most, the same sign, and is a
normal number of bf16 for the least numbers of f16 too.  So x = high + low exactly, a product of two is four products
without an error, and their magnitudes add up to its own.  The low part of infinities and NaNs is zero.
"""

from __future__ import annotations

from typing import Final

import ml_dtypes
import numpy

from tileir.execute.cpu.vector.builder import Builder
from tileir.execute.cpu.vector.casting import SINGLE
from tileir.execute.cpu.vector.llvm import Register, literal

_BFLOAT16: Final = numpy.dtype(ml_dtypes.bfloat16)


def halves(builder: Builder, value: Register) -> list[Register]:
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
    return [_upper(builder, part, width) for part in (wide, low)]


def _upper(builder: Builder, numbers: str, width: int) -> Register:
    """The upper half of each f32."""
    parts = f"<{2 * width} x i16>"
    both = builder.emit(f"bitcast <{width} x float> {numbers} to {parts}")
    chosen = ", ".join([f"i32 {2 * lane + 1}" for lane in range(width)])
    text = f"shufflevector {parts} {both}, {parts} poison, <{width} x i32> <{chosen}>"
    return builder.value(text, _BFLOAT16, width)
