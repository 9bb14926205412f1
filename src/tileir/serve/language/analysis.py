"""What the reader and the verifier say about a text, and what they made of it."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field

from tileir.analyze.lint.fixes import LintFix
from tileir.analyze.suggestions import begin_text, suggest
from tileir.ir.core import Operation
from tileir.ir.declaration import VerifyContext
from tileir.ir.diagnostics import Diagnostic
from tileir.ir.location import CharacterLocation, Location, TextLocation
from tileir.ir.types import Type
from tileir.ir.values import OperationResult, Value
from tileir.ir.verifier import verify_operation
from tileir.ir.versions import NEWEST, Version
from tileir.rewrite.facts import Facts
from tileir.serve.language.syntax import Name, Syntax, WrittenOperation
from tileir.text.edits import EditedText, TokenText


@dataclass(frozen=True)
class Settings:
    """How texts are read and what is said about them."""

    version: Version = NEWEST
    hints: str = "ignore"
    draft_spellings: bool = True
    allow_unregistered: bool = False
    snippets: bool = True
    """Whether completions may have placeholders."""
    inlay_types: bool = True
    inlay_shapes: bool = True
    """Which hints are shown in the lines of a text."""
    compile_scripts: bool = False
    """Whether cuTile scripts are compiled when they are saved, which runs them."""
    lint: bool = True
    lint_select: tuple[str, ...] | None = None
    lint_ignore: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    """Whether there is advice, by which rules and for which GPUs, on top of what the project of a file says."""


@dataclass
class PlacedNote:
    """A note of a diagnostic; `start` is -1 where it is not about a place in the text."""

    message: str
    start: int
    end: int


@dataclass
class PlacedFix:
    """What removes a finding of lint: what an editor offers, and edits of the text (start, end, new text), in order."""

    title: str
    edits: list[tuple[int, int, str]]
    fix: LintFix | None = None
    """As the rule has it, by operations."""


@dataclass
class PlacedDiagnostic:
    """A diagnostic, and the characters of the text it is about.

    `code` says which part of the toolkit speaks: "syntax", "verification", "doubtful", "draft-spelling", or the name of
    a rule of lint, which is `rule` too; `fix` is what that rule proposes.  `finding` and `values` are the code and the
    values of the diagnostic.
    """

    severity: str
    message: str
    start: int
    end: int
    code: str
    notes: list[PlacedNote] = field(default_factory=list)
    rule: str | None = None
    fix: PlacedFix | None = None
    finding: str = ""
    values: dict[str, str] = field(default_factory=dict)


class Analysis:
    """What came of a text."""

    def __init__(
        self,
        syntax: Syntax,
        module: Operation | None,
        diagnostics: list[PlacedDiagnostic],
    ) -> None:
        self.syntax = syntax
        self.module = module
        """What could be read, also where parts of the text are broken."""
        self.diagnostics = diagnostics
        self.is_verified = False
        """Whether all of the text was read, and the verifier has looked at it."""
        self.is_advised = False
        """Whether what lint says is among them."""
        self._facts: Facts | None = None

    @property
    def facts(self) -> Facts:
        if self._facts is None:
            self._facts = Facts()
        return self._facts

    # --- from the text to the program ---

    def operation_of(self, written: WrittenOperation) -> Operation | None:
        """The operation that was read from what is written, None where it could not be."""
        if written.name < 0 or self.module is None:
            return None
        return _named_at(self.module, written.name)

    def value_of(self, name: Name) -> Value | None:
        """The value that has a name, None where its definition could not be read."""
        written = name.operation
        if name.definition is None or written is None:
            return None
        operation = self.operation_of(written)
        if operation is None:
            return None
        if name.definition in written.results:
            return self._result(written, operation, name.definition)
        for region in operation.regions:
            for block in region.blocks:
                for argument in block.arguments:
                    if isinstance(argument.location, TextLocation) and argument.location.token == name.definition:
                        return argument
        return None

    def _result(self, written: WrittenOperation, operation: Operation, token: int) -> OperationResult | None:
        index = 0
        for result in written.results:
            if result == token:
                return operation.results[index] if index < len(operation.results) else None
            tokens = self.syntax.tokens
            counted = tokens[result + 1] == ":" and tokens[result + 2].isdigit() and len(tokens[result + 2]) < 6
            index += int(tokens[result + 2]) if counted else 1
        return None

    def type_of(self, name: Name) -> Type | None:
        """The type of a value; where its definition is broken, that with which something else uses it."""
        value = self.value_of(name)
        if value is not None:
            return value.type
        for use in name.uses:
            written = self.syntax.operation_of_token(use)
            operation = self.operation_of(written) if written is not None else None
            if operation is None or written is None:
                continue
            # Only where the operands are written one after the other is it plain which one is meant.
            operands = [
                token
                for token in range(written.name + 1, written.last + 1)
                if self.syntax.tokens[token][:1] == "%" and not written.regions
            ]
            if use in operands and len(operands) == len(operation.operands):
                return operation.operands[operands.index(use)].type
        return None


def _named_at(module: Operation, token: int) -> Operation | None:
    """The operation whose name is a token, looked for in the operations around it alone."""
    place = module.location
    if isinstance(place, TextLocation) and place.token == token and not isinstance(place, CharacterLocation):
        return module
    around = [module]
    while around:
        found: Operation | None = None
        inside: list[Operation] = []
        for region in [region for operation in around for region in operation.regions]:
            for operation in [operation for block in region.blocks for operation in block]:
                location = operation.location
                if isinstance(location, TextLocation) and location.token == token:
                    # One name may stand for several operations: the last is what is written.
                    found = operation
                elif not operation.regions:
                    continue
                elif not isinstance(location, TextLocation):
                    inside.append(operation)
                elif location.token < token:
                    inside = [operation]
        if found is not None:
            return found
        around = inside
    return None


def analyze(text: str, syntax: Syntax, settings: Settings) -> Analysis:
    """Read and verify a whole text."""
    return verified(syntax, read(syntax.written, settings), settings)


def read(written: TokenText, settings: Settings) -> EditedText:
    """Read a whole text, so that it can be read again after edits."""
    return EditedText(written, settings.version, settings.allow_unregistered, settings.draft_spellings)


def verified(syntax: Syntax, found: EditedText, settings: Settings) -> Analysis:
    """What there is to say about a text that was read."""
    surrogate = _lone_surrogate(syntax.text)
    if surrogate >= 0:
        words = "text has half of a surrogate pair"
        return Analysis(syntax, None, [PlacedDiagnostic("error", words, surrogate, surrogate + 1, "syntax")])
    begin_text()
    placed = [place(each, syntax, "syntax") for each in found.diagnostics]
    if found.module is not None and found.complete:
        context = VerifyContext(settings.version, settings.hints)
        verify_operation(found.module, context)
        placed.extend([place(each, syntax, "verification") for each in context.diagnostics])
    analysis = Analysis(syntax, found.module, in_order(placed))
    analysis.is_verified = found.module is not None and found.complete
    return analysis


def _lone_surrogate(text: str) -> int:
    """Where a text has half of a pair that stands for no byte; -1 where it has none."""
    if not text.isascii():
        try:
            text.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError as failure:
            return failure.start
    return -1


def in_order(placed: list[PlacedDiagnostic]) -> list[PlacedDiagnostic]:
    """Diagnostics from the top of the text to its end, each once."""
    kept: dict[tuple[int, int, str, str], PlacedDiagnostic] = {}
    for each in placed:
        kept.setdefault((each.start, each.end, each.severity, each.message), each)
    return [kept[key] for key in sorted(kept)]


def place(diagnostic: Diagnostic, syntax: Syntax, code: str) -> PlacedDiagnostic:
    """Where in the text a diagnostic is, with what may have been meant among its notes."""
    notes = diagnostic.notes
    if diagnostic.severity == "error":
        # A copy, because the diagnostic is placed again after the next edit.
        with_more = copy(diagnostic)
        with_more.notes = list(notes)
        suggest(with_more)
        notes = with_more.notes
    start, end = extent(diagnostic.location, syntax)
    placed = [PlacedNote(note.message, *extent(note.location, syntax, -1)) for note in notes]
    rule = {"warning": "doubtful", "remark": "draft-spelling"}.get(diagnostic.severity, code)
    found = PlacedDiagnostic(diagnostic.severity, diagnostic.message, start, end, rule, placed)
    found.finding, found.values = diagnostic.code, diagnostic.values
    return found


def extent(location: Location, syntax: Syntax, nowhere: int = 0) -> tuple[int, int]:
    """The characters that a location means: a token, or from a character to the end of its token."""
    if isinstance(location, CharacterLocation):
        start = min(location.offset, len(syntax.text))
        token = syntax.token_at(start)
        return start, max(syntax.end(token), start) if token is not None else start
    if isinstance(location, TextLocation):
        token = min(location.token, len(syntax.starts) - 1)
        return syntax.starts[token], syntax.end(token)
    return nowhere, nowhere
