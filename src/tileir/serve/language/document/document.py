r"""A text that an editor changes: edits, and positions in the units that editor and server agreed upon.

Offsets count characters of Python; the protocol counts the units of UTF-16, or what was negotiated, in a line.  Lines
end as in the protocol: at `\n`, `\r\n` or `\r`.
"""

from __future__ import annotations

import logging
import re
from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from lsprotocol import types as lsp

from tileir.collector import CollectorPaused
from tileir.serve.language.document.analysis import Analysis, TextDiagnostic, verified
from tileir.serve.language.document.tree import Edit, SyntaxTree
from tileir.serve.language.settings import DEFAULT, Settings
from tileir.text.edits import EditedText, TokenChange, TokenText

_LOG = logging.getLogger(__name__)
# A text of more characters, some 200,000 operations, is not analyzed.
LARGEST = 10_000_000
_TOO_LARGE = TextDiagnostic(
    "remark", "this text is too long to be read while it is written: 'tileir check' checks it", 0, 0, "too-long"
)
_LINE_END = re.compile(r"\r\n|\n|\r")
# For each unit of the protocol, the encoding that counts it, and the bytes of a unit.
_UNITS = {
    lsp.PositionEncodingKind.Utf8: ("utf-8", 1),
    lsp.PositionEncodingKind.Utf16: ("utf-16-le", 2),
    lsp.PositionEncodingKind.Utf32: ("utf-32-le", 4),
}


