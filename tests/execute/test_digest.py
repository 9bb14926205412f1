"""Hashes of programs: the same for what is the same, and another one for whatever differs."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from tests.generators.programs import random_module

import tileir
from tileir.execute.cache.structural_digest import structural_digest
from tileir.ir.traversal import clone, structurally_equal

TEXT = """cuda_tile.module @kernels {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %a = constant <f32: 1.0> : tile<f32>
    %b = constant <f32: 2.0> : tile<f32>
    %c = addf %a, %b : tile<f32>
    %zero = constant <i32: 0> : tile<i32>
    %is = cmpi less_than %n, %zero, signed : tile<i32> -> tile<i1>
    if %is {
      %t = store_ptr_tko weak %p, %c : tile<ptr<f32>>, tile<f32> -> token
    }
    return
  }
}
"""


def digest(text: str) -> bytes:
    return structural_digest(tileir.parse(text))


def test_places_and_names_of_values_do_not_count() -> None:
    wanted = digest(TEXT)
    assert digest("// moved\n\n" + TEXT.replace("%c", "%sum")) == wanted
    assert structural_digest(clone(tileir.parse(TEXT))) == wanted
    assert structural_digest(tileir.from_bytecode(tileir.to_bytecode(tileir.parse(TEXT)))) == wanted


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("addf %a, %b", "addf %b, %a"),
        ("addf %a, %b", "addf %a, %a"),
        ("addf", "subf"),
        ("addf %a, %b ", "addf %a, %b rounding<zero> "),
        ("<f32: 2.0>", "<f32: 2.5>"),
        ("<f32: 2.0>", "<f32: -2.0>"),
        ("less_than", "greater_than"),
        ("signed", "unsigned"),
        ("@k(", "@other("),
        ("@kernels", "@other"),
        ("weak %p, %c", "weak %p, %a"),
        ("%n: tile<i32>)", "%n: tile<i32>, %q: tile<i32>)"),
        ("    }\n    return", "    } else {\n    }\n    return"),
        ("    }\n    return", "    }\n    %d = addf %a, %b : tile<f32>\n    return"),
    ],
)
def test_everything_else_counts(old: str, new: str) -> None:
    assert TEXT.count(old) >= 1
    assert digest(TEXT.replace(old, new, 1)) != digest(TEXT)


def test_operation_inside_a_region_is_not_one_behind_it() -> None:
    line = "      %t = store_ptr_tko weak %p, %c : tile<ptr<f32>>, tile<f32> -> token\n"
    assert digest(TEXT.replace(line, "").replace("    }\n    return", f"    }}\n{line}    return")) != digest(TEXT)


def test_elements_of_constants_count_by_their_bits() -> None:
    def constant(literal: str, type: str) -> bytes:
        return digest(f"cuda_tile.module @m {{ entry @k() {{ %c = constant <{literal}> : {type} return }} }}")

    found = [
        constant("f32: [1.0, 2.0]", "tile<2xf32>"),
        constant("f32: [2.0, 1.0]", "tile<2xf32>"),
        constant("f32: [[1.0, 2.0]]", "tile<1x2xf32>"),
        constant("f32: 0x7FC00000", "tile<2xf32>"),
        constant("f32: 0x7FC00001", "tile<2xf32>"),
        constant("i32: [1, 2]", "tile<2xi32>"),
        constant("i64: [1, 2]", "tile<2xi64>"),
    ]
    assert len(set(found)) == len(found)


def test_programs_have_the_same_one_if_they_are_the_same() -> None:
    examples = Path(__file__).parents[2] / "examples"
    modules: list[tileir.Operation] = [
        tileir.load(path) for path in sorted(examples.glob("*.mlir")) if path.stem != "broken"
    ]
    modules += [random_module(Random(seed)) for seed in range(40)]
    seen: dict[bytes, tileir.Operation] = {}
    for module in modules:
        found = structural_digest(module)
        assert found not in seen or structurally_equal(seen[found], module)
        assert structural_digest(clone(module)) == found
        seen[found] = module
    assert len(seen) > 40


def test_deep_nests_are_no_problem() -> None:
    depth = 2000
    text = "cuda_tile.module @m { entry @k(%c: tile<i1>) { " + "if %c { " * depth + "} " * depth + "return } }"
    assert digest(text) != digest(text.replace("if %c { } ", "", 1))
