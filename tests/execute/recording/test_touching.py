"""Which accesses touch an element: boxes of every kind, and of every size, without going through their elements."""

from __future__ import annotations

from itertools import product
from random import Random

import numpy

from tileir.execute.recording.accesses import _are_in


def test_elements_of_boxes_are_those_that_are_counted_one_by_one() -> None:
    random = Random(5)
    for _ in range(400):
        extents = tuple(random.choice((1, 2, 3, 5, 8)) for _ in range(random.randrange(4)))
        strides = tuple(random.choice((-9, -4, -1, 0, 1, 2, 3, 6, 40)) for _ in extents)
        offsets = numpy.arange(-400, 400)
        places = [range(extent) for extent in extents]
        expected = {sum(i * s for i, s in zip(index, strides, strict=True)) for index in product(*places)}
        assert set(offsets[_are_in(offsets, extents, strides)].tolist()) == expected, (extents, strides)


def test_large_boxes_cost_no_more_than_small_ones() -> None:
    side = 1 << 20
    offsets = numpy.array([-1, 0, side * side - 1, side * side, 2 * side * side - 1, 4 * side * side])
    assert _are_in(offsets, (side, side), (side, 1)).tolist() == [False, True, True, False, False, False]
    assert _are_in(offsets, (side, side), (2 * side, 1)).tolist() == [False, True, False, True, False, False]
