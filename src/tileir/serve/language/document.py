r"""A text that an editor changes: edits, and positions in the units that editor and server agreed upon.

Offsets count characters of Python; the protocol counts the units of UTF-16, or what was negotiated, in a line.  Lines
end as the protocol says: at `\n`, `\r\n` or `\r`.
"""

from __future__ import annotations

import logging
import re
from bisect import bisect_left, bisect_right

from lsprotocol import types as lsp

from tileir.collector import CollectorPaused
from tileir.serve.language.analysis import Analysis, PlacedDiagnostic, Settings, read, verified
from tileir.serve.language.following import follow
from tileir.serve.language.syntax import Syntax
from tileir.text.edits import EditedText, TokenChange, TokenText

_LOG = logging.getLogger(__name__)
# A text of more characters than these, some 200,000 operations, is not read while it is written.
LARGEST = 10_000_000
_TOO_LARGE = PlacedDiagnostic(
    "remark",
    "this text is too long to be read while it is written: 'tileir check' checks it",
    0,
    0,
    "too-long",
)

_LINE_END = re.compile(r"\r\n|\n|\r")
# Characters that take more than one unit, and how many a unit more they take.
_WIDE = {
    lsp.PositionEncodingKind.Utf16: re.compile("[\U00010000-\U0010ffff]"),
    lsp.PositionEncodingKind.Utf8: re.compile("[^\x00-\x7f]"),
}


