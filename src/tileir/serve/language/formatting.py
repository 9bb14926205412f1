"""Formatting as an editor asks for it: a document, some lines of it, or the line that is being typed.

The layout has one form, two spaces for each level, as what tileir and NVIDIA's tools print; the options of an editor
(how wide a tabulator is, say) do not change it.
"""

from __future__ import annotations

from lsprotocol import types as lsp

from tileir.serve.language.document import Document
from tileir.serve.language.layout import CONTINUATION, INDENTATION, Edit, layout_edits
from tileir.serve.language.syntax import Syntax


def format_document(document: Document) -> list[lsp.TextEdit]:
    """The edits that lay a document out."""
    return [_edit(document, edit) for edit in layout_edits(document.syntax)]


def format_range(document: Document, area: lsp.Range) -> list[lsp.TextEdit]:
    """The edits that lay out the lines of a range."""
    start = document.offset(lsp.Position(area.start.line, 0))
    # A selection of whole lines ends at the start of the line behind them.
    last = area.end.line - 1 if area.end.character == 0 and area.end.line > area.start.line else area.end.line
    end = document.text.find("\n", document.offset(lsp.Position(last, 0)))
    end = len(document.text) if end < 0 else end
    found = []
    for edit in layout_edits(document.syntax):
        # An edit begins at the end of a line, and what it changes is the indentation of the next one.
        touched = edit.start + document.text[edit.start : edit.end].rfind("\n") + 1 if "\n" in edit.text else edit.start
        if start <= touched <= end and edit.end <= end + 1:
            found.append(_edit(document, edit))
    return found


def format_on_type(document: Document, position: lsp.Position, character: str) -> list[lsp.TextEdit]:
    """The indentation of the line in which a `}` was typed, or that a new line begins."""
    offset = document.offset(position)
    start = document.text.rfind("\n", 0, offset) + 1
    line = document.text[start:].partition("\n")[0].rstrip("\r")
    content = line.lstrip(" \t")
    if character == "}" and content[:1] != "}":
        return []
    if character == "\n" and not content and line and offset < start + len(line):
        # The caret stands before blanks that the editor has put there itself.
        offset = start
    wanted = _indentation(document.syntax, start, content)
    written = line[: len(line) - len(content)]
    if wanted == written:
        return []
    return [_edit(document, Edit(start, start + len(written), wanted))]


def _indentation(syntax: Syntax, start: int, content: str) -> str:
    """How far in a line stands that begins at a character."""
    depth = 0
    region = syntax.region_at(start)
    before = [operation for operation in region.operations if syntax.starts[operation.first] < start]
    continues = bool(before) and _is_open(syntax, before[-1].first, start)
    while region.owner is not None:
        depth += 1
        region = region.owner.region
    if content[:1] == "}" or (content[:1] == "^" and not continues):
        depth = max(depth - 1, 0)
    return INDENTATION * depth + (CONTINUATION if continues and content[:1] not in (")", "]") else "")


def _is_open(syntax: Syntax, first: int, end: int) -> bool:
    """Whether what begins at a token needs more behind a place: a bracket is open, or the last word is a comma."""
    if syntax.starts[first] >= end:
        return False
    depth = 0
    last = ""
    for index in range(first, len(syntax.tokens)):
        if syntax.starts[index] >= end or not syntax.tokens[index]:
            break
        last = syntax.tokens[index]
        depth += last in ("(", "[", "<")
        depth -= last in (")", "]", ">")
    return depth > 0 or last in (",", "=", "->", ":")


def _edit(document: Document, edit: Edit) -> lsp.TextEdit:
    return lsp.TextEdit(document.range(edit.start, edit.end), edit.text)
