"""CombineIfs and CombineNestedIfs: conditions, order, and what would change results."""

from __future__ import annotations

import pytest
from tests.rewrite.forms import fired, lines, optimized

NONE = "%c: tile<i1>, %d: tile<i1>, %a: tile<i32>, %b: tile<i32>)"
VALUE = NONE + " -> tile<i32>"


def pair(first: str, second: str, between: str = "") -> str:
    return f"""
        %t = constant <i1: true> : tile<i1>
        %n = xori %c, %t : tile<i1>
        if {first} {{
          %k = print_tko "1" -> token
        }}
        {between}
        if {second} {{
          %k = print_tko "2" -> token
        }}
        return
    """


def test_neighbors_on_one_condition_become_one_in_order() -> None:
    assert optimized(NONE, pair("%c", "%c")) == lines("""
        if %arg0 {
          %0 = print_tko "1" -> token
          %1 = print_tko "2" -> token
        }
        return
    """)


@pytest.mark.parametrize(("first", "second"), [("%c", "%n"), ("%n", "%c")])
def test_neighbors_on_a_condition_and_its_negation_become_two_branches(first: str, second: str) -> None:
    found = optimized(NONE, pair(first, second))
    assert found.count("if") == 1
    assert "} else {" in found


def test_neighbors_on_different_conditions_stay() -> None:
    assert "CombineIfs" not in fired(NONE, pair("%c", "%d"))


@pytest.mark.parametrize("between", ['%m = print_tko "m" -> token', "%x = assume div_by<2>, %a : tile<i32>"])
def test_ifs_with_something_between_stay(between: str) -> None:
    assert "CombineIfs" not in fired(NONE, pair("%c", "%c", between))


def test_results_of_the_first_used_in_the_second_are_what_its_branch_yields() -> None:
    body = """
        %r:2 = if %c -> (tile<i32>, tile<i32>) {
          %x = addi %a, %b : tile<i32>
          %y = muli %x, %b : tile<i32>
          yield %x, %y : tile<i32>, tile<i32>
        } else {
          %z = subi %a, %b : tile<i32>
          yield %z, %a : tile<i32>, tile<i32>
        }
        %s = if %c -> (tile<i32>) {
          %u = addi %r#0, %r#0 : tile<i32>
          yield %u : tile<i32>
        } else {
          yield %r#0 : tile<i32>
        }
        %v = addi %r#0, %r#1 : tile<i32>
        %w = addi %v, %s : tile<i32>
        return %w : tile<i32>
    """
    assert optimized(VALUE, body) == lines("""
        %0:3 = if %arg0 -> (tile<i32>, tile<i32>, tile<i32>) {
          %3 = addi %arg2, %arg3 : tile<i32>
          %4 = muli %3, %arg3 : tile<i32>
          %5 = addi %3, %3 : tile<i32>
          yield %3, %4, %5 : tile<i32>, tile<i32>, tile<i32>
        } else {
          %3 = subi %arg2, %arg3 : tile<i32>
          yield %3, %arg2, %3 : tile<i32>, tile<i32>, tile<i32>
        }
        %1 = addi %0#0, %0#1 : tile<i32>
        %2 = addi %1, %0#2 : tile<i32>
        return %2 : tile<i32>
    """)


def test_second_branch_after_one_that_leaves_is_dropped() -> None:
    body = """
        if %c {
          %k = print_tko "1" -> token
          return
        }
        if %c {
          %k = print_tko "never" -> token
        } else {
          %k = print_tko "2" -> token
        }
        return
    """
    assert optimized(NONE, body) == lines("""
        if %arg0 {
          %0 = print_tko "1" -> token
          return
        } else {
          %0 = print_tko "2" -> token
        }
        return
    """)


def test_a_run_of_three_is_combined_at_once() -> None:
    body = "\n".join(f'if %c {{\n%k = print_tko "{i}" -> token\n}}' for i in range(3)) + "\nreturn"
    assert fired(NONE, body)["CombineIfs"] == 1
    assert optimized(NONE, body).count("if") == 1


