"""Markdown for a terminal: headings, paragraphs and lists wrapped, tables in columns, code indented, links as text."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from itertools import zip_longest
from typing import Final, TypeAlias

Paint: TypeAlias = Callable[[str, str], str]
"""A text in the color of its kind: "title" or "code"."""

_HEADING: Final = re.compile(r"#+ (.+)")
_ITEM: Final = re.compile(r" *(?:[-*]|\d+\.) +")
_CODE: Final = re.compile(r"`[^`\n]+`")
_LINK: Final = re.compile(r"!?\[([^\]]+)\]\((https?:[^)]+)?[^)]*\)")
_TAG: Final = re.compile(r"<!--.*?-->|</?(?:a|code)\b[^>]*>")
_CELL_END: Final = re.compile(r"(?<!\\)\|")
# Stands for a blank of code, where no line is broken.
_FIXED: Final = "\x00"
_TICK: Final = "\x01"


def rendered(text: str, width: int, paint: Paint) -> str:
    """A page, or a part of one, in lines of at most `width` characters; long words and code may be wider."""
    lines: list[str] = []
    paragraph: list[str] = []
    rows: list[str] = []

    def flush() -> None:
        if paragraph:
            lines.extend(_paragraph(paragraph, width))
        if rows:
            lines.extend(_table(rows, width))
        paragraph.clear()
        rows.clear()

    is_code = False
    for line in text.split("\n"):
        heading = None if is_code else _HEADING.fullmatch(line)
        if line.startswith("```"):
            flush()
            is_code = not is_code
        elif is_code or (line.startswith("    ") and not paragraph):
            # Backticks in code are not painted.
            lines.append((f"    {line}" if is_code else line).rstrip().replace("`", _TICK))
        elif heading is not None:
            flush()
            lines.append(paint(heading[1].replace("`", ""), "title"))
        elif line.startswith("|"):
            rows.append(line)
        elif not line.strip():
            flush()
            lines.append("")
        else:
            if rows or _ITEM.match(line):
                flush()
            paragraph.append(line)
    flush()
    painted = [_CODE.sub(lambda code: paint(code[0], "code"), line) for line in lines]
    return "\n".join(painted).replace(_FIXED, " ").replace(_TICK, "`")


def _plain(text: str) -> str:
    """A text without links and tags, that can be wrapped."""
    text = _LINK.sub(lambda link: f"{link[1]} ({link[2]})" if link[2] else link[1], _TAG.sub("", text))
    return _CODE.sub(lambda code: code[0].replace(" ", _FIXED).replace("\\|", "|"), text)


def _wrapped(text: str, width: int, first: str = "", others: str = "") -> list[str]:
    return textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=others, break_long_words=False, break_on_hyphens=False
    )


def _paragraph(lines: list[str], width: int) -> list[str]:
    """The lines of a paragraph, or of one item of a list."""
    item = _ITEM.match(lines[0])
    first = item[0] if item is not None else lines[0][: len(lines[0]) - len(lines[0].lstrip())]
    text = " ".join([lines[0][len(first) :], *[line.strip() for line in lines[1:]]])
    return _wrapped(_plain(text), width, first, " " * len(first))


def _table(lines: list[str], width: int) -> list[str]:
    """Columns side by side under a rule, each cell wrapped within its own."""
    rows = [[_plain(cell.strip()) for cell in _CELL_END.split(line)[1:-1]] for line in lines]
    del rows[1]
    widths = [max([len(cell) for cell in column]) for column in zip_longest(*rows, fillvalue="")]
    least = [min(each, 12) for each in widths]
    # Take the excess from the widest column.
    while sum(widths) + 2 * (len(widths) - 1) > width and widths != least:
        widest = max(range(len(widths)), key=lambda number: widths[number] - least[number])
        widths[widest] -= 1
    found: list[str] = []
    for number, row in enumerate(rows):
        cells = [_wrapped(cell, room) or [""] for cell, room in zip(row, widths, strict=False)]
        for parts in zip_longest(*cells, fillvalue=""):
            found.append("  ".join([part.ljust(room) for part, room in zip(parts, widths, strict=False)]).rstrip())
        if number == 0 and any(row):
            found.append("  ".join(["-" * room for room in widths]))
    return found
