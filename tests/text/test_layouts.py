"""Statements that are written as others before them: what was learned from those tells no more than their words."""

from __future__ import annotations

import re

import pytest

import tileir
from tileir.ir.diagnostics import position_of
from tileir.text.reading import read_text

HEAD = """cuda_tile.module @m {
entry @k(%p: tile<ptr<f32>>, %q: tile<4xptr<f32>>, %x: tile<f32>, %y: tile<4xf32>, %i: tile<i32>, %j: tile<4xi32>,
         %b: tile<i1>, %c: tile<4xi1>, %v: tile<ptr<i32>>) {
%view = make_tensor_view %p, shape = [64], strides = [1] : tensor_view<64xf32, strides=[1]>
%part = make_partition_view %view : partition_view<tile=(4), tensor_view<64xf32, strides=[1]>>
"""
# What follows tells that a statement is at its end.
TAIL = "%last = iota : tile<4xi32>\nreturn\n}\n}\n"

STATEMENTS = [
    "%r0, %t0 = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token",
    "%r1, %t1 = load_ptr_tko weak %q, %c, %y : tile<4xptr<f32>>, tile<4xi1>, tile<4xf32> -> tile<4xf32>, token",
    "%r2, %t2 = load_ptr_tko relaxed device %p : tile<ptr<f32>> -> tile<f32>, token",
    "%r9, %t9 = load_ptr_tko weak %q, %c : tile<4xptr<f32>>, tile<4xi1> -> tile<4xf32>, token",
    "%s0 = store_ptr_tko weak %p, %x : tile<ptr<f32>>, tile<f32> -> token",
    "%s1 = store_ptr_tko weak %q, %y, %c : tile<4xptr<f32>>, tile<4xf32>, tile<4xi1> -> token",
    "%c0 = cmpi less_than %i, %i, signed : tile<i32> -> tile<i1>",
    "%c1 = cmpf equal ordered %y, %y : tile<4xf32> -> tile<4xi1>",
    "%n0 = maxi %j, %j signed : tile<4xi32>",
    "%n1 = shri %j, %j unsigned : tile<4xi32>",
    "%n2 = addf %y, %y rounding<zero> : tile<4xf32>",
    "%n3 = itof %j signed : tile<4xi32> -> tile<4xf32>",
    "%n4 = permute %y [0] : tile<4xf32> -> tile<4xf32>",
    "%b0, %b1, %b2 = get_tile_block_id : tile<i32>",
    "%l0, %l1 = load_view_tko weak %part[%i] : partition_view<tile=(4), tensor_view<64xf32, strides=[1]>>, tile<i32> -> tile<4xf32>, token",
    "%l2 = store_view_tko weak %y, %part[%i] : tile<4xf32>, partition_view<tile=(4), tensor_view<64xf32, strides=[1]>>, tile<i32> -> token",
    "%a0, %a1 = atomic_rmw_tko relaxed device %v, add, %i : tile<ptr<i32>>, tile<i32> -> tile<i32>, token",
    "%m0 = make_tensor_view %p, shape = [%i, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>",
    "%m1 = make_tensor_view %p, shape = [8], strides = [1] : tensor_view<8xf32, strides=[1]>",
    "%m2 = make_partition_view %view : partition_view<tile=(4), tensor_view<64xf32, strides=[1]>>",
    "%m3 = get_tensor_shape %view : tensor_view<64xf32, strides=[1]> -> tile<i32>",
    "%m4 = assume div_by<16>, %p : tile<ptr<f32>>",
    '%m5 = print_tko "%d", %i : tile<i32> -> token',
    "yield %x : tile<f32>",
    "continue %x, %i : tile<f32>, tile<i32>",
    "break",
]


def numbered(statement: str, number: int) -> str:
    """A statement whose results have other names."""
    results, equals, rest = statement.partition(" = ")
    if not equals:
        return statement
    return re.sub(r"(%\w+)", rf"\g<1>_{number}", results) + equals + rest


