"""Comments that silence findings: `// tileir: ignore[unused-value]: why`, in cuTile files with `#` (docs/lint.md).

One behind an operation is for its line, one on a line of its own for the line below, `ignore-file` for the whole file.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

from tileir.analyze.lint.rule import Rule
from tileir.annotations import Final
from tileir.ir.location import SourceText

_MARK: Final = "tileir:"
_SILENCE: Final = re.compile(r"(?://|#)\s*tileir:\s*ignore(-file)?(?![\w-])\s*(\[([^\]\n]*)\])?")
_COMMENT: Final = re.compile(r"//[^\n]*")


@dataclass(slots=True, eq=False)
class Silence:
    """A comment that silences rules, all of them if `rules` is None, of one line or (`line` 0) of the file."""

    rules: tuple[str, ...] | None
    line: int
    offset: int
    """Where the comment begins, in characters."""
    used: set[str] = field(default_factory=set)
    """The rules that had something to silence."""


def silences_in(source: SourceText) -> list[Silence]:
    """The silences of a program's text: in comments, which stand between tokens."""
    text = source.text
    if _MARK not in text:
        return []
    comments: list[tuple[int, int]] = []
    for match in source.token_pattern.finditer(text):
        token = match.start(1)
        if token < 0 or token > match.start():
            end = token if token >= 0 else match.end()
            comments.extend([found.span() for found in _COMMENT.finditer(text, match.start(), end)])
    return _silences(text, comments, source.first_line)


def silences_in_script(text: str) -> list[Silence]:
    """The silences of a cuTile script, in Python's comments."""
    if _MARK not in text:
        return []
    # Imported here: few lint scripts.
    import tokenize

    starts = _line_starts(text)
    comments: list[tuple[int, int]] = []
    lines = iter(text.splitlines(keepends=True))
    try:
        for token in tokenize.generate_tokens(lambda: next(lines, "")):
            if token.type == tokenize.COMMENT:
                begin = starts[token.start[0] - 1] + token.start[1]
                comments.append((begin, begin + len(token.string)))
    except (tokenize.TokenError, SyntaxError):
        # Running the script reports it; comments before the error count.
        pass
    return _silences(text, comments, 1)


def _line_starts(text: str) -> list[int]:
    return [0, *[match.end() for match in re.finditer("\n", text)]]


def _silences(text: str, comments: list[tuple[int, int]], first_line: int) -> list[Silence]:
    """The silences among comments; one on a line of its own is for the next line that has more than comments."""
    starts = _line_starts(text)
    lines = [bisect_right(starts, begin) - 1 for begin, _ in comments]
    alone = {line for line, (begin, _) in zip(lines, comments, strict=True) if not text[starts[line] : begin].strip()}
    found: list[Silence] = []
    for line, (begin, end) in zip(lines, comments, strict=True):
        match = _SILENCE.match(text, begin, end)
        if match is None:
            continue
        of_file, brackets, names = match.groups()
        rules = None if brackets is None else tuple([name.strip() for name in names.split(",") if name.strip()])
        if line in alone:
            line += 1
            while line in alone or (line + 1 < len(starts) and not text[starts[line] : starts[line + 1]].strip()):
                line += 1
        found.append(Silence(rules, 0 if of_file else first_line + line, begin))
    return found


# --- rules about silences, which the linter finds broken itself ---

UNKNOWN_RULE: Final = Rule(
    "silences",
    "A comment silences a rule that does not exist",
    reason="A misspelled name silences nothing, and a rule that is gone need not be silenced.",
    remedy="Name the rule as the finding does; `tileir lint --list-rules` lists them.",
    example="""\
 entry @k(%p: tile<ptr<f32>>) {
-  // here
-  %x, %t = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token // tileir: ignore[unused-laod, unused-load]
+  %x, %t = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token // tileir: ignore[unused-load]: it warms a cache
""",
    name="unknown-rule",
)

UNUSED_SILENCE: Final = Rule(
    "silences",
    "A comment silences a finding that is not there",
    reason="It would hide the finding if it came back, and tells the reader of something that is no longer so.",
    remedy="Delete the comment, or the names in it that silence nothing.",
    example="""\
 entry @k(%p: tile<ptr<f32>>, %x: tile<f32>) {
-  // here
-  %t = store_ptr_tko weak %p, %x : tile<ptr<f32>>, tile<f32> -> token // tileir: ignore[unused-value]
+  // tileir: ignore[unused-value]
+  %y = addf %x, %x : tile<f32>
+  %t = store_ptr_tko weak %p, %x : tile<ptr<f32>>, tile<f32> -> token
""",
    name="unused-silence",
)
