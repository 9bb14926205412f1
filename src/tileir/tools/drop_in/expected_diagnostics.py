"""Compares what a tool reports with what the text itself says it should: MLIR's `-verify-diagnostics`.

A comment names a finding: its severity, where (`@above`, `@below`, `@+N`, `@-N`, `@unknown`, or its own line) and a
part of its text.

    // expected-error @below {{must be tile of i1 values}}
    // expected-note-re @+2 {{prior use of '%{{[0-9]+}}'}}

Every finding and every note must be named by a comment, and every comment must be answered at least once.  `@above`
and `@below` step over lines that are such comments themselves.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tileir.ir.diagnostics import Diagnostic, position_of
from tileir.ir.location import CharacterLocation, Location, SourceText
from tileir.text.lexer import TOKEN

_DESIGNATOR = re.compile(
    r"expected-(error|note|remark|warning)(-re)? *(?:@([+-][0-9]+|above|below|unknown))? *\{\{(.*)\}\}$"
)


@dataclass(slots=True)
class Expectation:
    """One comment: what it asks for, and whether that was seen.  Line 0 stands for an unknown location."""

    severity: str
    line: int
    text: str
    location: Location
    pattern: re.Pattern[str] | None = None
    seen: bool = False

    def matches(self, message: str) -> bool:
        return self.text in message if self.pattern is None else self.pattern.search(message) is not None


class ExpectedDiagnostics:
    """The expectations of one text, or of one part of a split one.

    `problems` holds, as errors to show, what cannot be read at first; `compare` adds what did not come true.
    `only_expected` lets findings pass that nobody named.
    """

    def __init__(self, text: str, name: str = "-", first_line: int = 1, only_expected: bool = False) -> None:
        self.name: str = name
        self.only_expected: bool = only_expected
        self.source: SourceText = SourceText(text, name, TOKEN, first_line)
        self.expectations: list[Expectation] = []
        self.problems: list[Diagnostic] = []
        self._scan(text.split("\n"), first_line)

    def _scan(self, lines: list[str], first_line: int) -> None:
        last_other_line = first_line
        for_next_line: list[Expectation] = []
        offset = 0
        for number, line in enumerate(lines, first_line):
            match = _DESIGNATOR.search(line.rstrip())
            if match is None:
                for waiting in for_next_line:
                    waiting.line = number
                for_next_line = []
                last_other_line = number
            else:
                location = CharacterLocation(self.source, 0, offset + match.start())
                severity, is_regex, place, text = match.groups()
                expectation = Expectation(severity, number, text, location)
                if place == "above":
                    expectation.line = last_other_line
                elif place == "below":
                    for_next_line.append(expectation)
                elif place == "unknown":
                    expectation.line = 0
                elif place:
                    expectation.line = number + int(place)
                if not is_regex or self._compile(expectation):
                    self.expectations.append(expectation)
            offset += len(line) + 1

    def _compile(self, expectation: Expectation) -> bool:
        """`{{...}}` inside the text is a regular expression, the rest stands for itself."""
        literal, *rest = expectation.text.split("{{")
        pieces = [re.escape(literal)]
        for piece in rest:
            inner, closing, literal = piece.partition("}}")
            if not closing:
                self._problem("found start of regex with no end '}}'", expectation.location)
                return False
            pieces += [f"({inner})", re.escape(literal)]
        try:
            expectation.pattern = re.compile("".join(pieces))
        except re.error as error:
            self._problem(f"invalid regex: {error}", expectation.location)
        return expectation.pattern is not None

    def _problem(self, message: str, location: Location) -> None:
        self.problems.append(Diagnostic("error", message, location))

    def compare(self, diagnostics: list[Diagnostic]) -> list[Diagnostic]:
        """What is wrong with the findings: those nobody expected, those expected in vain."""
        for diagnostic in diagnostics:
            for each in (diagnostic, *diagnostic.notes):
                self._take(each)
        for wanted in self.expectations:
            if not wanted.seen:
                self._problem(f'expected {wanted.severity} "{wanted.text}" was not produced', wanted.location)
        return self.problems

    def _take(self, diagnostic: Diagnostic) -> None:
        found = position_of(diagnostic.location)
        # An unknown location is on line 0.
        line = 0 if found is None else found.line if found.file == self.name else -1
        near_miss: Expectation | None = None
        for expectation in self.expectations:
            if expectation.line == line and expectation.matches(diagnostic.message):
                if expectation.severity == diagnostic.severity:
                    expectation.seen = True
                    return
                near_miss = expectation
        severity = diagnostic.severity
        if near_miss is not None:
            words = f"'{severity}' diagnostic emitted when expecting a '{near_miss.severity}'"
            self._problem(words, near_miss.location)
        elif not self.only_expected:
            self._problem(f"unexpected {severity}: {diagnostic.message}", diagnostic.location)
