"""Use lists, insertion, removal, walking: what holds an operation in its place."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from tests.generators.programs import random_module

import tileir
from tileir.dialect.types import scalar_tile
from tileir.ir.attributes import UNIT, string_attribute
from tileir.ir.core import Block, InsertionPoint, Operation
from tileir.ir.registry import REGISTRY
from tileir.ir.symbols import Symbols, SymbolTable, lookup_symbol
from tileir.ir.types import I32
from tileir.ir.values import Value

TYPE = scalar_tile(I32)
ADDI = REGISTRY.by_name["cuda_tile.addi"]
NEGI = REGISTRY.by_name["cuda_tile.negi"]


def negation(value: Value) -> Operation:
    return Operation(NEGI, [value], [TYPE])


def argument() -> Value:
    return Block([TYPE]).arguments[0]


def assert_uses_agree(root: Operation) -> None:
    """Every value's users are exactly the operations that take it, as often as they take it."""
    uses: Counter[Value] = Counter()
    users: dict[Value, dict[Operation, None]] = {}
    for operation in root.walk():
        for value in operation.operands:
            uses[value] += 1
            users.setdefault(value, {})[operation] = None
    for operation in root.walk():
        blocks = [block for region in operation.regions for block in region.blocks]
        for value in (*operation.results, *[a for block in blocks for a in block.arguments]):
            assert value.use_count == uses[value]
            assert set(value.users) == set(users.get(value, {}))
            assert value.has_uses == (uses[value] > 0)


# --- uses ---


def test_operation_that_takes_a_value_twice_is_one_user_and_two_uses():
    value = argument()
    user = Operation(ADDI, [value, value], [TYPE])
    assert value.users == [user]
    assert value.use_count == 2


@pytest.mark.parametrize("count", [1, 23, 24, 25, 26, 100])
def test_users_are_kept_in_order_however_many_they_are(count):
    value = argument()
    users = [negation(value) for _ in range(count)]
    assert value.users == users
    assert value.use_count == count
    for user in users[::2]:
        user.erase()
    assert value.users == users[1::2]
    for user in users[1::2]:
        user.erase()
    assert not value.has_uses
    assert value.users == []


@pytest.mark.parametrize("count", [3, 24, 25, 60])
def test_replacing_a_value_moves_every_use(count):
    old, new = argument(), argument()
    users = [Operation(ADDI, [old, new if index % 3 == 0 else old], [TYPE]) for index in range(count)]
    old.replace_all_uses_with(new)
    assert not old.has_uses
    assert all(user.operands == [new, new] for user in users)
    assert new.use_count == 2 * count
    assert set(new.users) == set(users)


def test_replacing_a_value_with_itself_changes_nothing():
    value = argument()
    user = negation(value)
    value.replace_all_uses_with(value)
    assert value.users == [user]


@pytest.mark.parametrize("count", [2, 30])
def test_setting_an_operand_moves_one_use(count):
    old, new = argument(), argument()
    users = [Operation(ADDI, [old, old], [TYPE]) for _ in range(count)]
    users[1].set_operand(0, new)
    assert users[1].operands == [new, old]
    assert old.use_count == 2 * count - 1
    assert new.users == [users[1]]
    users[1].set_operand(1, new)
    assert users[1] not in old.users
    assert old.use_count == 2 * count - 2


def test_setting_all_operands_moves_all_uses():
    one, two = argument(), argument()
    user = Operation(ADDI, [one, one], [TYPE])
    user.set_operands([two, one])
    assert (one.use_count, two.use_count) == (1, 1)


@pytest.mark.parametrize("kind", [list, tuple, iter])
def test_operands_may_come_from_any_iterable(kind):
    one, two = argument(), argument()
    user = Operation(ADDI, [one, one], [TYPE])
    user.set_operands(kind([two, one]))
    assert user.operands == [two, one]


@pytest.mark.parametrize("seed", range(10))
def test_use_lists_agree_with_operands_through_random_changes(seed):
    rng = Random(seed)
    module = random_module(rng, size=60)
    assert_uses_agree(module)
    for _ in range(60):
        operations = [operation for operation in module.walk() if operation.parent_operation is not None]
        operation = rng.choice(operations)
        choice = rng.randrange(3)
        if choice == 0 and operation.operands:
            others = [v for o in operations for v in o.results]
            if others:
                operation.set_operand(rng.randrange(len(operation.operands)), rng.choice(others))
        elif choice == 1 and len(operation.results) > 1:
            operation.results[0].replace_all_uses_with(operation.results[1])
        elif not any(result.has_uses for result in operation.results) and not operation.regions:
            operation.erase()
    assert_uses_agree(module)


