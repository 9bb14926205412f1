"""Passes by name, as a text and as levels; what a run reports."""

from __future__ import annotations

from typing import Any

import pytest

import tileir
from tileir.ir.diagnostics import VerifyError
from tileir.passes import catalog
from tileir.passes.catalog import pass_named, register_pass, registered_passes
from tileir.passes.pipeline import PassReport, optimize, passes_of_level, run_passes, run_pipeline
from tileir.passes.registry import (
    PassSession,
    PipelineError,
    bool_option,
    integer_option,
    parse_pass,
    parse_passes,
    parse_pipeline,
)

TEXT = """cuda_tile.module @m {
  entry @k(%x: tile<i32>) {
    %c = constant <i32: 1> : tile<i32>
    %a = addi %x, %c : tile<i32>
    %b = addi %x, %c : tile<i32>
    %d = muli %a, %b : tile<i32>
    %dead = subi %d, %a : tile<i32>
    %t = print_tko "%d", %d : tile<i32> -> token
    return
  }
}"""


def test_levels_are_the_public_ones_and_the_draft_adds_to_them() -> None:
    assert [passes_of_level(level) for level in range(4)] == [
        [],
        ["canonicalize", "cse"],
        ["canonicalize", "cse"],
        ["canonicalize", "cse", "loop-split", "canonicalize"],
    ]
    assert "loop-invariant-code-motion" in passes_of_level(2, "full")
    assert passes_of_level(1, fuse_fma=True) == ["fuse-fma", "canonicalize", "cse"]


def test_optimize_changes_the_module_and_gives_it_back() -> None:
    module = tileir.parse(TEXT)
    assert tileir.optimize(module, level=1) is module
    assert str(module).count("addi") == 1
    assert "subi" not in str(module)


EQUAL_CONDITIONS = """cuda_tile.module @m {
  entry @k(%x: tile<i32>, %y: tile<i32>) {
    %c = cmpi less_than %x, %y, signed : tile<i32> -> tile<i1>
    %d = cmpi less_than %x, %y, signed : tile<i32> -> tile<i1>
    if %c { %t = print_tko "1" -> token }
    if %d { %t = print_tko "2" -> token }
    return
  }
}"""


@pytest.mark.parametrize("rules", ["parity", "full"])
def test_a_level_is_repeated_while_its_passes_leave_each_other_something_to_do(rules: str) -> None:
    module = tileir.parse(EQUAL_CONDITIONS)
    report = PassReport()
    optimize(module, 1, rules=rules, report=report)
    assert str(module).count("if ") == 1
    assert [run.name for run in report.runs] == ["canonicalize", "cse"] * 2
    # Asked for by name, passes run once each, as in NVIDIA's tools.
    once = run_passes(tileir.parse(EQUAL_CONDITIONS), ["canonicalize", "cse"], rules=rules)
    assert str(once).count("if ") == 2


def test_level_0_changes_nothing() -> None:
    module = tileir.parse(TEXT)
    before = str(module)
    assert str(optimize(module, level=0)) == before


@pytest.mark.parametrize("level", range(4))
@pytest.mark.parametrize("rules", ["parity", "full"])
def test_every_level_verifies(level: int, rules: str) -> None:
    optimize(tileir.parse(TEXT), level, rules=rules, fuse_fma=True, report=PassReport(verify=True))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"level": 4}, "'4' is not an optimization level"), ({"rules": "fast"}, "'fast' is not a family of rules")],
)
def test_wrong_level_or_pipeline_is_explained(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(tileir.OptionError, match=message):
        optimize(tileir.parse(TEXT), **arguments)  # type: ignore[arg-type]


def test_unknown_pass_changes_nothing_before_it_is_found() -> None:
    module = tileir.parse(TEXT)
    before = str(module)
    with pytest.raises(
        PipelineError, match="'canonical' does not refer to a registered pass\nhelp: did you mean 'canonicalize'"
    ):
        run_passes(module, ["dce", "canonical"])
    assert str(module) == before


def test_pipeline_text_nests_and_takes_options() -> None:
    steps = parse_pipeline("builtin.module(cse, cuda_tile.module(cuda_tile.entry(loop-split{split-threshold=2}),dce))")
    assert [(step.name, step.anchors, step.options) for step in steps] == [
        ("cse", ("builtin.module",), {}),
        ("loop-split", ("builtin.module", "cuda_tile.module", "cuda_tile.entry"), {"split-threshold": "2"}),
        ("dce", ("builtin.module", "cuda_tile.module"), {}),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "cse",
        "builtin.module",
        "builtin.module(cse",
        "builtin.module(cse))",
        "builtin.module(cse,)",
        "a(b{c)",
        "(" * 300,
    ],
)
def test_malformed_pipeline_is_an_error(text: str) -> None:
    with pytest.raises(PipelineError):
        parse_pipeline(text)


