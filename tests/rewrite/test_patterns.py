"""The patterns of `if`, `select` and `addf`: what each does, and the near misses it must leave alone."""

from __future__ import annotations

import pytest
from tests.rewrite.forms import fired, lines, optimized

ARGUMENTS = "%c: tile<i1>, %d: tile<i1>, %a: tile<i32>, %b: tile<i32>)"
VALUE = ARGUMENTS + " -> tile<i32>"
NONE = ARGUMENTS


def test_unused_results_go_with_what_is_yielded_for_them() -> None:
    body = """
        %r:2 = if %c -> (tile<i32>, tile<i32>) {
          %x = addi %a, %b : tile<i32>
          %y = muli %a, %b : tile<i32>
          yield %x, %y : tile<i32>, tile<i32>
        } else {
          %z = subi %a, %b : tile<i32>
          yield %z, %z : tile<i32>, tile<i32>
        }
        return %r#1 : tile<i32>
    """
    assert optimized(VALUE, body) == lines("""
        %0 = if %arg0 -> (tile<i32>) {
          %1 = muli %arg2, %arg3 : tile<i32>
          yield %1 : tile<i32>
        } else {
          %1 = subi %arg2, %arg3 : tile<i32>
          yield %1 : tile<i32>
        }
        return %0 : tile<i32>
    """)


def test_unused_results_stay_when_both_branches_leave_until_the_branch_is_moved() -> None:
    body = """
        %r = if %c -> (tile<i32>) {
          return %a : tile<i32>
        } else {
          return %b : tile<i32>
        }
        return %r : tile<i32>
    """
    names = fired(VALUE, body)
    assert "RemoveUnusedResults" not in names
    assert names["MoveTerminatorToParent"] == 1


@pytest.mark.parametrize(
    ("first", "second", "left"), [("true", "false", "return %arg0"), ("false", "true", "xori %arg0")]
)
def test_yield_of_true_and_false_is_the_condition_or_its_negation(first: str, second: str, left: str) -> None:
    body = f"""
        %t = constant <i1: {first}> : tile<i1>
        %f = constant <i1: {second}> : tile<i1>
        %r = if %c -> (tile<i1>) {{
          yield %t : tile<i1>
        }} else {{
          yield %f : tile<i1>
        }}
        return %r : tile<i1>
    """
    signature = ARGUMENTS + " -> tile<i1>"
    found = optimized(signature, body)
    assert left in found
    assert "if" not in found
    assert fired(signature, body)["ReplaceYieldWithValue"] == 1


def test_yield_of_true_and_false_tiles_is_the_condition_stretched() -> None:
    body = """
        %t = constant <i1: true> : tile<4xi1>
        %f = constant <i1: false> : tile<4xi1>
        %r = if %c -> (tile<4xi1>) {
          yield %t : tile<4xi1>
        } else {
          yield %f : tile<4xi1>
        }
        return %r : tile<4xi1>
    """
    assert optimized(ARGUMENTS + " -> tile<4xi1>", body) == lines("""
        %reshape = reshape %arg0 : tile<i1> -> tile<1xi1>
        %bcast = broadcast %reshape : tile<1xi1> -> tile<4xi1>
        return %bcast : tile<4xi1>
    """)


def test_value_both_branches_yield_is_the_result_and_effects_stay() -> None:
    body = """
        %r = if %c -> (tile<i32>) {
          %k = print_tko "x" -> token
          yield %a : tile<i32>
        } else {
          yield %a : tile<i32>
        }
        return %r : tile<i32>
    """
    assert optimized(VALUE, body) == lines("""
        if %arg0 {
          %0 = print_tko "x" -> token
        }
        return %arg2 : tile<i32>
    """)


@pytest.mark.parametrize("value", ["true", "false"])
def test_constant_condition_leaves_the_branch_it_takes(value: str) -> None:
    body = f"""
        %t = constant <i1: {value}> : tile<i1>
        %r = if %t -> (tile<i32>) {{
          %x = addi %a, %b : tile<i32>
          yield %x : tile<i32>
        }} else {{
          %y = muli %a, %b : tile<i32>
          yield %y : tile<i32>
        }}
        return %r : tile<i32>
    """
    name = "addi" if value == "true" else "muli"
    assert optimized(VALUE, body) == f"%0 = {name} %arg2, %arg3 : tile<i32>\nreturn %0 : tile<i32>"


def test_false_condition_without_a_second_branch_leaves_nothing() -> None:
    body = """
        %t = constant <i1: false> : tile<i1>
        if %t {
          %k = print_tko "never" -> token
        }
        return
    """
    assert optimized(NONE, body) == "return"


def test_what_follows_a_branch_that_surely_leaves_is_erased() -> None:
    body = """
        %t = constant <i1: true> : tile<i1>
        if %t {
          return
        }
        %k = print_tko "never" -> token
        return
    """
    assert optimized(NONE, body) == "return"


def test_result_computed_outside_becomes_a_select_and_the_rest_stays_in_the_branch() -> None:
    body = """
        %r:2 = if %c -> (tile<i32>, tile<i32>) {
          %x = addi %a, %b : tile<i32>
          yield %x, %a : tile<i32>, tile<i32>
        } else {
          yield %b, %b : tile<i32>, tile<i32>
        }
        %s = subi %r#0, %r#1 : tile<i32>
        return %s : tile<i32>
    """
    assert optimized(VALUE, body) == lines("""
        %0 = select %arg0, %arg2, %arg3 : tile<i1>, tile<i32>
        %1 = if %arg0 -> (tile<i32>) {
          %3 = addi %arg2, %arg3 : tile<i32>
          yield %3 : tile<i32>
        } else {
          yield %arg3 : tile<i32>
        }
        %2 = subi %1, %0 : tile<i32>
        return %2 : tile<i32>
    """)


