"""Reductions and scans, as TTIR."""

from __future__ import annotations

import re

import numpy
import pytest
from tests.execute.evaluation import arrange
from tests.execute.gpu.triton.evaluating import agrees
from tests.execute.gpu.triton.lowered_programs import lowered

from tileir.execute.gpu.errors import TritonError
from tileir.execute.gpu.triton.worker.pool import Request, compile_ttir

NUMBERS = numpy.random.default_rng(5).integers(-8, 8, (4, 16, 2)).astype("i4")


def reduction(
    word: str, shape: str, dim: int, result: str, body: str, element: str = "i32", identity: str = "0"
) -> str:
    """A reduction or scan of `%x` to `%r`; its body combines `%a` and `%b` to `%c`."""
    return (
        f"%r = {word} %x dim={dim} {'reverse=false ' if word == 'scan' else ''}identities=[{identity if identity == 'true' else f'{identity} : {element}'}] : "
        f"tile<{shape}x{element}> -> tile<{result}{element}>\n"
        f"(%a: tile<{element}>, %b: tile<{element}>) {{\n{body}\n yield %c : tile<{element}>\n}}"
    )


ADD = " %c = addi %a, %b : tile<i32>"


@pytest.mark.parametrize(("dim", "result"), [(0, "16x2x"), (1, "4x2x"), (2, "4x16x")])
def test_each_dimension(dim: int, result: str) -> None:
    agrees(reduction("reduce", "4x16x2", dim, result, ADD), x=NUMBERS, r=f"tile<{result}i32>")
    agrees(reduction("scan", "4x16x2", dim, "4x16x2x", ADD), x=NUMBERS, r="tile<4x16x2xi32>")


def test_to_a_scalar_and_of_one_element() -> None:
    agrees(reduction("reduce", "16", 0, "", ADD), x=NUMBERS[0, :, 0], r="tile<i32>")
    made = agrees(reduction("reduce", "4x1x2", 1, "4x2x", ADD), x=NUMBERS[:, :1], r="tile<4x2xi32>").text
    assert "tt.reduce" not in made
    made = agrees(reduction("scan", "4x1x2", 1, "4x1x2x", ADD), x=NUMBERS[:, :1], r="tile<4x1x2xi32>").text
    assert "tt.scan" not in made


def test_which_operand_of_a_scan_came_before() -> None:
    for body in (" %c = subi %a, %b : tile<i32>", " %c = subi %b, %a : tile<i32>"):
        text = reduction("scan", "16", 0, "16x", body)
        agrees(text, x=NUMBERS[0, :, 0], r="tile<16xi32>")
        agrees(text.replace("reverse=false", "reverse=true"), x=NUMBERS[0, :, 0], r="tile<16xi32>")


def test_the_body_of_a_reduction_gets_the_element_first() -> None:
    # Of two elements there is only one order.
    body = reduction("reduce", "2x8", 0, "8x", " %c = subi %a, %b : tile<i32>")
    agrees(body, x=NUMBERS[:2, :8, 0], r="tile<8xi32>")


def test_several_tiles_at_once() -> None:
    body = (
        "%p = iota : tile<16xi32>\n"
        "%r, %s = reduce %x, %p dim=0 identities=[-2147483648 : i32, 0 : i32] : "
        "tile<16xi32>, tile<16xi32> -> tile<i32>, tile<i32>\n"
        "(%a: tile<i32>, %b: tile<i32>, %i: tile<i32>, %j: tile<i32>) {\n"
        " %g = cmpi greater_than %a, %b, signed : tile<i32> -> tile<i1>\n"
        " %e = cmpi equal %a, %b, signed : tile<i32> -> tile<i1>\n"
        " %l = cmpi less_than %i, %j, signed : tile<i32> -> tile<i1>\n"
        " %k = andi %e, %l : tile<i1>\n %t = ori %g, %k : tile<i1>\n"
        " %c = select %t, %a, %b : tile<i1>, tile<i32>\n %d = select %t, %i, %j : tile<i1>, tile<i32>\n"
        " yield %c, %d : tile<i32>, tile<i32>\n}"
    )
    agrees(body, x=NUMBERS[0, :, 0], r="tile<i32>", s="tile<i32>")


@pytest.mark.usefixtures("triton")
def test_tiles_that_are_reduced_together_stay_in_one_order() -> None:
    body = (
        "%f = reshape %x : tile<4x16x2xi32> -> tile<128xi32>\n%p = iota : tile<128xi32>\n"
        "%r, %s = reduce %f, %p dim=0 identities=[-2147483648 : i32, 0 : i32] : "
        "tile<128xi32>, tile<128xi32> -> tile<i32>, tile<i32>\n"
        "(%a: tile<i32>, %b: tile<i32>, %i: tile<i32>, %j: tile<i32>) {\n"
        " %g = cmpi greater_than %a, %b, signed : tile<i32> -> tile<i1>\n"
        " %e = cmpi equal %a, %b, signed : tile<i32> -> tile<i1>\n"
        " %l = cmpi less_than %i, %j, signed : tile<i32> -> tile<i1>\n"
        " %k = andi %e, %l : tile<i1>\n %t = ori %g, %k : tile<i1>\n"
        " %c = select %t, %a, %b : tile<i1>, tile<i32>\n %d = select %t, %i, %j : tile<i1>, tile<i32>\n"
        " yield %c, %d : tile<i32>, tile<i32>\n}"
    )
    made = agrees(body, x=NUMBERS, r="tile<i32>", s="tile<i32>")
    stages = {
        stage: compile_ttir(Request(made.text, "sm_90", made.options, stage)).data.decode()
        for stage in ("ttir", "ttgir")
    }
    assert "tt.reshape" in stages["ttir"] and "allow_reorder" not in stages["ttir"] + stages["ttgir"]


