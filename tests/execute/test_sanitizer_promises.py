"""The sanitizer: promises that do not hold, and numbers an operation is not defined for."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from tests.execute.sanitized import kernel, only, report, zeros

import tileir

# --- promises ---


def assume(predicate: str, numbers: str, shape: str = "4xi32") -> tileir.sanitizer.SanitizerReport:
    return report(
        f"  %c = constant <i32: {numbers}> : tile<{shape}>\n  %a = assume {predicate}, %c : tile<{shape}>", zeros(1)
    )


@pytest.mark.parametrize(
    ("predicate", "wrong", "right", "element", "detail"),
    [
        ("div_by<4>", "[0, 4, 6, -8]", "[0, 4, 8, -8]", (2,), "the value is 6, and 6 % 4 is 2"),
        ("bounded<0, 9>", "[0, 9, 10, 11]", "[0, 9, 5, 1]", (2,), "the value is 10, the most allowed 9"),
        ("bounded<0, ?>", "[0, -2, 1, 1]", "[0, 2, 1, 1]", (1,), "the value is -2, the least allowed 0"),
        (
            "same_elements<[2]>",
            "[7, 7, 8, 9]",
            "[7, 7, 8, 8]",
            (3,),
            "the value is 9, the first one of its group of [2] is 8",
        ),
        (
            "div_by<4, every 2 along 0>",
            "[4, 5, 8, 8]",
            "[4, 5, 8, 9]",
            (3,),
            "the value is 8: number 1 of its group of 2 along dimension 0, which counts up from 8 by 1",
        ),
    ],
)
def test_assumptions_that_do_not_hold(predicate: str, wrong: str, right: str, element: Any, detail: str) -> None:
    finding = only(assume(predicate, wrong), "assume")
    assert finding.title == f"assume promises {predicate}, which does not hold"
    assert finding.element == element and finding.details[0] == detail
    assert not assume(predicate, right)


def test_an_assumed_alignment_of_a_pointer() -> None:
    data = zeros(64)
    start = -(data.ctypes.data // 4) % 16
    body = "  %a = assume div_by<64>, %p : tile<ptr<i32>>"
    assert "% 64 is 4" in only(report(body, data[start + 1 :]), "assume").details[0]
    assert not report(body, data[start:])


PROMISES = """
  %twice = addi %n, %n : tile<i32>
  %a = assume div_by<4>, %n : tile<i32>
  %b = assume div_by<8>, %twice : tile<i32>
  %c = assume bounded<0, 1>, %x : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %d = for %i in (%x to %n, step %one) : tile<i32> iter_values(%j = %n) -> (tile<i32>) {
    %e = assume bounded<1, 4>, %j : tile<i32>
    %next = addi %j, %one : tile<i32>
    continue %next : tile<i32>
  }
