"""A cuTile script as an editor changes it."""

from __future__ import annotations

from lsprotocol import types as lsp

from tileir.serve.language.cutile.checks import Found, mistakes
from tileir.serve.language.cutile.library import library
from tileir.serve.language.cutile.script import Script
from tileir.serve.language.document import Document

LANGUAGE = "python"


class CutileDocument(Document):
    """A Python file; one that does not use `cuda.tile` has nothing to say."""

    _script: Script | None = None

    @property
    def script(self) -> Script:
        if self._script is None or self._script.text != self.text:
            self._script = Script(self.text)
        return self._script

    @property
    def mistakes(self) -> list[Found]:
        """What is wrong with the text as it is now; while it is no Python, that is not said here."""
        known = library() if self.script.uses_library else None
        return [] if known is None else mistakes(self.script, known)

    def compiled_hover(self, offset: int) -> lsp.Hover | None:
        return None

    def diagnostics(self) -> list[lsp.Diagnostic]:
        return [
            lsp.Diagnostic(
                self.range(found.start, found.end),
                found.message,
                severity=lsp.DiagnosticSeverity.Error,
                code=found.code,
                source="tileir",
            )
            for found in self.mistakes
        ]


def is_script(uri: str, language: str) -> bool:
    return language == LANGUAGE or (not language and uri.endswith(".py"))
