"""What the parser, the verifier and lint report about a text, and the program that was read from it."""

from __future__ import annotations

from collections.abc import Generator
from copy import copy
from dataclasses import dataclass, field
from typing import NamedTuple

from tileir.analyze.lint.configuration import LintOptions, forget, options_for
from tileir.analyze.lint.fixes import LintFix, WrittenText, text_edits
from tileir.analyze.lint.linting import lint_steps
from tileir.analyze.lint.rule import LintFinding
from tileir.analyze.lint.rules import RULES
from tileir.analyze.suggestions import begin_text, suggest
from tileir.forking import cached_property
from tileir.ir.core import Operation
from tileir.ir.declaration import VerifyContext
from tileir.ir.diagnostics import Diagnostic, TileIRError, note, source_of
from tileir.ir.location import UNKNOWN, CharacterLocation, Location, TextLocation
from tileir.ir.types import Type
from tileir.ir.values import Value
from tileir.ir.verifier import verify_operation
from tileir.rewrite.facts import Facts
from tileir.serve.language.document.scanner import OperationNode
from tileir.serve.language.document.tree import Edit, Name, SyntaxTree
from tileir.serve.language.settings import Settings
from tileir.text.edits import EditedText


@dataclass
class TextNote:
    """A note of a diagnostic; `start` is -1 if it has no location in the text."""

    message: str
    start: int
    end: int


class Fix(NamedTuple):
    """The title that an editor shows, and the edits, in the order of the text; of lint also the rule's fix."""

    title: str
    edits: tuple[Edit, ...]
    of_lint: LintFix | None = None


@dataclass
class TextDiagnostic:
    """A diagnostic, and the characters of the text it is about.

    `code` is what an editor shows: "syntax", "verification", "doubtful", "draft-spelling", or the name of a lint rule,
    which is `rule` too.  `cause` and `values` are the code and the values of the diagnostic, for quick fixes.
    """

    severity: str
    message: str
    start: int
    end: int
    code: str
    notes: list[TextNote] = field(default_factory=list)
    rule: str | None = None
    fix: Fix | None = None
    cause: str = ""
    values: dict[str, str] = field(default_factory=dict)


@dataclass(eq=False)
class Analysis:
    """The program of a text, and the diagnostics about it."""

    syntax: SyntaxTree
    module: Operation | None
    """What could be read, also if parts of the text are broken."""
    diagnostics: list[TextDiagnostic]
    is_verified: bool = False
    """Whether the whole text was read and verified."""
    is_linted: bool = False
    facts: Facts = field(default_factory=Facts)

    @property
    def has_errors(self) -> bool:
        return any(diagnostic.severity == "error" for diagnostic in self.diagnostics)

    # --- from the text to the program ---

    def operation_of(self, node: OperationNode | None) -> Operation | None:
        """The operation that was read from a node, None if it could not be read."""
        return self._by_name.get(node.name) if node is not None else None

    @cached_property
    def _by_name(self) -> dict[int, Operation]:
        """The operations by the tokens of their names; an implicit terminator has none of its own."""
        found: dict[int, Operation] = {}
        for operation in self.module.walk() if self.module is not None else ():
            location = operation.location
            if isinstance(location, TextLocation):
                if not operation.declaration.is_terminator or location.token not in found:
                    found[location.token] = operation
        return found

    def value_of(self, name: Name) -> Value | None:
        """The value that has a name, None if its definition could not be read."""
        node, operation = name.operation, self.operation_of(name.operation)
        if name.definition is None or node is None or operation is None:
            return None
        if name.definition in node.results:
            tokens, index = self.syntax.tokens, 0
            for result in node.results[: node.results.index(name.definition)]:
                is_counted = tokens[result + 1] == ":" and tokens[result + 2].isdigit() and len(tokens[result + 2]) < 6
                index += int(tokens[result + 2]) if is_counted else 1
            return operation.results[index] if index < len(operation.results) else None
        for block in [block for region in operation.regions for block in region.blocks]:
            for argument in block.arguments:
                if isinstance(argument.location, TextLocation) and argument.location.token == name.definition:
                    return argument
        return None

    def type_of(self, name: Name) -> Type | None:
        """The type of a value; if its definition is broken, the type with which another operation uses it."""
        value = self.value_of(name)
        if value is not None:
            return value.type
        for use in name.uses:
            node = self.syntax.operation_of_token(use)
            operation = self.operation_of(node)
            if operation is None or node is None or node.regions:
                continue
            # If the text has as many values as the operation has operands, they are in the same order.
            tokens = self.syntax.tokens
            operands = [token for token in range(node.name + 1, node.last + 1) if tokens[token][:1] == "%"]
            if use in operands and len(operands) == len(operation.operands):
                return operation.operands[operands.index(use)].type
        return None


