"""Pages laid out as text, like manual pages."""

from __future__ import annotations

import re
import textwrap
from itertools import zip_longest

from tileir.analyze.documentation.grammar import FURTHER_ATTRIBUTES, LEGEND
from tileir.analyze.documentation.pages import Block, Bullets, Code, Page, Paragraph, Table
from tileir.analyze.documentation.vocabulary import groups
from tileir.annotations import Final
from tileir.terminal import paint

WIDEST: Final = 100
_INDENT: Final = "  "


def page_text(page: Page, width: int = WIDEST) -> str:
    """A page laid out like a manual page."""
    lines = [f"{page.name}: {page.summary}"]
    if page.facts:
        lines.extend(_wrapped(", ".join(page.facts), width, _INDENT))
    for section in page.sections:
        lines.extend(["", section.title.upper()])
        for number, block in enumerate(section.blocks):
            if number:
                lines.append("")
            lines.extend(block_lines(block, width))
    return "\n".join(lines) + "\n"


def _wrapped(text: str, width: int, indent: str = "", hanging: str | None = None) -> list[str]:
    below = indent if hanging is None else hanging
    wrapper = textwrap.TextWrapper(width, indent, below, break_long_words=False, break_on_hyphens=False)
    return wrapper.wrap(text)


def block_lines(block: Block, width: int) -> list[str]:
    if isinstance(block, Paragraph):
        return _wrapped(block.text, width, _INDENT)
    if isinstance(block, Code):
        if block.is_grammar:
            return _wrapped(block.text, width, _INDENT, hanging=_INDENT * 4)
        return [row for line in block.text.split("\n") for row in _code_lines(line, width)]
    if isinstance(block, Bullets):
        return [line for item in block.items for line in _wrapped(item, width, _INDENT + "- ", hanging=_INDENT * 2)]
    return table_lines(block, width)


def _code_lines(line: str, width: int) -> list[str]:
    """A line of a program; blanks and line ends mean the same there, so a long one may be broken."""
    indent = _INDENT + line[: len(line) - len(line.lstrip())]
    return _wrapped(line.lstrip(), width, indent, hanging=indent + _INDENT * 3) or [""]


def table_lines(table: Table, width: int) -> list[str]:
    """Columns side by side, each cell wrapped within its own; names go without their backticks."""
    rows = [(row[0].replace("`", ""), *row[1:]) for row in table.rows]
    widths = _column_widths(rows, width)
    lines: list[str] = []
    for row in rows:
        cells = [_wrapped(cell, room) or [""] for cell, room in zip(row, widths, strict=True)]
        for parts in zip_longest(*cells, fillvalue=""):
            padded = [part.ljust(room) for part, room in zip(parts, widths, strict=True)]
            lines.append((_INDENT + "  ".join(padded)).rstrip())
    return lines


def _column_widths(rows: list[tuple[str, ...]], width: int) -> list[int]:
    """The first column as wide as it needs; of three, the middle one gets what the last does not need, or half."""
    longest = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    room = width - len(_INDENT) - 2 * (len(longest) - 1) - longest[0]
    if len(longest) == 2:
        return [longest[0], room]
    unbroken = max(len(word) for row in rows for word in row[1].split())
    middle = min(longest[1], max(unbroken, room - longest[2], room // 2))
    return [longest[0], middle, room - middle]


def overview_text(width: int = WIDEST) -> str:
    """Everything there is, under its headings."""
    lines = ["tileir explain NAME describes each of these", ""]
    for group, entries in groups():
        lines.append(group.upper())
        room = max(len(entry.name) for entry in entries)
        for entry in entries:
            head = f"{_INDENT}{entry.name.ljust(room)}  "
            lines.extend(_wrapped(entry.summary.partition(".  ")[0], width, head, hanging=" " * len(head)))
        lines.append("")
    lines += ["HOW SYNTAX IS WRITTEN", *table_lines(Table(("form", "meaning"), LEGEND), width), ""]
    return "\n".join([*lines, *_wrapped(FURTHER_ATTRIBUTES, width, _INDENT)]) + "\n"


def styled(text: str, color: bool) -> str:
    """Headings in bold and code in color; without colors the text as it is."""
    if not color:
        return text
    lines = re.sub(r"`([^`]+)`", lambda found: paint(found[1], "code"), text).split("\n")
    is_title = [number == 0 or (line[:1].isalpha() and line == line.upper()) for number, line in enumerate(lines)]
    return "\n".join([paint(line, "title") if title else line for line, title in zip(lines, is_title, strict=True)])
