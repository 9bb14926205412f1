"""A cuTile script as an editor changes it: mistakes of the text as it is, and what compiling the saved one told."""

from __future__ import annotations

from typing import Any

from lsprotocol import types as lsp

from tileir.serve.language.cutile.checks import Found, mistakes
from tileir.serve.language.cutile.compiling import Answer, Told
from tileir.serve.language.cutile.launches import StatedLaunch, stated_launches
from tileir.serve.language.cutile.library import library
from tileir.serve.language.cutile.script import Script
from tileir.serve.language.document import Document
from tileir.serve.language.navigation import path_of

LANGUAGE = "python"
LAUNCH = "cutile-launch"
_SEVERITIES = {
    "error": lsp.DiagnosticSeverity.Error,
    "warning": lsp.DiagnosticSeverity.Warning,
    "remark": lsp.DiagnosticSeverity.Information,
}


class CutileDocument(Document):
    """A Python file; one that does not use `cuda.tile` has nothing to say."""

    _script: Script | None = None
    _answers: tuple[str, list[Answer]] = ("", [])

    @property
    def script(self) -> Script:
        if self._script is None or self._script.text != self.text:
            self._script = Script(self.text)
        return self._script

    @property
    def launches(self) -> list[StatedLaunch]:
        return stated_launches(self.text) if self.script.uses_library else []

    @property
    def mistakes(self) -> list[Found]:
        """What is wrong with the text as it is now; while it is no Python, that is not said here."""
        known = library() if self.script.uses_library else None
        found = [] if known is None else mistakes(self.script, known)
        wrong = [Found(each.mistake, each.start, each.end, LAUNCH) for each in self.launches if each.mistake]
        return [*found, *wrong]

    # --- compiled ---

    @property
    def path(self) -> str:
        """The file; empty where there is none."""
        return path_of(self.uri)

    def requested(self) -> list[dict[str, Any]]:
        """The launches to compile for."""
        return [
            {"kernel": each.kernel, "arguments": list(each.words.arguments)}
            for each in self.launches
            if each.words is not None
        ]

    def note_answers(self, text: str, answers: list[Answer]) -> None:
        """Keep what compiling a text told."""
        self._answers = (text, answers)

    @property
    def answers(self) -> list[Answer]:
        return self._answers[1]

    def line_now(self, line: int) -> int | None:
        """Where a line of the text that was compiled is now, counted from 0; None if it was changed."""
        before = self._answers[0]
        if before == self.text:
            return line
        old, new = before.splitlines(), self.text.splitlines()
        if line < len(new) and old[: line + 1] == new[: line + 1]:
            return line
        behind = len(old) - line
        return len(new) - behind if 0 < behind <= len(new) and old[-behind:] == new[-behind:] else None

    # --- diagnostics ---

    def diagnostics(self) -> list[lsp.Diagnostic]:
        found = [
            _diagnostic(self.range(each.start, each.end), each.message, "error", each.code) for each in self.mistakes
        ]
        taken = {(each.range.start.line, each.range.start.character) for each in found}
        for answer in self.answers:
            for told in answer.told:
                place = self._place(told, answer.kernel)
                # What was seen before it was compiled is not said twice.
                if place is not None and (place.start.line, place.start.character) not in taken:
                    found.append(_diagnostic(place, told.message, told.severity, told.code))
        return found

    def _place(self, told: Told, kernel: str) -> lsp.Range | None:
        if told.line <= 0:
            stated = [each for each in self.launches if each.kernel == kernel or not kernel]
            return self.range(stated[0].start, stated[0].end) if stated else None
        line = self.line_now(told.line - 1)
        if line is None:
            return None
        start, end = self.line_start(line), self.line_end(line)
        blanks = len(self.text[start:end]) - len(self.text[start:end].lstrip())
        first = start + (told.column if told.column >= 0 else blanks)
        last = start + told.end if told.end > told.column else end
        return self.range(min(first, end), min(max(last, first), end))


def _diagnostic(place: lsp.Range, message: str, severity: str, code: str) -> lsp.Diagnostic:
    return lsp.Diagnostic(place, message, severity=_SEVERITIES[severity], code=code, source="tileir")


def is_script(uri: str, language: str) -> bool:
    return language == LANGUAGE or (not language and uri.endswith(".py"))
