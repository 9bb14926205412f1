"""What the reducers do to shapes, types, attributes, control flow and values, seen in what is left."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

import tileir
from tileir.analyze.reducing.control_flow import may_not_end
from tileir.analyze.reducing.program import Program, weight
from tileir.dialect.types import TileType
from tileir.ir.core import Operation

ROOT = Path(__file__).parents[3]


def kernel(body: str, parameters: str = "", outside: str = "") -> Operation:
    text = f"cuda_tile.module @some_module {{\n{outside}\nentry @some_kernel({parameters}) {{\n{body}\nreturn\n}}\n}}"
    return tileir.parse(text, verify=True)


def reduced(module: Operation, *wanted: str) -> str:
    """What is left of a module whose text has to have some words."""
    found = tileir.reduce(module, lambda candidate: all(word in candidate.text() for word in wanted))
    tileir.verify(found.module)
    return found.module.text()


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines()][2:-3]


def test_all_extents_that_belong_together_shrink_at_once() -> None:
    module = kernel(
        """
        %a = constant <f16: 1.0> : tile<16x32xf16>
        %b = constant <f16: 1.0> : tile<32x64xf16>
        %c = constant <f32: 1.0> : tile<16x64xf32>
        %p = mmaf %a, %b, %c : tile<16x32xf16>, tile<32x64xf16>, tile<16x64xf32>
        %q = permute %p [1, 0] : tile<16x64xf32> -> tile<64x16xf32>
        %r = reduce %q dim=0 identities=[0.0 : f32] : tile<64x16xf32> -> tile<16xf32>
        (%x: tile<f32>, %y: tile<f32>) {
          %s = addf %x, %y : tile<f32>
          yield %s : tile<f32>
        }
        """
    )
    text = reduced(module, "mmaf", "permute", "reduce", "addf")
    # The module and the function stand around six operations and the terminator of the reduction.
    assert sum(1 for _ in tileir.parse(text).walk()) == 9
    assert set(re.findall("tile<[^>]*>", text)) == {"tile<1x1xf16>", "tile<1xf16>", "tile<f16>"}


def test_an_extent_that_is_wanted_stays() -> None:
    module = kernel(
        "%a = iota : tile<64xi32>\n%b = addi %a, %a : tile<64xi32>\n%c = exti %b signed : tile<64xi32> -> tile<64xi64>"
    )

    def interesting(candidate: Operation) -> bool:
        found = [o for o in candidate.walk() if o.declaration.mnemonic == "exti"]
        return (
            bool(found)
            and isinstance(found[0].results[0].type, TileType)
            and found[0].results[0].type.shape[:1] >= (8,)
        )

    text = tileir.reduce(module, interesting).module.text()
    assert "tile<64x" not in text
    assert "-> tile<8xi" in text


def test_a_reshape_is_halved_on_both_sides() -> None:
    module = kernel("%a = iota : tile<64xi32>\n%b = reshape %a : tile<64xi32> -> tile<8x8xi32>")

    def interesting(candidate: Operation) -> bool:
        reshapes = [o for o in candidate.walk() if o.declaration.mnemonic == "reshape"]
        return any(o.results[0].type.spelling.startswith("tile<4x8x") for o in reshapes) or any(
            o.results[0].type.spelling.startswith(("tile<8x8x", "tile<2x8x")) for o in reshapes
        )

    (left,) = [line for line in tileir.reduce(module, interesting).module.text().splitlines() if "reshape" in line]
    assert left.endswith("tile<16xi8> -> tile<2x8xi8>")


def test_element_types_become_narrower_together() -> None:
    module = kernel(
        "%x, %t = load_ptr_tko weak %p : tile<ptr<f64>> -> tile<f64>, token\n"
        "%y = addf %x, %x : tile<f64>\n"
        "%u = store_ptr_tko weak %p, %y : tile<ptr<f64>>, tile<f64> -> token",
        "%p: tile<ptr<f64>>",
    )
    text = reduced(module, "load_ptr_tko", "addf", "store_ptr_tko")
    assert "f64" not in text and "tile<ptr<f16>>" in text


def test_a_global_follows_its_pointer() -> None:
    module = kernel(
        "%p = get_global @table : tile<ptr<i64>>\n%x, %t = load_ptr_tko weak %p : tile<ptr<i64>> -> tile<i64>, token",
        outside="global @table <i64: [1, 2, 3, 4]> : tile<4xi64>\nglobal @other <i64: [1, 2, 3, 4]> : tile<4xi64>",
    )
    text = reduced(module, "get_global", "load_ptr_tko")
    assert text.count("global @") == 1
    assert "i64" not in text


@pytest.mark.parametrize(
    ("body", "wanted", "unwanted"),
    [
        (
            "%z = constant <i32: 0> : tile<i32>\n%o = constant <i32: 1> : tile<i32>\n"
            "%r = for %i in (%z to %o, step %o) : tile<i32> iter_values(%a = %z) -> (tile<i32>) {\n"
            "%n = negi %a : tile<i32>\ncontinue %n : tile<i32>\n}",
            "negi",
            "for",
        ),
        (
            "%c = constant <i1: true> : tile<i1>\n%o = constant <i32: 1> : tile<i32>\n"
            "%r = if %c -> (tile<i32>) {\n%n = negi %o : tile<i32>\nyield %n : tile<i32>\n} else {\nyield %o : tile<i32>\n}",
            "negi",
            " if ",
        ),
        (
            "%c = constant <i1: true> : tile<i1>\n%o = constant <i32: 1> : tile<i32>\n"
            "%r = loop iter_values(%a = %o) : tile<i32> -> tile<i32> {\nif %c {\nbreak %a : tile<i32>\n}\n"
            "%n = negi %a : tile<i32>\ncontinue %n : tile<i32>\n}",
            "negi",
            "loop",
        ),
    ],
)
def test_control_flow_becomes_straight(body: str, wanted: str, unwanted: str) -> None:
    text = reduced(kernel(body), wanted)
    assert unwanted not in text
    assert len(lines(text)) == 2


def test_carried_values_that_are_not_needed_go() -> None:
    module = kernel(
        "%z = constant <i32: 0> : tile<i32>\n%o = constant <i32: 1> : tile<i32>\n"
        "%r:3 = for %i in (%z to %o, step %o) : tile<i32> iter_values(%a = %z, %b = %o, %c = %z) -> "
        "(tile<i32>, tile<i32>, tile<i32>) {\ncontinue %b, %a, %c : tile<i32>, tile<i32>, tile<i32>\n}\n"
        "%u = store_ptr_tko weak %p, %r#1 : tile<ptr<i32>>, tile<i32> -> token",
        "%p: tile<ptr<i32>>, %unused: tile<i32>",
    )

    def interesting(candidate: Operation) -> bool:
        loops = [o for o in candidate.walk() if o.declaration.mnemonic == "for"]
        return bool(loops) and bool(loops[0].results)

    found = tileir.reduce(module, interesting)
    (loop,) = [o for o in found.module.walk() if o.declaration.mnemonic == "for"]
    assert len(loop.results) == 1
    assert "@f(%arg0: tile<i8>)" in found.module.text()


def test_attributes_names_and_locations_become_simple() -> None:
    text = """
    cuda_tile.module @a_long_name attributes {producer = "somebody"} {
      entry @another_long_name() optimization_hints=<sm_90 = {occupancy = 2}> {
        %a = constant <f32: [1.5, 2.5]> : tile<2xf32> loc("here.py":1:2)
        %b = addf %a, %a rounding<zero> flush_to_zero : tile<2xf32> loc(fused["x", "y"])
        return
      }
    }
    """
    found = tileir.reduce(tileir.parse(text, verify=True), lambda m: "addf" in m.text() and "tile<2x" in m.text())
    assert found.module.text() == (
        "cuda_tile.module @m {\n"
        "  entry @f() {\n"
        "    %cst_0_f16 = constant <f16: 0.000000e+00> : tile<2xf16>\n"
        "    %0 = addf %cst_0_f16, %cst_0_f16  : tile<2xf16>\n"
        "    return\n"
        "  }\n"
        "}"
    )
    assert "here.py" not in found.module.text(debug_info=True)


def test_a_location_that_is_wanted_stays() -> None:
    text = """
    cuda_tile.module @m {
      entry @f() {
        %a = constant <i32: 1> : tile<i32> loc("here.py":1:2)
        %b = addi %a, %a : tile<i32> loc(fused["x", "there.py":3:4])
        return
      }
    }
    """
    found = tileir.reduce(tileir.parse(text, verify=True), lambda m: "there.py" in m.text(debug_info=True))
    shown = found.module.text(debug_info=True)
    assert "there.py" in shown and 'here.py":1' not in shown and "fused" not in shown


def test_every_step_is_simpler() -> None:
    taken = []

    def interesting(candidate: Operation) -> bool:
        if not any(o.declaration.mnemonic == "divf" for o in candidate.walk()):
            return False
        taken.append(weight(Program.original(candidate)))
        return True

    found = tileir.reduce(tileir.load(ROOT / "examples" / "softmax.mlir"), interesting)
    assert found.steps == len(taken) - 1 >= 2
    assert all(after < before for before, after in itertools.pairwise(taken))


LOOP = """
%z = constant <i32: 0> : tile<i32>
%o = constant <i32: 1> : tile<i32>
%r = loop iter_values(%a = %z) : tile<i32> -> tile<i32> {{
  %c = cmpi greater_than %a, %o, signed : tile<i32> -> tile<i1>
  if {condition} {{
    break %a : tile<i32>
  }}
  %n = addi %a, %o : tile<i32>
  continue {carried} : tile<i32>
}}
"""


@pytest.mark.parametrize(
    ("condition", "carried", "endless"),
    [("%c", "%n", False), ("%c", "%a", True), ("%c", "%z", True)],
)
def test_a_loop_whose_exits_do_not_depend_on_what_it_carries_may_not_end(
    condition: str, carried: str, endless: bool
) -> None:
    module = kernel(LOOP.format(condition=condition, carried=carried))
    assert may_not_end(Program.original(module)) is endless
