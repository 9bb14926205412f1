"""Tiles as NumPy prints arrays: the dtype by its name there, the shape, the range, the elements."""

from __future__ import annotations

from typing import Any

import numpy

from tileir.dialect.types import TileType
from tileir.execute.dtypes import Array
from tileir.execute.script_names import DTYPES
from tileir.execute.wording import several
from tileir.ir.types import FloatType, IntegerType, Type

_PRECISION = 4
_LINE_WIDTH = 100
# Larger ones are shown by their ends.
_MOST_ELEMENTS = 32
# With more elements than this their range is worth a word.
_FEW = 8


def dtype_name(element: Type) -> str:
    """The name of an element type in NumPy and cuTile; integers of tiles have no sign of their own."""
    return DTYPES.get(element.spelling, element.spelling)


def described_tile(label: str, type: Type, content: Any, source: str = "") -> list[str]:
    """A tile in lines: `m: float32 (1, 1) [[3.109]]`, or with the range first and the elements below."""
    array = numpy.asarray(content)
    element = type.element if isinstance(type, TileType) else type
    head = f"{label}{dtype_name(element)}"
    if not array.ndim:
        return [f"{head} {_elements(array, element)}{source}"]
    head = f"{head} ({', '.join([str(extent) for extent in array.shape])}{',' if array.ndim == 1 else ''})"
    elements = _elements(array, element).split("\n")
    if array.size <= _FEW and len(elements) == 1:
        return [f"{head} {elements[0]}{source}"]
    return [f"{head}{_range(array)}{source}", *elements]


def _range(array: Array) -> str:
    if array.dtype == numpy.bool_:
        return f", {int(array.sum())} of {array.size} True"
    wide = array.astype(numpy.float64) if array.dtype.kind not in "iu" else array
    usable = wide[~numpy.isnan(wide)]
    parts = []
    if usable.size:
        parts.append(f", min {_number(usable.min())}, max {_number(usable.max())}")
    if usable.size < wide.size:
        parts.append(f", {several(wide.size - usable.size, 'NaN')}")
    return "".join(parts)


def _number(value: Any) -> str:
    """To as many digits as NumPy shows of an element."""
    return str(int(value)) if isinstance(value, numpy.integer) else f"{float(value):.{_PRECISION}g}"


def _elements(array: Array, element: Type) -> str:
    if isinstance(element, IntegerType) and element.width == 1:
        array = array.astype(numpy.bool_)
    elif isinstance(element, FloatType) and array.dtype.itemsize < 4:
        # NumPy prints its own floats in few digits, others' in all.
        array = array.astype(numpy.float32)
    edges = 3 if array.ndim <= 2 else 2 if array.ndim == 3 else 1
    return numpy.array2string(
        array, max_line_width=_LINE_WIDTH, precision=_PRECISION, threshold=_MOST_ELEMENTS, edgeitems=edges
    )
