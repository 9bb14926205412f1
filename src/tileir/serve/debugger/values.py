"""Values in words: tiles with their range and first elements, pointers as places of arrays, views, tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy

from tileir.dialect.types import TOKEN, PointerType, TensorViewType, TileType, TileViewType
from tileir.execute.dtypes import Array, element_of_dtype
from tileir.execute.interpreter.views import TensorView, TileView
from tileir.execute.locations.wording import several
from tileir.execute.recording.arrays import RecordedArray
from tileir.execute.recording.tiles import statistics_of, texts_of
from tileir.ir.types import FloatType, IntegerType, Type

FIRST_ELEMENTS: Final = 6
_MOST_SCANNED: Final = 1 << 24
"""Of a larger tile or array no range is told in a line: whoever wants it asks for the statistics."""


def shown(type: Type, content: Any, arrays: Sequence[RecordedArray] = ()) -> str:
    """A value in a line."""
    if isinstance(type, TileType):
        array = numpy.asarray(content)
        if isinstance(type.element, PointerType):
            return _pointers(array, arrays)
        return numbers_shown(type.element, array)
    if type is TOKEN:
        return "a token"
    if isinstance(content, TileView) and isinstance(type, TileViewType):
        steps = "" if content.steps == content.shape else f" at steps of {_extents(content.steps)}"
        tiles = "gathers and scatters" if content.sparse >= 0 else "tiles"
        return f"{tiles} of {_extents(content.shape)}{steps} over {_tensor(content.tensor, arrays)}"
    if isinstance(content, TensorView) and isinstance(type, TensorViewType):
        return _tensor(content, arrays)
    return "" if content is None else str(content)


def numbers_shown(element: Type, array: Array) -> str:
    """Numbers in a line: range, mean, what is not finite, and the first ones."""
    if array.size == 1:
        text = texts_of(element, array)[0]
        return text if not array.ndim else f"{'[' * array.ndim}{text}{']' * array.ndim}"
    if not array.size:
        return "no elements"
    parts = [_first(element, array)]
    if array.size > FIRST_ELEMENTS and array.size <= _MOST_SCANNED:
        parts += ranged(element, array)
    return "  ".join([parts[0], ", ".join(parts[1:])]).rstrip()


def ranged(element: Type, array: Array) -> list[str]:
    """The range and the mean of numbers, and how many are no numbers."""
    if isinstance(element, IntegerType) and element.width == 1:
        return [f"{int(numpy.count_nonzero(array))} of {array.size} true"]
    found = statistics_of(element, array, 0)
    parts: list[str] = []
    if found["least"] is not None:
        is_float = isinstance(element, FloatType)
        least, most = (f"{number:.6g}" if is_float else str(int(number)) for number in (found["least"], found["most"]))
        parts += [f"min {least}", f"max {most}"]
        if found["mean"] is not None:
            parts.append(f"mean {found['mean']:.6g}")
    if found["nan"]:
        parts.append(f"{found['nan']} NaN")
    if found["infinite"]:
        parts.append(f"{found['infinite']} infinite")
    return parts


def _first(element: Type, array: Array) -> str:
    """The first elements, in the brackets of their dimensions."""
    row = array
    depth = 0
    while row.ndim > 1:
        row = row[0]
        depth += 1
    texts = texts_of(element, row[:FIRST_ELEMENTS])
    more = ", .." if row.size > FIRST_ELEMENTS else ""
    rest = ", .." if depth and array.size > row.size else ""
    return f"{'[' * (depth + 1)}{', '.join(texts)}{more}]{rest}{']' * depth}"


def result_shown(value: Any) -> str:
    """What an expression gives, in a line."""
    if isinstance(value, numpy.ndarray):
        element = element_of_dtype(value.dtype)
        return numbers_shown(element, value) if element is not None else str(value)
    if isinstance(value, (tuple, list)):
        parts = ", ".join([result_shown(one) for one in value])
        return f"[{parts}]" if isinstance(value, list) else f"({parts}{',' if len(value) == 1 else ''})"
    if isinstance(value, (bool, numpy.bool_)):
        return "true" if value else "false"
    return str(value)


def result_type(value: Any) -> str:
    """The type of what an expression gives."""
    if isinstance(value, (numpy.ndarray, numpy.generic)):
        element = element_of_dtype(value.dtype)
        name = element.spelling if element is not None else value.dtype.name
        return "x".join([*[str(extent) for extent in value.shape], name])
    return type(value).__name__


def _extents(numbers: Sequence[int]) -> str:
    return "x".join([str(number) for number in numbers]) or "one element"


def _tensor(view: TensorView, arrays: Sequence[RecordedArray]) -> str:
    strides = ", ".join([str(stride) for stride in view.strides])
    return f"{address_shown(view.address, arrays)}: {_extents(view.shape)}, strides [{strides}]"


def address_shown(address: int, arrays: Sequence[RecordedArray]) -> str:
    """An address in terms of an array: `x + 1024`, counted in elements; in hexadecimal where it is in none."""
    for array in arrays:
        if array.low <= address < array.high or address == array.address:
            offset, rest = divmod(address - array.address, array.size)
            if rest:
                return f"{array.name} + {several(address - array.address, 'byte')}"
            return array.name if not offset else f"{array.name} {'+' if offset > 0 else '-'} {abs(offset)}"
    for array in arrays:
        if address == array.high:
            return f"the end of {array.name}"
    return f"{address:#x}"


def _pointers(array: Array, arrays: Sequence[RecordedArray]) -> str:
    if not array.size:
        return "no elements"
    if array.size == 1:
        return address_shown(int(array.reshape(-1)[0]), arrays)
    flat = array.reshape(-1)
    first = ", ".join([address_shown(int(one), arrays) for one in flat[:2].tolist()])
    low, high = address_shown(int(flat.min()), arrays), address_shown(int(flat.max()), arrays)
    return f"[{first}{', ..' if flat.size > 2 else ''}]  from {low} to {high}"