# --- removal ---


def test_operation_whose_result_is_used_cannot_be_erased():
    block = Block([TYPE])
    first = negation(block.arguments[0])
    block.append(first)
    second = negation(first.results[0])
    block.append(second)
    with pytest.raises(ValueError, match=r"cannot erase 'cuda_tile\.negi': a result is still used"):
        first.erase()
    assert block.operations == [first, second]
    second.erase()
    first.erase()
    assert block.operations == []
    assert not block.arguments[0].has_uses


def test_erasing_drops_the_uses_of_what_is_inside():
    module = tileir.parse("entry @k(%x: tile<i1>, %y: tile<i32>) { if %x { %a = negi %y : tile<i32> } }")
    entry = module.regions[0].block.first
    block = entry.regions[0].block
    condition, value = block.arguments
    assert (condition.use_count, value.use_count) == (1, 1)
    block.first.erase()
    assert (condition.use_count, value.use_count) == (0, 0)


def test_replacing_an_operation_rewires_its_users_and_removes_it():
    block = Block([TYPE])
    first = negation(block.arguments[0])
    second = negation(first.results[0])
    for operation in (first, second):
        block.append(operation)
    first.replace_with([block.arguments[0]])
    assert block.operations == [second]
    assert second.operands == [block.arguments[0]]
    assert block.arguments[0].users == [second]


def test_replacing_an_operation_takes_one_value_per_result():
    with pytest.raises(ValueError):
        negation(argument()).replace_with([])


# --- order ---


def order(block: Block) -> list[Operation]:
    """The operations forwards, checked against backwards."""
    backwards: list[Operation] = []
    cursor = block.last
    while cursor is not None:
        backwards.append(cursor)
        cursor = cursor.previous
    forwards = list(block)
    assert backwards == forwards[::-1]
    assert all(operation.parent is block for operation in forwards)
    return forwards


def test_detached_operations_can_be_put_anywhere():
    block = Block([TYPE])
    a, b, c = [negation(block.arguments[0]) for _ in range(3)]
    for operation in (a, b, c):
        block.append(operation)
    for operation, before, expected in ((a, None, [b, c, a]), (a, b, [a, b, c]), (b, a, [b, a, c]), (c, a, [b, c, a])):
        operation.detach()
        assert operation.parent is None
        block.insert_before(operation, before)
        assert order(block) == expected
    assert len(block) == 3
    assert block.arguments[0].use_count == 3


def test_detaching_the_only_operation_leaves_an_empty_block():
    block = Block([TYPE])
    only = negation(block.arguments[0])
    block.append(only)
    only.detach()
    only.detach()
    assert (block.first, block.last) == (None, None)
    assert block.arguments[0].users == [only]


def test_insertion_point_inserts_at_its_place():
    block = Block([TYPE])
    last = negation(block.arguments[0])
    block.append(last)
    point = InsertionPoint(block, last)
    first, second = point.insert(negation(argument())), point.insert(negation(argument()))
    assert order(block) == [first, second, last]
    end = InsertionPoint(block).insert(negation(argument()))
    assert order(block) == [first, second, last, end]
    assert first.is_before(end) and not end.is_before(first) and not first.is_before(first)


def test_walk_gives_each_operation_before_what_it_contains():
    module = tileir.parse(
        'entry @k(%x: tile<i1>) { if %x { loop { break } } else { assert %x, "a" : tile<i1> } return }'
    )
    names = [operation.declaration.mnemonic for operation in module.walk()]
    assert names == ["module", "entry", "if", "loop", "break", "yield", "assert", "yield", "return"]


def test_walk_survives_erasing_what_it_gave():
    module = tileir.parse("entry @k(%x: tile<i32>) { %a = negi %x : tile<i32>\n %b = negi %x : tile<i32> }")
    for operation in module.walk():
        if operation.declaration is NEGI:
            operation.erase()
    assert [operation.declaration.mnemonic for operation in module.walk()] == ["module", "entry", "return"]


