"""Tiles and arrays as answers show them: numbers to draw, text, statistics; large ones by the means of bins."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from functools import cache
from math import isfinite, prod
from typing import Any, Final

import numpy

from tileir.dialect.types import PointerType
from tileir.execute.dtypes import Array, tf32_numbers
from tileir.execute.errors import LaunchError
from tileir.ir import floats
from tileir.ir.types import TF32, FloatType, IntegerType, Type

MOST_ELEMENTS: Final = 1 << 16
"""What has more elements is shown by means of bins."""
HISTOGRAM_PARTS: Final = 32
_PART: Final = 1 << 20
"""Statistics of large arrays are made of so many elements at a time."""

_PACKED: Final = {
    "bool": "u8",
    "uint8": "u8",
    "int8": "i8",
    "uint16": "u16",
    "int16": "i16",
    "uint32": "u32",
    "int32": "i32",
    "uint64": "u64",
    "int64": "i64",
    "float32": "f32",
    "float64": "f64",
}
# Digits that tell the numbers of a format apart; NumPy knows those of its own.
_DIGITS: Final = {"bf16": 4, "tf32": 5, "f8E4M3FN": 3, "f8E5M2": 3, "f8E8M0FNU": 4, "f4E2M1FN": 2, "fnv8E5M3FNU": 3}


def packed(array: Array) -> dict[str, Any]:
    """Numbers as base64 of their little-endian bytes."""
    type = _PACKED[array.dtype.name]
    data = numpy.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    return {"type": type, "shape": list(array.shape), "data": base64.b64encode(data.tobytes()).decode("ascii")}


def numbers_of(element: Type, array: Array) -> Array:
    """The numbers of elements, in a type of NumPy that holds them; 64-bit integers and addresses as nearly as f64."""
    if isinstance(element, PointerType):
        return array.astype(numpy.float64)
    if element is TF32:
        exact: Array = tf32_numbers(array)
        return exact
    if isinstance(element, IntegerType):
        if element.width == 1:
            return array.astype(numpy.uint8)
        return array.astype(numpy.float64) if element.width == 64 else array
    if isinstance(element, FloatType) and array.dtype == numpy.uint8:
        return _patterns(element.name)[array]
    if array.dtype == numpy.float64:
        return array
    # A signalling NaN is a NaN.
    with numpy.errstate(invalid="ignore"):
        return array.astype(numpy.float32)


@cache
def _patterns(name: str) -> Array:
    """The number of each pattern of an eight-bit format that is held as its bits."""
    form = floats.FORMATS[name]
    return numpy.array([floats.to_double(form, bits) for bits in range(256)], numpy.float32)


def texts_of(element: Type, array: Array) -> list[str]:
    """Each element as text, in row-major order."""
    flat = array.reshape(-1)
    if isinstance(element, PointerType):
        return [f"{number:#x}" for number in flat.tolist()]
    if isinstance(element, IntegerType):
        if element.width == 1:
            return ["true" if number else "false" for number in flat.tolist()]
        return [str(number) for number in flat.tolist()]
    digits = _DIGITS.get(element.text)
    if flat.dtype == numpy.float64:
        # The same digits, ten times as fast as NumPy writes them.
        return [repr(number) for number in flat.tolist()]
    if digits is None:
        return [str(text) for text in flat.astype(str).tolist()]
    return [f"{number:.{digits}g}" for number in numbers_of(element, flat).tolist()]


def summarized(element: Type, array: Array) -> str:
    """A tile in a few words: its elements, if there are few, else their range."""
    if array.size <= 4:
        texts = texts_of(element, array)
        return texts[0] if not array.ndim else f"[{', '.join(texts)}]"
    if isinstance(element, PointerType):
        return f"{int(array.min()):#x} to {int(array.max()):#x}"
    if isinstance(element, IntegerType) and element.width == 1:
        return f"{int(numpy.count_nonzero(array))} of {array.size} true"
    if isinstance(element, IntegerType):
        least, most = int(array.min()), int(array.max())
        return str(least) if least == most else f"{least} to {most}"
    found = statistics_of(element, array, 0)
    words = []
    if found["least"] is not None:
        low, high = f"{found['least']:.5g}", f"{found['most']:.5g}"
        words.append(low if low == high else f"{low} to {high}")
    for count, name in ((found["nan"], "NaN"), (found["infinite"], "infinite")):
        if count:
            words.append(f"{count} {name}")
    return ", ".join(words)


def statistics_of(element: Type, array: Array, parts: int = HISTOGRAM_PARTS) -> dict[str, Any]:
    """Count, NaNs, infinities, and of the finite numbers range, mean, deviation and histogram."""
    count = nan = infinite = 0
    least, most = numpy.inf, -numpy.inf
    total = square = 0.0
    pieces = list(_pieces(array))
    with numpy.errstate(all="ignore"):
        for piece in pieces:
            usable, nans, infinities = _finite(numbers_of(element, piece))
            nan, infinite, count = nan + nans, infinite + infinities, count + piece.size
            if usable.size:
                least, most = min(least, float(usable.min())), max(most, float(usable.max()))
                total += float(usable.sum(dtype=numpy.float64))
        usable_count = count - nan - infinite
        mean = total / usable_count if usable_count else 0.0
        histogram = numpy.zeros(parts, numpy.int64)
        for piece in pieces if usable_count else []:
            usable, _, _ = _finite(numbers_of(element, piece))
            wide = usable.astype(numpy.float64)
            square += float(((wide - mean) ** 2).sum())
            if parts:
                histogram += _histogram(wide, least, most, parts)
        deviation = (square / usable_count) ** 0.5 if usable_count else 0.0
    return {
        "count": count,
        "nan": nan,
        "infinite": infinite,
        "least": least if usable_count else None,
        "most": most if usable_count else None,
        "mean": mean if usable_count and isfinite(mean) else None,
        "deviation": deviation if usable_count and isfinite(deviation) else None,
        "histogram": histogram.tolist() if usable_count else [0] * parts,
    }


def _histogram(wide: Array, least: float, most: float, parts: int) -> Array:
    if most <= least:
        found = numpy.zeros(parts, numpy.int64)
        found[0] = wide.size
        return found
    # Halves, as the distance of two finite numbers may be none.
    places = (wide / 2 - least / 2) / (most / 2 - least / 2) * parts
    return numpy.bincount(numpy.clip(places, 0, parts - 1).astype(numpy.int64), minlength=parts)


def _pieces(array: Array) -> list[Array]:
    """An array in pieces of bearable size."""
    if array.size <= _PART or not array.ndim:
        return [array.reshape(-1)]
    if array.flags.c_contiguous:
        flat = array.reshape(-1)
        return [flat[start : start + _PART] for start in range(0, flat.size, _PART)]
    rows = max(_PART // max(array.size // array.shape[0], 1), 1)
    return [array[start : start + rows].reshape(-1) for start in range(0, array.shape[0], rows)]


def _finite(numbers: Array) -> tuple[Array, int, int]:
    """The finite ones of some numbers, how many are NaN, and how many infinite."""
    if numbers.dtype.kind != "f":
        return numbers, 0, 0
    usable = numpy.isfinite(numbers)
    if usable.all():
        return numbers, 0, 0
    nan = int(numpy.count_nonzero(numpy.isnan(numbers)))
    return numbers[usable], nan, int(numbers.size - numpy.count_nonzero(usable)) - nan


def part_of(
    shape: tuple[int, ...], start: Sequence[int] | None, extents: Sequence[int] | None
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The part of a shape that is asked for; all of it if nothing is said."""
    first = tuple(start) if start is not None else (0,) * len(shape)
    if len(first) != len(shape) or any(not 0 <= place <= extent for place, extent in zip(first, shape, strict=True)):
        raise LaunchError(f"a part of {list(shape)} cannot start at {list(first)}")
    if extents is None:
        return first, tuple([extent - place for place, extent in zip(first, shape, strict=True)])
    if len(extents) != len(shape) or any(extent < 0 for extent in extents):
        raise LaunchError(f"a part of {list(shape)} cannot have the extents {list(extents)}")
    found = [min(requested, extent - place) for requested, place, extent in zip(extents, first, shape, strict=True)]
    return first, tuple(found)


