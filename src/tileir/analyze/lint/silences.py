"""Comments that silence findings.

    %x = addi %a, %b : tile<i32>    // tileir: ignore[unused-value]: kept for the debugger
    // tileir: ignore[unused-value, dead-store]     of the line below
    // tileir: ignore-file[missing-token]: why       of the whole file; before the first operation

Behind the brackets there may be a reason.  Without brackets every rule is silenced.  In cuTile files, whose comments
begin with `#`, they are written the same way.
"""

from __future__ import annotations

import re

from tileir.annotations import Final

_MARK: Final = "tileir:"
_SILENCE: Final = re.compile(r"(?://|#)\s*tileir:\s*ignore(-file)?(?![\w-])\s*(\[([^\]\n]*)\])?")
_COMMENT: Final = re.compile(r"//[^\n]*")


class Silence:
    """A comment that silences rules, all of them if `rules` is None, of one line or (`line` 0) of the file."""

    __slots__ = ("line", "offset", "rules", "used")

    def __init__(self, rules: tuple[str, ...] | None, line: int, offset: int) -> None:
        self.rules: tuple[str, ...] | None = rules
        self.line: int = line
        self.offset: int = offset
        """Where the comment begins, in characters."""
        self.used: set[str] = set()
        """The rules that had something to silence."""


class Silences:
    """The silences of a text."""

    __slots__ = ("_by_line", "all", "of_file")

    def __init__(self, found: list[Silence]) -> None:
        self.all: list[Silence] = found
        self.of_file: list[Silence] = [silence for silence in found if not silence.line]
        self._by_line: dict[int, list[Silence]] = {}
        for silence in found:
            if silence.line:
                self._by_line.setdefault(silence.line, []).append(silence)

    def silence(self, rule: str, line: int) -> bool:
        """Whether a finding of a rule at a line is silenced; the comment has had its use then."""
        silenced = False
        for each in (*self._by_line.get(line, ()), *self.of_file):
            if each.rules is None or rule in each.rules:
                each.used.add(rule)
                silenced = True
        return silenced


def silences_in(text: str, pattern: re.Pattern[str], first_line: int = 1) -> Silences:
    """The silences of a text; `pattern` gives its tokens, between which comments are."""
    found: list[Silence] = []
    if _MARK in text:
        starts = [0, *[match.end() for match in re.finditer("\n", text)]]
        waiting: list[Silence] = []
        line_index = 0
        for match in pattern.finditer(text):
            token = match.start(1)
            for comment in _COMMENT.finditer(text, match.start(), max(token, match.start())):
                while line_index + 1 < len(starts) and starts[line_index + 1] <= comment.start():
                    line_index += 1
                alone = not text[starts[line_index] : comment.start()].strip()
                silence = _silence(comment, first_line + line_index)
                if silence is None:
                    continue
                found.append(silence)
                if silence.line and alone:
                    waiting.append(silence)
            if match.group(1):
                if waiting:
                    while line_index + 1 < len(starts) and starts[line_index + 1] <= token:
                        line_index += 1
                    for silence in waiting:
                        silence.line = first_line + line_index
                    waiting = []
    return Silences(found)


def _silence(comment: re.Match[str], line: int) -> Silence | None:
    match = _SILENCE.match(comment.group())
    if match is None:
        return None
    of_file, brackets, names = match.groups()
    rules = None if brackets is None else tuple([name.strip() for name in names.split(",") if name.strip()])
    return Silence(rules, 0 if of_file else line, comment.start())
