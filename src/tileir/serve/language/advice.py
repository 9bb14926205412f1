"""What lint says about a program without mistakes: findings at their places, with what removes them.

The rules of a project hold (`[tool.tileir.lint]` of its pyproject.toml), with the settings of the editor on top.
"""

from __future__ import annotations

from collections.abc import Generator

from tileir.analyze.lint.configuration import LintOptions, forget, options_for
from tileir.analyze.lint.fixes import WrittenText, text_edits
from tileir.analyze.lint.linting import lint_steps
from tileir.analyze.lint.rule import LintFinding
from tileir.analyze.lint.rules import RULES
from tileir.ir.diagnostics import Diagnostic, TileIRError, note, source_of
from tileir.ir.location import UNKNOWN
from tileir.serve.language.analysis import PlacedDiagnostic, PlacedFix, place
from tileir.serve.language.document import Document
from tileir.serve.language.navigation import path_of

# What is said about the configuration itself.
CONFIGURATION = "configuration"


def advise(document: Document) -> Generator[None, None, list[PlacedDiagnostic]]:
    """The findings of lint in a document, a rule at a time; none where the program has mistakes."""
    analysis, settings = document.analysis, document.settings
    if analysis.module is None or any(found.severity == "error" for found in analysis.diagnostics):
        return []
    given = LintOptions(settings.lint_select, (), settings.lint_ignore, settings.targets or None)
    path = path_of(document.uri) or "-"
    # The project may have changed since the last time.
    forget()
    try:
        findings = yield from lint_steps(analysis.module, options_for(path, given).settings(path))
    except TileIRError as error:
        return [PlacedDiagnostic("warning", error.message, 0, 0, CONFIGURATION)]
    written: list[WrittenText] = []
    return [_placed(document, finding, written) for finding in findings]


def _placed(document: Document, finding: LintFinding, written: list[WrittenText]) -> PlacedDiagnostic:
    notes = [note(words, about.location if about is not None else UNKNOWN) for words, about in finding.notes]
    rule = RULES.get(finding.rule)
    if rule is not None:
        # As `tileir lint` has it: an editor has no other place to say why, and what to do.
        notes += [note(rule.reason, UNKNOWN), note(f"help: {finding.remedy or rule.remedy}", UNKNOWN)]
    message = Diagnostic(finding.severity, finding.message, finding.location, notes)
    found = place(message, document.syntax, finding.rule)
    found.code = found.rule = finding.rule
    found.fix = _fix(document, finding, written)
    return found


def _fix(document: Document, finding: LintFinding, written: list[WrittenText]) -> PlacedFix | None:
    source = source_of(finding.operation.location) if finding.operation is not None else None
    if finding.fix is None or source is None or source.text != document.text:
        return None
    if not written:
        # Once for all findings: it goes through the whole text.
        written.append(WrittenText(source))
    edits = text_edits(finding.fix, written[0])
    return PlacedFix(finding.fix.title, edits, finding.fix) if edits is not None else None