class Document:
    """A text at a version, its syntax tree and its analysis."""

    def __init__(
        self, uri: str, text: str, version: int | None = None, *, encoding: str = "utf-16", settings: Settings = DEFAULT
    ) -> None:
        self.uri = uri
        self.version = version
        self._encoding, self._unit = _UNITS[lsp.PositionEncodingKind(encoding)]
        self.settings = settings
        self.text = _without_surrogates(text)
        self.proved: tuple[str, list[TextDiagnostic]] = ("", [])
        """What a proof has refuted, and of which text."""
        self._line_starts = line_starts(self.text)
        # The tokens; what was made of them, and the edits since.
        self._written: TokenText | None = None
        self._syntax: SyntaxTree | None = None
        self._edited: EditedText | None = None
        self._change: TokenChange | None = None
        self._analysis: Analysis | None = None

    @property
    def path(self) -> str:
        """The file; empty if there is none."""
        return path_of(self.uri)

    def line_start(self, line: int) -> int:
        """Where a line begins; the end of the text for one after the last."""
        return self._line_starts[line] if line < len(self._line_starts) else len(self.text)

    def line_end(self, line: int) -> int:
        """Where a line ends, without its line break."""
        start = self.line_start(line)
        end = self.line_start(line + 1)
        return start + len(self.text[start:end].rstrip("\r\n"))

    def line_of(self, offset: int) -> int:
        return bisect_right(self._line_starts, offset) - 1

    def line_text(self, offset: int) -> str:
        line = self.line_of(offset)
        return self.text[self.line_start(line) : self.line_end(line)]

    def offset(self, position: lsp.Position) -> int:
        """The offset of a position; of one outside of its line or of the text, the nearest inside."""
        if position.line < 0:
            return 0
        start, end = self.line_start(position.line), self.line_end(position.line)
        units = max(position.character, 0)
        line = self.text[start:end]
        if line.isascii():
            return min(start + units, end)
        # The middle of a character counts as its begin.
        return start + len(line.encode(self._encoding)[: units * self._unit].decode(self._encoding, "ignore"))

    def position(self, offset: int) -> lsp.Position:
        offset = min(max(offset, 0), len(self.text))
        line = self.line_of(offset)
        before = self.text[self._line_starts[line] : offset]
        return lsp.Position(line, len(before) if before.isascii() else len(before.encode(self._encoding)) // self._unit)

    def range(self, start: int, end: int) -> lsp.Range:
        return lsp.Range(self.position(start), self.position(end))

    def token_range(self, first: int, last: int | None = None) -> lsp.Range:
        """The range of a token, or of the tokens up to another one."""
        return self.range(*self.syntax.span(first, last))

    def text_edits(self, edits: Iterable[Edit]) -> list[lsp.TextEdit]:
        return [lsp.TextEdit(self.range(edit.start, edit.end), edit.text) for edit in edits]

    def workspace_edit(self, edits: list[lsp.TextEdit]) -> lsp.WorkspaceEdit:
        """Edits of this document, at its version if it has one."""
        if self.version is None:
            return lsp.WorkspaceEdit(changes={self.uri: edits})
        versioned = lsp.OptionalVersionedTextDocumentIdentifier(self.uri, self.version)
        return lsp.WorkspaceEdit(document_changes=[lsp.TextDocumentEdit(versioned, list(edits))])

    def change(self, change: lsp.TextDocumentContentChangeEvent) -> None:
        """Apply an edit of the protocol: of a range, or of the whole text."""
        if isinstance(change, lsp.TextDocumentContentChangePartial):
            start, end = self.offset(change.range.start), self.offset(change.range.end)
            self.replace(min(start, end), max(start, end), change.text)
        else:
            self.replace(0, len(self.text), change.text)

    def replace(self, start: int, end: int, new: str) -> None:
        """Replace the text between two offsets."""
        new = _without_surrogates(new)
        self.text = self.text[:start] + new + self.text[end:]
        self._line_starts = line_starts(self.text)
        self._analysis = None
        if self._written is None or start == 0 or len(self.text) > LARGEST:
            # At the start a byte order mark may have come or gone.
            self._written = self._syntax = self._edited = self._change = None
            return
        change = self._written.replace(start, end, new)
        self._change = self._change.then(change) if self._change is not None else change

    @property
    def syntax(self) -> SyntaxTree:
        """The syntax tree of the text as it is now; that of an empty text if this one is too large."""
        if self._syntax is None or self._change is not None:
            self._syntax = self._updated()
        return self._syntax

    def _updated(self) -> SyntaxTree:
        """Follow the edits; the syntax tree."""
        change, self._change = self._change, None
        if len(self.text) > LARGEST:
            return SyntaxTree("")
        if self._written is None:
            # A byte order mark is no part of a program; a blank instead of it keeps all offsets.
            self._written = TokenText(" " + self.text[1:] if self.text.startswith("\ufeff") else self.text)
        syntax = SyntaxTree(self.text, self._written)
        if self._syntax is not None and change is not None:
            syntax.take_over(self._syntax, change)
        if self._edited is not None and change is not None:
            try:
                self._edited.update(change)
            except Exception:
                _LOG.exception("an edit could not be read by itself: the whole text is read")
                self._edited = None
        return syntax

    @property
    def analysis(self) -> Analysis:
        """What the parser and the verifier report about the text as it is now."""
        if self._analysis is None:
            with CollectorPaused():
                syntax = self.syntax
                if len(self.text) > LARGEST:
                    self._analysis = Analysis(syntax, None, [_TOO_LARGE])
                    return self._analysis
                if self._edited is None:
                    self._edited = EditedText(syntax.written, self.settings.version)
                self._analysis = verified(syntax, self._edited, self.settings, suggests=True)
        return self._analysis

    @property
    def diagnostics(self) -> list[TextDiagnostic]:
        return self.analysis.diagnostics

    def configure(self, settings: Settings) -> None:
        """Analyze the text with other settings from now on."""
        if settings != self.settings:
            self.settings = settings
            self._edited = self._analysis = None


def line_starts(text: str) -> list[int]:
    if "\r" in text:
        return [0, *[match.end() for match in _LINE_END.finditer(text)]]
    return [0, *accumulate([len(line) + 1 for line in text.split("\n")[:-1]])]


def _without_surrogates(text: str) -> str:
    """Join or replace halves of surrogate pairs; neither changes the number of units."""
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def path_of(uri: str) -> str:
    """The path of a file URI, empty for another one."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return ""
    return url2pathname(parts.path) if parts.scheme == "file" else ""


def markup(text: str) -> lsp.MarkupContent:
    return lsp.MarkupContent(lsp.MarkupKind.Markdown, text)


def uri_of(path: str) -> str:
    return Path(path).absolute().as_uri()
