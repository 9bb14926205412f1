"""Whether a remedy helps: the text is read and verified with it.

A remedy is good if the finding it is for is gone and the text has no error that it did not have before.  A kernel does
not depend on its neighbours, so only the one at hand is tried, with the aliases and globals that it may use.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tileir.dialect.ops import ENTRY
from tileir.serve.language.analysis import PlacedDiagnostic, Settings, analyze
from tileir.serve.language.layout import Edit, apply
from tileir.serve.language.syntax import Syntax

# Tokens that may be read again for one question of an editor: a tenth of a second.
LARGEST_EFFORT = 60_000
# The code of what the reader finds.
SYNTAX = "syntax"


class Trials:
    """Remedies for findings in one text, as many as there is time for."""

    def __init__(self, syntax: Syntax, settings: Settings) -> None:
        self._syntax = syntax
        self._settings = settings
        self._effort = LARGEST_EFFORT
        # What is found in the text without a remedy, by the kernel that is kept.
        self._before: dict[tuple[int, int], list[PlacedDiagnostic]] = {}

    @property
    def exhausted(self) -> bool:
        return self._effort <= 0

    def helps(self, edits: Sequence[Edit], diagnostic: PlacedDiagnostic) -> bool:
        """Whether a finding is gone with some edits, and no new error is there."""
        kept = self._kept([diagnostic.start, *[edit.start for edit in edits]])
        text = self._cut(kept)
        if kept not in self._before:
            self._before[kept] = self._findings(text)
        before = self._before[kept]
        after = self._findings(apply(text, list(edits)))
        counts = Counter([_key(found) for found in before])
        key = _key(diagnostic)
        if Counter([_key(found) for found in after])[key] >= counts[key]:
            return False
        # The verifier speaks only where the reader has nothing to say: what it finds now may have been there before,
        # unless it is about what was changed.
        first = any(found.code == SYNTAX for found in before)
        start = text.rfind("\n", 0, edits[0].start) + 1
        end = edits[-1].end + sum([len(edit.text) - (edit.end - edit.start) for edit in edits])
        for found in after:
            if found.severity == "error":
                counts[_key(found)] -= 1
                known = first and found.code != SYNTAX and not start <= found.start <= end
                if counts[_key(found)] < 0 and not known:
                    return False
        return True

    def _kept(self, places: Sequence[int]) -> tuple[int, int]:
        """From where to where the kernel goes that has some places; the whole text if they are in none."""
        operation = self._syntax.operation_at(places[0])
        while operation is not None and operation.declaration is not ENTRY:
            operation = operation.parent
        if operation is None:
            return 0, len(self._syntax.text)
        start, end = self._syntax.starts[operation.first], self._syntax.end(operation.last)
        return (start, end) if all(start <= place <= end for place in places) else (0, len(self._syntax.text))

    def _cut(self, kept: tuple[int, int]) -> str:
        """The text with blanks for the kernels outside of what is kept, so that places stay."""
        text = self._syntax.text
        removed: list[Edit] = []
        for operation in self._syntax.operations if kept != (0, len(text)) else ():
            start = self._syntax.starts[operation.first]
            if operation.declaration is ENTRY and start != kept[0] and (not removed or start >= removed[-1].end):
                end = self._syntax.end(operation.last)
                removed.append(Edit(start, end, " " * (end - start)))
        return apply(text, removed)

    def _findings(self, text: str) -> list[PlacedDiagnostic]:
        syntax = Syntax(text)
        self._effort -= len(syntax.tokens)
        return analyze(text, syntax, self._settings).diagnostics


def _key(diagnostic: PlacedDiagnostic) -> str:
    return f"{diagnostic.severity}: {diagnostic.message}"
