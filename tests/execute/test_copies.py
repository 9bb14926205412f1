"""Copies of tiles take the memory of copies that nobody has any more, and never that of others."""

from __future__ import annotations

import gc

import numpy
import pytest

from tileir.execute.dtypes import Array
from tileir.execute.interpreter import copies as module
from tileir.execute.interpreter.copies import Copies


def place(array: Array) -> int:
    found: int = array.__array_interface__["data"][0]
    return found


def tiles(number: int, shape: tuple[int, ...] = (2, 4, 4)) -> Array:
    """A stretch of a larger matrix, whose rows lie apart."""
    return numpy.full((*shape[:-1], 3 * shape[-1]), number, numpy.float32)[..., : shape[-1]]


def test_memory_is_used_again_once_a_copy_is_gone() -> None:
    copies = Copies()
    first, second = copies.of(tiles(1)), copies.of(tiles(2))
    places = {place(first), place(second)}
    assert len(places) == 2 and first.flags.c_contiguous
    del first, second
    gc.collect()
    third, fourth, fifth = (copies.of(tiles(number)) for number in (3, 4, 5))
    assert {place(third), place(fourth)} == places and place(fifth) not in places
    assert [each.flat[0] for each in (third, fourth, fifth)] == [3, 4, 5]


def test_another_shape_or_type_of_as_many_bytes_will_do() -> None:
    copies = Copies()
    there = place(copies.of(tiles(1)))
    gc.collect()
    other = copies.of(numpy.arange(16, dtype=numpy.float64).reshape(4, 4))
    assert place(other) == there and (other == numpy.arange(16).reshape(4, 4)).all()
    assert place(copies.of(tiles(1, (2, 4, 8)))) != there


def test_only_so_much_memory_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_BYTES", 300)
    copies = Copies()
    held = [copies.of(tiles(number)) for number in range(4)]
    places = {place(each) for each in held}
    held.clear()
    gc.collect()
    assert copies.spare_bytes == 256
    again = [copies.of(tiles(number)) for number in range(2)]
    assert {place(each) for each in again} <= places and copies.spare_bytes == 0
