"""A text with all its fixes made, as far as they can be made one after the other."""

from __future__ import annotations

from collections.abc import Callable

from tileir.analyze.lint.fixes import FixesTogether, TextEdit, WrittenText, applied, text_edits
from tileir.analyze.lint.linting import lint_module
from tileir.analyze.lint.settings import LintSettings
from tileir.annotations import Final
from tileir.ir.core import Operation
from tileir.ir.location import TextLocation

# A fix may bring to light another one: what only a deleted operation used.
_MOST_ROUNDS: Final = 10


class FixedText:
    """A text, and how many fixes were made in it."""

    __slots__ = ("count", "text")

    def __init__(self, text: str, count: int) -> None:
        self.text: str = text
        self.count: int = count


def fixed_text(text: str, read: Callable[[str], Operation | None], settings: LintSettings) -> FixedText:
    """A text with its fixes made; `read` gives the verified program of a text, or None if it is none.

    A round of fixes whose text is no longer a correct program is not made.
    """
    count = 0
    for _ in range(_MOST_ROUNDS):
        module = read(text)
        if module is None or not isinstance(module.location, TextLocation):
            break
        written = WrittenText(module.location.source)
        fixes: list[list[TextEdit]] = []
        together = FixesTogether()
        for finding in lint_module(module, settings):
            edits = text_edits(finding.fix, written) if finding.fix is not None else None
            # One that contradicts another has its turn in the next round, if it is still wanted.
            if finding.fix is not None and edits is not None and together.take(finding.fix):
                fixes.append(edits)
        changed, made = applied(written.source.text, fixes)
        if not made or read(changed) is None:
            break
        text, count = changed, count + made
    return FixedText(text, count)