def test_deeply_nested_pipeline_is_an_error_and_not_a_crash() -> None:
    with pytest.raises(PipelineError, match="nests deeper"):
        parse_pipeline("any(" * 5000 + "cse" + ")" * 5000)


def test_passes_with_options_are_separated_by_commas() -> None:
    assert [step.name for step in parse_passes("cse,loop-split{split-threshold=2},dce")] == ["cse", "loop-split", "dce"]
    assert parse_pass("loop-split{split-threshold=2 x=y}").options == {"split-threshold": "2", "x": "y"}


def test_pipeline_runs_only_where_its_anchors_lead() -> None:
    module = tileir.parse(TEXT)
    run_pipeline(module, "builtin.module(cuda_tile.module(cuda_tile.global(dce)))")
    assert "subi" in str(module)
    run_pipeline(module, "builtin.module(cuda_tile.module(cuda_tile.entry(dce)))")
    assert "subi" not in str(module)


def test_pipeline_for_another_operation_is_an_error() -> None:
    with pytest.raises(PipelineError, match=r"can't run 'func\.func' pass manager on 'cuda_tile\.module' op"):
        run_pipeline(tileir.parse(TEXT), "func.func(dce)")


def test_report_counts_operations_rules_and_time() -> None:
    seen: list[tuple[str, int]] = []
    report = PassReport(statistics=True, after_each=lambda name, module: seen.append((name, str(module).count("addi"))))
    run_passes(tileir.parse(TEXT), ["canonicalize", "cse"], report=report)
    assert seen == [("canonicalize", 2), ("cse", 1)]
    first, second = report.runs
    assert (first.operations_before, first.operations_after) == (9, 8)
    assert (second.operations_before, second.operations_after) == (8, 7)
    assert (first.fired, second.fired) == ({"dead-code": 1}, {})
    assert report.statistics_lines()[0] == "canonicalize: 9 operations before, 8 after"
    assert [line.split()[-1] for line in report.timing_lines()] == ["canonicalize", "cse", "total"]


def test_broken_pass_is_caught_by_verifying_after_each() -> None:
    def breaking(root: tileir.Operation, options: dict[str, str], session: PassSession) -> int:
        for operation in list(root.walk()):
            if operation.name == "cuda_tile.return":
                operation.erase()
        return 1

    register_pass("test-breaking", "leaves a block without a terminator", breaking)
    try:
        run_passes(tileir.parse(TEXT), ["test-breaking"], verify_each=False)
        run_passes(tileir.parse(TEXT), ["test-breaking"], report=PassReport(verify=False))
        for work in (
            lambda: run_passes(tileir.parse(TEXT), ["cse", "test-breaking", "dce"]),
            lambda: run_passes(tileir.parse(TEXT), ["test-breaking"], report=PassReport(statistics=True)),
            lambda: run_pipeline(tileir.parse(TEXT), "builtin.module(cse,test-breaking)"),
        ):
            with pytest.raises(VerifyError, match="note: the program is wrong after pass 'test-breaking'"):
                work()
    finally:
        # Other tests run all passes there are.
        del catalog.REGISTERED["test-breaking"]


def test_no_pass_is_blamed_for_what_was_wrong_before() -> None:
    module = tileir.parse(TEXT)
    next(operation for operation in module.walk() if operation.name == "cuda_tile.return").erase()
    for work in (lambda: run_passes(module, ["cse"]), lambda: optimize(module)):
        with pytest.raises(VerifyError, match="note: the program is wrong before the first pass"):
            work()
    run_passes(module, ["cse"], verify_each=False)


@pytest.mark.parametrize("passes", ["cse", None, 1, [1], [None], [["cse"]], {"cse": 1}])
def test_passes_are_a_list_of_names(passes: Any) -> None:
    with pytest.raises(TypeError):
        run_passes(tileir.parse(TEXT), passes)


def test_names_are_registered_once() -> None:
    assert pass_named("cse").summary
    assert len({found.name for found in registered_passes()}) == len(registered_passes())
    with pytest.raises(PipelineError, match="registered twice"):
        register_pass("cse", "again", pass_named("cse").run)


def test_options_are_read_as_mlir_reads_them() -> None:
    assert integer_option({"n": "3"}, "n") == 3
    assert [bool_option({"b": text}, "b") for text in ("", "true", "0")] == [True, True, False]
    with pytest.raises(PipelineError, match="invalid for integer option"):
        integer_option({"n": "x"}, "n")
    with pytest.raises(PipelineError, match="Try 0 or 1"):
        bool_option({"b": "yes"}, "b")


def test_misspelled_setting_of_a_report_is_an_error() -> None:
    with pytest.raises(AttributeError):
        PassReport().verison = "13.2"
