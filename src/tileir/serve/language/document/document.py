r"""A text that an editor changes: edits, and positions in the units that editor and server agreed upon.

Offsets count characters of Python; the protocol counts the units of UTF-16, or what was negotiated, in a line.  Lines
end as the protocol says: at `\n`, `\r\n` or `\r`.
"""

from __future__ import annotations

import logging
import re
from bisect import bisect_left, bisect_right
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from lsprotocol import types as lsp

from tileir.collector import CollectorPaused
from tileir.serve.language.document.analysis import Analysis, TextDiagnostic, read, verified
from tileir.serve.language.document.tree import SyntaxTree
from tileir.serve.language.settings import Settings
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
        self,
        uri: str,
        text: str,
        version: int | None = None,
        *,
        encoding: lsp.PositionEncodingKind | str = lsp.PositionEncodingKind.Utf16,
        settings: Settings | None = None,
    ) -> None:
        self.uri = uri
        self.version = version
        self._encoding, self._unit = _UNITS[lsp.PositionEncodingKind(encoding)]
        self.settings = settings if settings is not None else Settings()
        self.text = _without_surrogates(text)
        self._line_starts = line_starts(self.text)
        # The tokens, the program that was read from them, and the edits since.
        self._written: TokenText | None = None
        self._edited: EditedText | None = None
        self._change: TokenChange | None = None
        self._syntax: SyntaxTree | None = None
        # The tree of an earlier text, and the edits since.
        self._old_syntax: SyntaxTree | None = None
        self._syntax_change: TokenChange | None = None
        self._analysis: Analysis | None = None

    @property
    def path(self) -> str:
        """The file; empty if there is none."""
        return path_of(self.uri)

    # --- positions ---

    @property
    def line_count(self) -> int:
        return len(self._line_starts)

    def line_start(self, line: int) -> int:
        """Where a line begins; the end of the text for one behind the last."""
        return self._line_starts[line] if line < len(self._line_starts) else len(self.text)

    def line_end(self, line: int) -> int:
        """Where a line ends, without its line break."""
        start = self.line_start(line)
        end = self.line_start(line + 1)
        return start + len(self.text[start:end].rstrip("\r\n"))

    def line_of(self, offset: int) -> int:
        return bisect_right(self._line_starts, offset) - 1

    def line_text(self, offset: int) -> str:
        """The line at an offset."""
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

    def workspace_edit(self, edits: list[lsp.TextEdit]) -> lsp.WorkspaceEdit:
        """Edits of this document, at its version if it has one."""
        if self.version is None:
            return lsp.WorkspaceEdit(changes={self.uri: edits})
        versioned = lsp.OptionalVersionedTextDocumentIdentifier(self.uri, self.version)
        return lsp.WorkspaceEdit(document_changes=[lsp.TextDocumentEdit(versioned, list(edits))])

    # --- edits ---

    def change(self, change: lsp.TextDocumentContentChangeEvent) -> None:
        """Apply an edit of the protocol: of a range, or of the whole text."""
        if isinstance(change, lsp.TextDocumentContentChangePartial):
            start, end = self.offset(change.range.start), self.offset(change.range.end)
            self.replace(min(start, end), max(start, end), change.text)
        else:
            self.replace(*_difference(self.text, _without_surrogates(change.text)))

    def replace(self, start: int, end: int, new: str) -> None:
        """Replace the text between two offsets."""
        text, new = self.text, _without_surrogates(new)
        starts = self._line_starts
        # Lines whose end the edit touches are split again; `\r` before it may be half of an end.
        first = max(bisect_left(starts, start) - 1, 0)
        begin = starts[first]
        last = bisect_right(starts, end)
        finish = starts[last] if last < len(starts) else len(text)
        difference = len(new) - (end - start)
        changed = text[begin:start] + new + text[end:finish]
        if changed[-1:] == "\r" and text[finish : finish + 1] == "\n":
            finish += 1
            changed += "\n"
            last += 1
        replaced = [begin + match.end() for match in _LINE_END.finditer(changed)]
        if last < len(starts) and replaced and replaced[-1] == finish + difference:
            replaced.pop()
        starts[first + 1 :] = replaced + (
            [each + difference for each in starts[last:]] if difference else starts[last:]
        )
        self.text = text[:start] + new + text[end:]
        self._update(start, end, new)

    def _update(self, start: int, end: int, new: str) -> None:
        """Forget what an edit changes."""
        if self._syntax is not None:
            self._old_syntax, self._syntax, self._syntax_change = self._syntax, None, None
        self._analysis = None
        if self._written is None or start == 0 or len(self.text) > LARGEST:
            # At the start a byte order mark may have come or gone.
            self._written = self._edited = self._change = self._old_syntax = None
            return
        change = self._written.replace(start, end, new)
        self._change = self._change.then(change) if self._change is not None else change
        self._syntax_change = self._syntax_change.then(change) if self._syntax_change is not None else change

    # --- syntax and analysis ---

    @property
    def syntax(self) -> SyntaxTree:
        """The syntax tree of the text as it is now; that of an empty text if this one is too large."""
        if self._syntax is None:
            self._syntax = SyntaxTree("") if len(self.text) > LARGEST else SyntaxTree(self.text, self._tokens())
            if self._old_syntax is not None and self._syntax_change is not None:
                self._syntax.take_over(self._old_syntax, self._syntax_change)
            self._old_syntax = self._syntax_change = None
        return self._syntax

    def _tokens(self) -> TokenText:
        if self._written is None:
            # A byte order mark is no part of a program; a blank in its place keeps all offsets.
            text = self.text
            self._written = TokenText(" " + text[1:] if text.startswith("\ufeff") else text)
            self._edited = self._change = None
        return self._written

    @property
    def analysis(self) -> Analysis:
        """What the parser and the verifier report about the text as it is now."""
        if self._analysis is None:
            if len(self.text) > LARGEST:
                self._analysis = Analysis(self.syntax, None, [_TOO_LARGE])
                return self._analysis
            with CollectorPaused():
                self._analysis = verified(self.syntax, self._read(self._tokens()), self.settings)
        return self._analysis

    def _read(self, written: TokenText) -> EditedText:
        change, self._change = self._change, None
        if self._edited is not None and change is not None:
            try:
                self._edited.update(change)
            except Exception:
                _LOG.exception("an edit could not be read by itself: the whole text is read")
                self._edited = None
        if self._edited is None:
            self._edited = read(written, self.settings)
        return self._edited

    def configure(self, settings: Settings) -> None:
        """Analyze the text with other settings from now on."""
        if settings != self.settings:
            self.settings = settings
            self._edited = self._analysis = None


def _difference(old: str, new: str) -> tuple[int, int, str]:
    """The edit that makes one text of another: two offsets, and the text between them."""
    shortest = min(len(old), len(new))
    start = _common(old, new, shortest)
    end = _common(old[::-1], new[::-1], shortest - start)
    return start, len(old) - end, new[start : len(new) - end]


def _common(old: str, new: str, most: int) -> int:
    """How many characters at the begin two texts share, up to a number: a binary search."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if old[:middle] == new[:middle] else (low, middle - 1)
    return low


def line_starts(text: str) -> list[int]:
    return [0, *[match.end() for match in _LINE_END.finditer(text)]]


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


def uri_of(path: str) -> str:
    return Path(path).absolute().as_uri()
