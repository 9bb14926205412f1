"""The elements that an access touches, as boxes.

A box is the place of its first element, the number of elements along each of its dimensions and the distances between
them.  A tile of a view is one box; so is a tile of pointers that are computed from ramps, as most are, and what a mask
leaves of one if it leaves a rectangle.  Other pointers are taken in order of their addresses as runs of neighbours, and
equal runs at equal distances as one box of two dimensions.  Of a scattered access with too many runs, the nearest are
joined, so that a box covers more than was touched.
"""

from __future__ import annotations

from math import prod
from typing import Final

import numpy

from tileir.execute.dtypes import Array

Box = tuple[int, tuple[int, ...], tuple[int, ...]]
"""The first element, the extents, the distances; in bytes or in elements, as whoever has it says."""

MOST_BOXES: Final = 256
"""An access in more boxes than this is kept in fewer that cover it."""
FEWER_BOXES: Final = 64


class Boxes:
    """What an access touches; `approximate` tells that the boxes cover more."""

    __slots__ = ("approximate", "boxes")

    def __init__(self, boxes: list[Box], approximate: bool = False) -> None:
        self.boxes: list[Box] = boxes
        self.approximate: bool = approximate


def rectangle(places: Array, mask: Array | None) -> Array | None:
    """What a mask leaves of a tile of places, if that is a rectangle; a tile without elements if it leaves nothing."""
    if mask is None:
        return places
    if mask.shape != places.shape:
        mask = numpy.broadcast_to(mask, places.shape)
    count = int(numpy.count_nonzero(mask))
    if count == places.size:
        return places
    if not count:
        return places.reshape(-1)[:0]
    spans = [_span(mask, axis) for axis in range(mask.ndim)]
    if prod([end - start for start, end in spans]) != count:
        return None
    return places[tuple([slice(start, end) for start, end in spans])]


def _span(mask: Array, axis: int) -> tuple[int, int]:
    """From where to where a mask has something along a dimension."""
    others = tuple([other for other in range(mask.ndim) if other != axis])
    places = numpy.flatnonzero(mask.any(axis=others) if others else mask)
    return int(places[0]), int(places[-1]) + 1


def ramp(places: Array) -> Box | None:
    """A tile of places as one box, if they are at equal distances along each dimension; dimensions of one position, and
    those along which the place stays, are left out."""
    found: list[tuple[int, int]] = []
    for axis, extent in enumerate(places.shape):
        if extent == 1:
            continue
        ahead = [slice(None)] * places.ndim
        behind = [slice(None)] * places.ndim
        ahead[axis], behind[axis] = slice(1, None), slice(None, -1)
        steps = places[tuple(ahead)] - places[tuple(behind)]
        stride = int(steps.item(0))
        # The distance of two neighbours depends on nothing but the dimension in which they are neighbours.
        if not (steps == stride).all():
            return None
        if stride:
            found.append((extent, stride))
    # As memory lies: the largest distance first.
    found.sort(key=_descending)
    return int(places.item(0)), tuple([extent for extent, _ in found]), tuple([stride for _, stride in found])


def _descending(dimension: tuple[int, int]) -> int:
    return -abs(dimension[1])


def listed_boxes(places: Array) -> Boxes:
    """The boxes of places in any order."""
    runs = _runs(numpy.unique(places))
    starts, lengths = runs
    boxes = _grouped(starts, lengths)
    if len(boxes) <= MOST_BOXES:
        return Boxes(boxes)
    # The widest gaps stay.
    gaps = starts[1:] - (starts[:-1] + lengths[:-1])
    kept = numpy.sort(numpy.argpartition(gaps, -(FEWER_BOXES - 1))[-(FEWER_BOXES - 1) :])
    firsts = starts[numpy.concatenate(([0], kept + 1))]
    ends = (starts + lengths)[numpy.concatenate((kept, [len(starts) - 1]))]
    found: list[Box] = [
        (first, (end - first,), (1,)) for first, end in zip(firsts.tolist(), ends.tolist(), strict=True)
    ]
    return Boxes(found, True)


def _runs(places: Array) -> tuple[Array, Array]:
    """The runs of neighbours among sorted places: where each starts, and how long it is."""
    breaks = numpy.flatnonzero(numpy.diff(places) != 1) + 1
    starts = numpy.concatenate(([0], breaks))
    lengths = numpy.diff(numpy.append(starts, places.size))
    return places[starts], lengths


def _grouped(starts: Array, lengths: Array) -> list[Box]:
    """Runs as boxes: those of one length at equal distances are one box of two dimensions."""
    found: list[Box] = []
    count = len(starts)
    distances = numpy.diff(starts)
    same = numpy.diff(lengths) == 0
    # Where a run goes on as the two before it do.
    along = numpy.zeros(count, numpy.bool_)
    if count > 2:
        along[2:] = same[1:] & same[:-1] & (distances[1:] == distances[:-1])
    # A group is a first run, a second of its length, and all that go on.
    at = 0
    while at < count:
        end = at + 1
        if end + 1 < count and bool(along[end + 1]):
            stops = numpy.flatnonzero(~along[end + 1 :])
            end = end + 1 + int(stops[0]) if stops.size else count
        start, length, number = int(starts[at]), int(lengths[at]), end - at
        if number > 1:
            stride = int(distances[at])
            found.append((start, (number,), (stride,)) if length == 1 else (start, (number, length), (stride, 1)))
        else:
            found.append((start, (length,), (1,)) if length > 1 else (start, (), ()))
        at = end
        if len(found) > MOST_BOXES:
            break
    return found
