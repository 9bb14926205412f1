"""The three contracts of the folds draft's canonicalization driver; each test fails when its contract is broken."""

from __future__ import annotations

from random import Random

import pytest
from tests.rewrite.branching import all_inputs, branching_program, effects
from tests.rewrite.forms import function

import tileir
from tileir.dialect.ops import ADDF, CONSTANT, ENTRY, IF, PRINT_TKO, YIELD
from tileir.ir.core import Operation
from tileir.ir.traits import TOKEN_ORDERED
from tileir.passes.canonicalize import canonicalization_patterns
from tileir.passes.pipeline import PassReport, run_passes
from tileir.rewrite.driver import Pattern, apply_greedily
from tileir.rewrite.folds import canonicalization_folds
from tileir.rewrite.rewriter import Rewriter

SEEDS = range(40)
PASSES = [["canonicalize"], ["cse"], ["dce"], ["canonicalize", "cse", "dce"]]


# --- 1. no token-ordered operation is reordered, duplicated or erased ---


@pytest.mark.sampled(2)
@pytest.mark.parametrize("rules", ["parity", "full"])
@pytest.mark.parametrize("passes", PASSES, ids=[" ".join(passes) for passes in PASSES])
def test_effects_happen_in_the_same_order_on_every_input(passes: list[str], rules: str) -> None:
    for seed in SEEDS:
        module = branching_program(Random(seed), 40)
        before = [effects(module, arguments) for arguments in all_inputs()]
        run_passes(module, passes, rules=rules, report=PassReport(verify=True))
        assert [effects(module, arguments) for arguments in all_inputs()] == before, seed


def test_the_random_programs_reach_every_if_pattern() -> None:
    fired: set[str] = set()
    for seed in SEEDS:
        report = PassReport()
        run_passes(branching_program(Random(seed), 40), ["canonicalize"], report=report)
        fired.update(report.runs[0].fired)
    assert fired >= {
        "RemoveUnusedResults",
        "ReplaceYieldWithValue",
        "RemoveStaticCondition",
        "ConvertToSelect",
        "RemoveEmptyElseBranch",
        "CombineIfs",
        "CombineNestedIfs",
        "MoveTerminatorToParent",
        "if-negated-condition",
        "select-negated-condition",
    }


def combine_over_effects(operation: Operation, rewriter: Rewriter) -> bool:
    """What the contract forbids: moves an effect over its neighbor."""
    previous = operation.previous
    if previous is None or previous.name != operation.name or operation.operands[-1] is previous.results[0]:
        return False
    if operation.symbol_name is not None or str(operation) < str(previous):
        return False
    rewriter.move_before(operation, previous)
    return True


def test_the_order_test_notices_a_pattern_that_breaks_it() -> None:
    module = function(
        "%a: tile<i32>)",
        """
        %k0 = make_token : token
        %k1 = print_tko "1 %d", %a token=%k0 : tile<i32> -> token
        %k2 = print_tko "2 %d", %a token=%k0 : tile<i32> -> token
        return
        """,
    )
    entry = branching_program(Random(1), 0)
    source = next(op for op in module.walk() if op.name == "cuda_tile.testing$func").regions[0].block
    target = next(op for op in entry.walk() if op.declaration is ENTRY).regions[0].block
    return_operation = target.last
    assert return_operation is not None
    for operation in list(source)[:-1]:
        operation.detach()
        target.insert_before(operation, return_operation)
    source.arguments[0].replace_all_uses_with(target.arguments[-1])
    before = effects(entry, all_inputs()[0])
    apply_greedily(entry, [Pattern("forbidden", PRINT_TKO, combine_over_effects)])
    assert effects(entry, all_inputs()[0]) != before


@pytest.mark.parametrize("passes", PASSES, ids=[" ".join(passes) for passes in PASSES])
def test_unused_loads_and_equal_loads_stay(passes: list[str]) -> None:
    module = function(
        "%p: tile<ptr<f32>>)",
        """
        %x, %k0 = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token
        %y, %k1 = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token
        %z = addf %x, %y : tile<f32>
        return
        """,
    )
    run_passes(module, passes, report=PassReport(verify=True))
    assert sum(1 for op in module.walk() if op.declaration.traits & TOKEN_ORDERED) == 2


# --- 2. floats keep their rounding mode and flush policy; only sums of finite constants are folded ---


@pytest.mark.parametrize("rules", ["parity", "full"])
def test_addf_of_constants_is_the_only_rule_that_makes_float_constants(rules: str) -> None:
    roots = {fold.root for fold in canonicalization_folds(rules == "full")}
    for pattern in canonicalization_patterns():
        roots.update(pattern.roots)
    floats = {root for root in roots if root.mnemonic.endswith("f")} - {IF}
    assert floats == {ADDF}
    folded = [fold.name for fold in canonicalization_folds(rules == "full") if fold.root is ADDF]
    assert folded == (["addf-constants"] if rules == "full" else [])


@pytest.mark.parametrize("modifiers", ["rounding<zero>", "rounding<positive_inf> flush_to_zero", "flush_to_zero"])
def test_reordering_a_sum_keeps_rounding_and_flush(modifiers: str) -> None:
    module = function(
        "%x: tile<f32>, %y: tile<f32>) -> tile<f32>",
        f"%m = mulf %x, %y : tile<f32>\n%r = addf %x, %m {modifiers} : tile<f32>\nreturn %r : tile<f32>",
    )
    run_passes(module, ["canonicalize"])
    assert f"addf %0, %arg0 {modifiers}" in str(module).replace("  flush", " flush")


