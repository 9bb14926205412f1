"""`tileir explain`: the documentation of an operation, type, attribute, keyword or version, in the terminal."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from itertools import zip_longest

from tileir.analyze.documentation.grammar import FURTHER_ATTRIBUTES, LEGEND
from tileir.analyze.documentation.pages import Block, Bullets, Code, Page, Paragraph, Table, listed
from tileir.analyze.documentation.vocabulary import close_names, find, groups
from tileir.annotations import Final
from tileir.ir.quoting import harmless
from tileir.tools.arguments import EXIT_FINE, EXIT_WRONG_INPUT, Arguments, Usage
from tileir.tools.command import command
from tileir.tools.options import COLOR
from tileir.tools.terminal import BOLD, CYAN, PLAIN

USAGE: Final = Usage(
    "tileir explain",
    "Shows the documentation of an operation, type, attribute, keyword, version, opcode or rule of lint; or the list.",
    "[NAME...]",
    (COLOR,),
    details="""\
NAME may carry its prefix (cuda_tile.addf, !cuda_tile.tile) or be one of the drafts' spellings (mulhi); a type may be
written out ('tile<4x8xf32>'). A number, such as 0x49 or 73, is an opcode, a tag or a section of bytecode.""",
)

_INDENT: Final = "  "
_WIDEST: Final = 100
_NARROWEST: Final = 60


@command(USAGE)
def run(given: Arguments) -> int:
    # As wide as the terminal within reason; the same everywhere when nobody watches.
    columns = shutil.get_terminal_size((_WIDEST, 24)).columns if sys.stdout.isatty() else _WIDEST
    width, color = max(_NARROWEST, min(columns, _WIDEST)), given.wants_color(sys.stdout)
    if not given.operands:
        sys.stdout.write(styled(overview_text(width), color))
        return EXIT_FINE
    status = EXIT_FINE
    texts: list[str] = []
    for name in given.operands:
        pages = pages_of(name)
        texts.extend([page_text(page, width) for page in pages])
        if not pages:
            status = EXIT_WRONG_INPUT
            close = close_names(name)
            hint = f"; did you mean {listed(close)}?" if close else "; 'tileir explain' lists what there is."
            print(f"tileir explain: nothing is known about '{harmless(name)}'{hint}", file=sys.stderr)
    separator = "\n" + "-" * width + "\n\n"
    sys.stdout.write(styled(separator.join(texts), color))
    return status


def pages_of(name: str) -> list[Page]:
    """What there is about a name, or about a number that stands in bytecode."""
    pages = find(name)
    if not pages and name[:1].isdigit():
        # Imported here: few ask for numbers, and the readers of bytecode are large.
        from tileir.tools.help.bytecode_numbers import number_pages

        return number_pages(name)
    return pages


def styled(text: str, color: bool) -> str:
    """Headings in bold and code in color; without colors the text as it is."""
    if not color:
        return text
    lines = re.sub(r"`([^`]+)`", rf"{CYAN}\1{PLAIN}", text).split("\n")
    for number, line in enumerate(lines):
        if line and (number == 0 or (line[:1].isalpha() and line == line.upper())):
            lines[number] = f"{BOLD}{line}{PLAIN}"
    return "\n".join(lines)


# --- laying out ---


def page_text(page: Page, width: int = _WIDEST) -> str:
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
    return textwrap.wrap(
        text, width, initial_indent=indent, subsequent_indent=below, break_long_words=False, break_on_hyphens=False
    )


def block_lines(block: Block, width: int) -> list[str]:
    if isinstance(block, Paragraph):
        return _wrapped(block.text, width, _INDENT)
    if isinstance(block, Code):
        if block.is_grammar:
            return _wrapped(block.text, width, _INDENT, hanging=_INDENT * 4)
        return [piece for line in block.text.split("\n") for piece in _code_lines(line, width)]
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


def overview_text(width: int = _WIDEST) -> str:
    """Everything there is, under its headings."""
    lines = ["tileir explain NAME tells about each of these", ""]
    for group, entries in groups():
        lines.append(group.upper())
        room = max(len(entry.name) for entry in entries)
        for entry in entries:
            head = f"{_INDENT}{entry.name.ljust(room)}  "
            lines.extend(_wrapped(entry.summary.partition(".  ")[0], width, head, hanging=" " * len(head)))
        lines.append("")
    lines.append("HOW SYNTAX IS WRITTEN")
    lines.extend(table_lines(Table(("form", "meaning"), LEGEND), width))
    lines.append("")
    lines.extend(_wrapped(FURTHER_ATTRIBUTES, width, _INDENT))
    return "\n".join(lines) + "\n"
