"""The comment that silences a rule of lint at a line (docs/lint.md)."""

from __future__ import annotations

import re

from tileir.serve.language.document import Document
from tileir.serve.language.layout import Edit

_SILENCE = re.compile(r"//\s*tileir:\s*ignore\s*\[([^\]\n]*)\]")


def silencing_edit(document: Document, rule: str, offset: int) -> Edit:
    """The edit that silences a rule at a line: a comment behind it, or one rule more in the one that is there."""
    line = document.line_of(offset)
    start, end = document.line_start(line), document.line_end(line)
    text = document.text[start:end]
    known = _SILENCE.search(text)
    if known is not None:
        place = start + known.end(1)
        return Edit(place, place, f", {rule}" if known[1].strip() else rule)
    if "//" in text and document.syntax.comment_at(start + text.rindex("//") + 2):
        # A comment that is there already would become its reason: the silence goes above.
        blanks = text[: len(text) - len(text.lstrip(" \t"))]
        return Edit(start, start, f"{blanks}// tileir: ignore[{rule}]\n")
    place = start + len(text.rstrip())
    return Edit(place, place, f"  // tileir: ignore[{rule}]")
