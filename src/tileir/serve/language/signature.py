"""The syntax of the operation that is being written, with the part that is to come."""

from __future__ import annotations

from typing import Final

from lsprotocol import types as lsp

from tileir.analyze.documentation.grammar import results_form
from tileir.analyze.documentation.pages import prose
from tileir.serve.language.completion_parts import part_words
from tileir.serve.language.document import Document
from tileir.serve.language.forms import WORD, Part
from tileir.serve.language.places import Place
from tileir.serve.language.statement import Statement

TRIGGERS: Final = [" ", ",", "<", "(", "[", ":", "=", ">"]


def signature_help(document: Document, position: lsp.Position) -> lsp.SignatureHelp | None:
    """The form of the statement at a position; None where no operation is named yet."""
    place = Place(document, document.offset(position))
    statement = place.statement
    if statement is None or place.is_quiet:
        return None
    declaration = statement.form.declaration
    # Of a statement with regions only the line before them is written with this at hand.
    if place.written is not None and any(region.opening < place.last for region in place.written.regions):
        return None
    shift = len(results_form(declaration))
    label = results_form(declaration) + statement.form.line
    shown = [part for part in statement.form.parts if part.kind != WORD or part.name[:1].isalpha()]
    parameters = [
        lsp.ParameterInformation(
            (part.start + shift, part.end + shift),
            lsp.MarkupContent(lsp.MarkupKind.Markdown, part_words(declaration, part)),
        )
        for part in shown
    ]
    active = _active(statement, shown)
    summary = lsp.MarkupContent(lsp.MarkupKind.Markdown, f"{prose(declaration.summary)}.")
    information = lsp.SignatureInformation(label, summary, parameters, active)
    return lsp.SignatureHelp([information], 0, active)


def _active(statement: Statement, shown: list[Part]) -> int | None:
    """The part that the cursor is in or before; behind the last one, that one."""
    if statement.inside is not None and statement.inside in shown:
        return shown.index(statement.inside)
    expected = [part for part in statement.expected if part in shown]
    # What must come tells more than what may.
    required = [part for part in expected if part.kind != WORD]
    if expected:
        return shown.index((required or expected)[0])
    last = statement.part(statement.read - 1)
    if last is not None and last in shown:
        return shown.index(last)
    before = [number for number, part in enumerate(shown) if last is not None and part.start < last.start]
    return before[-1] if before else None
