"""Compares what a tool reports with what comments of the text expect: MLIR's `-verify-diagnostics`.

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
class _Expectation:
    """One comment: the expected finding, and whether it was seen.  Line 0 stands for an unknown location."""

    severity: str
    line: int
    text: str
    pattern: re.Pattern[str]
    location: Location
    seen: bool = False


def unexpected(text: str, name: str, diagnostics: list[Diagnostic], *, only_expected: bool = False) -> list[Diagnostic]:
    """What is wrong with the findings in a text, as errors to show: those nobody expected, those expected in vain.

    Comments that cannot be read come first.  `only_expected` lets findings pass that nobody named.
    """
    problems: list[Diagnostic] = []
    expectations = _expectations(text, name, problems)
    for diagnostic in diagnostics:
        for each in (diagnostic, *diagnostic.notes):
            found = position_of(each.location)
            # An unknown location is on line 0.
            line = 0 if found is None else found.line if found.file == name else -1
            named = [one for one in expectations if one.line == line and one.pattern.search(each.message)]
            exact = next((one for one in named if one.severity == each.severity), None)
            if exact is not None:
                exact.seen = True
            elif named:
                words = f"'{each.severity}' diagnostic emitted when expecting a '{named[-1].severity}'"
                problems.append(Diagnostic("error", words, named[-1].location))
            elif not only_expected:
                problems.append(Diagnostic("error", f"unexpected {each.severity}: {each.message}", each.location))
    for one in expectations:
        if not one.seen:
            words = f'expected {one.severity} "{one.text}" was not produced'
            problems.append(Diagnostic("error", words, one.location))
    return problems


def _expectations(text: str, name: str, problems: list[Diagnostic]) -> list[_Expectation]:
    """The expectations of a text; what is wrong with its comments is added to the problems."""
    source = SourceText(text, name, TOKEN)
    found: list[_Expectation] = []
    for_next_line: list[_Expectation] = []
    last_other_line = 1
    offset = 0
    for number, line in enumerate(text.split("\n"), 1):
        match = _DESIGNATOR.search(line.rstrip())
        if match is None:
            for waiting in for_next_line:
                waiting.line = number
            for_next_line, last_other_line = [], number
        else:
            severity, is_regex, place, words = match.groups()
            location = CharacterLocation(source, 0, offset + match.start())
            lines = {None: number, "above": last_other_line, "below": number, "unknown": 0}
            named = lines[place] if place in lines else number + int(place)
            try:
                pattern = _pattern(words) if is_regex else re.compile(re.escape(words))
                found.append(_Expectation(severity, named, words, pattern, location))
                for_next_line += found[-1:] if place == "below" else []
            except ValueError as error:
                problems.append(Diagnostic("error", str(error), location))
        offset += len(line) + 1
    return found


def _pattern(text: str) -> re.Pattern[str]:
    """`{{...}}` inside the text is a regular expression, the rest stands for itself."""
    literal, *rest = text.split("{{")
    parts = [re.escape(literal)]
    for part in rest:
        inner, closing, literal = part.partition("}}")
        if not closing:
            raise ValueError("found start of regex with no end '}}'")
        parts += [f"({inner})", re.escape(literal)]
    try:
        return re.compile("".join(parts))
    except re.error as error:
        raise ValueError(f"invalid regex: {error}") from None
