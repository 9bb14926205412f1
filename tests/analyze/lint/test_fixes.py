"""Fixes: what they make of a text, and that the finding is gone with them."""

from __future__ import annotations

import pytest

import tileir
from tileir.analyze.lint.configuration import LintSettings
from tileir.analyze.lint.fixes import applied
from tileir.analyze.lint.linting import fixed_text
from tileir.analyze.lint.rule import Rule
from tileir.analyze.lint.rules import RULES
from tileir.ir.core import Operation

FIXABLE = ["unused-value", "unused-load", "unused-constant", "missing-token", "cheap-division"]


def read(text: str) -> Operation | None:
    try:
        return tileir.parse(text, verify=True)
    except tileir.TileIRError:
        return None


def fixed(*lines: str, rule: str = "unused-value") -> list[str]:
    """The body of a kernel with fixes made."""
    head = "entry @k(%p: tile<ptr<f32>>, %a: tile<f32>) {"
    text = "\n".join([head, *lines, "return", "}"])
    return fixed_text(text, read, LintSettings([rule])).text.split("\n")[1:-2]


@pytest.mark.parametrize("name", FIXABLE)
def test_a_fix_removes_its_finding_and_leaves_a_program(name: str) -> None:
    made = fixed_text(RULES[name].positive, read, LintSettings([name]))
    assert made.count and made.text != RULES[name].positive
    assert tileir.lint(tileir.parse(made.text, verify=True), select=[name]) == []


@pytest.mark.parametrize("rule", [rule for rule in RULES.values() if rule.name not in FIXABLE], ids=lambda r: r.name)
def test_other_rules_change_nothing(rule: Rule) -> None:
    assert fixed_text(rule.positive, read, LintSettings([rule.name])).count == 0


def test_what_only_a_deleted_operation_needs_goes_with_it() -> None:
    body = ["%two = constant <f32: 2.0> : tile<f32>", "%x = mulf %a, %two : tile<f32>", "%y = negf %x : tile<f32>"]
    assert fixed(*body) == []


def test_lines_with_something_else_on_them_keep_it() -> None:
    two = "%x = negf %a : tile<f32> %t = store_ptr_tko weak %p, %a : tile<ptr<f32>>, tile<f32> -> token"
    assert [line.strip() for line in fixed(two)] == [two[two.index("%t") :]]
    assert fixed("  %x = negf %a : tile<f32> // why", "  // another") == ["  // another"]


def test_fixes_are_made_that_do_not_touch_each_other() -> None:
    text = "abcdefgh"
    fixes = [
        [(4, 6, "X")],
        [(0, 2, ""), (5, 7, "")],
        [(6, 8, "")],
        [(4, 4, "-")],
        [(4, 4, "+")],
        [(1, 2, "B")],
        [(3, 5, "")],
    ]
    assert applied(text, fixes) == ("aBcd-X", 4)


def test_results_in_every_spelling_are_deleted() -> None:
    assert fixed("%x:3 = get_tile_block_id : tile<i32>") == []
    assert fixed("%x, %y, %z = get_tile_block_id : tile<i32>") == []
    assert fixed('%x = "cuda_tile.negf"(%a) : (!cuda_tile.tile<f32>) -> !cuda_tile.tile<f32>') == []
    assert fixed("%x = negf", "  %a", "  : tile<f32>") == []


def test_a_token_is_passed_on_by_its_name() -> None:
    load = "%x, %t = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token"
    store = "%u = store_ptr_tko weak %p, %x{} : tile<ptr<f32>>, tile<f32> -> token"
    assert fixed(load, store.format(""), rule="missing-token") == [load, store.format(" token=%t")]
    group, store = load.replace("%x, %t", "%x:2"), store.replace("%x", "%x#0")
    assert fixed(group, store.format(""), rule="missing-token") == [group, store.format(" token=%x#1")]


def test_nothing_is_fixed_that_comes_from_elsewhere() -> None:
    body = '%x = negf %a : tile<f32> loc("script.py":1:2)'
    assert fixed(body) == [body]


def test_windows_line_ends_stay() -> None:
    text = "entry @k(%a: tile<f32>) {\r\n  %x = negf %a : tile<f32>\r\n  return\r\n}\r\n"
    assert fixed_text(text, read, LintSettings()).text == "entry @k(%a: tile<f32>) {\r\n  return\r\n}\r\n"


def test_of_fixes_that_contradict_each_other_one_is_made() -> None:
    load = "%x, %t = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token"
    store = "%u = store_ptr_tko weak %p, %a : tile<ptr<f32>>, tile<f32> -> token"
    text = "\n".join(["entry @k(%p: tile<ptr<f32>>, %a: tile<f32>) {", load, store, "return", "}"])
    found = fixed_text(text, read, LintSettings(["unused-load", "missing-token"]))
    assert (found.count, found.text) == (1, text.replace(load + "\n", ""))
