"""Each fold, and next to each what it must leave alone."""

from __future__ import annotations

import pytest
from tests.rewrite.forms import fired, lines, optimized

I32 = "%c: tile<i1>, %a: tile<i32>, %b: tile<i32>) -> tile<i32>"


def test_select_with_same_arms_is_the_arm() -> None:
    assert optimized(I32, "%r = select %c, %a, %a : tile<i1>, tile<i32>\nreturn %r : tile<i32>") == (
        "return %arg1 : tile<i32>"
    )


@pytest.mark.parametrize(("value", "arm"), [("true", "%arg1"), ("false", "%arg2")])
def test_select_with_constant_condition_is_that_arm(value: str, arm: str) -> None:
    body = (
        f"%k = constant <i1: {value}> : tile<i1>\n%r = select %k, %a, %b : tile<i1>, tile<i32>\nreturn %r : tile<i32>"
    )
    assert optimized(I32, body) == f"return {arm} : tile<i32>"


def test_select_with_splat_condition_is_that_arm_but_mixed_condition_stays() -> None:
    signature = "%a: tile<2xf32>, %b: tile<2xf32>) -> tile<2xf32>"
    body = "%k = constant <i1: VALUE> : tile<2xi1>\n%r = select %k, %a, %b : tile<2xi1>, tile<2xf32>\nreturn %r : tile<2xf32>"
    assert optimized(signature, body.replace("VALUE", "true")) == "return %arg0 : tile<2xf32>"
    assert "select" in optimized(signature, body.replace("VALUE", "[true, false]"))


def test_select_of_true_and_false_is_the_condition() -> None:
    body = """
        %t = constant <i1: true> : tile<i1>
        %f = constant <i1: false> : tile<i1>
        %r = select %c, %t, %f : tile<i1>, tile<i1>
        return %r : tile<i1>
    """
    assert optimized("%c: tile<i1>) -> tile<i1>", body) == "return %arg0 : tile<i1>"
    assert fired("%c: tile<i1>) -> tile<i1>", body)["select-boolean-identity"] == 1


@pytest.mark.parametrize(
    ("predicate", "first", "second", "kept"),
    [
        ("equal", "%a", "%b", "%arg2"),
        ("equal", "%b", "%a", "%arg1"),
        ("not_equal", "%a", "%b", "%arg1"),
        ("not_equal", "%b", "%a", "%arg2"),
    ],
)
def test_select_between_compared_integers(predicate: str, first: str, second: str, kept: str) -> None:
    body = f"""
        %e = cmpi {predicate} %a, %b, signed : tile<i32> -> tile<i1>
        %r = select %e, {first}, {second} : tile<i1>, tile<i32>
        return %r : tile<i32>
    """
    assert optimized(I32, body) == f"return {kept} : tile<i32>"


@pytest.mark.parametrize("predicate", ["less_than", "greater_than_or_equal"])
def test_select_by_an_order_stays(predicate: str) -> None:
    body = f"""
        %e = cmpi {predicate} %a, %b, signed : tile<i32> -> tile<i1>
        %r = select %e, %a, %b : tile<i1>, tile<i32>
        return %r : tile<i32>
    """
    assert "select" in optimized(I32, body)


def test_select_between_compared_floats_stays_because_zeros_differ() -> None:
    body = """
        %e = cmpf equal ordered %a, %b : tile<f32> -> tile<i1>
        %r = select %e, %a, %b : tile<i1>, tile<f32>
        return %r : tile<f32>
    """
    assert "select" in optimized("%a: tile<f32>, %b: tile<f32>) -> tile<f32>", body)


def test_select_by_a_negation_swaps_its_arms() -> None:
    body = """
        %t = constant <i1: true> : tile<i1>
        %n = xori %c, %t : tile<i1>
        %r = select %n, %a, %b : tile<i1>, tile<i32>
        return %r : tile<i32>
    """
    assert optimized(I32, body) == lines("""
        %0 = select %arg0, %arg2, %arg1 : tile<i1>, tile<i32>
        return %0 : tile<i32>
    """)


def test_negation_with_the_constant_on_the_left_is_not_seen() -> None:
    body = """
        %t = constant <i1: true> : tile<i1>
        %n = xori %t, %c : tile<i1>
        %r = select %n, %a, %b : tile<i1>, tile<i32>
        return %r : tile<i32>
    """
    assert "xori" in optimized(I32, body)


@pytest.mark.parametrize(
    ("inner", "outer", "result"),
    [
        ("select %c, %a, %b", "select %c, %i, %d", "select %arg0, %arg1, %arg3"),
        ("select %c, %a, %b", "select %c, %d, %i", "select %arg0, %arg3, %arg2"),
    ],
)
def test_nested_select_on_the_same_condition_is_flattened(inner: str, outer: str, result: str) -> None:
    signature = "%c: tile<i1>, %a: tile<i32>, %b: tile<i32>, %d: tile<i32>) -> tile<i32>"
    body = f"%i = {inner} : tile<i1>, tile<i32>\n%r = {outer} : tile<i1>, tile<i32>\nreturn %r : tile<i32>"
    assert optimized(signature, body).startswith(f"%0 = {result} :")


