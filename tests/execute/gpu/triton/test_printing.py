"""What kernels print, and asserts that fail, on its way to the launcher."""

from __future__ import annotations

import numpy
import pytest
from tests.execute.gpu.triton.evaluating import run
from tests.execute.gpu.triton.lowered_programs import entry, lowered, ptx

import tileir
from tileir.execute.errors import AssertionFailedError
from tileir.execute.gpu.output import device_output_of
from tileir.execute.gpu.triton.code import AssertSite, PrintSite
from tileir.execute.gpu.triton.device_memory import failure, printed

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


# --- what comes of it, run with NumPy ---


def told(text: str, grid: int, number: int) -> tuple[str, str]:
    """What a kernel prints as TTIR, and in the interpreter."""
    array = numpy.zeros(4, numpy.float32)
    made = lowered(text)
    sites = [slot.content for slot in made.slots if slot.kind == "output"]
    words = run(made, grid, [array, array, number])["output"]
    lines: list[str] = []
    tileir.compile(tileir.parse(text), backend="interpreter").launch(grid, (array, array, number), output=lines.append)
    return printed(words[: 1 + int(words[0])], sites[0]), "".join(lines)


def test_what_is_printed_is_what_the_interpreter_prints() -> None:
    text = entry("""
 %x, %y, %z = get_tile_block_id : tile<i32>
 %i = iota : tile<8xi32>
 %h = constant <f16: [[1.5, -0.0], [65504.0, 0x7E00]]> : tile<2x2xf16>
 %b = constant <i1: true> : tile<i1>
 %e = constant <f8E5M2: [1.5, -2.0]> : tile<2xf8E5M2>
 %t = make_token : token
 %t1 = print_tko "block %d: %d and %f\\0A", %x, %i, %h token=%t : tile<i32>, tile<8xi32>, tile<2x2xf16> -> token
 %t2 = print_tko "%d %g 100%%\\0A", %b, %e token=%t1 : tile<i1>, tile<2xf8E5M2> -> token""")
    found, wanted = told(text, 3, 0)
    assert found == wanted and found.count("block") == 3


def failed(number: int) -> AssertionFailedError | None:
    """How the asserts of the kernel above come out, as TTIR."""
    array = numpy.zeros(4, numpy.float32)
    made = lowered(CHECKING)
    (sites,) = [slot.content for slot in made.slots if slot.kind == "failures"]
    words = run(made, 2, [array, array, number])["failures"]
    return failure(words, sites, device_output_of(tileir.parse(CHECKING).regions[0].blocks[0].first))


def test_the_assert_that_fails_is_told_with_its_element() -> None:
    found = failed(11)
    assert found is not None and "failed: too small (at element [11])" in str(found) and found.block == (0, 0, 0)
    assert failed(16) is None


def test_after_an_assert_that_fails_nothing_happens_in_its_tile_block() -> None:
    found = failed(0)
    # Both would fail.
    assert found is not None and "too small (at element [0])" in str(found)
