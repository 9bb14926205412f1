"""What kernels print, and asserts that fail, on its way to the launcher."""

from __future__ import annotations

import pytest
from tests.execute.gpu.triton.lowered_programs import entry, lowered, ptx

from tileir.execute.gpu.triton.sites import AssertSite, PrintSite

PRINTING = entry("""
 %i = iota : tile<8xi32>
 %one = constant <f16: 1.5> : tile<1x2xf16>
 %t = make_token : token
 %t1 = print_tko "tile %d of %f\\0A", %i, %one token=%t : tile<8xi32>, tile<1x2xf16> -> token
 %t2 = print_tko "%p\\0A", %p token=%t1 : tile<ptr<f32>> -> token""")

CHECKING = entry("""
 %i = iota : tile<16xi32>
 %b = reshape %n : tile<i32> -> tile<1xi32>
 %s = broadcast %b : tile<1xi32> -> tile<16xi32>
 %less = cmpi less_than %i, %s, signed : tile<16xi32> -> tile<16xi1>
 assert %less, "too small" : tile<16xi1>
 %zero = constant <i32: 0> : tile<i32>
 %is = cmpi not_equal %n, %zero, signed : tile<i32> -> tile<i1>
 assert %is, "nothing" : tile<i1>""")


def test_the_launcher_is_told_what_is_printed() -> None:
    (slot,) = [each for each in lowered(PRINTING).slots if each.kind == "output"]
    assert slot.content == (
        PrintSite("tile %d of %f\n", (("i32", (8,)), ("f16", (1, 2)))),
        PrintSite("%p\n", (("ptr", ()),)),
    )


def test_the_launcher_is_told_what_is_asserted() -> None:
    (slot,) = [each for each in lowered(CHECKING).slots if each.kind == "failures"]
    assert slot.content == (AssertSite("too small", (16,)), AssertSite("nothing", ()))


@pytest.mark.usefixtures("triton")
@pytest.mark.parametrize("target", ["sm_80", "sm_90", "sm_100"])
def test_a_print_reserves_words_and_fills_them(target: str) -> None:
    made = ptx(PRINTING, target)
    assert "atom.global.gpu.relaxed.add.u64" in made and "vprintf" not in made


@pytest.mark.usefixtures("triton")
@pytest.mark.parametrize("target", ["sm_80", "sm_90", "sm_100"])
def test_an_assert_that_fails_ends_its_tile_block_only(target: str) -> None:
    made = ptx(CHECKING, target)
    assert "exit;" in made and "trap" not in made and "__assertfail" not in made