def bins_for(extents: tuple[int, ...]) -> tuple[int, ...] | None:
    """How many elements a bin has along each dimension; None if there are few enough without."""
    if prod(extents) <= MOST_ELEMENTS:
        return None
    bins = [1] * len(extents)
    counts = list(extents)
    while prod(counts) > MOST_ELEMENTS:
        axis = counts.index(max(counts))
        bins[axis] *= 2
        counts[axis] = -(-extents[axis] // bins[axis])
    return tuple(bins)


def binned(numbers: Array, bins: tuple[int, ...]) -> Array:
    """The mean of each bin; NaN and infinities show, as they do in sums."""
    sums: Array = numbers
    with numpy.errstate(all="ignore"):
        for axis, size in enumerate(bins):
            if size > 1:
                places = numpy.arange(0, sums.shape[axis], size)
                sums = numpy.add.reduceat(sums, places, axis=axis, dtype=numpy.float64)
        for axis, size in enumerate(bins):
            extent = numbers.shape[axis]
            counts = numpy.full(sums.shape[axis], size)
            counts[-1] = extent - (len(counts) - 1) * size
            along = [1] * sums.ndim
            along[axis] = -1
            sums = sums / counts.reshape(along)
        return sums.astype(numpy.float32)


def tile_answer(
    element: Type,
    array: Array,
    start: Sequence[int] | None = None,
    extents: Sequence[int] | None = None,
    statistics: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """A tile or an array, or a part of one, as the page takes it; `statistics` if those of the whole are known."""
    first, requested = part_of(array.shape, start, extents)
    part = array[tuple([slice(place, place + extent) for place, extent in zip(first, requested, strict=True)])]
    bins = bins_for(requested)
    numbers = numbers_of(element, numpy.asarray(part))
    return {
        "element": element.spelling,
        "shape": list(array.shape),
        "statistics": statistics if statistics is not None else statistics_of(element, array),
        "start": list(first),
        "extents": list(requested),
        "data": packed(numbers if bins is None else binned(numbers, bins)),
        "binned": None if bins is None else list(bins),
        "text": texts_of(element, numpy.asarray(part)) if bins is None else None,
    }
