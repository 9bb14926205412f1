"""Values and accesses as text: tiles with their range and first elements, pointers as elements of arrays, views.

`formatted` has the formats of gdb: `x` hexadecimal, `d` and `u` decimal, `o` octal, `t` binary, `f` as a float.
`accesses_since` lists what steps read and write: which elements of which array, and what writes change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy

from tileir.dialect.types import TOKEN, PointerType, TensorViewType, TileType, TileViewType
from tileir.execute.dtypes import Array, element_of_dtype
from tileir.execute.interpreter.views import TensorView, TileView
from tileir.execute.locations.wording import bracketed, several
from tileir.execute.recording.accesses import ATOMIC, READ, WRITE
from tileir.execute.recording.arrays import RecordedArray
from tileir.execute.recording.recording import Recording
from tileir.execute.recording.tiles import statistics_of, texts_of
from tileir.ir.types import FloatType, IntegerType, Type
from tileir.serve.debugger.stops import Position

FIRST_ELEMENTS: Final = 6
_MOST_SCANNED: Final = 1 << 24  # A line about a larger tile or array has no range.
FORMATS: Final = "xduotfas"
_FLOATS: Final = {2: numpy.float16, 4: numpy.float32, 8: numpy.float64}


def value_text(type: Type, content: Any, arrays: Sequence[RecordedArray] = ()) -> str:
    if isinstance(type, TileType):
        array = numpy.asarray(content)
        return _pointers(array, arrays) if isinstance(type.element, PointerType) else numbers_text(type.element, array)
    if type is TOKEN:
        return "a token"
    if isinstance(content, TileView) and isinstance(type, TileViewType):
        steps = "" if content.steps == content.shape else f" at steps of {_extents(content.steps)}"
        tiles = "gathers and scatters" if content.sparse >= 0 else "tiles"
        return f"{tiles} of {_extents(content.shape)}{steps} over {_tensor(content.tensor, arrays)}"
    if isinstance(content, TensorView) and isinstance(type, TensorViewType):
        return _tensor(content, arrays)
    return "" if content is None else str(content)


def numbers_text(element: Type, array: Array) -> str:
    """Numbers in a line: the first ones, range, mean, and how many are not finite."""
    if array.size == 1:
        return f"{'[' * array.ndim}{texts_of(element, array)[0]}{']' * array.ndim}"
    if not array.size:
        return "no elements"
    is_ranged = FIRST_ELEMENTS < array.size <= _MOST_SCANNED
    return f"{_first(element, array)}  {', '.join(_range(element, array)) if is_ranged else ''}".rstrip()


def _range(element: Type, array: Array) -> list[str]:
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
    return parts + [f"{found[key]} {name}" for key, name in (("nan", "NaN"), ("infinite", "infinite")) if found[key]]


def _first(element: Type, array: Array) -> str:
    """The first elements, in the brackets of their dimensions."""
    depth = array.ndim - 1
    row = array[(0,) * depth]
    more = ", .." if row.size > FIRST_ELEMENTS else ""
    rest = ", .." if array.size > row.size else ""
    return f"{'[' * (depth + 1)}{', '.join(texts_of(element, row[:FIRST_ELEMENTS]))}{more}]{rest}{']' * depth}"


def result_text(value: Any) -> str:
    if isinstance(value, numpy.ndarray):
        element = element_of_dtype(value.dtype)
        return numbers_text(element, value) if element is not None else str(value)
    if isinstance(value, (tuple, list)):
        parts = ", ".join([result_text(one) for one in value])
        return f"[{parts}]" if isinstance(value, list) else f"({parts}{',' if len(value) == 1 else ''})"
    if isinstance(value, (bool, numpy.bool_)):
        return "true" if value else "false"
    return str(value)


def result_type(value: Any) -> str:
    if isinstance(value, (numpy.ndarray, numpy.generic)):
        element = element_of_dtype(value.dtype)
        return array_type(value.shape, element.spelling if element is not None else value.dtype.name)
    return type(value).__name__


def array_type(shape: Sequence[int], element: str) -> str:
    return "x".join([*[str(extent) for extent in shape], element])


def _extents(numbers: Sequence[int]) -> str:
    return "x".join([str(number) for number in numbers]) or "one element"


def _tensor(view: TensorView, arrays: Sequence[RecordedArray]) -> str:
    strides = ", ".join([str(stride) for stride in view.strides])
    return f"{address_text(view.address, arrays)}: {_extents(view.shape)}, strides [{strides}]"


def address_text(address: int, arrays: Sequence[RecordedArray]) -> str:
    """An address in terms of an array: `x + 1024`, counted in elements; in hexadecimal where it is in none."""
    for array in arrays:
        if array.low <= address < array.high or address == array.address:
            offset, rest = divmod(address - array.address, array.size)
            if rest:
                return f"{array.name} + {several(address - array.address, 'byte')}"
            return array.name if not offset else f"{array.name} {'+' if offset > 0 else '-'} {abs(offset)}"
    ended = [array for array in arrays if address == array.high]
    return f"the end of {ended[0].name}" if ended else f"{address:#x}"


def _pointers(array: Array, arrays: Sequence[RecordedArray]) -> str:
    if not array.size:
        return "no elements"
    flat = array.reshape(-1)
    if array.size == 1:
        return address_text(int(flat[0]), arrays)
    first = ", ".join([address_text(int(one), arrays) for one in flat[:2].tolist()])
    low, high = address_text(int(flat.min()), arrays), address_text(int(flat.max()), arrays)
    return f"[{first}{', ..' if flat.size > 2 else ''}]  from {low} to {high}"


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
    if format == "d":
        signed = flat if isinstance(element, IntegerType) else flat.view(f"i{size}")
        return [str(number) for number in signed.tolist()]
    bits = flat.view(f"u{size}").tolist()
    if format == "u":
        return [str(number) for number in bits]
    if isinstance(element, IntegerType):
        # Integers of four bits, and truth values, are in a byte each.
        bits = [number & ((1 << element.width) - 1) for number in bits]
    kind, prefix = {"o": ("o", "0"), "t": ("b", "")}.get(format, ("x", "0x"))
    return [f"{prefix}{number:{kind}}" for number in bits]


_SHOWN: Final = 4  # Elements whose contents are shown.
_LISTED: Final = 1 << 20  # The elements of a larger access are not listed.
_VERBS: Final = {READ: "reads", WRITE: "writes", ATOMIC: "updates"}


def accesses_since(recording: Recording, position: Position, since: int) -> list[str]:
    """What a tile block has accessed from after a step up to a position, in order: an access in a line."""
    rows = recording.rows(position.block)
    steps = recording.accesses.step[rows]
    chosen = rows[(steps > since) & (steps <= position.step)].tolist()
    with recording.lock:
        return [_access(recording, int(row)) for row in chosen]


def _access(recording: Recording, row: int) -> str:
    """As in `writes c[0:64, 32]  [1.0, 2.0, ..] -> [3.0, 4.0, ..], 64 elements masked`."""
    table = recording.accesses
    number, kind = int(table.array[row]), int(table.kind[row])
    array = recording.arrays[number] if number >= 0 else None
    count = sum([int(numpy.prod(extents, dtype=numpy.int64)) for _, extents, _ in table.boxes(row)])
    masked = f", {several(int(table.masked[row]), 'element')} masked" if table.masked[row] else ""
    # Memory that is no array is what `alloca` reserves.
    where, values = "memory", ""
    if array is not None:
        indices = _indices(array, table.elements(row)) if count <= _LISTED else None
        where = f"{several(count, 'element')} of {array.name}"
        if indices is not None:
            where = _ranges(array, indices, bool(table.approximate[row]))
            end = table.behind(row)
            recording.go_to(row)
            values = _contents(array, indices, count)
            if kind != READ:
                recording.go_to(end)
                new = _contents(array, indices, count)
                values = f"{values} -> {new}" if new != values else values
    values = f"  {values}" if values and count else ""
    return f"{_VERBS[kind]} {'' if count else 'nothing of '}{where}{values}{masked}"


def _contents(array: RecordedArray, indices: Array, count: int) -> str:
    """The first elements that an access touches."""
    contents = array.contents()
    first = [contents[tuple(index)] for index in indices[:, :_SHOWN].T.tolist()]
    texts = texts_of(array.element, numpy.array(first, contents.dtype)) if first else []
    return f"[{', '.join(texts)}{', ..' if count > len(texts) else ''}]"


def _indices(array: RecordedArray, elements: Array) -> Array | None:
    """The indices of elements, a column for each; None where the array does not have them in order."""
    rest = elements - (array.address - array.low) // array.size
    found = numpy.zeros((len(array.shape), elements.size), numpy.int64)
    for axis in sorted(range(len(array.shape)), key=lambda axis: -abs(array.strides[axis])):
        extent, stride = array.shape[axis], array.strides[axis]
        if stride <= 0:
            return None
        if extent > 1:
            found[axis], rest = numpy.divmod(rest, stride)
        if ((found[axis] < 0) | (found[axis] >= extent)).any():
            return None
    return None if rest.any() else found


def _ranges(array: RecordedArray, indices: Array, approximate: bool) -> str:
    count = indices.shape[1]
    if not count or not array.shape:
        return array.name
    low, high = indices.min(axis=1).tolist(), indices.max(axis=1).tolist()
    spans = [last - first + 1 for first, last in zip(low, high, strict=True)]
    if approximate or int(numpy.prod(spans)) != count:
        which = "elements" if approximate else several(count, "element")
        return f"{which} of {array.name} between {bracketed(tuple(low))} and {bracketed(tuple(high))}"
    parts = [str(first) if last == first else f"{first}:{last + 1}" for first, last in zip(low, high, strict=True)]
    return f"{array.name}[{', '.join(parts)}]"