class Document:
    """A text at a version, and what is known about it."""

    def __init__(
        self,
        uri: str,
        text: str,
        version: int | None = None,
        *,
        encoding: lsp.PositionEncodingKind | str = lsp.PositionEncodingKind.Utf16,
        settings: Settings | None = None,
        language: str = "",
    ) -> None:
        self.uri = uri
        self.version = version
        self.language = language
        self.encoding = lsp.PositionEncodingKind(encoding)
        self.settings = settings if settings is not None else Settings()
        self.text = text
        self._line_starts = _line_starts(text)
        # The wide characters of lines that were asked about: their columns, and where they begin in units.
        self._wide: dict[int, tuple[list[int], list[int]]] = {}
        # The tokens, what was read from them, and the edits since.
        self._written: TokenText | None = None
        self._edited: EditedText | None = None
        self._change: TokenChange | None = None
        self._syntax: Syntax | None = None
        # The structure of an earlier text, and the edits since.
        self._before: Syntax | None = None
        self._moved: TokenChange | None = None
        self._analysis: Analysis | None = None

    # --- positions ---

    @property
    def line_count(self) -> int:
        return len(self._line_starts)

    def line_start(self, line: int) -> int:
        """Where a line begins; the end of the text for one behind the last."""
        return self._line_starts[line] if line < len(self._line_starts) else len(self.text)

    def line_end(self, line: int) -> int:
        """Where the characters of a line end, before what ends the line."""
        if line + 1 >= len(self._line_starts):
            return len(self.text)
        end = self._line_starts[line + 1] - 1
        if self.text[end] == "\n" and end > self._line_starts[line] and self.text[end - 1] == "\r":
            end -= 1
        return end

    def line_of(self, offset: int) -> int:
        return bisect_right(self._line_starts, offset) - 1

    def offset(self, position: lsp.Position) -> int:
        """The offset of a position; one outside of its line or of the text is taken for the nearest inside."""
        line = position.line
        if line < 0:
            return 0
        if line >= len(self._line_starts):
            return len(self.text)
        start, end = self._line_starts[line], self.line_end(line)
        units = max(position.character, 0)
        if self._is_plain(start, end):
            return min(start + units, end)
        columns, places = self._wide_in(line)
        index = bisect_right(places, units) - 1
        if index < 0:
            return min(start + units, end)
        # Behind the last wide character, or in the middle of it: then before it.
        behind = places[index] + self._width(self.text[start + columns[index]])
        column = columns[index] if units < behind else columns[index] + 1 + units - behind
        return min(start + column, end)

    def position(self, offset: int) -> lsp.Position:
        offset = min(max(offset, 0), len(self.text))
        line = self.line_of(offset)
        start = self._line_starts[line]
        end = self.line_end(line)
        column = offset - start
        if not self._is_plain(start, end):
            columns, places = self._wide_in(line)
            index = bisect_left(columns, column) - 1
            if index >= 0:
                behind = places[index] + self._width(self.text[start + columns[index]])
                column = behind + column - columns[index] - 1
        return lsp.Position(line, column)

    def range(self, start: int, end: int) -> lsp.Range:
        return lsp.Range(self.position(start), self.position(end))

    def _is_plain(self, start: int, end: int) -> bool:
        """Whether each character between two offsets is one unit."""
        if self.text.isascii() or self.encoding == lsp.PositionEncodingKind.Utf32:
            return True
        return self.text[start:end].isascii()

    def _width(self, character: str) -> int:
        code = ord(character)
        if self.encoding == lsp.PositionEncodingKind.Utf16:
            return 2 if code > 0xFFFF else 1
        return 1 if code < 0x80 else 2 if code < 0x800 else 3 if code < 0x10000 else 4

    def _wide_in(self, line: int) -> tuple[list[int], list[int]]:
        found = self._wide.get(line)
        if found is None:
            columns: list[int] = []
            places: list[int] = []
            more = 0
            for match in _WIDE[self.encoding].finditer(self.text[self._line_starts[line] : self.line_end(line)]):
                columns.append(match.start())
                places.append(match.start() + more)
                more += self._width(match[0]) - 1
            found = self._wide[line] = (columns, places)
        return found

    # --- edits ---

    def change(self, change: lsp.TextDocumentContentChangeEvent) -> None:
        """Apply an edit of the protocol: of a range, or of the whole text."""
        if isinstance(change, lsp.TextDocumentContentChangePartial):
            start, end = self.offset(change.range.start), self.offset(change.range.end)
            self.replace(min(start, end), max(start, end), change.text)
        else:
            start, end, new = _difference(self.text, change.text)
            self.replace(start, end, new)

    def replace(self, start: int, end: int, new: str) -> None:
        """Put a text in the place of what is between two offsets."""
        text = self.text
        # Halves of a pair that an edit brings together are one character.
        if start and _is_high(text[start - 1]) and _is_low((new + text[end : end + 1])[:1]):
            start -= 1
            new = text[start] + new
        if end < len(text) and _is_low(text[end]) and _is_high(new[-1:]):
            new += text[end]
            end += 1
        if not new.isascii():
            new = _joined(new)
        starts = self._line_starts
        # Lines whose end the edit touches are looked through again; `\r` before it may be half of an end.
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
            [place + difference for place in starts[last:]] if difference else starts[last:]
        )
        self.text = text[:start] + new + text[end:]
        self._follow(start, end, new)

    def _follow(self, start: int, end: int, new: str) -> None:
        """Let go of what is known, but for what an edit leaves."""
        self._wide = {}
        if self._syntax is not None:
            self._before, self._syntax, self._moved = self._syntax, None, None
        self._analysis = None
        if self._written is None:
            self._before = None
            return
        if start == 0 or len(self.text) > LARGEST:
            # A byte order mark may have come or gone.
            self._written = self._edited = self._change = self._before = None
            return
        change = self._written.replace(start, end, new)
        self._change = self._change.then(change) if self._change is not None else change
        self._moved = self._moved.then(change) if self._moved is not None else change

    # --- what is known ---

    @property
    def is_too_large(self) -> bool:
        """Whether a text is longer than what can be read while it is written: nothing is then known about it."""
        return len(self.text) > LARGEST

    @property
    def syntax(self) -> Syntax:
        """The structure of the text as it is now."""
        if self._syntax is None:
            self._syntax = Syntax("") if self.is_too_large else Syntax(self.text, self._tokens())
            if self._before is not None and self._moved is not None:
                follow(self._before, self._syntax, self._moved)
            self._before = self._moved = None
        return self._syntax

    def _tokens(self) -> TokenText:
        if self._written is None:
            # A mark at the begin is no part of a program; a blank in its place keeps all offsets.
            text = self.text
            self._written = TokenText(" " + text[1:] if text.startswith("\ufeff") else text)
            self._edited = self._change = None
        return self._written

    @property
    def analysis(self) -> Analysis:
        """What the reader and the verifier say about the text as it is now."""
        if self._analysis is None:
            if self.is_too_large:
                self._analysis = Analysis(self.syntax, None, [_TOO_LARGE])
                return self._analysis
            written = self._tokens()
            with CollectorPaused():
                if self._edited is None:
                    self._edited = read(written, self.settings)
                elif self._change is not None:
                    change, self._change = self._change, None
                    self._edited = self._read_again(self._edited, change, written)
                self._change = None
                self._analysis = verified(self.syntax, self._edited, self.settings)
        return self._analysis

    def _read_again(self, edited: EditedText, change: TokenChange, written: TokenText) -> EditedText:
        try:
            edited.update(change)
        except Exception:
            # What is half changed would be wrong for good.
            _LOG.exception("a text could not be read again in parts, and is read as a whole")
            return read(written, self.settings)
        return edited

    def configure(self, settings: Settings) -> None:
        """Read the text in another way from now on."""
        if settings != self.settings:
            self.settings = settings
            self._edited = self._analysis = None


def _difference(old: str, new: str) -> tuple[int, int, str]:
    """What makes one text of another: what stands between two offsets becomes something else."""
    start = _common(old, new, min(len(old), len(new)), False)
    end = _common(old, new, min(len(old), len(new)) - start, True)
    return start, len(old) - end, new[start : len(new) - end]


def _common(old: str, new: str, most: int, from_end: bool) -> int:
    """How many characters at the begin, or at the end, two texts share, up to a number."""
    same, step = 0, most
    while step:
        if from_end:
            equal = old[len(old) - same - step : len(old) - same] == new[len(new) - same - step : len(new) - same]
        else:
            equal = old[same : same + step] == new[same : same + step]
        if equal:
            same += step
            step = min(step, most - same)
        else:
            step //= 2
    return same


def _line_starts(text: str) -> list[int]:
    return [0, *[match.end() for match in _LINE_END.finditer(text)]]


def _is_high(character: str) -> bool:
    return "\ud800" <= character <= "\udbff"


def _is_low(character: str) -> bool:
    return "\udc00" <= character <= "\udfff"


def _joined(text: str) -> str:
    """A text whose halves of surrogate pairs that stand together are characters."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
