"""Copies of operations are equal to the original and independent of it."""

from __future__ import annotations

from random import Random

import pytest
from tests.generators.programs import random_module

import tileir
from tileir.dialect.types import scalar_tile
from tileir.ir.attributes import string_attribute
from tileir.ir.core import Block, Operation, Region
from tileir.ir.location import file_location
from tileir.ir.registry import REGISTRY
from tileir.ir.traversal import clone, structurally_equal
from tileir.ir.types import I1, I32
from tileir.ir.values import Value

PROGRAM = """
cuda_tile.module @m {
  entry @k(%x: tile<i32>, %c: tile<i1>) {
    %0 = addi %x, %x : tile<i32>
    %1 = if %c -> (tile<i32>) {
      %2 = muli %0, %x : tile<i32>
      yield %2 : tile<i32>
    } else {
      yield %x : tile<i32>
    }
    %3 = addi %1, %0 : tile<i32>
  }
}
"""


def operation_named(module: Operation, mnemonic: str) -> Operation:
    return next(operation for operation in module.walk() if operation.declaration.mnemonic == mnemonic)


@pytest.mark.parametrize("seed", range(20))
def test_clone_of_a_random_program_is_equal_and_valid(seed):
    module = random_module(Random(seed))
    before = module.text(generic=True, debug_info=True)
    copy = clone(module)
    assert structurally_equal(module, copy, locations=True)
    tileir.verify(copy)
    assert copy.text(generic=True, debug_info=True) == before


@pytest.mark.parametrize("seed", range(5))
def test_clone_shares_no_operation_block_or_value_with_the_original(seed):
    module = random_module(Random(seed))
    originals = set(module.walk())
    copy = clone(module)
    for operation in copy.walk():
        assert operation not in originals
        assert all(value.defining_operation not in originals for value in operation.operands)
    for operation in originals:
        for result in operation.results:
            assert all(user in originals for user in result.users)


def test_changing_the_clone_leaves_the_original_alone():
    module = tileir.parse(PROGRAM)
    before = str(module)
    copy = clone(module)
    for operation in list(copy.walk()):
        operation.set_attribute("note", string_attribute("changed"))
        operation.location = file_location("elsewhere", 1, 1)
    operation_named(copy, "muli").set_operand(0, operation_named(copy, "muli").operands[1])
    assert str(module) == before
    assert str(copy) != before


def test_erasing_the_original_leaves_the_clone_alone():
    module = tileir.parse(PROGRAM)
    copy = clone(module)
    before = str(copy)
    module.erase()
    assert str(copy) == before
    tileir.verify(copy)


def test_clone_is_in_no_block():
    addition = operation_named(tileir.parse(PROGRAM), "addi")
    copy = clone(addition)
    assert (copy.parent, copy.previous, copy.next) == (None, None, None)


def test_operands_from_outside_are_shared_and_used_once_more():
    addition = operation_named(tileir.parse(PROGRAM), "addi")
    argument = addition.operands[0]
    before = argument.use_count
    copy = clone(addition)
    assert copy.operands == [argument, argument]
    assert argument.use_count == before + 2
    copy.erase()
    assert argument.use_count == before


def test_operands_are_taken_from_the_mapping():
    branch = operation_named(tileir.parse(PROGRAM), "if")
    other = Block([scalar_tile(I32)]).arguments[0]
    product = operation_named(branch, "muli")
    mapping: dict[Value, Value] = {product.operands[0]: other}
    copy = clone(branch, mapping)
    inner = operation_named(copy, "muli")
    assert inner.operands[0] is other
    assert inner.operands[1] is product.operands[1]
    assert other.users == [inner]


def test_mapping_tells_what_became_of_results_and_arguments():
    module = tileir.parse(PROGRAM)
    mapping: dict[Value, Value] = {}
    copy = clone(module, mapping)
    for old, new in zip(module.walk(), copy.walk(), strict=True):
        assert [mapping[result] for result in old.results] == list(new.results)
        for region, counterpart in zip(old.regions, new.regions, strict=True):
            for block, other in zip(region.blocks, counterpart.blocks, strict=True):
                assert [mapping[argument] for argument in block.arguments] == other.arguments


def test_locations_of_operations_and_arguments_are_kept():
    module = tileir.parse('entry @k(%x: tile<i32> loc("a":1:2)) { return loc("b":3:4) } loc("c":5:6)')
    copy = clone(module)
    entry = copy.regions[0].block.first
    assert entry is not None and entry.location is file_location("c", 5, 6)
    assert entry.regions[0].block.arguments[0].location is file_location("a", 1, 2)
    assert entry.regions[0].block.last.location is file_location("b", 3, 4)


def test_successors_and_uses_before_definitions_are_copied():
    module = tileir.parse(
        """
        "x.graph"() ({
          "x.use"(%v) : (i32) -> ()
          "x.jump"()[^bb1] : () -> ()
        ^bb1:
          %v = "x.make"() : () -> i32
          "x.jump"()[^bb1] : () -> ()
        }) : () -> ()
        """,
        allow_unregistered=True,
    )
    copy = clone(module)
    assert structurally_equal(module, copy)
    region = operation_named(copy, "graph").regions[0]
    assert operation_named(copy, "jump").successors == [region.blocks[1]]
    assert operation_named(copy, "use").operands[0] is operation_named(copy, "make").results[0]


def deep_ifs(depth: int) -> Operation:
    """An if in an if in an if, deeper than Python's stack."""
    condition = Block([scalar_tile(I1)]).arguments[0]
    declaration = REGISTRY.by_name["cuda_tile.if"]
    terminator = REGISTRY.by_name["cuda_tile.yield"]
    inner: Operation | None = None
    for _ in range(depth):
        block = Block()
        if inner is not None:
            block.append(inner)
        block.append(Operation(terminator, [], []))
        inner = Operation(declaration, [condition], [], regions=[Region([block]), Region()])
    assert inner is not None
    return inner


def test_depth_of_nesting_does_not_matter():
    operation = deep_ifs(5_000)
    copy = clone(operation)
    assert structurally_equal(operation, copy)
    innermost = copy
    while innermost.regions[0].block.first is not innermost.regions[0].block.last:
        innermost = innermost.regions[0].block.first
    innermost.set_attribute("note", string_attribute("here"))
    assert not structurally_equal(operation, copy)
