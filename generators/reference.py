"""The reference: the pages of docs/reference/operations and the list of rules in docs/tools/lint.md.

What `tileir explain` shows, as Markdown: a page for each chapter, for the types, the attributes and the versions, and
an index.
"""

from __future__ import annotations

from typing import Final

from generators import with_generated
from tileir.analyze.documentation.grammar import FURTHER_ATTRIBUTES, LEGEND
from tileir.analyze.documentation.markdown import anchor, page_lines, table_lines
from tileir.analyze.documentation.pages import CHAPTERS, Table, rule_page
from tileir.analyze.documentation.vocabulary import (
    Entry,
    attribute_entries,
    operation_entries,
    type_entries,
    version_entries,
)
from tileir.analyze.lint.rule import GROUPS
from tileir.analyze.lint.rules import RULES

REFERENCE: Final = "docs/reference/operations"
_NOTE: Final = "<!-- Written by `make docs` from the declarations; edit those. -->"


def reference() -> dict[str, str]:
    """The pages by file name."""
    operations = operation_entries()
    chapters = {chapter: [entry for entry in operations if entry.group == chapter] for chapter in CHAPTERS}
    others = {"Types": type_entries(), "Attributes": attribute_entries(), "Versions": version_entries()}
    index = [
        "# Reference",
        "",
        _NOTE,
        "",
        f"The {len(operations)} operations tileir knows, the types, attributes and versions of the dialect. "
        "`tileir explain NAME` shows the same in the terminal.",
        "",
        "Each operation has an example as text and in Python. In Python, `build` is a "
        "[`tileir.Builder`](../../guide/building.md), types such as `f32`, `ptr` and `tile` come from `tileir.types`, "
        "`div_by` from `tileir.attributes`, and the other names are values.",
        "",
        "## How syntax is written",
        "",
        *table_lines(Table(("form", "meaning"), LEGEND)),
        "",
        FURTHER_ATTRIBUTES,
    ]
    texts: dict[str, str] = {}
    for title, entries in {**chapters, **others}.items():
        file = f"{title.lower().replace(' ', '_')}.md"
        texts[file] = _page_text(title, entries)
        rows = tuple([(f"[`{e.name}`]({file}#{anchor(e.name)})", e.summary.partition(".  ")[0]) for e in entries])
        index += ["", f"## [{title}]({file})", "", *table_lines(Table(("name", "meaning"), rows))]
    return {**texts, "index.md": "\n".join(index) + "\n"}


def _page_text(title: str, entries: list[Entry]) -> str:
    lines = [f"# {title}", "", _NOTE, "", "[All chapters](index.md)"]
    for entry in entries:
        lines += ["", *page_lines(entry.page(), "../..")]
    return "\n".join(lines) + "\n"


def rules() -> str:
    """docs/tools/lint.md with the list of rules."""
    lines = ["", "`make docs` writes this list from the declarations in `src/tileir/analyze/lint/rules`.", ""]
    lines += ["| rule | |", "|---|---|"]
    for group, words in GROUPS.items():
        found = [rule for rule in RULES.values() if rule.group == group]
        lines += [f"| **{group}** | *{words}* |"] if found else []
        for rule in found:
            off = "" if rule.default else " (off by default)"
            lines.append(f"| [`{rule.name}`](#{rule.name}) | {rule.summary}{off} |")
    for rule in RULES.values():
        first, *rest = page_lines(rule_page(rule), "..")
        lines += ["", f"#{first}", *rest]
    return with_generated("docs/tools/lint.md", "\n".join(lines) + "\n", "## The rules")
