"""Pages as Markdown, for docs/reference/operations and for editors; and sections of Markdown, for `tileir docs`.

Texts name other pages as `docs/FOLDER/NAME.md`; these become links where the location of those pages is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tileir.analyze.documentation.pages import Block, Bullets, Code, Page, Paragraph, Section, Table

_DOCUMENT: Final = re.compile(r"docs/(\w+/\w+\.md)")


def anchor(name: str) -> str:
    """The fragment that GitHub makes of a heading."""
    return re.sub(r"[^\w\- ]", "", name.lower()).replace(" ", "-")


def page_lines(page: Page, documents: str | None = None) -> list[str]:
    """A page under a heading; `documents` is the folder of the other pages, seen from this one."""
    lines = [f"## {page.name}", "", f"{_linked(page.summary, documents)}."]
    facts = facts_line(page)
    if facts:
        lines.extend(["", facts])
    for section in page.sections:
        lines.extend(["", *section_lines(section, documents)])
    return lines


def facts_line(page: Page) -> str:
    """What stands under the title, in italics; empty if there is nothing."""
    facts = [fact[0].upper() + fact[1:] for fact in page.facts if not fact.startswith("chapter ")]
    return f"*{'. '.join(facts)}.*" if facts else ""


def section_lines(section: Section, documents: str | None = None) -> list[str]:
    """A part of a page.  The first two need no heading: the syntax stands out, and the description follows it."""
    lines = [] if section.title in ("Syntax", "Description") else [f"**{section.title}**"]
    for block in section.blocks:
        if lines:
            lines.append("")
        lines.extend(block_lines(block, documents))
    return lines


def block_lines(block: Block, documents: str | None = None) -> list[str]:
    if isinstance(block, Paragraph):
        return [_linked(block.text, documents)]
    if isinstance(block, Code):
        return [f"```{'text' if block.is_grammar else block.language}", *block.text.split("\n"), "```"]
    if isinstance(block, Bullets):
        return [f"- {item}" for item in block.items]
    return table_lines(block, documents)


def table_lines(table: Table, documents: str | None = None) -> list[str]:
    lines = [f"| {' | '.join(table.header)} |", "|" + "---|" * len(table.header)]
    for row in table.rows:
        cells = [_linked(cell, documents).replace("|", "\\|") for cell in row]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _linked(text: str, documents: str | None) -> str:
    """Pages of docs/ that a text names become links."""
    return text if documents is None else _DOCUMENT.sub(rf"[docs/\1]({documents}/\1)", text)


# --- reading ---

_HEADING: Final = re.compile(r"(#+) (.+)")


def sections(text: str) -> list[tuple[str, int, str, int]]:
    """The headings of a page: as links name them, with their level, their words and the number of their line."""
    lines = [(number, _HEADING.fullmatch(line)) for number, line in _outside_fences(text)]
    return [(anchor(found[2]), len(found[1]), found[2], number) for number, found in lines if found is not None]


def _outside_fences(text: str) -> Iterator[tuple[int, str]]:
    """The lines that are not code, with their numbers."""
    fenced = False
    for number, line in enumerate(text.split("\n")):
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, line


def section(text: str, name: str) -> str:
    """A part of a page from its heading to the next one that is not below it; empty if there is none."""
    headings = sections(text)
    for place, (slug, level, _, begin) in enumerate(headings):
        if slug == name.lower():
            end = next((line for _, other, _, line in headings[place + 1 :] if other <= level), None)
            return "\n".join(text.split("\n")[begin:end]).rstrip() + "\n"
    return ""