def text_of(before: list[str], statement: str) -> str:
    return HEAD + "".join(f"{line}\n" for line in [*before, statement]) + TAIL


def learned(statement: str) -> list[str]:
    return [numbered(statement, number) for number in range(4)]


@pytest.mark.parametrize("statement", STATEMENTS[:-1])
def test_statement_that_was_learned_is_as_the_first_one(statement: str) -> None:
    module = tileir.parse(text_of(learned(statement), statement))
    block = module.regions[0].blocks[0].first
    assert block is not None
    operations = block.regions[0].blocks[0].operations[2:-2]
    assert len(operations) == 5
    first = operations[0]
    for operation in operations[1:]:
        assert operation.structural_key() == first.structural_key()
        assert operation.operands == first.operands
        assert operation.segments == first.segments
    lines = [each.line for each in map(position_of, [operation.location for operation in operations]) if each]
    assert lines == list(range(lines[0], lines[0] + 5))


# What may follow a statement, or go on with it.
MORE = ["{a = 1 : i32}", ", token", ", tile<f32>", "-> token", "loc(unknown)", "%x", "%x : tile<f32>", "break", "{}"]


def changes(statement: str) -> list[str]:
    """What one may write in its place: a token less, twice, or another one."""
    tokens = re.findall(r"%\w+|[\w.]+<(?:[^<>]|<[^<>]*>)*>|->|\w+|\S", statement)
    start = tokens.index("=") + 1 if " = " in statement else 1
    found: list[str] = []
    for index in range(start, len(tokens)):
        before, token, after = tokens[:index], tokens[index], tokens[index + 1 :]
        found.append(" ".join([*before, *after]))
        found.append(" ".join([*before, token, token, *after]))
        others = ["%x", "%i", "%nothing"] if token[0] == "%" else ["tile<f32>", "tile<4xi1>", "add", "unsigned", ","]
        found.extend(" ".join([*before, other, *after]) for other in others)
    found.extend(f"{statement} {more}" for more in MORE)
    return found


@pytest.mark.parametrize("statement", STATEMENTS)
def test_what_is_written_otherwise_is_told_as_ever(statement: str) -> None:
    for change in changes(statement):
        alone = read_text(text_of([], change))
        before = learned(statement)
        found = read_text(text_of(before, change))
        told = [(each.severity, each.message) for each in alone.diagnostics]
        assert [(each.severity, each.message) for each in found.diagnostics] == told, change
        for each, wanted in zip(found.diagnostics, alone.diagnostics, strict=True):
            file, line, column = wanted.position
            assert each.position == (file, line + len(before), column), change
        if alone.module is not None:
            assert found.module is not None
            lines = [str(module).splitlines()[-5].rpartition(" = ")[2] for module in (alone.module, found.module)]
            assert lines[0] == lines[1], change


def test_type_tells_a_padding_value_from_a_mask_whatever_was_learned() -> None:
    mask = STATEMENTS[3]
    padding = mask.replace("%c", "%y").replace("tile<4xi1>", "tile<4xf32>")
    for first, second in ((mask, padding), (padding, mask)):
        for before in ([], learned(first)):
            module = tileir.parse(text_of(before, second))
            operation = [each for each in module.walk() if each.name == "cuda_tile.load_ptr_tko"][-1]
            assert (operation.operand("mask") is None) == (second is padding)
            assert (operation.operand("paddingValue") is None) == (second is mask)


@pytest.mark.parametrize("seed", range(6))
def test_functions_that_come_again_are_the_same(seed: int) -> None:
    program = tileir.parse(tileir.smith.program(seed).text())
    block = program.regions[0].blocks[0]
    functions = [str(operation) for operation in block if operation.regions]
    others = [str(operation) for operation in block if not operation.regions]
    copies = [re.sub(r"entry @(\w+)", rf"entry @\g<1>_{n}", each) for n in range(4) for each in functions]
    module = tileir.parse("\n".join([*others, *copies]))
    found = [str(operation) for operation in module.regions[0].blocks[0] if operation.regions]
    assert found == copies