def verified(syntax: SyntaxTree, text: EditedText, settings: Settings, *, suggests: bool = False) -> Analysis:
    """The diagnostics about a text that was read, in the order of the text, each once.

    With `suggests` notes of errors suggest what may have been meant.
    """
    begin_text()
    found = [located(each, syntax, "syntax", suggests=suggests) for each in text.diagnostics]
    is_complete = text.module is not None and text.complete
    if is_complete:
        context = VerifyContext(settings.version, "ignore")
        verify_operation(text.module, context)
        found.extend([located(each, syntax, "verification", suggests=suggests) for each in context.diagnostics])
    unique: dict[tuple[int, int, str, str], TextDiagnostic] = {}
    for each in found:
        unique.setdefault((each.start, each.end, each.severity, each.message), each)
    return Analysis(syntax, text.module, [unique[key] for key in sorted(unique)], is_complete)


def located(diagnostic: Diagnostic, syntax: SyntaxTree, code: str, *, suggests: bool = False) -> TextDiagnostic:
    """A diagnostic with its characters."""
    notes = diagnostic.notes
    if suggests and diagnostic.severity == "error":
        # A copy, because the diagnostic is located again after the next edit.
        extended = copy(diagnostic)
        extended.notes = list(notes)
        suggest(extended)
        notes = extended.notes
    start, end = _extent(diagnostic.location, syntax)
    code = {"warning": "doubtful", "remark": "draft-spelling"}.get(diagnostic.severity, code)
    found = TextDiagnostic(diagnostic.severity, diagnostic.message, start, end, code)
    found.notes = [TextNote(each.message, *_extent(each.location, syntax, -1)) for each in notes]
    found.cause, found.values = diagnostic.code, diagnostic.values
    return found


def _extent(location: Location, syntax: SyntaxTree, unknown: int = 0) -> tuple[int, int]:
    """The characters of a location: a token, or from a character to the end of its token."""
    if isinstance(location, CharacterLocation):
        start = min(location.offset, len(syntax.text))
        token = syntax.token_at(start)
        return start, max(syntax.end(token), start) if token is not None else start
    if isinstance(location, TextLocation):
        return syntax.span(min(location.token, len(syntax.starts) - 1))
    return unknown, unknown


def lint(path: str, analysis: Analysis, settings: Settings) -> Generator[None, None, list[TextDiagnostic]]:
    """The lint findings in a program without errors, a rule at a time.

    The rules of the project apply (`[tool.tileir.lint]` of its pyproject.toml), with the editor's settings on top.
    """
    if analysis.module is None or analysis.has_errors:
        return []
    options = LintOptions(settings.lint_select, (), settings.lint_ignore, settings.targets or None)
    # The project may have changed since the last time.
    forget()
    try:
        findings = yield from lint_steps(analysis.module, options_for(path, options).settings(path))
    except TileIRError as error:
        return [TextDiagnostic("warning", error.message, 0, 0, "configuration")]
    sources: list[WrittenText] = []
    return [_lint_diagnostic(analysis.syntax, finding, sources) for finding in findings]


def _lint_diagnostic(syntax: SyntaxTree, finding: LintFinding, sources: list[WrittenText]) -> TextDiagnostic:
    notes = [note(message, about.location if about is not None else UNKNOWN) for message, about in finding.notes]
    rule = RULES.get(finding.rule)
    if rule is not None:
        notes += [note(rule.reason, UNKNOWN), note(f"help: {finding.remedy or rule.remedy}", UNKNOWN)]
    found = located(Diagnostic(finding.severity, finding.message, finding.location, notes), syntax, finding.rule)
    found.code = found.rule = finding.rule
    source = source_of(finding.operation.location) if finding.operation is not None else None
    if finding.fix is not None and source is not None and source.text == syntax.text:
        if not sources:
            # Once for all findings: it goes through the whole text.
            sources.append(WrittenText(source))
        edits = text_edits(finding.fix, sources[0])
        if edits is not None:
            found.fix = Fix(finding.fix.title, tuple([Edit(*each) for each in edits]), finding.fix)
    return found
