"""Precision and operations, read from programs: what is honest passes, and every way to be narrow is found."""

from __future__ import annotations

import pytest

import tileir
from tileir.judging.model import JudgeStage
from tileir.judging.tasks.requirements import check_operations, check_precision


def program(body: str) -> tileir.Module:
    return tileir.parse(f"entry @k(%p: tile<ptr<f16>>, %n: tile<i32>) {{\n{body}\nreturn\n}}", verify=True)


def loop(type: str, body: str) -> str:
    return f"""
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %start = constant <{type}: 0.0> : tile<4x{type}>
    %x = constant <{type}: 1.0> : tile<4x{type}>
    %all = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%sum = %start) -> (tile<4x{type}>) {{
        {body}
    }}"""


def matmul(operand: str, sums: str) -> str:
    return f"""
    %a = constant <{operand}: 1.0> : tile<16x16x{operand}>
    %none = constant <{sums}: 0.0> : tile<16x16x{sums}>
    %c = mmaf %a, %a, %none : tile<16x16x{operand}>, tile<16x16x{operand}>, tile<16x16x{sums}>"""


def reduction(type: str, operation: str, identity: str = "0.0") -> str:
    return f"""
    %x = constant <{type}: 1.0> : tile<8x{type}>
    %r = reduce %x dim=0 identities=[{identity} : {type}] : tile<8x{type}> -> tile<{type}>
    (%l: tile<{type}>, %s: tile<{type}>) {{
        %v = {operation} %l, %s {"rounding<nearest_even>" if operation == "addf" else ""} : tile<{type}>
        yield %v : tile<{type}>
    }}"""


ADDED = "%next = addf %sum, %x rounding<nearest_even> : tile<4xf16>\ncontinue %next : tile<4xf16>"
NARROWED = """%next = addf %sum, %x rounding<nearest_even> : tile<4xf32>
        %half = ftof %next rounding<nearest_even> : tile<4xf32> -> tile<4xf16>
        %back = ftof %half rounding<nearest_even> : tile<4xf16> -> tile<4xf32>
        continue %back : tile<4xf32>"""
BRANCHED = """%is = constant <i1: true> : tile<i1>
        %next = if %is -> (tile<4xf16>) {
            %more = addf %sum, %x rounding<nearest_even> : tile<4xf16>
            yield %more : tile<4xf16>
        } else {
            yield %sum : tile<4xf16>
        }
        continue %next : tile<4xf16>"""
ROUNDED_OPERAND = """
    %wide = constant <f32: 1.0> : tile<16x16xf32>
    %a = ftof %wide rounding<nearest_even> : tile<16x16xf32> -> tile<16x16xf16>
    %none = constant <f32: 0.0> : tile<16x16xf32>
    %c = mmaf %a, %a, %none : tile<16x16xf16>, tile<16x16xf16>, tile<16x16xf32>"""


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (matmul("f16", "f16"), "a matmul accumulates in f16"),
        (reduction("f16", "addf"), "a reduction accumulates in f16"),
        (loop("f16", ADDED), "a loop accumulates in f16"),
        (loop("f32", NARROWED), "a loop accumulates in f16"),
        (loop("f16", BRANCHED), "a loop accumulates in f16"),
        (ROUNDED_OPERAND, "an operand of a matmul is rounded from f32 to f16"),
    ],
    ids=["matmul", "reduction", "loop", "narrowed between iterations", "in a branch", "rounded operand"],
)
def test_a_narrow_sum_is_found_with_its_line(body: str, message: str) -> None:
    step = JudgeStage("precise", "passed")
    check_precision(step, program(body), {"accumulate": "float32", "compute": "float32"})
    assert step.outcome == "failed"
    assert message in step.message and step.message.startswith("-:")


@pytest.mark.parametrize(
    "body",
    [
        matmul("f16", "f32"),
        reduction("f32", "addf"),
        reduction("f16", "maxf", "0xfc00"),
        loop("f32", ADDED.replace("f16", "f32")),
        loop("f16", "continue %x : tile<4xf16>"),
        loop("f16", "%next = maxf %sum, %x : tile<4xf16>\ncontinue %next : tile<4xf16>"),
    ],
    ids=["matmul", "reduction", "maximum", "loop", "nothing carried", "carried maximum"],
)
def test_an_honest_program_is_not_accused(body: str) -> None:
    step = JudgeStage("precise", "passed")
    check_precision(step, program(body), {"accumulate": "float32", "compute": "float32"})
    assert (step.outcome, step.message) == ("passed", "")


def test_half_precision_is_fine_where_it_is_allowed() -> None:
    step = JudgeStage("precise", "passed")
    check_precision(step, program(matmul("f16", "f16")), {"accumulate": "float16"})
    assert step.outcome == "passed"


def test_operations_are_allowed_or_not() -> None:
    def outcome(**stated: list[str]) -> list[str]:
        step = JudgeStage("operations", "passed")
        check_operations(step, program(matmul("f16", "f32")), stated)
        assert (step.outcome == "failed") == bool(step.message)
        found: list[str] = step.details.get("found", [])
        return found

    assert outcome(deny=["mmaf"]) == ["mmaf"]
    assert outcome(deny=["float16"]) == ["float16"]
    assert outcome(deny=["addf", "float32"]) == []
    assert outcome(allow=["addf"]) == ["mmaf"]
    assert outcome(allow=["mmaf"]) == []
    assert outcome(allow=["mmaf", "bfloat16"]) == ["float16"]
