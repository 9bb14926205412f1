"""Programs in, findings out; and texts with their fixes made."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import NamedTuple

from tileir.analyze.lint.configuration import LintSettings, unknown_rule
from tileir.analyze.lint.fixes import FixesTogether, TextEdit, WrittenText, applied, text_edits
from tileir.analyze.lint.rule import LintFinding, Rule
from tileir.analyze.lint.rules import RULES
from tileir.analyze.lint.silences import UNKNOWN_RULE, UNUSED_SILENCE, Silence, silences_in, silences_in_script
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
) -> list[LintFinding]:
    """What could be better about a program that is correct: findings, each with the name of its rule.

    `select` names the rules that are looked for instead of those that are on by default, `ignore` those that are not:
    one name or several, of rules, of groups ("memory"), beginnings of names ("unused-") or "all".  `target` is a GPU or
    several ("h100", "sm_90"), for rules about hardware; `version` the oldest version of the dialect that the program
    has to work with ("13.2").  Comments in the text that silence findings are obeyed (docs/lint.md).
    """
    check_module(module)
    selected = None if select is None else names_given("select", select)
    ignored, targets = names_given("ignore", ignore), names_given("target", target)
    return lint_module(module, LintSettings(selected, ignored, (), targets, version))


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
    """The same, a rule at a time: who has something else to do can do it in between."""
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
            wrong.append((UNKNOWN_RULE, unknown_rule(name)))
        elif RULES[name] in settings.rules and name not in silence.used and RULES[name].check is not None:
            wrong.append((UNUSED_SILENCE, f"this silences no finding of '{name}'{where}"))
    if silence.rules is None and not silence.used:
        wrong.append((UNUSED_SILENCE, f"this silences no finding{where}"))
    for rule, message in wrong:
        if rule in settings.rules:
            location = CharacterLocation(source, 0, silence.offset)
            yield LintFinding(None, message, location=location, rule=rule.name, severity=rule.severity)


def _in_order(found: list[LintFinding], operations: list[Operation]) -> list[LintFinding]:
    """From the top of the text to its end; those without a place come last, in the order of the program."""
    order: dict[Operation | None, int] = {operation: number for number, operation in enumerate(operations)}

    def key(finding: LintFinding) -> tuple[int, int, int, str]:
        place = position_of(finding.location)
        if place is not None:
            return 0, place.line, place.column, finding.rule
        return 1, order.get(finding.operation, 0), 0, finding.rule

    return sorted(found, key=key)


# --- fixes ---


class FixedText(NamedTuple):
    """A text, and how many fixes were made in it."""

    text: str
    count: int


def fixed_text(text: str, read: Callable[[str], Operation | None], settings: LintSettings) -> FixedText:
    """A text with its fixes made; `read` gives the verified program of a text, or None if it is none.

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
