"""Programs in, findings out, without those that comments silence; and texts with their fixes made."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from tileir.analyze.lint.configuration import LintSettings, unknown_rule
from tileir.analyze.lint.fixes import FixesTogether, TextEdit, WrittenText, applied, text_edits
from tileir.analyze.lint.rule import LintFinding, LintFindings, Rule
from tileir.analyze.lint.rules import RULES
from tileir.analyze.lint.rules.unused import UNKNOWN_RULE, UNUSED_SILENCE
from tileir.analyze.lint.subject import Subject
from tileir.annotations import Final
from tileir.execute.locations.source_locations import user_location
from tileir.interface import check_module, names_given
from tileir.ir.core import Operation
from tileir.ir.diagnostics import position_of
from tileir.ir.location import CharacterLocation, Location, SourceText, TextLocation
from tileir.ir.traversal import functions
from tileir.rewrite.facts import Facts
from tileir.text.lexer import TOKEN

# A fix may bring to light another one: what only a deleted operation used.
_MOST_ROUNDS: Final = 10


def lint(
    module: Operation,
    *,
    select: str | Sequence[str] | None = None,
    ignore: str | Sequence[str] = (),
    target: str | Sequence[str] = (),
    version: str = "",
) -> LintFindings:
    """Return advice about a correct program: findings, each with the name of its rule.

    `select` names the rules to apply instead of those that are on by default, `ignore` those to leave out: one name or
    several, of rules, of groups ("memory"), beginnings of names ("unused-") or "all".  `target` is a GPU or several
    ("h100", "sm_90"), for rules about hardware; `version` the oldest version of the dialect that the program has to
    work with ("13.2").  Comments in the text that silence findings are obeyed (docs/tools/lint.md).

    >>> tileir.lint(module, select="all", target="h100")
    []
    """
    check_module(module)
    selected = None if select is None else names_given("select", select)
    ignored, targets = names_given("ignore", ignore), names_given("target", target)
    return LintFindings(lint_module(module, LintSettings(selected, ignored, (), targets, version)))


def lint_module(
    module: Operation, settings: LintSettings, scripts: Mapping[str, str] | None = None
) -> list[LintFinding]:
    """All findings in a verified module, from the top of its text to the end.

    `scripts` are the texts of the cuTile scripts that it was compiled from, by their names in its locations: then only
    what their authors can do something about is found, and their comments silence findings.
    """
    steps = lint_steps(module, settings, scripts)
    try:
        while True:
            next(steps)
    except StopIteration as end:
        return list(end.value)


def lint_steps(
    module: Operation, settings: LintSettings, scripts: Mapping[str, str] | None = None
) -> Generator[None, None, list[LintFinding]]:
    """The same, with a yield after each rule, so that the caller can do other work in between."""
    found: list[LintFinding] = []
    facts = Facts()
    subjects = [Subject(module, entry, facts, settings.targets, settings.version) for entry in functions(module)]
    whole = Subject(module, None, facts, settings.targets, settings.version)
    for rule in settings.rules:
        if rule.check is None or (scripts and not rule.for_scripts):
            continue
        for subject in [whole] if rule.per_module else subjects:
            for finding in rule.check(subject):
                finding.rule, finding.severity = rule.name, rule.severity
                if scripts and not finding.remedy:
                    finding.remedy = rule.script_remedy
                found.append(finding)
        yield
    known: dict[Location, Location] = {}
    for finding in found:
        finding.location = user_location(finding.location, known)
    if isinstance(module.location, TextLocation):
        source = module.location.source
        found = _unsilenced(found, silences_in(source), source, settings)
    for name, text in (scripts or {}).items():
        found = _unsilenced(found, silences_in_script(text), SourceText(text, name, TOKEN), settings)
    return _in_order(found, whole.all_operations)


def _in_order(found: list[LintFinding], operations: list[Operation]) -> list[LintFinding]:
    """Findings by their position in the text; those without one come last, in the order of the program."""
    order: dict[Operation | None, int] = {operation: number for number, operation in enumerate(operations)}

    def key(finding: LintFinding) -> tuple[int, int, int, str]:
        place = position_of(finding.location)
        if place is not None:
            return 0, place.line, place.column, finding.rule
        return 1, order.get(finding.operation, 0), 0, finding.rule

    return sorted(found, key=key)


#
# `// tileir: ignore[unused-value]: why`, in cuTile files with `#`.  One after an operation is for its line, one on its
# own line for the line below, `ignore-file` for the whole file.

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
    # Running the script reports its errors; comments before them count.
    with suppress(tokenize.TokenError, SyntaxError):
        for token in tokenize.generate_tokens(lambda: next(lines, "")):
            if token.type == tokenize.COMMENT:
                begin = starts[token.start[0] - 1] + token.start[1]
                comments.append((begin, begin + len(token.string)))
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


def _unsilenced(
    found: list[LintFinding], silences: list[Silence], source: SourceText, settings: LintSettings
) -> list[LintFinding]:
    """The findings that no comment of a text silences, and those about such comments."""
    by_line: dict[int, list[Silence]] = {}
    for silence in silences:
        by_line.setdefault(silence.line, []).append(silence)
    left: list[LintFinding] = []
    for finding in found:
        place = position_of(finding.location)
        near = [*by_line.get(place.line, ()), *by_line.get(0, ())] if place and place.file == source.name else []
        silencing = [each for each in near if each.rules is None or finding.rule in each.rules]
        for each in silencing:
            each.used.add(finding.rule)
        if not silencing:
            left.append(finding)
    return [*left, *[finding for silence in silences for finding in _about_silence(silence, settings, source)]]


def _about_silence(silence: Silence, settings: LintSettings, source: SourceText) -> Iterator[LintFinding]:
    """What is wrong with a comment itself."""
    where = f" at line {silence.line}" if silence.line else " in the file"
    wrong: list[tuple[Rule, str]] = []
    for name in silence.rules or ():
        if name not in RULES:
            wrong.append((UNKNOWN_RULE, ": ".join(unknown_rule(name))))
        elif RULES[name] in settings.rules and name not in silence.used and RULES[name].check is not None:
            wrong.append((UNUSED_SILENCE, f"this silences no finding of '{name}'{where}"))
    if silence.rules is None and not silence.used:
        wrong.append((UNUSED_SILENCE, f"this silences no finding{where}"))
    for rule, message in wrong:
        if rule in settings.rules:
            location = CharacterLocation(source, 0, silence.offset)
            yield LintFinding(None, message, location=location, rule=rule.name, severity=rule.severity)


@dataclass(slots=True)
class FixedText:
    """A text, and how many fixes were made in it."""

    text: str
    count: int


def fixed_text(text: str, read: Callable[[str], Operation | None], settings: LintSettings) -> FixedText:
    """A text with its fixes made; `read` returns the verified program of a text, or None if it is none.

    A round of fixes whose text is no longer a correct program is not made.
    """
    count = 0
    for _ in range(_MOST_ROUNDS):
        module = read(text)
        if module is None or not isinstance(module.location, TextLocation):
            break
        written = WrittenText(module.location.source)
        fixes: list[list[TextEdit]] = []
        together = FixesTogether()
        for finding in lint_module(module, settings):
            edits = text_edits(finding.fix, written) if finding.fix is not None else None
            # One that contradicts another may be made in the next round, if its finding is still there.
            if finding.fix is not None and edits is not None and together.take(finding.fix):
                fixes.append(edits)
        changed, made = applied(written.source.text, fixes)
        if not made or read(changed) is None:
            break
        text, count = changed, count + made
    return FixedText(text, count)
