"""Tiles that the tensor memory accelerator moves: which, with what descriptors, and by which instructions."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.execute.gpu.triton.lowered_programs import entry, lowered, ptx, tensor
from tests.execute.gpu.triton.lowered_programs import loading as only_loading

from tileir.execute.gpu.triton.code import TensorMap

MATRIX = "tensor_view<?x?xf16, strides=[?,1]>"
TILES = f"partition_view<tile=(64x128), padding_value = zero, {MATRIX}>"


def loading(view: str, index: str, attributes: str = "") -> str:
    """A kernel that loads a tile of f16, multiplies it by a matrix, and stores the product."""
    found = re.search(r"tile=\(([\dx]*)\)", view)
    assert found is not None
    rows, columns = ([1, *[int(extent) for extent in found[1].split("x") if extent != "1"]])[-2:]
    left, right = f"tile<{rows}x{columns}xf16>", f"tile<{columns}x{columns}xf16>"
    whole = f"tile<{found[1]}xf16>"
    computed = (
        f" %l = reshape %v : {whole} -> {left}\n"
        f" %right = constant <f16: 1.0> : {right}\n"
        f" %none = constant <f16: 0.0> : {left}\n"
        f" %m = mmaf %l, %right, %none : {left}, {right}, {left}\n"
        f" %c = reshape %m : {left} -> {whole}\n"
    )
    return only_loading(view, index, attributes, computed)


def maps(text: str, target: str = "sm_90", **how: Any) -> list[TensorMap]:
    """The descriptors: of what is read, and of what is written."""
    return [slot.content for slot in lowered(text, target, **how).slots if slot.kind == "descriptor"]


def test_a_descriptor_says_what_the_view_is() -> None:
    made, _ = maps(loading(TILES, "%x, %y"))
    assert made.base == ("argument", 0) and made.element_bytes == 2 and not made.fill_nan
    assert made.shape == (("argument", 2), ("argument", 2))
    assert made.strides == (("argument", 2), ("constant", 1)) and made.box == (64, 128)


def test_ttir_of_a_load_and_a_store_by_descriptors() -> None:
    lines = lowered(loading(TILES, "%x, %y")).text.splitlines()
    load, store = [re.sub(r"%\d+", "%", line.strip()) for line in lines if "tt.descriptor" in line]
    type = described_type(load)
    assert load == f"% = tt.descriptor_load %hidden0[%, %] : {type} -> tensor<64x128xf16>"
    assert store == f"tt.descriptor_store %hidden1[%, %], % : {type}, tensor<64x128xf16>"


def described_type(line: str) -> str:
    """The type of a descriptor, which versions of Triton write differently."""
    return "!tt.tensordesc<64x128xf16>" if "desc<64" in line else "!tt.tensordesc<tensor<64x128xf16>>"


READS = r"cp\.async\.bulk\.tensor\.%dd\.shared::\w+\.global"


@pytest.mark.usefixtures("triton")
@pytest.mark.parametrize("target", ["sm_90", "sm_100"])
def test_the_accelerator_moves_tiles(target: str) -> None:
    made = ptx(loading(TILES, "%x, %y"), target)
    assert re.search(READS % 2, made) and "cp.async.bulk.tensor.2d.global" in made
    assert "ld.global" not in made and "st.global" not in made


def test_dimensions_of_one_element_stand_first_and_are_dropped() -> None:
    view = "partition_view<tile=(1x64x1x128), tensor_view<?x?x?x128xf16, strides=[?,?,128,1]>>"
    text = loading(view, "%x, %zero, %y, %zero")
    assert maps(text)[0].box == (1, 1, 64, 128)
    assert maps(text)[0].strides == (("argument", 2), ("constant", 128), ("argument", 2), ("constant", 1))
    assert "-> tensor<64x128xf16>" in lowered(text).text


@pytest.mark.usefixtures("triton")
def test_tiles_with_dimensions_of_one_element_between_compile() -> None:
    view = "partition_view<tile=(1x64x1x128), tensor_view<?x?x?x128xf16, strides=[?,?,128,1]>>"
    assert re.search(READS % 4, ptx(loading(view, "%x, %zero, %y, %zero")))


def test_a_view_that_reads_rows_as_columns_is_loaded_as_it_lies() -> None:
    view = f"partition_view<tile=(128x64), {MATRIX}, dim_map=[1, 0]>"
    text = loading(view, "%x, %y")
    assert maps(text)[0].box == (64, 128)
    made = lowered(text).text
    assert "-> tensor<64x128xf16>" in made
    assert "{order = array<i32: 1, 0>} : tensor<64x128xf16> -> tensor<128x64xf16>" in made


def test_columns_beside_each_other_are_the_last_dimension() -> None:
    view = "partition_view<tile=(64x128), tensor_view<?x?xf16, strides=[1,?]>>"
    made = maps(loading(view, "%x, %y"))[0]
    assert made.box == (128, 64) and made.strides == (("argument", 2), ("constant", 1))


DOT = entry(
    tensor("%a", "%p", MATRIX)
    + tensor("%b", "%q", MATRIX)
    + tensor("%c", "%r", MATRIX.replace("f16", "f32"))
    + f"""
 %x, %y, %z = get_tile_block_id : tile<i32>
 %0 = constant <i32: 0> : tile<i32>
 %1 = constant <i32: 1> : tile<i32>
 %zero = constant <f32: 0.0> : tile<128x128xf32>
 %va = make_partition_view %a : partition_view<tile=(128x64), padding_value = zero, {MATRIX}>
 %vb = make_partition_view %b : partition_view<tile=(64x128), padding_value = zero, {MATRIX}, dim_map=[1, 0]>
 %vc = make_partition_view %c : partition_view<tile=(128x128), {MATRIX.replace("f16", "f32")}>
 %sum = for %k in (%0 to %n, step %1) : tile<i32> iter_values(%acc = %zero) -> (tile<128x128xf32>) {{
  %l, %t0 = load_view_tko weak %va[%x, %k] : partition_view<tile=(128x64), padding_value = zero, {MATRIX}>, tile<i32> -> tile<128x64xf16>, token
  %r0, %t1 = load_view_tko weak %vb[%k, %y] : partition_view<tile=(64x128), padding_value = zero, {MATRIX}, dim_map=[1, 0]>, tile<i32> -> tile<64x128xf16>, token
  %m = mmaf %l, %r0, %acc : tile<128x64xf16>, tile<64x128xf16>, tile<128x128xf32>
  continue %m : tile<128x128xf32>
 }}
 %t = store_view_tko weak %sum, %vc[%x, %y] : tile<128x128xf32>, partition_view<tile=(128x128), {MATRIX.replace("f16", "f32")}>, tile<i32> -> token""",
    "%p: tile<ptr<f16>>, %q: tile<ptr<f16>>, %r: tile<ptr<f32>>, %n: tile<i32>",
)


@pytest.mark.usefixtures("triton")
def test_a_product_of_a_transposed_tile_reads_it_where_the_accelerator_put_it() -> None:
    made = ptx(DOT, num_warps=8)
    assert "wgmma.mma_async" in made and "cp.async.bulk.tensor" in made
    # Nothing is moved from shared memory to registers and back to be transposed.
    assert "ldmatrix" not in made and "ld.shared.v4" not in made


@pytest.mark.parametrize(
    ("view", "index", "why"),
    [
        (TILES.replace("zero", "neg_inf"), "%x, %y", "padding"),
        (TILES.replace("zero", "nan"), "%x, %y", "padding"),
        (TILES.replace("64x128", "64x4"), "%x, %y", "short rows"),
        (TILES.replace("64x128", "1x128"), "%x, %y", "one dimension"),
        (TILES.replace("strides=[?,1]", "strides=[?,?]"), "%x, %y", "no elements beside each other"),
        (TILES.replace("strides=[?,1]", "strides=[100,1]"), "%x, %y", "rows that are not aligned"),
        (TILES.replace("?x?x", "?x66x"), "%x, %y", "rows that end between two pieces"),
    ],
)
def test_other_accesses_go_by_addresses(view: str, index: str, why: str) -> None:
    assert "tt.load" in lowered(loading(view, index)).text, why


def test_what_is_no_operand_of_a_product_goes_by_addresses() -> None:
    assert not maps(only_loading(TILES, "%x, %y"))


def test_other_launches_gpus_and_schedules_go_by_addresses() -> None:
    text = loading(TILES, "%x, %y")
    assert not maps(text, described=False)
    assert not maps(text, descriptors=False)
    assert not maps(text, "sm_80")
    assert not maps(text, "gfx942")
    hinted = loading(TILES, "%x, %y", "optimization_hints = <sm_90 = {allow_tma = false}> ")
    assert len(maps(hinted)) == 1 and len(maps(hinted, "sm_100")) == 2


def test_views_of_pointers_that_the_kernel_computes_go_by_addresses() -> None:
    text = loading(TILES, "%x, %y").replace("make_tensor_view %p,", "make_tensor_view %moved,")
    text = text.replace(" %from =", " %moved = offset %p, %x : tile<ptr<f16>>, tile<i32> -> tile<ptr<f16>>\n %from =")
    assert len(maps(text)) == 1


def test_an_if_without_else_that_depends_on_a_tile_makes_it_no_factor() -> None:
    text = entry(
        " %zero = constant <i32: 0> : tile<i32>\n %limit = constant <f16: 1.0> : tile<f16>\n"
        + tensor("%m", "%p", MATRIX)
        + f" %view = make_partition_view %m : {TILES}\n"
        + f" %v, %t = load_view_tko weak %view[%zero, %zero] : {TILES}, tile<i32> -> tile<64x128xf16>, token\n"
        + " %e = extract %v[%zero, %zero] : tile<64x128xf16> -> tile<1x1xf16>\n"
        + " %s = reshape %e : tile<1x1xf16> -> tile<f16>\n"
        + " %c = cmpf less_than ordered %s, %limit : tile<f16> -> tile<i1>\n"
        + " if %c {\n  %k = store_ptr_tko weak %q, %n : tile<ptr<i32>>, tile<i32> -> token\n }",
        "%p: tile<ptr<f16>>, %q: tile<ptr<i32>>, %n: tile<i32>",
    )
    assert not maps(text)