@pytest.mark.parametrize(
    ("left", "right", "modifiers", "expected"),
    [
        ("0x3F800000", "0x33000000", "", "0x3F800000"),  # 1 + 2**-25
        ("0x3F800000", "0x33000000", "rounding<zero>", "0x3F800000"),
        ("0x3F800000", "0x33000000", "rounding<positive_inf>", "0x3F800001"),
        ("0xBF800000", "0xB3000000", "rounding<positive_inf>", "0xBF800000"),
        ("0xBF800000", "0xB3000000", "rounding<negative_inf>", "0xBF800001"),
        ("0x00000001", "0x00000001", "", "0x00000002"),  # subnormal
        ("0x00000001", "0x00000001", "flush_to_zero", "0x00000000"),
        ("0x00800001", "0x80800000", "flush_to_zero", "0x00000000"),
    ],
)
def test_a_folded_sum_is_rounded_and_flushed_as_declared(left: str, right: str, modifiers: str, expected: str) -> None:
    module = function(
        "%x: tile<f32>) -> tile<f32>",
        f"%a = constant <f32: {left}> : tile<f32>\n%b = constant <f32: {right}> : tile<f32>\n"
        f"%r = addf %a, %b {modifiers} : tile<f32>\nreturn %r : tile<f32>",
    )
    run_passes(module, ["canonicalize"], rules="full")
    (found,) = [op for op in module.walk() if op.declaration is CONSTANT]
    assert found.attributes["value"].bits(0) == int(expected, 16)


@pytest.mark.parametrize("rules", ["parity", "full"])
@pytest.mark.parametrize(
    "body",
    [
        "%z = constant <f32: 0.0> : tile<f32>\n%r = addf %x, %z : tile<f32>",
        "%z = constant <f32: -0.0> : tile<f32>\n%r = addf %x, %z : tile<f32>",
        "%z = constant <f32: 1.0> : tile<f32>\n%r = mulf %x, %z : tile<f32>",
        "%r = subf %x, %x : tile<f32>",
        "%z = constant <f32: 0x7F800000> : tile<f32>\n%r = addf %z, %z : tile<f32>",
        "%z = constant <f32: 0x7FC00000> : tile<f32>\n%r = addf %z, %z : tile<f32>",
        "%z = constant <f32: 0x7F800000> : tile<f32>\n%o = constant <f32: 1.0> : tile<f32>\n%r = addf %z, %o : tile<f32>",
        "%o = constant <f32: 1.0> : tile<f32>\n%z = constant <f32: 0x7FC00000> : tile<f32>\n%r = addf %o, %z : tile<f32>",
        "%z = constant <f32: 0x7F7FFFFF> : tile<f32>\n%r = addf %z, %z : tile<f32>",
        "%z = constant <f32: 2.0> : tile<f32>\n%r = mulf %z, %z : tile<f32>",
        "%n = negf %x : tile<f32>\n%r = negf %n : tile<f32>",
    ],
)
def test_no_other_float_is_touched(body: str, rules: str) -> None:
    module = function("%x: tile<f32>) -> tile<f32>", f"{body}\nreturn %r : tile<f32>")
    before = str(module)
    run_passes(module, ["canonicalize"], rules=rules)
    assert str(module) == before


def test_cse_keeps_sums_with_different_rounding_apart() -> None:
    module = function(
        "%x: tile<f32>) -> tile<f32>",
        """
        %a = addf %x, %x rounding<zero> : tile<f32>
        %b = addf %x, %x : tile<f32>
        %c = addf %x, %x flush_to_zero : tile<f32>
        %d = subf %a, %b : tile<f32>
        %e = subf %d, %c : tile<f32>
        return %e : tile<f32>
        """,
    )
    run_passes(module, ["cse"])
    assert str(module).count("addf") == 3


# --- 3. region rewrites keep branch and yield types; combined result lists grow, never reorder ---


def test_combined_results_are_those_of_the_first_then_those_of_the_second() -> None:
    module = function(
        "%c: tile<i1>, %p: tile<ptr<f32>>, %q: tile<ptr<i32>>)",
        """
        %x, %k0 = if %c -> (tile<f32>, token) {
          %v, %k = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token
          yield %v, %k : tile<f32>, token
        } else {
          %v, %k = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token
          yield %v, %k : tile<f32>, token
        }
        %y = if %c -> (tile<i32>) {
          %v, %k = load_ptr_tko weak %q token=%k0 : tile<ptr<i32>> -> tile<i32>, token
          yield %v : tile<i32>
        } else {
          %v, %k = load_ptr_tko weak %q token=%k0 : tile<ptr<i32>> -> tile<i32>, token
          yield %v : tile<i32>
        }
        %k2 = print_tko "%f %d", %x, %y token=%k0 : tile<f32>, tile<i32> -> token
        return
        """,
    )
    run_passes(module, ["canonicalize"], report=PassReport(verify=True))
    (combined,) = [op for op in module.walk() if op.declaration is IF]
    assert [result.type.spelling for result in combined.results] == ["tile<f32>", "token", "tile<i32>"]
    printed = next(op for op in module.walk() if op.declaration is PRINT_TKO)
    assert [value.type.spelling for value in printed.operands] == ["tile<f32>", "tile<i32>", "token"]


@pytest.mark.parametrize("rules", ["parity", "full"])
def test_every_branch_still_yields_the_types_of_its_if(rules: str) -> None:
    for seed in SEEDS:
        module = branching_program(Random(seed), 40)
        run_passes(module, ["canonicalize"], rules=rules)
        tileir.verify(module)
        for operation in module.walk():
            if operation.declaration is IF:
                for region in operation.regions:
                    for block in region.blocks:
                        last = block.last
                        if last is not None and last.declaration is YIELD:
                            assert [v.type for v in last.operands] == [r.type for r in operation.results]
