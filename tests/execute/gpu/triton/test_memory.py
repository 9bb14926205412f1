"""Tiles read and written through views, by addresses: what is vectorized, what is masked, and with what."""

from __future__ import annotations

import re
from typing import Any

import numpy
import pytest
from tests.execute.gpu.triton.evaluating import launch
from tests.execute.gpu.triton.lowered_programs import entry, loading
from tests.execute.gpu.triton.lowered_programs import lowered as lowered_by_any
from tests.execute.gpu.triton.lowered_programs import ptx as ptx_by_any

from tileir.execute.gpu.triton.lowering.lower import Lowered

COPY = loading("partition_view<tile=(1024), tensor_view<?xf32, strides=[1]>>", "%x")


def lowered(text: str, **how: Any) -> Lowered:
    """Without the tensor memory accelerator."""
    return lowered_by_any(text, descriptors=False, **how)


def ptx(text: str, target: str = "sm_90", **how: Any) -> str:
    return ptx_by_any(text, target, descriptors=False, **how)


def loads(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if "tt.load" in line]


def constant(text: str, name: str) -> str:
    """What a constant of TTIR is."""
    return re.search(rf"{re.escape(name)} = arith.constant (.*) :", text)[1]


# --- vectors ---


@pytest.mark.usefixtures("triton")
@pytest.mark.parametrize("target", ["sm_80", "sm_90", "sm_100"])
def test_aligned_vectors_move_sixteen_bytes_at_once(target: str) -> None:
    made = ptx(COPY, target)
    assert "ld.global.v4.b32" in made and "st.global.v4.b32" in made


@pytest.mark.usefixtures("triton")
def test_what_is_not_aligned_moves_element_by_element() -> None:
    made = ptx(COPY, divisor=1)
    assert ".v4" not in made and "ld.global.b32" in made


@pytest.mark.usefixtures("triton")
def test_rows_with_a_ragged_end_move_sixteen_bytes_at_once() -> None:
    view = "partition_view<tile=(1x1024), padding_value = neg_inf, tensor_view<?x?xf32, strides=[?,1]>>"
    made = ptx(loading(view, "%x, %zero"))
    assert "ld.global.v4.b32" in made and "st.global.v4.b32" in made


@pytest.mark.usefixtures("triton")
@pytest.mark.parametrize(
    ("view", "index"),
    [
        ("partition_view<tile=(16x256), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>", "%x, %y"),
        ("partition_view<tile=(16x256), tensor_view<?x?xi1, strides=[?,1]>>", "%x, %y"),
        ("partition_view<tile=(1x64x1x128), tensor_view<?x?x?x?xf16, strides=[?,?,?,1]>>", "%x, %y, %zero, %zero"),
        ("partition_view<tile=(64x64), tensor_view<?x?xf16, strides=[?,1]>, dim_map=[1, 0]>", "%x, %y"),
    ],
)
def test_tiles_of_the_usual_forms_move_sixteen_bytes_at_once(view: str, index: str) -> None:
    made = ptx(loading(view, index))
    assert re.search(r"ld\.global\.v4\.b32", made) and not re.search(r"ld\.global\.(?!v4)", made)


COPY_IN_PLACE = """
 %x, %y, %z = get_tile_block_id : tile<i32>
 %v = make_tensor_view %p1, shape = [%n1], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
 %w = make_partition_view %v : partition_view<tile=(1024), tensor_view<?xf32, strides=[1]>>
 %a, %t = load_view_tko weak %w[%x] : partition_view<tile=(1024), tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<1024xf32>, token
 %t1 = store_view_tko weak %a, %w[%x] : tile<1024xf32>, partition_view<tile=(1024), tensor_view<?xf32, strides=[1]>>, tile<i32> -> token"""

PROMISED_POINTER = " %p1 = assume div_by<16>, %p : tile<ptr<f32>>\n"
PROMISED_EXTENT = " %n1 = assume div_by<16>, %n : tile<i32>\n"
LOADED_POINTER = """
 %l, %t0 = load_ptr_tko weak %q : tile<ptr<i64>> -> tile<i64>, token
 %p0 = int_to_ptr %l : tile<i64> -> tile<ptr<f32>>
 %p1 = assume div_by<16>, %p0 : tile<ptr<f32>>
"""
COMPUTED_EXTENT = """
 %three = constant <i32: 3> : tile<i32>
 %n0 = subi %n, %three : tile<i32>
 %n1 = assume div_by<16>, %n0 : tile<i32>
"""


@pytest.mark.usefixtures("triton")
@pytest.mark.parametrize(
    "promises",
    [PROMISED_POINTER + PROMISED_EXTENT, PROMISED_POINTER + COMPUTED_EXTENT, LOADED_POINTER + PROMISED_EXTENT],
    ids=["parameters", "computed extent", "loaded pointer"],
)
def test_what_is_promised_to_be_aligned_moves_sixteen_bytes_at_once(promises: str) -> None:
    made = ptx(entry(promises + COPY_IN_PLACE, "%p: tile<ptr<f32>>, %q: tile<ptr<i64>>, %n: tile<i32>"), divisor=1)
    assert "ld.global.v4.b32" in made and "st.global.v4.b32" in made


def test_a_promise_inside_of_a_branch_says_nothing_of_a_parameter() -> None:
    text = """
 %zero = constant <i32: 0> : tile<i32>
 %is = cmpi equal %n, %zero, signed : tile<i32> -> tile<i1>
 if %is {
  %n1 = assume div_by<16>, %n : tile<i32>
  %t = print_tko "%d", %n1 : tile<i32> -> token
 }"""
    made = lowered(entry(text), divisor=1).text
    assert "%argument2: i32" in made and "tt.divisibility" not in made


