"""`repr` of the parts of a program: one short line that says what it is and where."""

from __future__ import annotations

import pytest

import tileir
from tileir.types import f32, i32, ptr, tile

TEXT = """cuda_tile.module @kernels {
  global @table <f32: 1.0> : tile<4xf32>
  entry @scale(%data: tile<ptr<f32>>, %n: tile<i32>) {
    %c = constant <i32: 0> : tile<i32>
    %s = addi %n, %n : tile<i32>
    for %i in (%c to %n, step %s) : tile<i32> {
      %t = addi %i, %s : tile<i32>
    }
    return
  }
}
"""


@pytest.fixture
def module() -> tileir.Operation:
    return tileir.parse(TEXT, "k.mlir")


def the(module: tileir.Operation, name: str) -> tileir.Operation:
    return next(operation for operation in module.walk() if operation.name == f"cuda_tile.{name}")


def test_operations_say_name_types_contents_and_place(module: tileir.Operation) -> None:
    assert repr(module) == "<Module cuda_tile.module @kernels {@table, @scale} at k.mlir:1:1>"
    assert repr(the(module, "entry")) == "<Operation cuda_tile.entry @scale {4 operations} at k.mlir:3:3>"
    assert repr(the(module, "addi")) == (
        "<Operation cuda_tile.addi (tile<i32>, tile<i32>) -> tile<i32> at k.mlir:5:10>"
    )
    assert repr(the(module, "for")) == (
        "<Operation cuda_tile.for (tile<i32>, tile<i32>, tile<i32>) {2 operations} at k.mlir:6:5>"
    )


def test_values_blocks_and_regions_say_whose_they_are(module: tileir.Operation) -> None:
    entry = the(module, "entry")
    body = entry.regions[0].block
    assert repr(the(module, "addi").result) == (
        "<OperationResult 0 of cuda_tile.addi: tile<i32>, 2 uses at k.mlir:5:10>"
    )
    assert repr(body.arguments[0]) == "<BlockArgument 0 of cuda_tile.entry @scale: tile<ptr<f32>>, 0 uses>"
    assert repr(body) == "<Block of cuda_tile.entry @scale, (tile<ptr<f32>>, tile<i32>), 4 operations>"
    assert repr(entry.regions[0]) == "<Region 0 of cuda_tile.entry @scale, 1 block>"


def test_parts_of_nothing_have_words_too() -> None:
    block = tileir.Block([tile(i32)])
    assert repr(block) == "<Block of no operation, (tile<i32>), 0 operations>"
    assert repr(block.arguments[0]) == "<BlockArgument 0 of a block of no operation: tile<i32>, 0 uses>"
    assert repr(tileir.Region()) == "<Region of no operation, 0 blocks>"
    assert repr(tileir.parse("")) == "<Module cuda_tile.module @kernels {nothing} at -:1:1>"


def test_types_and_attributes_are_their_spelling(module: tileir.Operation) -> None:
    assert repr(tile((4, 8), f32)) == "!cuda_tile.tile<4x8xf32>"
    assert repr(tileir.attributes.div_by(16)) == "#cuda_tile.div_by<16>"
    assert repr(the(module, "constant").attributes["value"]) == "dense<0> : !cuda_tile.tile<i32>"
    build = tileir.Builder("m")
    with build.entry("k"):
        value = build.constant(list(range(1024)), i32)
    assert repr(value.operation.attributes["value"]) == "dense<1024 elements> : !cuda_tile.tile<1024xi32>"


def test_kernels_and_builders_say_what_they_are(module: tileir.Operation) -> None:
    kernel = tileir.compile(module, backend="interpreter")
    assert repr(kernel) == "<Kernel @scale(tile<ptr<f32>>, tile<i32>), backend interpreter>"
    assert repr(tileir.Builder("m")) == "<Builder in <Module cuda_tile.module @m {nothing}>>"


def test_nothing_is_long_however_long_the_program_is() -> None:
    build = tileir.Builder("m" * 5000)
    with build.entry("k" * 5000, *[ptr(f32)] * 500) as arguments:
        token = build.join_tokens(*[build.make_token() for _ in range(3000)])
    module = build.finish()
    module.set_attribute("note", "x\x1b[31m" * 5000)
    entry = next(iter(module.regions[0].block))
    parts = [
        module,
        entry,
        entry.attributes["function_type"],
        entry.regions[0],
        entry.regions[0].block,
        arguments[0],
        token,
        token.operation,
        module.attributes["note"],
        module.attributes["sym_name"],
        tileir.compile(module, backend="interpreter"),
    ]
    for part in parts:
        shown = repr(part)
        assert len(shown) < 420, shown
        assert "\n" not in shown and "\x1b" not in shown
    assert "more than 1000 operations" in repr(entry)
    assert "3000 in all" in repr(token.operation)
