"""Fusing products with sums and differences: each condition, positive and near miss."""

from __future__ import annotations

import pytest
from tests.passes.programs import function_of, names

import tileir
import tileir.dialect.ops.testing  # (functions with results)
from tileir.ir.core import Operation
from tileir.passes.canonicalize import fuse_fma
from tileir.passes.registry import PassSession
from tileir.text.reading import read_text

ARGUMENTS = "%a: tile<4xf32>, %b: tile<4xf32>, %c: tile<4xf32>"


def fused(body: str, arguments: str = ARGUMENTS, result: str = "tile<4xf32>") -> Operation:
    text = f"cuda_tile.module @m {{\ntesting$func @k({arguments}) -> {result} {{\n{body}\n}}\n}}"
    found = read_text(text, "-", testing=True)
    assert not found.diagnostics, found.diagnostics
    module = next(o for o in found.module.walk() if o.name == "cuda_tile.module")
    fuse_fma(module, PassSession())
    tileir.verify(module)
    return module


def test_a_product_and_a_sum_fuse() -> None:
    module = fused("%m = mulf %a, %b : tile<4xf32>\n%s = addf %m, %c : tile<4xf32>\nreturn %s : tile<4xf32>")
    assert names(module) == ["fma"]
    block = function_of(module).regions[0].block
    assert block.first.operands == block.arguments


def test_a_product_on_the_right_of_a_sum_fuses_too() -> None:
    module = fused("%m = mulf %a, %b : tile<4xf32>\n%s = addf %c, %m : tile<4xf32>\nreturn %s : tile<4xf32>")
    assert names(module) == ["fma"]
    block = function_of(module).regions[0].block
    assert block.first.operands == block.arguments


def test_a_difference_fuses_with_the_negated_subtrahend() -> None:
    module = fused("%m = mulf %a, %b : tile<4xf32>\n%s = subf %m, %c : tile<4xf32>\nreturn %s : tile<4xf32>")
    assert names(module) == ["negf", "fma"]
    block = function_of(module).regions[0].block
    assert block.first.operands == [block.arguments[2]]
    assert block.first.next.operands == [block.arguments[0], block.arguments[1], block.first.result]


def test_a_subtracted_product_does_not_fuse() -> None:
    module = fused("%m = mulf %a, %b : tile<4xf32>\n%s = subf %c, %m : tile<4xf32>\nreturn %s : tile<4xf32>")
    assert names(module) == ["mulf", "subf"]


@pytest.mark.parametrize("operation", ["addf", "subf"])
@pytest.mark.parametrize(
    ("product", "other"),
    [
        ("rounding<zero>", ""),
        ("", "rounding<negative_inf>"),
        ("flush_to_zero", ""),
        ("", "flush_to_zero"),
        ("rounding<zero>", "rounding<zero> flush_to_zero"),
    ],
)
def test_different_modifiers_do_not_fuse_and_leave_nothing_behind(operation: str, product: str, other: str) -> None:
    module = fused(
        f"%m = mulf %a, %b {product} : tile<4xf32>\n%s = {operation} %m, %c {other} : tile<4xf32>\nreturn %s : tile<4xf32>"
    )
    assert names(module) == ["mulf", operation]


@pytest.mark.parametrize("modifiers", ["", "rounding<zero>", "flush_to_zero", "rounding<positive_inf> flush_to_zero"])
def test_equal_modifiers_are_kept(modifiers: str) -> None:
    module = fused(
        f"%m = mulf %a, %b {modifiers} : tile<4xf32>\n%s = addf %m, %c {modifiers} : tile<4xf32>\nreturn %s : tile<4xf32>"
    )
    fma = function_of(module).regions[0].block.first
    assert fma.name == "cuda_tile.fma"
    assert ("flush_to_zero" in fma.attributes) == ("flush_to_zero" in modifiers)
    mode = modifiers.partition("rounding<")[2].partition(">")[0] or "nearest_even"
    assert fma.attribute("rounding_mode").keyword == mode


def test_the_default_rounding_equals_the_same_one_spelled_out() -> None:
    module = fused(
        "%m = mulf %a, %b : tile<4xf32>\n%s = addf %m, %c rounding<nearest_even> : tile<4xf32>\nreturn %s : tile<4xf32>"
    )
    assert names(module) == ["fma"]


def test_a_product_used_twice_does_not_fuse() -> None:
    module = fused(
        "%m = mulf %a, %b : tile<4xf32>\n%s = addf %m, %c : tile<4xf32>\n%t = maxf %s, %m : tile<4xf32>\n"
        "return %t : tile<4xf32>"
    )
    assert names(module) == ["mulf", "addf", "maxf"]
    module = fused("%m = mulf %a, %b : tile<4xf32>\n%s = addf %m, %m : tile<4xf32>\nreturn %s : tile<4xf32>")
    assert names(module) == ["mulf", "addf"]


def test_a_broadcast_in_between_blocks_the_fusion() -> None:
    module = fused(
        "%m = mulf %x, %x : tile<1xf32>\n%w = broadcast %m : tile<1xf32> -> tile<4xf32>\n"
        "%s = addf %w, %c : tile<4xf32>\nreturn %s : tile<4xf32>",
        "%x: tile<1xf32>, %c: tile<4xf32>",
    )
    assert names(module) == ["mulf", "broadcast", "addf"]


def test_a_chain_fuses_link_by_link() -> None:
    module = fused(
        "%m = mulf %a, %b : tile<4xf32>\n%s = addf %m, %c : tile<4xf32>\n%n = mulf %s, %b : tile<4xf32>\n"
        "%t = addf %a, %n : tile<4xf32>\n%u = subf %t, %c : tile<4xf32>\nreturn %u : tile<4xf32>"
    )
    assert names(module) == ["fma", "fma", "subf"]


def test_of_two_products_only_the_left_one_fuses() -> None:
    module = fused(
        "%m = mulf %a, %b : tile<4xf32>\n%n = mulf %b, %c : tile<4xf32>\n%s = addf %m, %n : tile<4xf32>\n"
        "return %s : tile<4xf32>"
    )
    assert names(module) == ["mulf", "fma"]


def test_fusing_twice_changes_nothing_more() -> None:
    module = fused("%m = mulf %a, %b : tile<4xf32>\n%s = subf %m, %c : tile<4xf32>\nreturn %s : tile<4xf32>")
    before = str(module)
    assert fuse_fma(module, PassSession()) == 0
    assert str(module) == before
