"""Programs for the tests of the language server: all there are, piece by piece, and a text with a mark in it."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

from lsprotocol import types as lsp

from tileir.serve.language.document.document import Document

ROOT = Path(__file__).parents[3]
EXAMPLES = sorted((ROOT / "examples").glob("*.mlir"))
_SEPARATOR = re.compile(r"^// -----$", re.MULTILINE)
URI = "file:///k.mlir"


def pieces() -> list[str]:
    """The examples and the programs of the tests, valid and invalid, each on its own."""
    paths = [*EXAMPLES, *sorted((ROOT / "tests/programs").rglob("*.mlir"))]
    return [piece for path in paths for piece in _SEPARATOR.split(path.read_text())]


def marked(text: str) -> tuple[Document, lsp.Position]:
    """A document, and the position where its text had a `|`."""
    place = text.index("|")
    document = Document(URI, text[:place] + text[place + 1 :])
    return document, document.position(place)


def text_at(document: Document, area: lsp.Range) -> str:
    return document.text[document.offset(area.start) : document.offset(area.end)]


def place_of(area: lsp.Range) -> tuple[int, int]:
    return area.start.line, area.start.character


def applied(document: Document, edits: list[lsp.TextEdit]) -> str:
    """The text of a document after edits."""
    text = document.text
    places = [(document.offset(edit.range.start), document.offset(edit.range.end), edit.new_text) for edit in edits]
    places.sort()
    for (_, end, _), (start, _, _) in pairwise(places):
        assert end <= start, "edits overlap"
    for start, end, new in reversed(places):
        text = text[:start] + new + text[end:]
    return text


def changed(document: Document, edit: lsp.WorkspaceEdit | None) -> str:
    """The text of a document after an edit of the workspace."""
    assert edit is not None and edit.changes is not None and list(edit.changes) == [document.uri]
    return applied(document, list(edit.changes[document.uri]))
