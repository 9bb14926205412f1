"""`tileir explain`: the documentation of an operation, type, attribute, keyword or version, in the terminal."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from itertools import zip_longest

from tileir.analyze.documentation.grammar import FURTHER_ATTRIBUTES, LEGEND
from tileir.analyze.documentation.pages import (
    Block,
    Bullets,
    Code,
    Page,
    Paragraph,
    Section,
    Table,
    listed,
    operation_page,
    operations,
)
from tileir.analyze.documentation.vocabulary import close_names, find, groups
from tileir.annotations import Final
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.quoting import harmless
from tileir.ir.versions import V13_1, Version, version_text
from tileir.tools.arguments import EXIT_FINE, EXIT_WRONG_INPUT, Arguments, Usage
from tileir.tools.command import command
from tileir.tools.options import COLOR
from tileir.tools.terminal import paint

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
_NUMBER: Final = re.compile(r"0[xX][0-9a-fA-F]{1,8}|[0-9]{1,9}")
_WHERE: Final = "`tileir objdump FILE` shows what each byte of a file is."


@command(USAGE)
def run(given: Arguments) -> int:
    # As wide as the terminal within reason; the same everywhere when nobody watches.
    columns = shutil.get_terminal_size((_WIDEST, 24)).columns if sys.stdout.isatty() else _WIDEST
    width, color = max(_NARROWEST, min(columns, _WIDEST)), given.wants_color(sys.stdout)
    status = EXIT_FINE
    texts: list[str] = [] if given.operands else [overview_text(width)]
    for name in given.operands:
        pages = pages_of(name)
        texts.extend([page_text(page, width) for page in pages])
        if not pages:
            status = EXIT_WRONG_INPUT
            close = close_names(name)
            hint = f"did you mean {listed(close)}?" if close else "'tileir explain' lists what there is."
            print(f"tileir explain: nothing is known about '{harmless(name)}'; {hint}", file=sys.stderr)
    separator = "\n" + "-" * width + "\n\n"
    sys.stdout.write(styled(separator.join(texts), color))
    return status


def pages_of(name: str) -> list[Page]:
    """What there is about a name, or about a number that stands in bytecode."""
    return find(name) or number_pages(name)


def number_pages(text: str) -> list[Page]:
    """All that a number in bytecode means, in either base, then the page of its operation; none if it means nothing."""
    if not _NUMBER.fullmatch(text):
        return []
    number = int(text, 0 if text[:2] in ("0x", "0X") else 10)
    found = [declaration for declaration in operations() if declaration.opcode == number]
    rows = _meanings(number, found)
    pages = [operation_page(declaration) for declaration in found]
    if len(rows) > len(pages):
        summary = f"{number} in bytecode; where it stands tells which of these it is" if rows[1:] else "in bytecode"
        blocks = (Table(("place", "meaning"), tuple(rows)), Paragraph(_WHERE))
        pages.insert(0, Page(f"{number:#04x}", "Bytecode", summary, (), (Section("Meanings", blocks),)))
    return pages


def _meanings(number: int, found: list[OperationDeclaration]) -> list[tuple[str, str]]:
    # Imported here: few ask for numbers, and the readers of bytecode are large.
    from tileir.bytecode.annotated_values import ATTRIBUTE_TAGS, DEBUG_TAGS, TYPE_TAGS
    from tileir.bytecode.container import ATTRIBUTE, SECTION_NAMES
    from tileir.bytecode.types import SCALARS, TAG_GATES

    rows = [("opcode", f"`{each.mnemonic}`: {each.summary}{_since(each.since)}") for each in found]
    type = SCALARS[number].spelling if number in SCALARS else TYPE_TAGS.get(number)
    if type is not None:
        rows.append(("type tag", f"`{type}`{_since(TAG_GATES[number][1] if number in TAG_GATES else None)}"))
    if 0 < number < len(ATTRIBUTE_TAGS):
        rows.append(("attribute tag", f"`{ATTRIBUTE_TAGS[number]}`, in the public layout"))
    if number < len(DEBUG_TAGS):
        rows.append(("debug attribute tag", DEBUG_TAGS[number]))
    # The highest bit of a section's first byte says that an alignment follows.
    section = SECTION_NAMES.get(number & 0x7F) if number < 0x100 else None
    if section is not None and number != 0x80:
        aligned = ", with an alignment" if number & 0x80 else ""
        only = ", in the documented layout" if number & 0x7F == ATTRIBUTE else ""
        rows.append(("section id", f"{section}{aligned}{only}"))
    return rows


def _since(version: Version | None) -> str:
    return f" (since {version_text(version)})" if version is not None and version > V13_1 else ""


def styled(text: str, color: bool) -> str:
    """Headings in bold and code in color; without colors the text as it is."""
    if not color:
        return text
    lines = re.sub(r"`([^`]+)`", lambda found: paint(found[1], "code"), text).split("\n")
    is_title = [number == 0 or (line[:1].isalpha() and line == line.upper()) for number, line in enumerate(lines)]
    return "\n".join([paint(line, "title") if title else line for line, title in zip(lines, is_title, strict=True)])


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
    wrapper = textwrap.TextWrapper(width, indent, below, break_long_words=False, break_on_hyphens=False)
    return wrapper.wrap(text)


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
    lines += ["HOW SYNTAX IS WRITTEN", *table_lines(Table(("form", "meaning"), LEGEND), width), ""]
    return "\n".join([*lines, *_wrapped(FURTHER_ATTRIBUTES, width, _INDENT)]) + "\n"