def test_ancestors_are_found():
    module = tileir.parse("entry @k(%x: tile<i1>) { if %x { } }")
    *_, inner, _ = module.walk()
    assert inner.declaration.mnemonic == "yield"
    assert module.is_ancestor_of(inner) and inner.is_ancestor_of(inner)
    assert not inner.is_ancestor_of(module)


# --- attributes ---


def test_setting_the_default_removes_the_attribute():
    addition = Operation(ADDI, [argument(), argument()], [TYPE])
    default = ADDI.defaults["overflow"]
    other = next(case for case in default.kind.cases.values() if case is not default)
    addition.set_attribute("overflow", other)
    assert addition.attributes == {"overflow": other}
    addition.set_attribute("overflow", default)
    assert addition.attributes == {}
    assert addition.attribute("overflow") is default


def test_a_keyword_is_that_of_the_attribute_or_of_its_default():
    addition = Operation(ADDI, [argument(), argument()], [TYPE])
    assert addition.keyword("overflow") == "none"
    addition.set_attribute("overflow", "no_signed_wrap")
    assert addition.keyword("overflow") == "no_signed_wrap"
    addition.set_attribute("note", "none")
    assert addition.keyword("note") == addition.keyword("missing") == ""


def test_attributes_of_operations_without_any_are_not_shared_once_set():
    one, other = negation(argument()), negation(argument())
    one.set_attribute("note", UNIT)
    one.set_attribute("missing", None)
    assert other.attributes == {}
    one.set_attribute("note", None)
    assert one.attributes == {}


# --- symbols ---

SYMBOLS = """
cuda_tile.module @m {
  global @a <i32: 1> : tile<1xi32>
  global @b <i32: 2> : tile<1xi32>
  entry @k(%c: tile<i1>) {
    %0 = get_global @a : tile<ptr<i32>>
    if %c {
      %1 = get_global @a : tile<ptr<i32>>
      %2 = get_global @b : tile<ptr<i32>>
    } {x.list = [@a, {n = @a::@b}, @b]}
  }
}
"""


def test_symbols_are_found_by_name_from_anywhere_inside():
    module = tileir.parse(SYMBOLS)
    inner = list(module.walk())[-3]
    assert lookup_symbol(module, "b").symbol_name == "b"
    symbols = Symbols()
    assert symbols.lookup(inner, "a") is lookup_symbol(module, "a")
    assert symbols.lookup(module, "b") is lookup_symbol(module, "b")
    assert symbols.lookup(inner, "c") is None
    assert lookup_symbol(module, "c") is None


def test_renaming_a_symbol_changes_every_reference_to_it():
    module = tileir.parse(SYMBOLS)
    table = SymbolTable(module)
    assert len(table.users("a")) == 3
    table.rename(table.lookup("a"), "new")
    text = str(module)
    assert "@a" not in text.replace("@arg", "")
    assert text.count("@new") == 5
    assert "[@new, {n = @new::@b}, @b]" in text
    assert table.lookup("a") is None and lookup_symbol(module, "new") is table.lookup("new")
    tileir.verify(module)


def test_symbol_cannot_take_a_name_that_is_taken():
    table = SymbolTable(tileir.parse(SYMBOLS))
    with pytest.raises(ValueError, match="symbol '@b' exists already"):
        table.rename(table.lookup("a"), "b")


def test_inserted_symbol_gets_a_name_nobody_has():
    module = tileir.parse(SYMBOLS)
    table = SymbolTable(module)
    for expected in ("a_0", "a_1"):
        copy = Operation(
            REGISTRY.by_name["cuda_tile.global"],
            [],
            [],
            {"sym_name": string_attribute("a"), "value": table.lookup("a").attributes["value"]},
        )
        assert table.insert(copy) == expected
        assert module.regions[0].block.last is copy
    tileir.verify(module)
    table.erase(table.lookup("a_1"))
    assert table.lookup("a_1") is None and lookup_symbol(module, "a_1") is None


def test_references_inside_a_nested_module_mean_its_own_symbols():
    module = tileir.parse(
        """
        cuda_tile.module @outer {
          cuda_tile.module @inner {
            global @a <i32: 1> : tile<1xi32>
            entry @k() { %0 = get_global @a : tile<ptr<i32>> }
          }
          global @a <i32: 1> : tile<1xi32>
        }
        """
    )
    table = SymbolTable(module)
    table.rename(table.lookup("a"), "b")
    assert "get_global @a" in str(module)
