"""Quick fixes that help: what editors offer, and commands print as help.

A fix is offered only if a trial shows that it helps: the functions that it changes are read and verified with it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from tileir.analyze.lint.fixes import WrittenText, text_edits
from tileir.analyze.lint.rule import LintFinding
from tileir.dialect.ops import ENTRY
from tileir.ir.diagnostics import Diagnostic, help_note, source_of
from tileir.ir.location import CharacterLocation, SourceText
from tileir.ir.values import OperationResult, Value
from tileir.serve.language.document.analysis import Analysis, Fix, TextDiagnostic, located, verified
from tileir.serve.language.document.scanner import OperationNode
from tileir.serve.language.document.tree import VALUE, Edit, SyntaxTree, apply
from tileir.serve.language.editing.fixes import FIXES, Problem, fixes
from tileir.serve.language.settings import Settings
from tileir.text.edits import EditedText
from tileir.text.lexer import TOKEN
from tileir.text.printer import Printer

# For one finding: the most fixes that are tried, that an editor offers, and that are printed.
_MOST_TRIED = 16
_MOST_OFFERED = 6
_MOST_PRINTED = 3
# The most findings of a command that get help.
_MOST_FIXED = 20
# The most tokens that are read for one request of an editor or one file of a command: half a second.
_LARGEST_EFFORT = 300_000
# The code of what the reader finds.
_SYNTAX = "syntax"
_NUMBERED = re.compile(r"%\d+")


def add_help(diagnostics: list[Diagnostic], settings: Settings) -> None:
    """Add to the findings in texts, as help, the changes that remove them."""
    texts: dict[SourceText, tuple[Analysis, Trials]] = {}
    fixable = [each for each in diagnostics if each.code in FIXES or each.severity == "remark"]
    for diagnostic in fixable[:_MOST_FIXED]:
        source = source_of(diagnostic.location)
        if source is None:
            continue
        if source not in texts:
            syntax = SyntaxTree(source.text)
            if syntax.count > _LARGEST_EFFORT:
                continue
            analysis = verified(syntax, EditedText(syntax.written, settings.version), settings)
            texts[source] = analysis, Trials(syntax, settings)
        analysis, trials = texts[source]
        good = good_fixes(analysis, located(diagnostic, analysis.syntax, _SYNTAX), trials)
        # If many fixes help, none is likely to be right.
        if 0 < len(good) <= _MOST_PRINTED:
            # In place of names that are spelled nearly so.
            diagnostic.notes = [each for each in diagnostic.notes if each.severity != "help"]
            diagnostic.notes += [help_of(source, fix, shows_line=len(good) == 1) for fix in good]


def lint_help(finding: LintFinding, texts: dict[SourceText, WrittenText]) -> list[Diagnostic]:
    """The fix of a lint finding as help; `texts` keeps the tokens of a text for its other findings."""
    source = source_of(finding.operation.location) if finding.operation is not None else None
    if source is None or finding.fix is None:
        return []
    if source not in texts:
        texts[source] = WrittenText(source)
    edits = text_edits(finding.fix, texts[source]) or ()
    fix = Fix(finding.fix.title, tuple([Edit(*each) for each in edits]), finding.fix)
    return [help_of(source, fix, shows_line=True)] if edits else []


def help_of(source: SourceText, fix: Fix, *, shows_line: bool) -> Diagnostic:
    """A fix as help: its title and the line after it, if it changes one."""
    title, edit = fix.title[0].lower() + fix.title[1:], fix.edits[0]
    new = edit.text.strip()
    if not shows_line or len(fix.edits) > 1 or not new or "\n" in new:
        return help_note(title)
    after = SourceText(apply(source.text, fix.edits), source.name, TOKEN)
    return Diagnostic("help", title, CharacterLocation(after, 0, edit.start + edit.text.index(new)))


def good_fixes(analysis: Analysis, diagnostic: TextDiagnostic, trials: Trials) -> list[Fix]:
    """The fixes for a finding that help."""
    if diagnostic.fix is not None:
        # A fix of lint keeps the program; it need not be tried.
        return [diagnostic.fix]
    problem = Problem(analysis, diagnostic)
    candidates = fixes(problem)
    if diagnostic.severity == "remark" and diagnostic.rule is None:
        edit = printed(analysis, problem.operation)
        candidates = [*candidates, *([Fix("Write it as NVIDIA's tools do", (edit,))] if edit is not None else [])]
    found: dict[str, Fix] = {}
    for number, fix in enumerate(candidates):
        if number == _MOST_TRIED or len(found) == _MOST_OFFERED or trials.exhausted:
            break
        # Keep the first fix with a title that helps.
        if fix.title not in found and trials.helps(fix.edits, diagnostic):
            found[fix.title] = fix
    return list(found.values())


class Trials:
    """Tries fixes for the diagnostics of one text, within a limit of effort.

    A fix helps if its diagnostic is gone and the text has no new error.  Functions that it does not change are left
    out: what a function means does not depend on them.
    """

    def __init__(self, syntax: SyntaxTree, settings: Settings) -> None:
        self._syntax = syntax
        self._settings = settings
        self._effort = _LARGEST_EFFORT
        # By the functions that a trial reads, the edits that delete the others, and what is found without a fix.
        self._extracts: dict[frozenset[OperationNode], tuple[list[Edit], list[TextDiagnostic]]] = {}

    @property
    def exhausted(self) -> bool:
        return self._effort <= 0

    def helps(self, edits: Sequence[Edit], diagnostic: TextDiagnostic) -> bool:
        """Whether a finding is gone with some edits, and no new error is there."""
        functions = self._functions(edits, diagnostic)
        if functions not in self._extracts:
            cuts = self._cuts(functions)
            self._extracts[functions] = cuts, self._findings(apply(self._syntax.text, cuts))
        cuts, before = self._extracts[functions]
        together = sorted([*cuts, *edits], key=lambda edit: (edit.start, edit.end))
        text = apply(self._syntax.text, together)
        after = self._findings(text)
        counts, key = Counter(map(_key, before)), _key(diagnostic)
        if Counter(map(_key, after))[key] >= counts[key]:
            return False
        # The verifier runs only where the reader finds nothing: its findings may have been there before,
        # unless it is about what was changed.
        was_unread = any(found.code == _SYNTAX for found in before)
        start = edits[0].start + _growth([edit for edit in cuts if edit.end <= edits[0].start])
        start = text.rfind("\n", 0, start) + 1
        end = edits[-1].end + _growth([edit for edit in together if edit.end <= edits[-1].end])
        for found in after:
            if found.severity == "error":
                counts[_key(found)] -= 1
                is_known = was_unread and found.code != _SYNTAX and not start <= found.start <= end
                if counts[_key(found)] < 0 and not is_known:
                    return False
        return True

    def _findings(self, text: str) -> list[TextDiagnostic]:
        syntax = SyntaxTree(text)
        self._effort -= len(syntax.tokens)
        return verified(syntax, EditedText(syntax.written, self._settings.version), self._settings).diagnostics

    def _functions(self, edits: Sequence[Edit], diagnostic: TextDiagnostic) -> frozenset[OperationNode]:
        """The functions that a fix changes; none if the whole text has to be read."""
        # An edit that opens or closes regions moves operations into others.
        changed = "".join([edit.text + self._syntax.text[edit.start : edit.end] for edit in edits])
        if "{" in changed or "}" in changed:
            return frozenset()
        offsets = [diagnostic.start, *[edit.start for edit in edits]]
        around = [self._syntax.operation_at(offset) for offset in offsets]
        found = [each.functions[-1:] if each is not None else [] for each in around]
        return frozenset([each[0] for each in found]) if all(found) else frozenset()

    def _cuts(self, functions: frozenset[OperationNode]) -> list[Edit]:
        others = [each for each in self._syntax.operations if each.declaration is ENTRY and len(each.functions) == 1]
        spans = [self._syntax.span(each.first, each.last) for each in others if each not in functions]
        return [Edit(start, end, "") for start, end in spans] if functions else []


def _growth(edits: list[Edit]) -> int:
    """How much longer a text is after edits."""
    return sum([len(edit.text) - (edit.end - edit.start) for edit in edits])


def _key(diagnostic: TextDiagnostic) -> str:
    """The key of a finding: messages may show an operation with its values numbered."""
    return f"{diagnostic.severity}: {_NUMBERED.sub('%', diagnostic.message)}"


def names_in_text(analysis: Analysis, node: OperationNode | None = None) -> dict[Value, str]:
    """The name of each value in the text, or in an operation: `%x`, or `%x#1` for one of several results."""
    found: dict[Value, str] = {}
    syntax, names = analysis.syntax, analysis.syntax.names
    if node is not None:
        names = [name for name in map(syntax.name_at, range(node.first, node.last + 1)) if name is not None]
    for name in names:
        value = analysis.value_of(name) if name.kind == VALUE else None
        if value is None or name.definition is None:
            continue
        tokens = syntax.tokens
        if not isinstance(value, OperationResult) or tokens[name.definition + 1] != ":":
            found[value] = name.text
            continue
        count = int(tokens[name.definition + 2]) if tokens[name.definition + 2].isdecimal() else 1
        for number, result in enumerate(value.operation.results[value.index : value.index + count]):
            found[result] = f"{name.text}#{number}"
    return found


def printed(analysis: Analysis, node: OperationNode | None, generic: bool = False) -> Edit | None:
    """The edit that writes an operation as the printer does, up to its first region; None if it cannot be.

    Operations that the reader inserted before it (such as a conversion) have no names in the text: then there is none.
    """
    syntax, operation = analysis.syntax, analysis.operation_of(node)
    if node is None or operation is None:
        return None
    names = names_in_text(analysis, node)
    if any(value not in names for value in (*operation.operands, *operation.results)):
        return None
    printer = Printer(generic=generic)
    printer.elide = not generic and "." not in syntax.tokens[node.name]
    printer.naming.name_regions(operation)
    printer.names.update(names)
    printer.print_operation(operation)
    text = printer.text()
    # The location after it stays.
    last = node.last
    if syntax.tokens[last] == ")" and "loc" in syntax.tokens[node.name : last]:
        last = max(token for token in range(node.name, last) if syntax.tokens[token] == "loc") - 1
    if node.regions:
        last = node.regions[0].opening
        braces = [match.end() for match in TOKEN.finditer(text) if match[1] == "{"]
        text = text[: next((end for end in braces if text[end : end + 1] == "\n"), 0)]
    start, end = syntax.span(node.first, last)
    return Edit(start, end, text) if text and syntax.text[start:end] != text else None
