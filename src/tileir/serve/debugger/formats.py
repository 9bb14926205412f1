"""Elements in the formats of gdb: `x` hexadecimal, `d` and `u` decimal, `o` octal, `t` binary, `f` as a float."""

from __future__ import annotations

from typing import Final

import numpy

from tileir.dialect.types import PointerType
from tileir.execute.dtypes import Array
from tileir.execute.recording.tiles import texts_of
from tileir.ir.types import FloatType, IntegerType, Type

FORMATS: Final = "xduotfas"
_FLOATS: Final = {2: numpy.float16, 4: numpy.float32, 8: numpy.float64}
_PREFIXES: Final = {"x": "0x", "o": "0", "t": ""}


def formatted(element: Type, array: Array, format: str = "") -> list[str]:
    """Each element as text, in row-major order; without a format as the program would write it."""
    if format in ("", "s") or (format == "a" and isinstance(element, PointerType)):
        return texts_of(element, array)
    flat = numpy.ascontiguousarray(array).reshape(-1)
    if flat.dtype.kind == "b":
        flat = flat.view(numpy.uint8)
    size = flat.dtype.itemsize
    if format == "f":
        if isinstance(element, FloatType) or size not in _FLOATS:
            return texts_of(element, array)
        return [str(number) for number in flat.view(_FLOATS[size]).tolist()]
    if format == "d" and isinstance(element, IntegerType):
        return [str(number) for number in flat.tolist()]
    bits = flat.view(f"u{size}").tolist()
    if format == "d":
        width = 8 * size
        return [str(number - (1 << width) if number >> (width - 1) else number) for number in bits]
    if format == "u":
        return [str(number) for number in bits]
    if isinstance(element, IntegerType):
        # Those of four bits, and truth values, are held in a byte each.
        bits = [number & ((1 << element.width) - 1) for number in bits]
    kind = {"a": "x", "t": "b"}.get(format, format)
    prefix = _PREFIXES.get(format, "0x")
    return [f"{prefix}{number:{kind}}" for number in bits]
