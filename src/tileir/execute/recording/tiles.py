"""Tiles and arrays as answers show them: numbers to draw, text, statistics; large ones by the means of bins."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from math import isfinite, prod
from typing import Any, Final

import numpy

from tileir.dialect.types import PointerType
from tileir.execute.arithmetic.rounding import widen_single
from tileir.execute.dtypes import Array
from tileir.execute.errors import LaunchError
from tileir.ir.types import F64, FloatType, IntegerType, Type

MOST_ELEMENTS: Final = 1 << 16  # What has more elements is shown by means of bins.
HISTOGRAM_PARTS: Final = 32

# Digits that distinguish the numbers of a format; NumPy knows those of its own.
_DIGITS: Final = {"bf16": 4, "tf32": 5, "f8E4M3FN": 3, "f8E5M2": 3, "f8E8M0FNU": 4, "f4E2M1FN": 2, "fnv8E5M3FNU": 3}


def packed(array: Array) -> dict[str, Any]:
    """Numbers as base64 of their little-endian bytes."""
    kind = "u" if array.dtype.kind == "b" else array.dtype.kind
    data = numpy.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    return {
        "type": f"{kind}{8 * array.dtype.itemsize}",
        "shape": list(array.shape),
        "data": base64.b64encode(data.tobytes()).decode("ascii"),
    }


def numbers_of(element: Type, array: Array) -> Array:
    """The numbers of elements, in a type of NumPy that holds them; 64-bit integers and addresses as nearly as f64."""
    if isinstance(element, PointerType):
        return array.astype(numpy.float64)
    if isinstance(element, IntegerType):
        if element.width == 1:
            return array.astype(numpy.uint8)
        return array.astype(numpy.float64) if element.width == 64 else array
    assert isinstance(element, FloatType)
    # A signaling NaN is a NaN.
    with numpy.errstate(invalid="ignore"):
        numbers: Array = numpy.asarray(array if element is F64 else widen_single(element)(array))
        return numbers


def texts_of(element: Type, array: Array) -> list[str]:
    flat = array.reshape(-1)
    if isinstance(element, PointerType):
        return [f"{number:#x}" for number in flat.tolist()]
    if isinstance(element, IntegerType):
        if element.width == 1:
            return ["true" if number else "false" for number in flat.tolist()]
        return [str(number) for number in flat.tolist()]
    digits = _DIGITS.get(element.text)
    if flat.dtype == numpy.float64:
        return [repr(number) for number in flat.tolist()]  # The same digits, ten times as fast as NumPy writes them.
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
    numbers = numbers_of(element, array).reshape(-1)
    nan = int(numpy.count_nonzero(numpy.isnan(numbers)))
    usable = numbers[numpy.isfinite(numbers)].astype(numpy.float64)
    found: dict[str, Any] = {"count": numbers.size, "nan": nan, "infinite": numbers.size - nan - usable.size}
    if not usable.size:
        return found | dict.fromkeys(("least", "most", "mean", "deviation")) | {"histogram": [0] * parts}
    least, most = float(usable.min()), float(usable.max())
    with numpy.errstate(all="ignore"):
        mean, deviation = float(usable.mean()), float(usable.std())
        # Halves, as the distance of two finite numbers may be none.
        places = (usable / 2 - least / 2) / (most / 2 - least / 2) * parts if most > least else numpy.zeros(usable.size)
    bins = numpy.clip(places, 0, max(parts - 1, 0)).astype(numpy.int64)
    histogram = numpy.bincount(bins, minlength=parts).tolist() if parts else []
    moments = {"mean": mean, "deviation": deviation}
    finite = {name: number if isfinite(number) else None for name, number in moments.items()}
    return found | {"least": least, "most": most} | finite | {"histogram": histogram}


def part_of(
    shape: tuple[int, ...], start: Sequence[int] | None, extents: Sequence[int] | None
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The requested part of a shape; by default all of it."""
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
    found: Array = numbers
    with numpy.errstate(all="ignore"):
        for axis, size in enumerate(bins):
            starts = numpy.arange(0, numbers.shape[axis], size)
            counts = numpy.diff(numpy.append(starts, numbers.shape[axis]))
            sums = numpy.add.reduceat(found, starts, axis=axis, dtype=numpy.float64)
            found = sums / counts.reshape([-1 if one == axis else 1 for one in range(sums.ndim)])
        return found.astype(numpy.float32)


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
