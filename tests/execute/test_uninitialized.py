"""Memory that was allocated and not written: found by what it holds, and never by chance."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from tileir.execute.sanitizer.uninitialized import Allocations, Elements

SIZES = {"f2": 8, "f4": 4, "f8": 8, "c8": 8, "i4": 8, "u4": 8, "i8": 8}
"""How many bytes tell together, by element type."""


def _allocated(count: int, dtype: str) -> tuple[Allocations, Any]:
    array = numpy.zeros(count, dtype)
    known = Allocations()
    known.add(array.ctypes.data, array.nbytes, Elements(array.itemsize, array.dtype.kind in "fc"), "at k.py:1 in f")
    return known, array


def _unwritten(known: Allocations, array: Any) -> list[int]:
    """The indices of elements of which no byte was written."""
    low = int(array.ctypes.data)
    found = numpy.zeros(array.nbytes, bool)
    for start, chosen in known.unwritten(low, low + array.nbytes):
        found[start - low : start - low + chosen.size] |= chosen
    rows = found.reshape(array.size, array.itemsize)
    assert (rows.all(axis=1) == rows.any(axis=1)).all()
    return [int(index) for index in numpy.flatnonzero(rows.all(axis=1))]


@pytest.mark.parametrize("dtype", [*SIZES, "i1", "u1", "i2", "?"])
@pytest.mark.parametrize("count", [4, 5, 7, 16, 1001])
def test_all_of_an_allocation_is_unwritten_at_first(dtype: str, count: int) -> None:
    known, array = _allocated(count, dtype)
    assert _unwritten(known, array) == list(range(count))
    array[:] = 1
    assert _unwritten(known, array) == []


@pytest.mark.parametrize("dtype", list(SIZES))
@pytest.mark.parametrize("written", [0, 7, 100, 999, 1000])
def test_a_written_element_is_never_unwritten(dtype: str, written: int) -> None:
    known, array = _allocated(1001, dtype)
    array[written] = 3
    found = _unwritten(known, array)
    assert written not in found
    around = SIZES[dtype] // array.itemsize
    first = written // around * around
    missing = set(range(1001)) - set(found)
    assert missing <= set(range(max(first - around, 0), first + 2 * around)), "no more than its neighbors"
    if around <= 1:
        assert missing == {written}


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2"])
def test_narrow_integers_count_as_written_once_one_is(dtype: str) -> None:
    known, array = _allocated(1000, dtype)
    array[17] = 3
    assert _unwritten(known, array) == []


@pytest.mark.parametrize("dtype", ["f4", "f2", "i4", "i8"])
@pytest.mark.parametrize("start", [0, 1, 2, 3])
def test_a_part_of_an_allocation(dtype: str, start: int) -> None:
    known, array = _allocated(64, dtype)
    assert _unwritten(known, array[start:]) == list(range(64 - start))
    assert _unwritten(known, array[start : start + 9]) == list(range(9))
    array[start:] = 1
    assert _unwritten(known, array[start:]) == []


@pytest.mark.parametrize("dtype", ["f4", "i4"])
def test_what_is_copied_from_unwritten_memory_is_written(dtype: str) -> None:
    """It is garbage, but somebody wrote it: the copy is at fault, not the reader."""
    first, second = numpy.zeros(256, dtype), numpy.zeros(256, dtype)
    known = Allocations()
    for array in (first, second):
        known.add(array.ctypes.data, array.nbytes, Elements(4, dtype == "f4"), "")
    second[:] = first
    assert _unwritten(known, first) == list(range(256))
    assert _unwritten(known, second) == []


def test_an_allocation_replaces_what_was_at_its_addresses() -> None:
    array = numpy.zeros(100, "f4")
    known, elements = Allocations(), Elements(4, True)
    low = int(array.ctypes.data)
    for count, where in ((100, "whole"), (40, "part"), (10, "rest")):
        known.add(low, 4 * count, elements, where)
    found = known.at(low)
    assert found is not None and found.where == "rest"
    assert known.at(low + 80) is None
    assert _unwritten(known, array) == list(range(10))


def test_random_bytes_are_written() -> None:
    numbers = numpy.random.default_rng(0)
    for dtype in ("f2", "f4", "i4", "u1"):
        known, array = _allocated(1 << 18, dtype)
        array.view(numpy.uint8)[:] = numbers.integers(0, 256, array.nbytes, numpy.uint8)
        assert _unwritten(known, array) == []
