"""The greedy driver: order, what it keeps, when it ends, what it tells."""

from __future__ import annotations

import pytest
from tests.rewrite.forms import body_of, function, lines, optimized

import tileir
from tileir.dialect.ops import ADDI, IF, MULI, PRINT_TKO, RETURN, YIELD
from tileir.ir.core import Block, Operation, Region
from tileir.passes.pipeline import PassReport, run_passes
from tileir.rewrite.driver import Fold, FoldResult, Pattern, RewriteError, Statistics, apply_greedily
from tileir.rewrite.rewriter import Rewriter
from tileir.types import i1, i32

SUM = "%x: tile<i32>, %y: tile<i32>) -> tile<i32>"
BODY = "%r = addi %x, %y : tile<i32>\nreturn %r : tile<i32>"


def swap(operation: Operation, rewriter: Rewriter) -> bool:
    rewriter.set_operands(operation, [operation.operands[1], operation.operands[0]])
    return True


def never(operation: Operation, rewriter: Rewriter) -> bool:
    raise AssertionError("must not be tried")


def first_operand(operation: Operation) -> FoldResult:
    return [operation.operands[0]]


def test_patterns_that_undo_each_other_are_reported_by_name() -> None:
    module = function(SUM, BODY)
    with pytest.raises(RewriteError, match=r"stopped after 100 rewrites, the last of them by 'back-and-forth'"):
        apply_greedily(module, [Pattern("back-and-forth", ADDI, swap)], limit=100)


def test_the_default_limit_ends_an_endless_set() -> None:
    with pytest.raises(RewriteError):
        apply_greedily(function(SUM, BODY), [Pattern("swap", ADDI, swap)])


def test_folds_come_before_patterns_and_are_counted() -> None:
    module = function(SUM, BODY)
    statistics = Statistics()
    assert apply_greedily(
        module,
        [Pattern("never", ADDI, never)],
        [Fold("first", ADDI, first_operand)],
        statistics=statistics,
    )
    assert body_of(module) == "return %arg0 : tile<i32>"
    assert statistics.fired == {"first": 1}
    assert statistics.lines() == ["       1  first"]


def test_nothing_to_do_is_reported_as_no_change() -> None:
    assert not apply_greedily(function(SUM, BODY), [])


def test_the_trace_shows_each_step_before_and_after() -> None:
    module = function(
        "%c: tile<i1>, %a: tile<i32>, %b: tile<i32>) -> tile<i32>",
        """
        %t = constant <i1: true> : tile<i1>
        %n = xori %c, %t : tile<i1>
        %r = select %n, %a, %b : tile<i1>, tile<i32>
        return %r : tile<i32>
    """,
    )
    steps: list[str] = []
    run_passes(module, ["canonicalize"], report=PassReport(trace=steps.append))
    assert steps[0].splitlines()[0] == "--- select-negated-condition"
    before, after = steps[0].splitlines()[1:]
    assert before.startswith("-") and before.endswith("select %0, %arg1, %arg2 : tile<i1>, tile<i32>")
    assert after.startswith("+") and after.endswith("select %arg0, %arg2, %arg1 : tile<i1>, tile<i32>")
    assert any(step.startswith("--- dead-code\n-") for step in steps)


def test_a_pattern_that_does_not_match_says_why() -> None:
    text = """
        cuda_tile.module @m { entry @k(%c: tile<i1>) {
          if %c { print "a" }
          return
        } }
    """
    found: list[str] = []
    run_passes(tileir.parse(text, "k.mlir"), ["canonicalize"], report=PassReport(trace_patterns=found.append))
    # RemoveUnusedResults comes first; the reason is reported at the `if`.
    assert found[0] == "k.mlir:3:11: remark: RemoveUnusedResults does not match 'cuda_tile.if': every result is used"
    assert any(
        "RemoveStaticCondition does not match 'cuda_tile.if': the condition is not constant" in line for line in found
    )


