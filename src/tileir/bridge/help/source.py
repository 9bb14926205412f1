"""A line of a script, the kernel around it, and corrections: functions from it to changed lines."""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

Changes = dict[int, str]
"""Changed lines by number; an empty line is one to remove."""
_DEF: Final = re.compile(r"\s*def (\w+)\(")
_PARAMETER: Final = re.compile(r"(\w+)\s*(?::\s*([^,=]+?))?\s*(?:=[^,]*)?(?:,|$)")
_TUPLE: Final = r"\([^()]*\)"
LOAD: Final = rf"ct\.load\((\w+), ?(?:index ?= ?)?({_TUPLE}|\w+), ?(?:shape ?= ?)?({_TUPLE}|\w+)"
STORE: Final = rf"ct\.store\((\w+), ?(?:index ?= ?)?({_TUPLE}|\w+), "


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a script, where an error is."""

    lines: list[str]
    """All lines of the file, without their ends."""
    number: int
    """The line, counted from 1."""
    found: re.Match[str]
    """The message, as the expression of a `Mistake` matches it."""
    arrays: frozenset[str] = frozenset()
    """The parameters of the kernel that are arrays, where they are known."""
    column: int = 0
    """Where in the line the error is, counted from 0; 0 if that is not known."""

    @property
    def line(self) -> str:
        return self.text(self.number)

    def text(self, number: int) -> str:
        return self.lines[number - 1] if 0 < number <= len(self.lines) else ""

    @property
    def kernel(self) -> range:
        """The numbers of the lines of the function around the line."""
        first = self.number
        while first > 1 and not _DEF.match(self.text(first)):
            first -= 1
        indent = _indent(self.text(first))
        last = first + 1
        while last <= len(self.lines) and (not self.text(last).strip() or _indent(self.text(last)) > indent):
            last += 1
        return range(first, last)

    def kernel_lines(self) -> Iterator[str]:
        return (self.text(number) for number in self.kernel)

    def parameters(self) -> dict[str, str]:
        """The parameters of the function around the line, with their annotations."""
        text = " ".join(self.kernel_lines())
        inside = text[text.find("(") + 1 : re.search(r"\)\s*(->[^:]*)?:", text + "):").start()]  # type: ignore[union-attr]
        return {name: annotation or "" for name, annotation in _PARAMETER.findall(inside)}

    def first(self, pattern: str) -> re.Match[str] | None:
        """Where an expression first matches in a line of the function."""
        return next((found for line in self.kernel_lines() if (found := re.search(pattern, line))), None)

    def filled(self, pattern: str) -> str:
        """An expression with groups of the message for <1>, <2>, .."""
        for number, group in enumerate(self.found.groups(), 1):
            pattern = pattern.replace(f"<{number}>", re.escape(group or ""))
        return pattern


Correction = Callable[[Place], Changes]


def place_of(file: str | None, number: int, found: re.Match[str], arrays: Iterable[str] = (), column: int = 0) -> Place:
    """A line of a file that Python has read."""
    lines = [line.rstrip("\n") for line in linecache.getlines(file or "")]
    return Place(lines, number, found, frozenset(arrays), column)


def here(wrong: str, right: str | Callable[[re.Match[str]], str]) -> Correction:
    """Replace a part of the line; <1> is a group of the message, \\1 one of `wrong`."""

    def change(place: Place) -> Changes:
        return {place.number: _replaced(place, wrong, right, place.line)}

    return change


def above(line: str, wrong: str, right: str) -> Correction:
    """Replace a part of the nearest line of the function, at the error or above it, that matches `line`."""

    def change(place: Place) -> Changes:
        for number in range(place.number, place.kernel.start - 1, -1):
            if re.search(place.filled(line), place.text(number)):
                return {number: _replaced(place, wrong, right, place.text(number))}
        return {}

    return change


def anywhere(wrong: str, right: str | Callable[[re.Match[str]], str]) -> Correction:
    """Replace a part of the first line of the file that has it."""

    def change(place: Place) -> Changes:
        for number, line in enumerate(place.lines, 1):
            if re.search(place.filled(wrong), line):
                return {number: _replaced(place, wrong, right, line)}
        return {}

    return change


def first_of(*corrections: Correction) -> Correction:
    """The first correction that changes something."""

    def change(place: Place) -> Changes:
        return next((found for each in corrections if (found := changed(each(place), place.lines))), {})

    return change


def annotated(annotation: str) -> Correction:
    """Declare the parameters that stand in the line, other than arrays, as constants."""

    def change(place: Place) -> Changes:
        known = place.parameters()
        used = re.sub(r"(\w+\()(?:array ?= ?)?\w+", r"\1", place.line) if "ct." in place.line else place.line
        inside = re.search(r"arange\(([^()]*)\)", used)
        words = re.findall(r"(?<![\w.])\w+", inside[1] if inside else used)
        names = [name for name in known if name in words and annotation[:6] not in known[name]]
        changes: Changes = {}
        for name in names:
            for number in place.kernel:
                line = changes.get(number, place.text(number))
                replaced = re.sub(rf"\b{name}\b(\s*:\s*\w+)?(?=\s*[,)=])", f"{name}: {annotation}", line, count=1)
                if replaced != line:
                    changes[number] = replaced
                    break
        return changes

    return change


def selected(where: str) -> Correction:
    """Compute both values, and select by the condition: a conditional expression, or `if` around one assignment."""

    def change(place: Place) -> Changes:
        number, line = place.number, place.line
        if found := re.match(r"(\s*)(\w+) = (.+) if (.+) else (.+)$", line):
            return {number: f"{found[1]}{found[2]} = {where}({found[4]}, {found[3]}, {found[5]})"}
        condition = re.match(r"(\s*)if (.+):$", line)
        then = re.match(r"\s+(\w+) = (.+)$", place.text(number + 1))
        if not condition or not then or _indent(place.text(number + 2)) > len(condition[1]):
            return {}
        indent, name = condition[1], then[1]
        other = re.match(rf"\s+{name} = (.+)$", place.text(number + 3))
        if re.match(r"\s*else:$", place.text(number + 2)) and other:
            line = f"{indent}{name} = {where}({condition[2]}, {then[2]}, {other[1]})"
            return {number: "", number + 1: "", number + 2: "", number + 3: line}
        return {number: "", number + 1: f"{indent}{name} = {where}({condition[2]}, {then[2]}, {name})"}

    return change


def next_power_of_two(number: str) -> str:
    return str(1 << max(int(number) - 1, 0).bit_length())


def changed(changes: Changes, lines: list[str]) -> Changes:
    """The lines that are not what they were."""
    return {number: line for number, line in changes.items() if 0 < number <= len(lines) and line != lines[number - 1]}


def shown(changes: Changes) -> str:
    """Changed lines below a text, as diagnostics show lines; empty if there are none."""
    rows = [f"\n{number:>5} | {line}".rstrip() for number, line in sorted(changes.items())]
    return ":" + "".join(rows) if rows else ""


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _replaced(place: Place, wrong: str, right: str | Callable[[re.Match[str]], str], line: str) -> str:
    if isinstance(right, str):
        for number, group in enumerate(place.found.groups(), 1):
            right = right.replace(f"<{number}>", (group or "").replace("\\", r"\\"))
    return re.sub(place.filled(wrong), right, line)
