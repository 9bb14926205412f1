"""Forms that NVIDIA's assembler gets wrong are written as others: with the results that the dialect wants."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy
import pytest
from tests.hardware.measured import Measured, found
from tests.hardware.test_nvidia_page import CASES, ENDLESS

import tileir
from tileir.dialect.ops import ADDF, EXTI, FOR, FTOF, LOAD_PTR_TKO, MAXF, SELECT, STORE_PTR_TKO, TRUNCI
from tileir.execute.gpu.driver.devices import why_no_gpu
from tileir.execute.gpu.tileiras.program import work_around
from tileir.ir.core import Operation

AVOIDED = ["folded maxf", "folded addf", "nearest_away of a NaN", "token of a load whose mask is false"]


def named(name: str) -> Measured:
    return next(case for case in CASES if case.name == name)


def count(module: Operation, *declarations: object) -> int:
    return sum([operation.declaration in declarations for operation in module.walk()])


@pytest.mark.parametrize("name", AVOIDED)
def test_another_form_has_the_results_of_the_first(name: str) -> None:
    case = named(name)
    module = tileir.parse(case.text)
    assert work_around(module) == 1
    tileir.verify(module)
    assert found(case._replace(text=str(module)), "interpreter") == case.ours
    # There is nothing left to do, except that conversions are not looked at twice.
    assert work_around(module) == (1 if name.startswith("nearest_away") else 0)


@pytest.mark.gpu
@pytest.mark.skipif(bool(why_no_gpu()), reason="needs an NVIDIA GPU")
@pytest.mark.parametrize("name", AVOIDED)
def test_a_gpu_gives_the_results_that_the_dialect_wants(name: str) -> None:
    case = named(name)
    assert found(case, "tileiras") == case.ours


ACCESSES = """cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>) {
    %lane = iota : tile<8xi32>
    %p_1 = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
    %p_8 = broadcast %p_1 : tile<1xptr<f32>> -> tile<8xptr<f32>>
    %place = offset %p_8, %lane : tile<8xptr<f32>>, tile<8xi32> -> tile<8xptr<f32>>
    %no = constant <i1: false> : tile<i1>
    %no_1 = reshape %no : tile<i1> -> tile<1xi1>
    %never = broadcast %no_1 : tile<1xi1> -> tile<8xi1>
    %some = constant <i1: [true, false, true, false, true, false, true, false]> : tile<8xi1>
    %two = constant <f32: 2.0> : tile<8xf32>
    %x, %t = load_ptr_tko weak %place, %never : tile<8xptr<f32>>, tile<8xi1> -> tile<8xf32>, token
    %u = store_ptr_tko weak %place, %two, %never : tile<8xptr<f32>>, tile<8xf32>, tile<8xi1> -> token
    %y, %v = load_ptr_tko weak %place, %some, %two token=%u : tile<8xptr<f32>>, tile<8xi1>, tile<8xf32> -> tile<8xf32>, token
    %z = addf %y, %two : tile<8xf32>
    %w = store_ptr_tko weak %place, %z, %some token=%v : tile<8xptr<f32>>, tile<8xf32>, tile<8xi1> -> token
    return
  }
}"""


def test_only_accesses_without_elements_go() -> None:
    text = ACCESSES
    module = tileir.parse(text)
    assert work_around(module) == 2
    tileir.verify(module)
    assert count(module, LOAD_PTR_TKO) == 1 and count(module, STORE_PTR_TKO) == 1
    arrays = []
    for each in (module, tileir.parse(text)):
        array = numpy.arange(8, dtype=numpy.float32)
        tileir.compile(each, backend="interpreter").launch(1, (array,))
        arrays.append(array)
    assert arrays[0].tolist() == arrays[1].tolist() == [2, 1, 4, 3, 6, 5, 8, 7]


def test_what_comes_out_right_stays() -> None:
    text = """cuda_tile.module @m {
  entry @k(%x: tile<f32>) {
    %a = constant <f32: 0x3DCCCCCD> : tile<f32>
    %nan = constant <f32: 0x7FC00001> : tile<f32>
    %sum = addf %a, %a : tile<f32>
    %other = addf %x, %a flush_to_zero : tile<f32>
    %larger = maxf %nan, %x : tile<f32>
    %smaller = minf %a, %x : tile<f32>
    %rounded = ftof %x : tile<f32> -> tile<tf32>
    return
  }
}"""
    module = tileir.parse(text)
    assert work_around(module) == 0
    assert count(module, ADDF) == 2 and count(module, MAXF) == count(module, FTOF) == 1 and count(module, SELECT) == 0


# --- unsigned loops around products ---


def loops(module: Operation) -> list[Operation]:
    return [operation for operation in module.walk() if operation.declaration is FOR]


@pytest.mark.parametrize(
    ("bounds", "is_widened"),
    [
        ("%first to %rounds", True),
        ("%first to %three", False),
        ("%minus to %rounds", True),
        ("%two to %minus", True),
    ],
)
def test_unsigned_loop_around_a_product_becomes_signed(bounds: str, is_widened: bool) -> None:
    more = """%two = constant <i32: 2> : tile<i32>
    %three = constant <i32: 3> : tile<i32>
    %minus = constant <i32: -2> : tile<i32>
    %sum = for"""
    # The counter is seen, and the step is large, so that loops are short.
    text = ENDLESS.text.replace("%first to %rounds", bounds).replace("%sum = for", more)
    if "%minus" in bounds:
        text = text.replace("%step = constant <i32: 1>", "%step = constant <i32: 1073741824>")
    seen = (
        "%number = itof %i unsigned : tile<i32> -> tile<f32>\n%number_1 = reshape %number : tile<f32> -> tile<1x1xf32>"
    )
    seen += "\n%numbers = broadcast %number_1 : tile<1x1xf32> -> tile<4x16xf32>"
    seen += "\n%more = addf %after, %numbers : tile<4x16xf32>\ncontinue %more"
    case = ENDLESS._replace(text=text.replace("continue %after", seen))
    wanted = found(case, "interpreter")
    module = tileir.parse(case.text)
    assert work_around(module) == 1
    tileir.verify(module)
    [loop] = loops(module)
    assert "unsignedCmp" not in loop.attributes
    assert bool(count(module, EXTI)) == bool(count(module, TRUNCI)) == is_widened
    assert found(case._replace(text=str(module)), "interpreter") == wanted
    assert work_around(module) == 0


def test_unsigned_loop_stays_without_a_product_or_a_wider_type() -> None:
    plain = re.sub(r"%after = mmaf.*", "%after = addf %before, %before : tile<4x16xf32>", ENDLESS.text)
    wide = re.sub(r"%rounds: tile<i32>", "%rounds: tile<i64>", ENDLESS.text)
    wide = wide.replace("<i32: 0> : tile<i32>", "<i64: 0> : tile<i64>").replace(
        "<i32: 1> : tile<i32>", "<i64: 1> : tile<i64>"
    )
    wide = wide.replace("step %step) : tile<i32>", "step %step) : tile<i64>")
    for text in (plain, wide):
        module = tileir.parse(text)
        assert work_around(module) == 0
        assert "unsignedCmp" in loops(module)[0].attributes


ENDS = """
import sys
from tests.hardware.measured import found
from tests.hardware.test_nvidia_page import ENDLESS
sys.exit(found(ENDLESS, "tileiras") != ENDLESS.ours)
"""


@pytest.mark.gpu
@pytest.mark.skipif(bool(why_no_gpu()), reason="needs an NVIDIA GPU")
def test_unsigned_loop_around_a_product_ends_on_a_gpu() -> None:
    # In a process of its own: one whose kernel does not end can only be killed.
    subprocess.run([sys.executable, "-c", ENDS], check=True, timeout=120)