def test_neighbor_that_is_never_reached_is_not_combined() -> None:
    body = """
        if %c {
          return
        }
        if %c {
          %k = print_tko "never" -> token
        }
        return
    """
    assert "CombineIfs" not in fired(NONE, body)


# --- nested ---


def nested(else_value: str, outer_else: str) -> str:
    return f"""
        %r = if %c -> (tile<i32>) {{
          %i = if %d -> (tile<i32>) {{
            %v = muli %a, %b : tile<i32>
            yield %v : tile<i32>
          }} else {{
            yield {else_value} : tile<i32>
          }}
          yield %i : tile<i32>
        }} else {{
          yield {outer_else} : tile<i32>
        }}
        return %r : tile<i32>
    """


def test_nested_ifs_that_agree_on_the_other_value_become_one() -> None:
    assert optimized(VALUE, nested("%a", "%a")) == lines("""
        %0 = andi %arg0, %arg1 : tile<i1>
        %1 = if %0 -> (tile<i32>) {
          %2 = muli %arg2, %arg3 : tile<i32>
          yield %2 : tile<i32>
        } else {
          yield %arg2 : tile<i32>
        }
        return %1 : tile<i32>
    """)


def test_nested_ifs_with_an_observable_inner_value_stay() -> None:
    # The folds draft's sample combines these, and would give %b where %c holds and %d does not (docs/reference/conflicts.md H3).
    assert "CombineNestedIfs" not in fired(VALUE, nested("%a", "%b"))


def test_outer_value_from_outside_is_selected_by_the_outer_condition() -> None:
    body = """
        %r:2 = if %c -> (tile<i32>, tile<i32>) {
          %i = if %d -> (tile<i32>) {
            %v = muli %a, %b : tile<i32>
            yield %v : tile<i32>
          } else {
            yield %a : tile<i32>
          }
          yield %i, %b : tile<i32>, tile<i32>
        } else {
          yield %a, %a : tile<i32>, tile<i32>
        }
        %s = addi %r#0, %r#1 : tile<i32>
        return %s : tile<i32>
    """
    found = optimized(VALUE, body)
    assert "select %arg0, %arg3, %arg2" in found
    assert "andi %arg0, %arg1" in found


@pytest.mark.parametrize(
    "body",
    [
        'if %c {\n%k = print_tko "o" -> token\nif %d {\n%j = print_tko "i" -> token\n}\n}\nreturn',
        'if %c {\nif %d {\n%j = print_tko "i" -> token\n}\n%k = print_tko "o" -> token\n}\nreturn',
        'if %c {\nif %d {\n%j = print_tko "i" -> token\n} else {\n%k = print_tko "e" -> token\n}\n}\nreturn',
        'if %c {\nif %d {\n%j = print_tko "i" -> token\n}\n} else {\n%k = print_tko "e" -> token\n}\nreturn',
        'if %c {\nif %d {\n%j = print_tko "i" -> token\n}\nreturn\n}\nreturn',
        'if %c {\nif %d {\nreturn\n} else {\n%k = print_tko "e" -> token\n}\n}\nreturn',
    ],
)
def test_nested_if_with_company_stays(body: str) -> None:
    assert "CombineNestedIfs" not in fired(NONE, body)


def test_nested_branch_may_leave_where_there_is_no_other() -> None:
    found = optimized(NONE, 'if %c {\nif %d {\nreturn\n}\n}\n%k = print_tko "x" -> token\nreturn')
    assert found.count("if") == 1
    assert "andi" in found


def test_tokens_forwarded_from_the_nested_if_may_be_combined() -> None:
    body = """
        %k0 = print_tko "a" -> token
        %r = if %c -> (token) {
          %i = if %d -> (token) {
            %k1 = print_tko "b" token=%k0 -> token
            yield %k1 : token
          } else {
            yield %k0 : token
          }
          yield %i : token
        } else {
          yield %k0 : token
        }
        %k2 = print_tko "c" token=%r -> token
        return
    """
    found = optimized(NONE, body)
    assert "andi" in found
    assert "select" not in found