IN_A_BRANCH = (
    " %g = cmpi greater_than %a, %b, signed : tile<i32> -> tile<i1>\n"
    " %c = if %g -> (tile<i32>) {\n  %h = cmpi equal %a, %b, signed : tile<i32> -> tile<i1>\n"
    "  %s = if %h -> (tile<i32>) {\n   yield %b : tile<i32>\n  } else {\n   yield %a : tile<i32>\n  }\n"
    "  yield %s : tile<i32>\n } else {\n  yield %b : tile<i32>\n }"
)


def test_branches_in_a_body_become_choices() -> None:
    made = agrees(reduction("reduce", "16", 0, "", IN_A_BRANCH), x=NUMBERS[0, :, 0], r="tile<i32>").text
    assert "scf.if" not in made and "arith.select" in made


def test_a_body_may_use_what_is_computed_outside() -> None:
    body = (
        "%x_id, %y_id, %z_id = get_tile_block_id : tile<i32>\n%seven = constant <i32: 7> : tile<i32>\n"
        "%o = addi %x_id, %seven : tile<i32>\n"
        + reduction("scan", "16", 0, "16x", " %m = andi %b, %o : tile<i32>\n %c = ori %a, %m : tile<i32>")
    )
    agrees(body, x=NUMBERS[0, :, 0], r="tile<16xi32>")


@pytest.mark.parametrize("element", ["i1", "i8", "f16", "bf16", "f8E4M3FN", "f8E5M2", "i64"])
def test_every_type(element: str) -> None:
    one = "true" if element == "i1" else "1" if element[0] == "i" else "1.0"
    maximum = {"i1": "ori", "i8": "maxi", "i64": "maxi"}.get(element, "maxf")
    tail = " signed" if maximum == "maxi" else ""
    convert = ""
    body = f" %c = {maximum} %a, %b{tail} : tile<{element}>"
    if element.startswith("f8"):
        body = (
            f" %f = ftof %a : tile<{element}> -> tile<f32>\n %g = ftof %b : tile<{element}> -> tile<f32>\n"
            " %h = cmpf greater_than ordered %f, %g : tile<f32> -> tile<i1>\n"
            f" %c = select %h, %a, %b : tile<i1>, tile<{element}>"
        )
    if element == "i1":
        convert = "%zero = constant <i32: 0> : tile<32xi32>\n%x = cmpi less_than %w, %zero, signed : tile<32xi32> -> tile<32xi1>\n"
    elif element in ("i8", "i64"):
        convert = f"%x = {'trunci' if element == 'i8' else 'exti'} %w{'' if element == 'i8' else ' signed'} : tile<32xi32> -> tile<32x{element}>\n"
    else:
        convert = f"%x = itof %w signed : tile<32xi32> -> tile<32x{element}>\n"
    if element.startswith("f8"):
        convert = (
            f"%v = itof %w signed : tile<32xi32> -> tile<32xf32>\n%x = ftof %v : tile<32xf32> -> tile<32x{element}>\n"
        )
    text = convert + reduction("reduce", "32", 0, "", body, element, one)
    agrees(text, w=NUMBERS.reshape(-1)[:32], r=f"tile<{element}>", compiles=True)


def test_loops_in_a_body_are_refused_in_words() -> None:
    body = (
        " %two = constant <i32: 2> : tile<i32>\n %c = for %i in (%a to %b, step %two) : tile<i32> iter_values(%v = %a) -> "
        "(tile<i32>) {\n  continue %i : tile<i32>\n }"
    )
    values = {"x": NUMBERS[0, :, 0], "r": "tile<i32>"}
    with pytest.raises(TritonError, match=r"'cuda_tile.for' cannot .* it stands in the body of a 'cuda_tile.reduce'"):
        lowered(arrange(reduction("reduce", "16", 0, "", body), values).text)


def test_the_text_of_a_sum() -> None:
    text = reduction("reduce", "64x128", 1, "64x", " %c = addf %a, %b : tile<f32>", "f32", "0.0")
    made = lowered(arrange(text, {"x": numpy.zeros((64, 128), "f4"), "r": "tile<64xf32>"}).text).text
    found = re.search(r' *%\d+ = "tt.reduce"[^\n]*\n(?:.*\n){3} *\}\).*\n', made)
    assert found is not None
    assert re.sub(r"%\d+", "%", re.sub(r"^    ", "", found[0], flags=re.MULTILINE)) == (
        '% = "tt.reduce"(%) <{axis = 1 : i32}> ({\n^bb0(%: f32, %: f32):\n  % = arith.addf %, % : f32\n'
        "  tt.reduce.return % : f32\n}) : (tensor<64x128xf32>) -> (tensor<64xf32>)\n"
    )


@pytest.mark.usefixtures("triton")
@pytest.mark.parametrize("word", ["reduce", "scan"])
def test_bodies_compile(word: str) -> None:
    body = "%x_id, %y_id, %z_id = get_tile_block_id : tile<i32>\n" + reduction(
        word, "16x2", 0, "2x" if word == "reduce" else "16x2x", IN_A_BRANCH.replace("yield %b", "yield %x_id", 1)
    )
    shape = "2x" if word == "reduce" else "16x2x"
    # Not associative: what is checked here is that it compiles.
    made = lowered(arrange(body, {"x": NUMBERS[0], "r": f"tile<{shape}i32>"}).text)
    assert compile_ttir(Request(made.text, "sm_90", made.options)).data