def test_a_promise_behind_a_return_says_nothing_of_a_parameter() -> None:
    text = """
 %zero = constant <i32: 0> : tile<i32>
 %is = cmpi equal %n, %zero, signed : tile<i32> -> tile<i1>
 if %is {
  %t = print_tko "%d", %n : tile<i32> -> token
  return
 }
 %n1 = assume div_by<16>, %n : tile<i32>
 %t1 = print_tko "%d", %n1 : tile<i32> -> token"""
    made = lowered(entry(text), divisor=1).text
    assert "%argument2: i32" in made and "tt.divisibility" not in made


# --- masks ---


def test_tiles_that_divide_the_tensor_are_in_it_or_not() -> None:
    view = "partition_view<tile=(64x128), tensor_view<256x1024xf32, strides=[1024,1]>>"
    text = lowered(loading(view, "%x, %y")).text
    mask = re.search(r"tt.load %\d+, (%\d+), %\d+ :", text)
    assert mask is not None
    # Whether there is such a tile is the same for all of its elements.
    assert re.search(rf"{mask[1]} = tt.splat %\d+ : i1 -> tensor<64x128xi1>", text)


def test_tiles_that_are_known_to_be_in_the_tensor_need_no_mask() -> None:
    view = "partition_view<tile=(64x128), tensor_view<100x1024xf32, strides=[1024,1]>>"
    (load,) = loads(lowered(loading(view, "%zero, %zero")).text)
    assert re.fullmatch(r"%\d+ = tt.load %\d+ : tensor<64x128x!tt.ptr<f32>>", load)


def test_a_tile_beyond_all_positions_is_not_in_the_tensor() -> None:
    view = "strided_view<tile=(8), traversal_strides=[1000], tensor_view<?xf32, strides=[1]>>"
    text = loading(view, "%far").replace(", tile<i32> -> tile<8xf32>", ", tile<i64> -> tile<8xf32>")
    text = text.replace(" %zero =", " %far = constant <i64: -3306279803602766782> : tile<i64>\n %zero =")
    source, target = numpy.ones(64, numpy.float32), numpy.ones(8, numpy.float32)
    launch(text, 1, source, target, 64, descriptors=False)
    assert not target.any()


def test_dimensions_that_are_promised_to_lie_inside_need_no_mask() -> None:
    view = "partition_view<tile=(64x128), tensor_view<?x?xf32, strides=[?,1]>>"
    masked = lowered(loading(view, "%x, %y")).text
    free = lowered(loading(view, "%x, %y", "inbounds = [true, true] ")).text
    assert loads(masked)[0].count(",") == 2 and loads(free)[0].count(",") == 0


@pytest.mark.parametrize(
    ("padding", "element", "wanted"),
    [
        ("zero", "f32", "dense<0.0>"),
        ("neg_zero", "f32", "dense<-0.0>"),
        ("nan", "f16", "dense<0x7E00>"),
        ("pos_inf", "f64", "dense<0x7FF0000000000000>"),
        ("neg_inf", "bf16", "dense<0xFF80>"),
        ("nan", "f8E4M3FN", "dense<0x7F>"),
        ("neg_inf", "f8E5M2", "dense<0xFC>"),
        ("zero", "i1", "dense<0>"),
        ("zero", "i64", "dense<0>"),
        ("nan", "f8E8M0FNU", "dense<-1>"),
    ],
)
def test_elements_outside_of_the_tensor_are_the_padding(padding: str, element: str, wanted: str) -> None:
    view = f"partition_view<tile=(128), padding_value = {padding}, tensor_view<?x{element}, strides=[1]>>"
    text = lowered(loading(view, "%x")).text
    other = re.search(r"tt.load %\d+, %\d+, (%\d+)", text)
    assert other is not None and constant(text, other[1]) == wanted


# --- addresses ---


def test_dimensions_of_one_element_are_left_out_of_the_access() -> None:
    view = "partition_view<tile=(1x1x64x128), tensor_view<?x4x64x128xf16, strides=[?,8192,128,1]>>"
    text = lowered(loading(view, "%x, %y, %zero, %zero")).text
    assert "tensor<64x128x!tt.ptr<f16>>" in loads(text)[0]
    assert "tt.reshape" not in text and "tensor<1x" not in text.replace("tensor<1x128xi32>", "")


def test_elements_are_counted_in_32_bits_where_the_tile_reaches_no_further() -> None:
    view = "partition_view<tile=(64x128), tensor_view<?x?xf32, strides=[?,1]>>"
    program = loading(view, "%x, %y")
    assert "tensor<64x128x!tt.ptr<f32>>, tensor<64x128xi32>" in lowered(program).text
    assert "tensor<64x128x!tt.ptr<f32>>, tensor<64x128xi64>" in lowered(program, short=False).text
    known = view.replace("strides=[?,1]", "strides=[4096,1]")
    assert "xi64>" not in lowered(loading(known, "%x, %y"), short=False).text


def test_a_transposed_view_reads_rows_as_columns() -> None:
    view = "partition_view<tile=(32x64), tensor_view<64x32xf32, strides=[32,1]>, dim_map=[1, 0]>"
    text = lowered(loading(view, "%zero, %zero")).text.partition("tt.load")[0]
    # Dimension 1 of the tile runs along the rows, of 32 elements each.
    assert re.search(r"arith.muli %\d+, %\d+ : tensor<64xi32>", text)
    assert not re.search(r"arith.muli %\d+, %\d+ : tensor<32xi32>", text)


def test_a_strided_view_begins_tiles_where_it_says() -> None:
    view = "strided_view<tile=(64), traversal_strides=[48], tensor_view<?xf32, strides=[1]>>"
    text = lowered(loading(view, "%x")).text
    assert "arith.constant 48 : i64" in text and "arith.constant 64" not in text
