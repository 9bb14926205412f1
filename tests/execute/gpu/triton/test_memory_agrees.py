"""Views, pointers and atomics as TTIR, run with NumPy, leave in memory what the interpreter leaves."""

from __future__ import annotations

import numpy
import pytest
from tests.execute.gpu.triton.agreeing import verdict
from tests.execute.gpu.triton.evaluating import run
from tests.execute.gpu.triton.lowered_programs import entry, lowered, tensor
from tests.hardware.agreement.comparing import REFUSED
from tests.hardware.agreement.families import programs_of
from tests.hardware.agreement.rules import DIFFERENT

import tileir

FAMILIES = ("views", "accesses", "atomics")


def differing(family: str, every: int) -> list[str]:
    """The names of programs that leave something else, or are refused."""
    programs = list(programs_of(family))[::every]
    found = [verdict(program) for program in programs]
    return [each.program.name for each in found if each.kind in (DIFFERENT, REFUSED)]


@pytest.mark.parametrize(("family", "every"), [("views", 40), ("accesses", 12), ("atomics", 12)])
def test_some_programs_of_the_comparison_with_hardware(family: str, every: int) -> None:
    assert differing(family, every) == []


@pytest.mark.long
@pytest.mark.parametrize("family", FAMILIES)
def test_all_programs_of_the_comparison_with_hardware(family: str) -> None:
    assert differing(family, 1) == []


ROWS = "tensor_view<256x64xf16, strides=[64,1]>"
SUMS = "tensor_view<64x64xf32, strides=[64,1]>"


@pytest.mark.parametrize(
    ("view", "steps", "integer"),
    [("partition_view", 64, "i32"), ("partition_view", 64, "i64"), ("strided_view", 32, "i32")],
)
def test_tiles_far_outside_of_a_tensor_are_padding_to_the_accelerator_too(view: str, steps: int, integer: str) -> None:
    traversal = f"traversal_strides=[{steps},64], " if view == "strided_view" else ""
    type, result = f"{view}<tile=(64x64), {traversal}{ROWS}>", f"partition_view<tile=(64x64), {SUMS}>"
    text = entry(
        f" %z = constant <{integer}: 0> : tile<{integer}>\n %zeros = constant <f32: 0.0> : tile<64x64xf32>\n"
        + tensor("%from", "%p", ROWS)
        + tensor("%to", "%q", SUMS)
        + f" %v = make_{view} %from : {type}\n %w = make_partition_view %to : {result}\n"
        + f" %a, %t0 = load_view_tko weak %v[%n, %z] : {type}, tile<{integer}> -> tile<64x64xf16>, token\n"
        + f" %b, %t1 = load_view_tko weak %v[%z, %z] : {type}, tile<{integer}> -> tile<64x64xf16>, token\n"
        + " %c = mmaf %a, %b, %zeros : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>\n"
        + f" %t2 = store_view_tko weak %c, %w[%z, %z] : tile<64x64xf32>, {result}, tile<{integer}> -> token",
        f"%p: tile<ptr<f16>>, %q: tile<ptr<f32>>, %n: tile<{integer}>",
    )
    made, kernel = lowered(text), tileir.compile(tileir.parse(text), backend="interpreter")
    assert [slot.kind for slot in made.slots].count("descriptor") == 2
    rows = (numpy.arange(256 * 64) % 7).astype(numpy.float16)
    scalar = numpy.int32 if integer == "i32" else numpy.int64
    # What wraps around to a tile of the tensor in 32 bits, and what overlaps its first rows.
    for tile in (1, 2**32 // steps, 2**32 // steps + 1, -1, 2**31 // steps, *([2**32] if integer == "i64" else [])):
        wanted, found = numpy.full(4096, -1, numpy.float32), numpy.full(4096, -1, numpy.float32)
        kernel.launch(1, (rows, wanted, tile))
        run(made, 1, [rows, found, scalar(tile)])
        assert (wanted == found).all() and bool(wanted.any()) == (tile == 1), tile