def test_nested_select_on_another_condition_stays() -> None:
    signature = "%c: tile<i1>, %e: tile<i1>, %a: tile<i32>, %b: tile<i32>) -> tile<i32>"
    body = """
        %i = select %e, %a, %b : tile<i1>, tile<i32>
        %r = select %c, %i, %b : tile<i1>, tile<i32>
        return %r : tile<i32>
    """
    assert optimized(signature, body).count("select") == 2


def test_assumption_made_twice_is_made_once() -> None:
    signature = "%a: tile<i32>) -> tile<i32>"
    body = "%x = assume div_by<8>, %a : tile<i32>\n%y = assume PREDICATE, %x : tile<i32>\nreturn %y : tile<i32>"
    assert optimized(signature, body.replace("PREDICATE", "div_by<8>")).count(" = assume") == 1
    assert optimized(signature, body.replace("PREDICATE", "div_by<4>")).count(" = assume") == 2


def test_if_on_a_negation_swaps_its_branches() -> None:
    body = """
        %t = constant <i1: true> : tile<i1>
        %n = xori %c, %t : tile<i1>
        %r = if %n -> (tile<i32>) {
          %x = addi %a, %b : tile<i32>
          yield %x : tile<i32>
        } else {
          %y = muli %a, %b : tile<i32>
          yield %y : tile<i32>
        }
        return %r : tile<i32>
    """
    assert optimized(I32, body) == lines("""
        %0 = if %arg0 -> (tile<i32>) {
          %1 = muli %arg1, %arg2 : tile<i32>
          yield %1 : tile<i32>
        } else {
          %1 = addi %arg1, %arg2 : tile<i32>
          yield %1 : tile<i32>
        }
        return %0 : tile<i32>
    """)


def test_if_on_a_negation_without_a_second_branch_stays() -> None:
    body = """
        %t = constant <i1: true> : tile<i1>
        %n = xori %c, %t : tile<i1>
        if %n {
          %k = print_tko "x" -> token
        }
        return %a : tile<i32>
    """
    assert "xori" in optimized(I32, body)


# --- float addition ---

SUM = "%r = addf %x, %y MODE : tile<f32>\nreturn %r : tile<f32>"


def added(left: str, right: str, mode: str = "", rules: str = "full") -> str:
    head = f"%x = constant <f32: {left}> : tile<f32>\n%y = constant <f32: {right}> : tile<f32>\n"
    return optimized(") -> tile<f32>", head + SUM.replace("MODE", mode), rules)


def test_sum_of_constants_is_a_constant_with_the_draft_rules_only() -> None:
    assert "constant <f32: 3.500000e+00>" in added("1.5", "2.0")
    assert "addf" in added("1.5", "2.0", rules="parity")


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("", "1.000000e+00"),
        ("rounding<zero>", "1.000000e+00"),
        ("rounding<negative_inf>", "1.000000e+00"),
        ("rounding<positive_inf>", "1.00000012"),
    ],
)
def test_sum_of_constants_rounds_as_declared(mode: str, expected: str) -> None:
    assert f"<f32: {expected}>" in added("1.0", "1.0e-10", mode)


def test_sum_of_constants_flushes_as_declared() -> None:
    assert "<f32: 0.000000e+00>" in added("1.0e-40", "1.0e-40", "flush_to_zero")
    assert "<f32: 1.999990e-40>" in added("1.0e-40", "1.0e-40")


@pytest.mark.parametrize(("left", "right"), [("0x7F800000", "1.0"), ("1.0", "0x7FC00000"), ("3.0e38", "3.0e38")])
def test_sum_with_or_to_something_not_finite_stays(left: str, right: str) -> None:
    assert "addf" in added(left, right)


def test_sum_is_folded_element_by_element() -> None:
    body = """
        %x = constant <f16: [1.0, 2.0]> : tile<2xf16>
        %y = constant <f16: 0.5> : tile<2xf16>
        %r = addf %x, %y : tile<2xf16>
        return %r : tile<2xf16>
    """
    assert "constant <f16: [1.500000e+00, 2.500000e+00]>" in optimized(") -> tile<2xf16>", body, "full")


@pytest.mark.parametrize("rules", ["parity", "full"])
@pytest.mark.parametrize(
    "operation",
    ["addf %x, %z : tile<f32>", "mulf %k, %k : tile<f32>", "subf %k, %k : tile<f32>", "mulf %x, %k : tile<f32>"],
)
def test_no_other_float_identity_is_used(rules: str, operation: str) -> None:
    body = f"""
        %z = constant <f32: 0.0> : tile<f32>
        %k = constant <f32: 1.0> : tile<f32>
        %r = {operation}
        return %r : tile<f32>
    """
    assert operation[:4] in optimized("%x: tile<f32>) -> tile<f32>", body, rules)