"""


def test_what_holds_in_one_tile_block_is_counted_in_all_where_it_does_not() -> None:
    """A promise about arguments is looked at once in a launch, if it holds; others in every tile block."""
    promising = kernel(PROMISES, "%n: tile<i32>")

    def counts(found: tileir.sanitizer.SanitizerReport) -> dict[str, int]:
        return {each.title.removeprefix("assume promises ").split(", which")[0]: each.count for each in found.findings}

    sanitizer = tileir.sanitizer.Sanitizer()
    promising.launch(4, (4,), observer=sanitizer)
    assert counts(sanitizer.report) == {"bounded<1, 4>": 3 + 2 + 1, "bounded<0, 1>": 2}
    promising.launch(4, (6,), observer=sanitizer)
    of_both = {"bounded<1, 4>": 6 + (6 + 5 + 4 + 3), "bounded<0, 1>": 2 + 2, "div_by<4>": 4, "div_by<8>": 4}
    assert counts(sanitizer.report) == of_both


# --- numbers ---


def compute(operation: str, left: int, right: int, type: str = "i32") -> tileir.sanitizer.SanitizerReport:
    body = f"""  %a = constant <{type}: {left}> : tile<{type}>
      %b = constant <{type}: {right}> : tile<{type}>
      %c = {operation.replace("T", f"tile<{type}>")}"""
    return report(body, zeros(1))


@pytest.mark.parametrize(
    ("operation", "wrong", "right", "kind", "detail"),
    [
        ("divi %a, %b signed : T", (7, 0), (7, 1), "division-by-zero", "it computes 7 / 0 in i32"),
        ("remi %a, %b unsigned : T", (7, 0), (0, 7), "division-by-zero", "it computes 7 % 0 in i32"),
        ("divi %a, %b signed : T", (-(2**31), -1), (-(2**31), 1), "overflow", "it computes -2147483648 / -1 in i32"),
        ("shli %a, %b : T", (1, 32), (1, 31), "shift", "it computes 1 << 32 in i32"),
        ("shri %a, %b signed : T", (1, -1), (1, 0), "shift", "it computes 1 >> -1 in i32"),
        (
            "addi %a, %b overflow<no_signed_wrap> : T",
            (2**31 - 1, 1),
            (-1, 1),
            "overflow",
            "it computes 2147483647 + 1 in i32",
        ),
        (
            "addi %a, %b overflow<no_unsigned_wrap> : T",
            (-1, 1),
            (2**31 - 1, 1),
            "overflow",
            "it computes 4294967295 + 1 in i32, read as unsigned",
        ),
        ("subi %a, %b overflow<no_unsigned_wrap> : T", (1, 2), (2, 1), "overflow", "it computes 1 - 2 in i32"),
        ("muli %a, %b overflow<no_signed_wrap> : T", (65536, 32768), (-65536, 32768), "overflow", None),
        ("muli %a, %b overflow<no_unsigned_wrap> : T", (65536, 65536), (65536, 65535), "overflow", None),
        ("shli %a, %b overflow<no_signed_wrap> : T", (1, 31), (1, 30), "overflow", None),
        ("negi %a overflow<no_signed_wrap> : T", (-(2**31), 0), (1 - 2**31, 0), "overflow", None),
    ],
)
def test_numbers_an_operation_is_not_defined_for(
    operation: str, wrong: tuple[int, int], right: tuple[int, int], kind: str, detail: str | None
) -> None:
    finding = only(compute(operation, *wrong), kind)
    assert detail is None or finding.details == [detail]
    assert not compute(operation, *right)


WRAPPING = {
    ("addi", "no_signed_wrap"): lambda a, b: not -(2**63) <= a + b < 2**63,
    ("addi", "no_unsigned_wrap"): lambda a, b: a % 2**64 + b % 2**64 >= 2**64,
    ("subi", "no_signed_wrap"): lambda a, b: not -(2**63) <= a - b < 2**63,
    ("subi", "no_unsigned_wrap"): lambda a, b: a % 2**64 < b % 2**64,
    ("muli", "no_signed_wrap"): lambda a, b: not -(2**63) <= a * b < 2**63,
    ("muli", "no_unsigned_wrap"): lambda a, b: (a % 2**64) * (b % 2**64) >= 2**64,
}


@pytest.mark.parametrize(("name", "flag"), list(WRAPPING))
def test_overflow_of_64_bits_is_found_exactly(name: str, flag: str) -> None:
    edges = [0, 1, 2, 3, 2**31, 2**32, 2**62, 2**63 - 1]
    numbers = sorted({sign * edge for edge in edges for sign in (1, -1)} | {-(2**63)})
    body = f"""  %v, %t = load_ptr_tko weak %a : tile<ptr<i64>> -> tile<i64>, token
  %w, %u = load_ptr_tko weak %b : tile<ptr<i64>> -> tile<i64>, token
  %c = {name} %v, %w overflow<{flag}> : tile<i64>"""
    compiled = kernel(body, "%a: tile<ptr<i64>>, %b: tile<ptr<i64>>")
    for left in numbers:
        for right in numbers[::3]:
            sanitizer = tileir.sanitizer.Sanitizer()
            compiled.launch(1, (numpy.array([left]), numpy.array([right])), observer=sanitizer)
            assert bool(sanitizer.report) == WRAPPING[name, flag](left, right), (left, right)


def test_truncation_that_loses_bits() -> None:
    body = "  %a = constant <i64: NUMBER> : tile<i64>\n  %b = trunci %a overflow<FLAG> : tile<i64> -> tile<i32>"
    for number, flag, wrong in (
        (2**31, "no_signed_wrap", True),
        (2**31, "no_unsigned_wrap", False),
        (-1, "no_unsigned_wrap", True),
        (-1, "no_signed_wrap", False),
    ):
        found = report(body.replace("NUMBER", str(number)).replace("FLAG", flag), zeros(1))
        assert found.kinds == (["overflow"] if wrong else [])


def test_a_division_in_a_tile_names_the_element() -> None:
    body = """  %a = constant <i32: 5> : tile<4xi32>
  %b = constant <i32: [1, 2, 0, 0]> : tile<4xi32>
  %c = divi %a, %b signed : tile<4xi32>"""
    finding = only(report(body, zeros(1)), "division-by-zero")
    assert finding.element == (2,)
    assert finding.details[1] == "2 of the 4 elements of the tile are like this"
