"""What makes two programs different, and what does not."""

from __future__ import annotations

from random import Random

import pytest
from tests.generators.programs import random_module

import tileir
from tileir.ir.core import Operation
from tileir.ir.location import file_location
from tileir.ir.traversal import clone, structurally_equal

PROGRAM = """
cuda_tile.module @m {
  entry @k(%x: tile<i32>, %y: tile<i32>) {
    %0 = addi %x, %y : tile<i32>
    %1 = subi %0, %x overflow<no_wrap> : tile<i32>
    %2:2 = for %i in (%x to %y, step %0) : tile<i32> iter_values(%a = %x, %b = %y) -> (tile<i32>, tile<i32>) {
      continue %b, %a : tile<i32>, tile<i32>
    }
  }
}
"""


def parse(old: str = "", new: str = "") -> Operation:
    assert old in PROGRAM
    return tileir.parse(PROGRAM.replace(old, new) if old else PROGRAM)


def test_names_of_values_do_not_matter():
    assert structurally_equal(parse(), parse("%0", "%sum"))


def test_places_in_the_text_do_not_matter_unless_locations_are_compared():
    moved = parse("%0 = addi", "\n\n%0 = addi")
    assert structurally_equal(parse(), moved)
    assert not structurally_equal(parse(), moved, locations=True)
    assert structurally_equal(parse(), parse(), locations=True)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("addi", "muli"),
        ("addi %x, %y", "addi %y, %x"),
        ("addi %x, %y", "addi %x, %x"),
        ("subi %0, %x", "subi %x, %x"),
        ("overflow<no_wrap>", "overflow<no_signed_wrap>"),
        ("overflow<no_wrap>", ""),
        ("continue %b, %a", "continue %a, %b"),
        ("iter_values(%a = %x, %b = %y)", "iter_values(%a = %y, %b = %x)"),
        ("for %i", "for unsigned %i"),
        ("@k", "@l"),
        ("tile<i32>", "tile<i64>"),
        ("%0 = addi %x, %y : tile<i32>\n", "%0 = addi %x, %y : tile<i32>\n %9 = addi %x, %y : tile<i32>\n"),
    ],
)
def test_difference_in_the_program_is_seen(old, new):
    assert not structurally_equal(parse(), parse(old, new))
    assert not structurally_equal(parse(old, new), parse())


def test_default_written_out_is_no_difference():
    assert structurally_equal(parse("overflow<no_wrap>", ""), parse("overflow<no_wrap>", "overflow<none>"))


def test_absent_else_differs_from_an_empty_one():
    without, empty = [
        tileir.parse(f"cuda_tile.module @m {{ entry @k(%c: tile<i1>) {{ if %c {{ }} {otherwise} }} }}")
        for otherwise in ("", "else { }")
    ]
    assert not structurally_equal(without, empty)


def test_operand_groups_of_the_same_total_differ():
    lines = [
        f'%r, %t = "cuda_tile.load_ptr_tko"(%p, %b) <{{memory_ordering_semantics = 0 : i32, '
        f"operandSegmentSizes = array<i32: {sizes}>}}> : (tile<ptr<i1>>, tile<i1>) -> (tile<i1>, token)"
        for sizes in ("1, 1, 0, 0", "1, 0, 1, 0")
    ]
    masked, padded = [
        tileir.parse(f"cuda_tile.module @m {{ entry @k(%p: tile<ptr<i1>>, %b: tile<i1>) {{ {line} }} }}")
        for line in lines
    ]
    assert structurally_equal(masked, masked)
    assert not structurally_equal(masked, padded)


def test_values_from_outside_must_be_the_same_ones():
    one, other = parse(), parse()
    addition = next(operation for operation in one.walk() if operation.name == "cuda_tile.addi")
    twin = next(operation for operation in other.walk() if operation.name == "cuda_tile.addi")
    assert structurally_equal(addition, clone(addition))
    assert not structurally_equal(addition, twin)


def test_location_of_one_operation_is_seen_when_asked_for():
    one, other = parse(), parse()
    assert structurally_equal(one, other, locations=True)
    other.regions[0].block.first.location = file_location("x", 1, 1)
    assert not structurally_equal(one, other, locations=True)
    assert structurally_equal(one, other)


@pytest.mark.parametrize("seed", range(30))
def test_random_programs_of_different_seeds_differ_and_of_one_seed_agree(seed):
    one = random_module(Random(seed))
    assert structurally_equal(one, random_module(Random(seed)), locations=True)
    assert not structurally_equal(one, random_module(Random(seed + 1)))