def test_tokens_are_never_selected_nor_is_anything_beside_them() -> None:
    body = """
        %k0 = print_tko "a" -> token
        %k1 = print_tko "b" -> token
        %r:2 = if %c -> (token, tile<i32>) {
          yield %k0, %a : token, tile<i32>
        } else {
          yield %k1, %b : token, tile<i32>
        }
        %k2 = print_tko "%d", %r#1 token=%r#0 : tile<i32> -> token
        return
    """
    found = optimized(NONE, body)
    assert "select" not in found
    assert "yield %0, %arg2" in found


def test_elements_too_small_for_select_are_left_in_the_branch() -> None:
    signature = "%c: tile<i1>, %a: tile<2xf4E2M1FN>, %b: tile<2xf4E2M1FN>) -> tile<2xf4E2M1FN>"
    body = """
        %r = if %c -> (tile<2xf4E2M1FN>) {
          yield %a : tile<2xf4E2M1FN>
        } else {
          yield %b : tile<2xf4E2M1FN>
        }
        return %r : tile<2xf4E2M1FN>
    """
    assert "if" in optimized(signature, body)


def test_branch_that_leaves_has_no_say_in_the_result() -> None:
    body = """
        %r = if %c -> (tile<i32>) {
          return %b : tile<i32>
        } else {
          yield %a : tile<i32>
        }
        return %r : tile<i32>
    """
    assert optimized(VALUE, body) == lines("""
        if %arg0 {
          return %arg3 : tile<i32>
        }
        return %arg2 : tile<i32>
    """)


def test_empty_second_branch_goes_but_one_that_leaves_stays() -> None:
    body = """
        if %c {
          %k = print_tko "x" -> token
        } else {
          ELSE
        }
        return
    """
    assert "else" not in optimized(NONE, body.replace("ELSE", "yield"))
    assert "else" in optimized(NONE, body.replace("ELSE", "return"))


def test_when_both_branches_leave_the_second_needs_no_branch() -> None:
    body = """
        if %c {
          %k = print_tko "x" -> token
          return
        } else {
          %k = print_tko "y" -> token
          return
        }
        %k2 = print_tko "never" -> token
        return
    """
    assert optimized(NONE, body) == lines("""
        if %arg0 {
          %1 = print_tko "x" -> token
          return
        }
        %0 = print_tko "y" -> token
        return
    """)


def test_when_one_branch_leaves_nothing_moves() -> None:
    body = """
        if %c {
          %k = print_tko "x" -> token
          return
        } else {
          %k = print_tko "y" -> token
        }
        %k2 = print_tko "z" -> token
        return
    """
    assert "MoveTerminatorToParent" not in fired(NONE, body)


# --- select and addf ---


def test_select_of_false_and_true_is_the_negation() -> None:
    body = """
        %t = constant <i1: true> : tile<i1>
        %f = constant <i1: false> : tile<i1>
        %r = select %c, %f, %t : tile<i1>, tile<i1>
        return %r : tile<i1>
    """
    assert "xori %arg0, %true" in optimized(ARGUMENTS + " -> tile<i1>", body)


def test_select_of_constants_by_a_constant_is_a_constant() -> None:
    body = """
        %k = constant <i1: [true, false]> : tile<2xi1>
        %x = constant <f32: [0x7FC00001, 1.0]> : tile<2xf32>
        %y = constant <f32: 2.0> : tile<2xf32>
        %r = select %k, %x, %y : tile<2xi1>, tile<2xf32>
        return %r : tile<2xf32>
    """
    assert "constant <f32: [0x7FC00001, 2.000000e+00]>" in optimized(") -> tile<2xf32>", body)


@pytest.mark.parametrize(("one", "other", "negated"), [("1", "0", False), ("0", "1", True)])
def test_select_of_one_and_zero_extends_the_condition(one: str, other: str, negated: bool) -> None:
    body = f"""
        %x = constant <i32: {one}> : tile<i32>
        %y = constant <i32: {other}> : tile<i32>
        %r = select %c, %x, %y : tile<i1>, tile<i32>
        return %r : tile<i32>
    """
    found = optimized(VALUE, body)
    assert "unsigned : tile<i1> -> tile<i32>" in found
    assert ("xori" in found) is negated


@pytest.mark.parametrize(("one", "other"), [("2", "0"), ("1", "3"), ("-1", "0")])
def test_select_of_other_numbers_stays(one: str, other: str) -> None:
    body = f"""
        %x = constant <i32: {one}> : tile<i32>
        %y = constant <i32: {other}> : tile<i32>
        %r = select %c, %x, %y : tile<i1>, tile<i32>
        return %r : tile<i32>
    """
    assert "select" in optimized(VALUE, body)


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [("%x", "%m", "addf %0, %arg0"), ("%m", "%x", "addf %0, %arg0"), ("%n", "%m", "addf %1, %0")],
)
def test_product_goes_to_the_left_of_a_sum(left: str, right: str, result: str) -> None:
    body = f"""
        %m = mulf %x, %y : tile<f32>
        %n = mulf %y, %y : tile<f32>
        %r = addf {left}, {right} rounding<zero> flush_to_zero : tile<f32>
        return %r : tile<f32>
    """
    found = optimized("%x: tile<f32>, %y: tile<f32>) -> tile<f32>", body)
    assert f"{result} rounding<zero> flush_to_zero" in found
