"""CSE and DCE rule by rule; canonicalize, cse and dce on random programs and on real kernels."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from tests.generators.programs import programs, random_module
from tests.kernels.export import TOOLS_MISSING, all_cases, export, tools_available
from tests.rewrite.forms import body_of, function, optimized

import tileir
from tileir.ir.core import Operation
from tileir.ir.location import UnknownLocation
from tileir.passes.pipeline import PassReport, run_passes

SIGNATURE = "%c: tile<i1>, %x: tile<i32>, %y: tile<i32>) -> tile<i32>"
PASSES = ("canonicalize", "cse", "dce")


def cse(body: str, signature: str = SIGNATURE) -> str:
    return optimized(signature, body, passes=("cse",))


def test_equal_operations_of_a_block_become_one() -> None:
    body = "%a = addi %x, %y : tile<i32>\n%b = addi %x, %y : tile<i32>\n%r = muli %a, %b : tile<i32>\nreturn %r : tile<i32>"
    assert cse(body) == "%0 = addi %arg1, %arg2 : tile<i32>\n%1 = muli %0, %0 : tile<i32>\nreturn %1 : tile<i32>"


def test_chains_of_equal_operations_become_one_in_one_run() -> None:
    body = """
        %a = addi %x, %y : tile<i32>
        %b = addi %x, %y : tile<i32>
        %d = muli %a, %a : tile<i32>
        %e = muli %b, %b : tile<i32>
        %r = subi %d, %e : tile<i32>
        return %r : tile<i32>
    """
    assert cse(body).count("=") == 3


def test_what_nothing_needs_goes_in_one_run() -> None:
    body = "%a = addi %x, %y : tile<i32>\n%b = muli %a, %a : tile<i32>\n%d = subi %b, %a : tile<i32>\nreturn %x : tile<i32>"
    assert cse(body) == "return %arg1 : tile<i32>"


def test_regions_are_compared_without_what_nothing_needs() -> None:
    body = """
        %a = if %c -> (tile<i32>) { %dead = addi %x, %x : tile<i32> yield %x : tile<i32> } else { yield %y : tile<i32> }
        %b = if %c -> (tile<i32>) { yield %x : tile<i32> } else { yield %y : tile<i32> }
        %r = subi %a, %b : tile<i32>
        return %r : tile<i32>
    """
    assert cse(body).count("if ") == 1


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("addi %x, %y : tile<i32>", "addi %y, %x : tile<i32>"),
        ("addi %x, %y : tile<i32>", "addi %x, %y overflow<no_wrap> : tile<i32>"),
        ("divi %x, %y signed : tile<i32>", "divi %x, %y unsigned : tile<i32>"),
        ("addi %x, %y {note = 1 : i32} : tile<i32>", "addi %x, %y : tile<i32>"),
    ],
)
def test_operations_that_differ_stay(first: str, second: str) -> None:
    assert cse(f"%a = {first}\n%b = {second}\n%r = muli %a, %b : tile<i32>\nreturn %r : tile<i32>").count("=") >= 3


def test_operations_of_different_result_types_stay() -> None:
    body = """
        %a = reshape %x : tile<i32> -> tile<1xi32>
        %b = reshape %x : tile<i32> -> tile<1x1xi32>
        return %a, %b : tile<1xi32>, tile<1x1xi32>
    """
    assert cse(body, "%x: tile<i32>) -> (tile<1xi32>, tile<1x1xi32>)").count(" = reshape") == 2


def branches(before: str, first: str, second: str) -> str:
    return f"""
        {before}
        %r = if %c -> (tile<i32>) {{
          {first}
          yield %a : tile<i32>
        }} else {{
          {second}
          yield %b : tile<i32>
        }}
        %d = addi %r, %r : tile<i32>
        return %d : tile<i32>
    """


def test_what_is_known_outside_is_known_in_a_branch() -> None:
    body = branches(
        "%o = muli %x, %y : tile<i32>\n%p = muli %o, %o : tile<i32>",
        "%a = muli %x, %y : tile<i32>",
        "%b = subi %p, %x : tile<i32>",
    )
    assert cse(body).count("muli") == 2


def test_what_is_known_in_one_branch_is_not_known_in_the_other_nor_behind() -> None:
    body = branches("", "%a = muli %x, %y : tile<i32>", "%b = muli %x, %y : tile<i32>")
    assert cse(body.replace("addi %r, %r", "muli %x, %y")).count("muli") == 1
    assert cse(body.replace("addi %r, %r", "addi %r, %r")).count("muli") == 2


def test_equal_reductions_become_one_and_different_ones_stay() -> None:
    body = """
        %a = reduce %t dim=0 identities=[0 : i32] : tile<8xi32> -> tile<i32>
        (%p: tile<i32>, %q: tile<i32>) {
          %s = addi %p, %q : tile<i32>
          yield %s : tile<i32>
        }
        %b = reduce %t dim=0 identities=[0 : i32] : tile<8xi32> -> tile<i32>
        (%p: tile<i32>, %q: tile<i32>) {
          %s = NAME %p, %q : tile<i32>
          yield %s : tile<i32>
        }
        %r = subi %a, %b : tile<i32>
        return %r : tile<i32>
    """
    signature = "%t: tile<8xi32>) -> tile<i32>"
    assert cse(body.replace("NAME", "addi"), signature).count(" = reduce") == 1
    assert cse(body.replace("NAME", "muli"), signature).count(" = reduce") == 2


def test_kernels_do_not_share_what_they_compute() -> None:
    text = """cuda_tile.module @m {
      entry @f(%x: tile<i32>) {
        %a = addi %x, %x : tile<i32>
        %k = print_tko "%d", %a : tile<i32> -> token
        return
      }
      entry @g(%x: tile<i32>) {
        %a = addi %x, %x : tile<i32>
        %k = print_tko "%d", %a : tile<i32> -> token
        return
      }
    }"""
    assert (
        str(run_passes(tileir.parse(text), ["canonicalize", "cse"], report=PassReport(verify=True))).count("addi") == 2
    )


def test_the_one_that_stays_takes_a_location_over_if_it_has_none() -> None:
    module = function(
        SIGNATURE,
        "%a = addi %x, %y : tile<i32>\n%b = addi %x, %y : tile<i32>\n%r = muli %a, %b : tile<i32>\nreturn %r : tile<i32>",
    )
    first, second = [op for op in module.walk() if op.name == "cuda_tile.addi"]
    from tileir.ir.location import UNKNOWN

    first.location = UNKNOWN
    run_passes(module, ["cse"])
    assert first.location is second.location and not isinstance(first.location, UnknownLocation)


def test_dead_chains_go_in_one_run() -> None:
    body = "%a = addi %x, %y : tile<i32>\n%b = muli %a, %a : tile<i32>\n%d = subi %b, %a : tile<i32>\nreturn %x : tile<i32>"
    assert optimized(SIGNATURE, body, passes=("dce",)) == "return %arg1 : tile<i32>"


def test_dead_code_in_a_branch_that_stays_goes() -> None:
    body = 'if %c {\n%a = addi %x, %y : tile<i32>\n%k = print_tko "x" -> token\n}\nreturn %x : tile<i32>'
    assert "addi" not in optimized(SIGNATURE, body, passes=("dce",))


# --- everything there is ---


def check(module: Operation, rules: str) -> None:
    for name in PASSES:
        run_passes(module, [name], rules=rules, report=PassReport(verify=True))
        before = module.text(debug_info=True)
        run_passes(module, [name], rules=rules)
        assert module.text(debug_info=True) == before, name


@pytest.mark.parametrize("rules", ["parity", "full"])
@settings(max_examples=40, deadline=None, derandomize=True, database=None)
@given(module=programs())
def test_random_programs_stay_valid_and_a_second_run_changes_nothing(rules: str, module: Operation) -> None:
    check(module, rules)


@pytest.mark.parametrize("rules", ["parity", "full"])
def test_random_branches_stay_valid_and_a_second_run_changes_nothing(rules: str) -> None:
    operations = ["if", "select", "xori", "cmpi", "constant", "addf", "mulf", "for", "loop", "assume", "load_ptr_tko"]
    for seed in range(25):
        check(random_module(Random(seed), operations=operations, size=80), rules)


@pytest.mark.sampled(2)
@pytest.mark.skipif(not tools_available(), reason=TOOLS_MISSING)
@pytest.mark.parametrize("case", all_cases()[::5], ids=lambda case: case.name)
def test_kernels_stay_valid_and_a_second_run_changes_nothing(case) -> None:
    data = export(case, case.versions[-1])
    for rules in ("parity", "full"):
        check(tileir.load(data), rules)


def test_body_of_is_what_was_written() -> None:
    assert body_of(function(SIGNATURE, "return %x : tile<i32>")) == "return %arg1 : tile<i32>"
