"""The comparison of findings with the expected-* comments of a text."""

from __future__ import annotations

import pytest

from tileir.analyze.expected_diagnostics import unexpected
from tileir.ir.diagnostics import Diagnostic
from tileir.ir.location import UNKNOWN, file_location

FILE = "k.mlir"


def finding(line: int, message: str, severity: str = "error", notes: list[Diagnostic] | None = None) -> Diagnostic:
    return Diagnostic(severity, message, file_location(FILE, line, 1), notes)


def compare(text: str, *findings: Diagnostic, only_expected: bool = False) -> list[str]:
    return [str(problem) for problem in unexpected(text, FILE, list(findings), only_expected=only_expected)]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("op // expected-error {{wrong}}", 1),
        ("// expected-error @below {{wrong}}\nop", 2),
        ("// expected-error@below{{wrong}}\nop", 2),
        ("op\n// expected-error @above {{wrong}}", 1),
        ("// expected-error @+2 {{wrong}}\n\nop", 3),
        ("op\n\n// expected-error @-2 {{wrong}}", 1),
        ("\nop // expected-error-re {{w{{r|l}}ong{{$}}}}", 2),
        ("op // expected-error {{wrong}}  \r", 1),
    ],
)
def test_designator_finds_its_line(text: str, line: int) -> None:
    assert compare(text, finding(line, "is wrong")) == []
    elsewhere = compare(text, finding(line + 1, "is wrong"))
    assert f"{FILE}:{line + 1}:1: error: unexpected error: is wrong" in elsewhere


def test_below_and_above_step_over_lines_that_are_expectations_themselves() -> None:
    below = "// expected-error @below {{first}}\n// expected-error @below {{second}}\nop"
    assert compare(below, finding(3, "first"), finding(3, "second")) == []
    above = "op\n// expected-error @above {{first}}\n// expected-error @above {{second}}"
    assert compare(above, finding(1, "first"), finding(1, "second")) == []


def test_finding_that_was_not_expected_is_reported() -> None:
    assert compare("op", finding(1, "wrong")) == ["k.mlir:1:1: error: unexpected error: wrong"]
    assert compare("op", finding(1, "odd", "warning")) == ["k.mlir:1:1: error: unexpected warning: odd"]


def test_expectation_that_did_not_come_true_is_reported_at_its_comment() -> None:
    assert compare("\nop // expected-remark {{fine}}") == ['k.mlir:2:7: error: expected remark "fine" was not produced']


def test_comment_is_shown_with_a_caret() -> None:
    (problem,) = unexpected("op // expected-error {{x}}", FILE, [])
    assert problem.render_nvidia().endswith("op // expected-error {{x}}\n      ^")


def test_another_severity_is_a_near_miss() -> None:
    assert compare("op // expected-error {{odd}}", finding(1, "odd", "warning")) == [
        "k.mlir:1:7: error: 'warning' diagnostic emitted when expecting a 'error'",
        'k.mlir:1:7: error: expected error "odd" was not produced',
    ]


def test_notes_are_findings_of_their_own() -> None:
    text = "// expected-note @below {{first}}\nop\n// expected-error @below {{again}}\nop"
    problem = finding(4, "seen again", notes=[finding(2, "first here", "note")])
    assert compare(text, problem) == []
    assert compare(text.replace("first", "second"), problem)[0] == "k.mlir:2:1: error: unexpected note: first here"


def test_one_comment_may_answer_several_findings() -> None:
    assert compare("op // expected-error {{wrong}}", finding(1, "wrong a"), finding(1, "wrong b")) == []


def test_text_outside_the_inner_braces_is_taken_literally() -> None:
    text = "op // expected-error-re {{a.b {{[0-9]+}} (c)}}"
    assert compare(text, finding(1, "a.b 42 (c)")) == []
    assert compare(text, finding(1, "axb 42 (c)")) != []


def test_text_without_regex_may_hold_braces() -> None:
    assert compare("op // expected-error {{one of: {'a', 'b'}}}", finding(1, "one of: {'a', 'b'}")) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("op // expected-error-re {{a {{b}}", "found start of regex with no end '}}'"),
        ("op // expected-error-re {{a {{(}} b}}", "invalid regex: "),
    ],
)
def test_regex_that_cannot_be_read_is_a_problem(text: str, message: str) -> None:
    problems = unexpected(text, FILE, [])
    assert len(problems) == 1
    assert problems[0].message.startswith(message)
    assert problems[0].position == (FILE, 1, 7)


def test_unknown_location_is_matched_by_unknown_only() -> None:
    nowhere = Diagnostic("error", "wrong", UNKNOWN)
    assert compare("// expected-error @unknown {{wrong}}\nop", nowhere) == []
    assert compare("op // expected-error {{wrong}}", nowhere)[0] == "error: unexpected error: wrong"


def test_finding_in_another_file_does_not_match() -> None:
    other = Diagnostic("error", "wrong", file_location("other.mlir", 1, 1))
    assert compare("op // expected-error {{wrong}}", other)[0] == "other.mlir:1:1: error: unexpected error: wrong"


def test_only_expected_lets_the_rest_pass() -> None:
    text = "op // expected-error {{wrong}}"
    assert compare(text, finding(1, "wrong"), finding(2, "more"), only_expected=True) == []
    assert compare(text, finding(2, "more"), only_expected=True) == [
        'k.mlir:1:7: error: expected error "wrong" was not produced'
    ]


def test_dangling_below_is_never_answered() -> None:
    assert compare("op\n// expected-error @below {{wrong}}", finding(1, "wrong")) == [
        "k.mlir:1:1: error: unexpected error: wrong",
        'k.mlir:2:4: error: expected error "wrong" was not produced',
    ]


def test_comment_with_something_after_the_braces_is_no_expectation() -> None:
    assert compare("op // expected-error {{wrong}} here") == []
