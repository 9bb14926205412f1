"""Failures of the assembler without a reason are brought to an operation."""

from __future__ import annotations

import pytest

import tileir
from tileir.execute.gpu.tileiras.assembly import OutOfTime, narrowed
from tileir.ir.core import Operation
from tileir.ir.traversal import pre_order

TEXT = """cuda_tile.module @kernels {
  entry @k(%from: tile<ptr<f32>>, %to: tile<ptr<f8E4M3FN>>, %n: tile<i32>) {
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %start = constant <f32: 0.0> : tile<f32>
    %moved = offset %from, %n : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
    %sum = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%so_far = %start) -> (tile<f32>) {
      %x, %loaded = load_ptr_tko weak %moved : tile<ptr<f32>> -> tile<f32>, token
      %square = mulf %x, %x : tile<f32>
      %next = addf %so_far, %square : tile<f32>
      %is_first = cmpi equal %i, %zero, signed : tile<i32> -> tile<i1>
      if %is_first {
        %root = sqrt %square : tile<f32>
        %early = store_ptr_tko weak %moved, %root : tile<ptr<f32>>, tile<f32> -> token
      }
      continue %next : tile<f32>
    }
    %small = ftof %sum : tile<f32> -> tile<f8E4M3FN>
    %stored = store_ptr_tko weak %to, %small : tile<ptr<f8E4M3FN>>, tile<f8E4M3FN> -> token
    return
  }
}
"""


def fails_at(name: str, asked: list[Operation] | None = None):
    """An assembler that fails at an operation whose results are used, or that writes; what is given to it is sound."""

    def fails(module: Operation) -> bool:
        tileir.verify(module)
        if asked is not None:
            asked.append(module)
        for operation in pre_order(module):
            is_used = not operation.results or any(result.users for result in operation.results)
            if operation.name == f"cuda_tile.{name}" and (is_used or name.startswith("store")):
                return True
        return False

    return fails


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("offset", 6),
        ("load_ptr_tko", 8),
        ("mulf", 9),
        ("addf", 10),
        ("cmpi", 11),
        ("sqrt", 13),
        ("store_ptr_tko", 14),
        ("ftof", 18),
    ],
)
def test_operation_is_found_in_loops_and_branches(name: str, line: int) -> None:
    module = tileir.parse(TEXT, "k.mlir")
    found = narrowed(module, "k", fails_at(name))
    assert found is not None and found.name == f"cuda_tile.{name}"
    assert found.location.resolve().line == line


def test_bisection_asks_seldom() -> None:
    lines = [f"%v{n + 1} = addf %v{n}, %v{n} : tile<f32>" for n in range(200)]
    lines[150] = "%v151 = exp %v150 : tile<f32>"
    body = "\n".join(lines)
    module = tileir.parse(
        f"cuda_tile.module @m {{ entry @k() {{ %v0 = constant <f32: 1.0> : tile<f32>\n{body}\nreturn }} }}"
    )
    asked: list[Operation] = []
    found = narrowed(module, "k", fails_at("exp", asked))
    assert found is not None and found.name == "cuda_tile.exp"
    assert len(asked) <= 9


def test_assembler_that_always_fails_is_not_blamed_on_an_operation() -> None:
    assert narrowed(tileir.parse(TEXT), "k", lambda module: True) is None


def test_search_that_takes_too_long_gives_what_was_found() -> None:
    """Inside of the loop it is not looked any more."""
    asked: list[Operation] = []
    fails = fails_at("mulf", asked)

    def for_a_while(module: Operation) -> bool:
        if len(asked) == 5:
            raise OutOfTime
        return fails(module)

    found = narrowed(tileir.parse(TEXT), "k", for_a_while)
    assert found is not None and found.name == "cuda_tile.for"


def test_program_stays_as_it_is() -> None:
    module = tileir.parse(TEXT)
    before = module.text()
    narrowed(module, "k", fails_at("sqrt"))
    assert module.text() == before
