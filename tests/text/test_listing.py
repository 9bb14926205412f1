"""The line of each operation in the text of a program."""

from __future__ import annotations

import pytest

import tileir
from tileir.text.listing import printed_lines

TEXT = """cuda_tile.module @kernels {
  entry @k(%source: tile<ptr<f32>>, %count: tile<i32>) {
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %x = constant <f32: [1.0, 2.0]> : tile<2xf32>
    for %i in (%zero to %count, step %one) : tile<i32> {
      %condition = cmpi less_than %i, %one, signed : tile<i32> -> tile<i1>
      if %condition {
        %a = addi %i, %one : tile<i32>
      } else {
        %b = addi %i, %zero : tile<i32>
      }
    }
    %sum = reduce %x dim=0 identities=[0.0 : f32] : tile<2xf32> -> tile<f32>
    (%left: tile<f32>, %right: tile<f32>) {
      %s = addf %left, %right : tile<f32>
      yield %s : tile<f32>
    }
    return
  }
}
"""


def deep(levels: int) -> str:
    inside = "".join(["if %condition {\n" for _ in range(levels)]) + "}\n" * levels
    return f"cuda_tile.module @m {{ entry @k(%condition: tile<i1>) {{\n{inside} return }} }}"


@pytest.mark.parametrize("text", [TEXT, deep(3), deep(100)], ids=["all", "nested", "deep"])
def test_lines_are_those_of_the_text(text: str) -> None:
    module = tileir.parse(text)
    placed = printed_lines(module)
    assert "\n".join(placed.lines) == str(module)
    assert len(placed.operations) == len(placed.lines)


@pytest.mark.parametrize("text", [TEXT, deep(100)], ids=["all", "deep"])
def test_every_operation_begins_on_the_line_that_names_it(text: str) -> None:
    module = tileir.parse(text)
    placed = printed_lines(module)
    for operation, line in placed.starts.items():
        assert operation.declaration.mnemonic in placed.lines[line]
        assert placed.operations[line] == [operation]
    implied = [each for each in module.walk() if each not in placed.starts]
    assert {each.declaration.mnemonic for each in implied} <= {"yield", "continue"}


def test_what_closes_a_region_belongs_to_its_operation() -> None:
    module = tileir.parse(TEXT)
    placed = printed_lines(module)
    owners = [
        (line, [each.declaration.mnemonic for each in operations])
        for number, (line, operations) in enumerate(zip(placed.lines, placed.operations, strict=True))
        if number not in placed.starts.values()
    ]
    # Terminators that are not printed are where their regions close.
    assert owners == [
        ("      } else {", ["if", "yield"]),
        ("      }", ["if", "yield"]),
        ("    }", ["for", "continue"]),
        ("    (%reduce_lhs: tile<f32>, %reduce_rhs: tile<f32>) {", ["reduce"]),
        ("    }", ["reduce"]),
        ("  }", ["entry"]),
        ("}", ["module"]),
    ]
    assert {each for here in placed.operations for each in here} == set(module.walk())


def test_only_what_needs_no_names_from_outside_is_placed() -> None:
    module = tileir.parse(TEXT)
    inner = next(each for each in module.walk() if each.declaration.mnemonic == "if")
    with pytest.raises(ValueError, match="names from around it"):
        printed_lines(inner)
