"""What an access outside of memory is told to have missed: the array it comes from, and the index it would be there."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import tileir

ENGINES = ("interpreter", "cpu")
POINTER = """cuda_tile.module @m {
  entry @k(%p: tile<ptr<i32>>, %o: tile<ptr<i32>>, %n: tile<i32>) {
    %q = offset %p, %n : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %t = store_ptr_tko weak %q, %n : tile<ptr<i32>>, tile<i32> -> token
    %u = store_ptr_tko weak %o, %n : tile<ptr<i32>>, tile<i32> -> token
    return
  }
}"""
VIEW = """cuda_tile.module @m {
  entry @k(%p: tile<ptr<i32>>, %n: tile<i32>, %i: tile<i32>) {
    %s = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xi32, strides=[1]>
    %w = make_partition_view %s : partition_view<tile=(4), tensor_view<?xi32, strides=[1]>>
    %c = iota : tile<4xi32>
    %t = store_view_tko weak %c, %w[%i] : tile<4xi32>, partition_view<tile=(4), tensor_view<?xi32, strides=[1]>>, tile<i32> -> token
    return
  }
}"""


def message(engine: str, text: str, *arguments: Any, **options: Any) -> str:
    kernel = tileir.compile(tileir.parse(text), backend=engine)
    with pytest.raises(tileir.TileIRError) as caught:
        kernel.launch(1, arguments, **options)
    return str(caught.value)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_array_a_pointer_comes_from_is_named_and_not_the_one_that_happens_to_be_nearer(engine: str) -> None:
    both = numpy.zeros(64, "i4")
    found = message(engine, POINTER, both[:24], both[32:], 31)
    assert "it is 28 bytes past the end of argument 0 (array int32[24]), where [31] would be\n" in found
    assert "argument 1" not in found
    assert "4 bytes before argument 0 (array int32[32])" in message(engine, POINTER, both[32:], both[:24], -1)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_index_has_the_dimensions_of_the_array(engine: str) -> None:
    found = message(engine, POINTER, numpy.zeros((2, 3), "i4"), numpy.zeros(1, "i4"), 7)
    assert "4 bytes past the end of argument 0 (array int32[2, 3]), where [2, 1] would be" in found


@pytest.mark.parametrize("engine", ENGINES)
def test_a_number_where_an_array_was_meant_is_said_to_be_an_address(engine: str) -> None:
    found = message(engine, POINTER, 1000, numpy.zeros(1, "i4"), 0)
    said = "which is in no array of the launch: argument 0, from which the pointer comes, is a bare address or an empty array\n"
    assert f"at address 0x3e8, {said}" in found
    assert said in message(engine, POINTER, numpy.zeros(0, "i4"), numpy.zeros(1, "i4"), 0)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_view_names_its_array(engine: str) -> None:
    both = numpy.zeros(64, "i4")
    found = message(engine, VIEW, both[:6], 8, 1)
    assert "right past the end of argument 0 (array int32[6]), where [6] would be (element [2] of the tile)" in found


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("index", "spelled"), [(2, "2"), (-1, "4294967295 (-1, read as unsigned)")])
def test_an_index_outside_of_the_index_space_is_told(engine: str, index: int, spelled: str) -> None:
    found = message(engine, VIEW, numpy.zeros(6, "i4"), 6, index, sanitize=True)
    assert f"dimension 0: index {spelled} is none of the view's 2 tiles there, counted from 0" in found