def test_a_pattern_without_a_reason_is_reported_at_its_operation() -> None:
    text = """
        cuda_tile.module @m { entry @k(%x: tile<i32>) {
          %0 = addi %x, %x : tile<i32>
          print "%d", %0 : tile<i32>
          %1 = muli %x, %x : tile<i32>
          print "%d", %1 : tile<i32>
          return
        } }
    """
    refused = Pattern("told", ADDI, lambda operation, rewriter: rewriter.no_match(operation, "the operands differ"))
    silent = Pattern("silent", MULI, lambda operation, rewriter: False)
    found: list[str] = []
    assert not apply_greedily(tileir.parse(text, "k.mlir"), [refused, silent], trace_patterns=found.append)
    assert [line.partition(" remark: ")[0] for line in found] == ["k.mlir:3:16:", "k.mlir:5:16:"]


def test_own_patterns_may_say_why_they_do_not_match() -> None:
    def refuse(operation: Operation, rewriter: Rewriter) -> bool:
        return rewriter.no_match(operation, "the operands differ")

    def refuse_silently(operation: Operation, rewriter: Rewriter) -> bool:
        return False

    patterns = [Pattern("own", ADDI, refuse), Pattern("silent", ADDI, refuse_silently)]
    found: list[str] = []
    assert not apply_greedily(function(SUM, BODY), patterns, trace_patterns=found.append)
    assert [line.partition("remark: ")[2] for line in found] == [
        "own does not match 'cuda_tile.addi': the operands differ",
        "silent does not match 'cuda_tile.addi': no reason is given",
    ]
    assert not apply_greedily(function(SUM, BODY), patterns)


def test_inserting_into_regions_is_followed_up() -> None:
    """What a pattern inserts, with all it contains, is looked at too."""

    def wrap(operation: Operation, rewriter: Rewriter) -> bool:
        if operation.parent_operation is not None and operation.parent_operation.declaration is IF:
            return False
        inner = Operation(operation.declaration, list(operation.operands), [r.type for r in operation.results])
        ends = [Operation(YIELD, [v], []) for v in (inner.results[0], operation.operands[0])]
        blocks = [Block(), Block()]
        blocks[0].append(inner)
        for block, end in zip(blocks, ends, strict=True):
            block.append(end)
        condition = operation.parent.arguments[0] if operation.parent is not None else None
        assert condition is not None
        created = rewriter.create(
            IF, [condition], [inner.results[0].type], regions=[Region([block]) for block in blocks]
        )
        rewriter.replace(operation, [created.results[0]])
        return True

    def to_product(operation: Operation, rewriter: Rewriter) -> bool:
        if operation.parent_operation is None or operation.parent_operation.declaration is not IF:
            return False
        rewriter.replace(
            operation,
            [rewriter.create(MULI, list(operation.operands), [operation.results[0].type]).results[0]],
        )
        return True

    module = function("%c: tile<i1>, %x: tile<i32>, %y: tile<i32>) -> tile<i32>", BODY)
    apply_greedily(module, [Pattern("wrap", ADDI, wrap), Pattern("product", ADDI, to_product)])
    tileir.verify(module)
    assert "muli" in body_of(module) and "addi" not in body_of(module)


# --- constants and dead code, as MLIR's canonicalizer leaves them ---


def test_constants_move_to_the_start_of_the_function_and_are_merged() -> None:
    body = """
        %a = addi %x, %y : tile<i32>
        %c1 = constant <i32: 1> : tile<i32>
        %b = addi %a, %c1 : tile<i32>
        %lb = constant <i32: 0> : tile<i32>
        %r = for %i in (%lb to %x, step %c1) : tile<i32> iter_values(%v = %b) -> (tile<i32>) {
          %one = constant <i32: 1> : tile<i32>
          %two = constant <i32: 2> : tile<i32>
          %s = addi %v, %one : tile<i32>
          %u = addi %s, %two : tile<i32>
          continue %u : tile<i32>
        }
        return %r : tile<i32>
    """
    assert (
        optimized(SUM, body).splitlines()[:4]
        == lines("""
        %cst_2_i32 = constant <i32: 2> : tile<i32>
        %cst_0_i32 = constant <i32: 0> : tile<i32>
        %cst_1_i32 = constant <i32: 1> : tile<i32>
        %0 = addi %arg0, %arg1 : tile<i32>
    """).splitlines()
    )


