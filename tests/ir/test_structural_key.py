"""Operations with equal structural keys are verified and printed as each would be alone."""

from __future__ import annotations

import pytest

import tileir
from tileir.bytecode.layouts import from_bytes, to_bytes
from tileir.ir.attributes import UNIT, integer_attribute
from tileir.ir.traversal import clone
from tileir.ir.types import I32

NEWEST = (13, 4)
# More operations than are verified one by one.
COUNT = 100


def read(text: str) -> tileir.Operation:
    return from_bytes(to_bytes(tileir.parse(text), NEWEST))


def fused(count: int = COUNT) -> tileir.Operation:
    lines = [f"%{n + 1} = fma %{n}, %a, %a flush_to_zero : tile<f32>" for n in range(count)]
    return read("\n".join(["entry @k(%a: tile<f32>, %b: tile<i32>, %0: tile<f32>) {", *lines, "return }"]))


def body(module: tileir.Operation) -> list[tileir.Operation]:
    return list(module.regions[0].block.first.regions[0].block)


@pytest.mark.parametrize("seed", range(16))
def test_random_programs_are_printed_as_the_same_programs_read_from_text(seed):
    module = read(tileir.smith(seed).text())
    alone = tileir.parse(str(module))
    for _ in range(3):
        tileir.verify(module)
        for generic in (False, True):
            assert module.text(generic=generic) == alone.text(generic=generic)
    assert to_bytes(module, NEWEST) == to_bytes(alone, NEWEST)


def test_constants_keep_their_own_numbers():
    values = [*range(300), *range(300)]
    lines = [f"%{n} = constant <i32: {value}> : tile<i32>" for n, value in enumerate(values)]
    text = "\n".join(["entry @k() {", *lines, "return }"])
    module = read(text)
    constants = body(module)[:-1]
    assert [constant.attributes["value"].bits(0) for constant in constants] == values
    assert str(module) == str(tileir.parse(text))


@pytest.mark.parametrize("place", [1, COUNT // 2, COUNT - 1])
def test_an_operation_that_was_changed_is_looked_at_again(place):
    module = fused()
    tileir.verify(module)
    before = str(module).splitlines()
    changed = body(module)[place]
    changed.set_attribute("flush_to_zero", None)
    tileir.verify(module)
    line = f"    %{place} = fma %{place - 1}, %arg0, %arg0  : tile<f32>"
    assert [line for line in str(module).splitlines() if line not in before] == [line]
    changed.set_attribute("flush_to_zero", UNIT)
    assert str(module).splitlines() == before
    assert str(tileir.parse(str(module))) == str(module)


@pytest.mark.parametrize("place", [1, COUNT // 2, COUNT - 1])
@pytest.mark.parametrize("what", ["operand", "result", "attribute", "count"])
def test_what_was_broken_after_it_was_verified_is_found(place, what):
    module = fused()
    tileir.verify(module)
    operations = body(module)
    broken = operations[place]
    if what == "operand":
        broken.set_operand(1, operations[0].parent.arguments[1])
    elif what == "result":
        broken.results[0].type = operations[0].parent.arguments[1].type
    elif what == "attribute":
        broken.set_attribute("flush_to_zero", integer_attribute(I32, 1))
    else:
        broken.set_operands(broken.operands[:2])
    with pytest.raises(tileir.VerifyError):
        tileir.verify(module)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_what_holds_for_an_operation_that_was_changed_is_not_kept_for_the_others(place):
    lines = [f"%{n} = addf %a, %a flush_to_zero : tile<f64>" for n in range(4)]
    module = from_bytes(to_bytes(tileir.parse("\n".join(["entry @k(%a: tile<f64>) {", *lines, "return }"])), NEWEST))
    operations = body(module)[1:4]
    operations[place].set_attribute("flush_to_zero", None)
    with pytest.raises(tileir.VerifyError) as caught:
        tileir.verify(module)
    assert len(caught.value.diagnostics) == 3


@pytest.mark.parametrize("generic", [False, True])
def test_lines_of_operations_that_were_changed_are_not_those_of_the_others(generic):
    module = fused(8)
    wide = tileir.parse("entry @k(%a: tile<4xf32>) { return }")
    changed = body(module)[1:4]
    for operation in changed:
        operation.results[0].type = body(wide)[0].parent.arguments[0].type
        operation.set_operands([*operation.operands[1:], operation.operands[1]])
    # The others take values of the same types.
    for operation in body(module)[4:-1]:
        operation.set_operands([*operation.operands[1:], operation.operands[1]])
    text = module.text(generic=generic)
    assert text.count("4xf32") == len(changed)
    assert module.text(generic=generic) == text


def test_a_clone_changes_alone():
    module = fused(3)
    copy = clone(module)
    first, second = body(module)[1], body(copy)[1]
    second.set_attribute("flush_to_zero", None)
    assert "flush_to_zero" in first.attributes and "flush_to_zero" not in second.attributes
    assert str(module) != str(copy)
