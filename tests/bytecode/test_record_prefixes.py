"""Record prefixes from the cache mean what they mean when every field is read."""

from __future__ import annotations

import re

import pytest
from tests.bytecode.mutations import mutants, valid_files

import tileir
from tileir.bytecode.container import read_container
from tileir.bytecode.layouts import from_bytes, to_bytes
from tileir.bytecode.primitives import BytecodeError, Malformed, Trace
from tileir.bytecode.reader import ModuleReader, read_public
from tileir.dialect.ops import ADDI

NEWEST = (13, 4)


def cached(data):
    try:
        return read_public(data).text(generic=True, debug_info=True)
    except BytecodeError as error:
        words = [diagnostic.message for diagnostic in error.diagnostics]
        return words[: len(words) - (words[-1] == "failed to read provided Tile IR bytecode")], error.offset


def uncached(data):
    """A reader that writes down what it reads looks at every field."""
    try:
        return ModuleReader(read_container(data, trace=Trace())).read().text(generic=True, debug_info=True)
    except Malformed as failure:
        return failure.messages, failure.offset


def test_whole_files_are_read_the_same_either_way():
    for name, data in valid_files(30):
        assert cached(data) == uncached(data), name


@pytest.mark.parametrize(("seed", "count"), [(5, 200), pytest.param(6, 5_000, marks=pytest.mark.long)])
def test_broken_files_fail_with_the_same_words_either_way(seed, count):
    refused = 0
    for name, data in mutants(seed, count):
        found = cached(data)
        refused += not isinstance(found, str)
        assert found == uncached(data), name
    assert refused > count // 10


def test_operands_of_one_two_and_three_bytes():
    lines = [f"%{number + 1} = addi %{number}, %{number // 2} : tile<i32>" for number in range(17_000)]
    text = "\n".join(["entry @k(%0: tile<i32>) {", *lines, "return", "}"])
    module = tileir.parse(text)
    data = to_bytes(module, NEWEST)
    assert cached(data) == uncached(data)
    additions = list(from_bytes(data).regions[0].block.first.regions[0].block)[:-1]
    values = [additions[0].operands[0], *[addition.results[0] for addition in additions]]
    for number, addition in enumerate(additions):
        assert addition.operands == [values[number], values[number // 2]]


def test_an_operand_behind_a_known_prefix_that_does_not_exist():
    text = "entry @k(%a: tile<i32>) { %0 = addi %a, %a : tile<i32>  %1 = addi %a, %0 : tile<i32>  return }"
    data = to_bytes(tileir.parse(text), NEWEST)
    # Opcode, type, overflow, operands.
    second = re.search(re.escape(bytes([ADDI.opcode])) + rb".\x00\x00\x01", data, re.DOTALL)
    broken = data[: second.end() - 1] + bytes([99]) + data[second.end() :]
    assert cached(broken) == uncached(broken)
    assert "operand index 99 out of bounds (size=2) for operand 1" in cached(broken)[0][0]