def test_constants_of_one_type_and_value_only_are_merged() -> None:
    body = """
        %a = constant <f32: 0.0> : tile<f32>
        %b = constant <f32: -0.0> : tile<f32>
        %c = constant <f32: 0.0> : tile<2xf32>
        %d = addf %a, %b : tile<f32>
        return %d, %c : tile<f32>, tile<2xf32>
    """
    assert optimized(") -> (tile<f32>, tile<2xf32>)", body).count("constant") == 3


def test_dead_operations_go_with_what_only_they_used() -> None:
    body = """
        %a = addi %x, %y : tile<i32>
        %b = muli %a, %a : tile<i32>
        %c = if %t -> (tile<i32>) {
          yield %b : tile<i32>
        } else {
          %d = subi %b, %a : tile<i32>
          yield %d : tile<i32>
        }
        return %x : tile<i32>
    """
    assert optimized("%t: tile<i1>, " + SUM, body) == "return %arg1 : tile<i32>"


@pytest.mark.parametrize(
    "operation",
    [
        "%k = assume div_by<8>, %x : tile<i32>",
        'assert %t, "m" : tile<i1>',
        "%v, %k = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token",
    ],
)
def test_what_declares_no_effects_is_kept(operation: str) -> None:
    name = operation.rpartition(" = ")[2].split()[0]
    signature = "%t: tile<i1>, %p: tile<ptr<f32>>, %x: tile<i32>)"
    assert name in optimized(signature, f"{operation}\nreturn", passes=("canonicalize", "cse", "dce"))


def test_loops_are_kept_because_continue_is_not_known_to_end() -> None:
    body = """
        for %i in (%x to %y, step %y) : tile<i32> {
          continue
        }
        return %x : tile<i32>
    """
    assert "for" in optimized(SUM, body)


# --- large programs ---


def nest(depth: int) -> Operation:
    b = tileir.Builder("nest")
    with b.entry("k", i1, i1, i32) as (c, d, x):
        block = b.point.block
        for level in range(depth):
            inner = Block()
            block.append(Operation(IF, [(c, d)[level % 2]], [], regions=[Region([inner]), Region()]))
            if level > 0:
                block.append(Operation(YIELD, [], []))
            block = inner
        tileir.Builder(block=block).print_tko([x], str="%d")
        block.append(Operation(YIELD, [], []))
    return b.module


def test_a_nest_of_500_ifs_becomes_one() -> None:
    module = nest(500)
    run_passes(module, ["canonicalize", "cse", "dce"])
    names = [operation.declaration.mnemonic for operation in module.walk()]
    assert names.count("if") == 1
    assert names.count("print_tko") == 1
    tileir.verify(module)


def test_a_deep_nest_without_effects_is_dead() -> None:
    module = nest(500)
    innermost = next(operation for operation in module.walk() if operation.declaration is PRINT_TKO)
    innermost.erase()
    run_passes(module, ["dce"])
    assert [operation.declaration for operation in module.walk()][2:] == [RETURN]


def test_a_chain_of_adjacent_ifs_is_combined_in_one_step() -> None:
    b = tileir.Builder("chain")
    with b.entry("k", i1, i32) as (c, x):
        for index in range(2000):
            with b.if_(c):
                b.print_tko([x], str=f"{index} %d")
    module = b.module
    report = PassReport()
    run_passes(module, ["canonicalize"], report=report)
    assert report.runs[0].fired == {"CombineIfs": 1}
    texts = [str(operation.attributes["str"]) for operation in module.walk() if operation.declaration is PRINT_TKO]
    assert texts == [f'"{index} %d"' for index in range(2000)]


def test_the_same_program_always_comes_out_the_same() -> None:
    from random import Random

    from tests.rewrite.branching import branching_program

    first = [str(run_passes(branching_program(Random(seed), 60), ["canonicalize", "cse"])) for seed in range(5)]
    again = [str(run_passes(branching_program(Random(seed), 60), ["canonicalize", "cse"])) for seed in range(5)]
    assert first == again
