"""The reference: the pages of docs/reference/operations, docs/reference/lint_rules.md and docs/reference/options.md.

What `tileir explain` shows, as Markdown: a page for each chapter, for the types, the attributes and the versions, and
an index.
"""

from __future__ import annotations

from typing import Final

from generators import NOTE
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
from tileir.tools.commands import COMMANDS
from tileir.tools.more.completion import usage_of

REFERENCE: Final = "docs/reference/operations"


def reference() -> dict[str, str]:
    """The pages by file name."""
    operations = operation_entries()
    chapters = {chapter: [entry for entry in operations if entry.group == chapter] for chapter in CHAPTERS}
    others = {"Types": type_entries(), "Attributes": attribute_entries(), "Versions": version_entries()}
    index = [
        "# Reference",
        "",
        NOTE,
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
    lines = [f"# {title}", "", NOTE, "", "[All chapters](index.md)"]
    for entry in entries:
        lines += ["", *page_lines(entry.page(), "../..")]
    return "\n".join(lines) + "\n"


def rules() -> str:
    """The page of lint rules."""
    about = "[Lint](../tools/lint.md) is about choosing rules and silencing findings."
    lines = ["# Lint rules", "", NOTE, "", about, "", "| rule | |", "|---|---|"]
    for group, words in GROUPS.items():
        found = [rule for rule in RULES.values() if rule.group == group]
        lines += [f"| **{group}** | *{words}* |"] if found else []
        for rule in found:
            off = "" if rule.default else " (off by default)"
            lines.append(f"| [`{rule.name}`](#{rule.name}) | {rule.summary}{off} |")
    for rule in RULES.values():
        lines += ["", *page_lines(rule_page(rule), "..")]
    return "\n".join(lines) + "\n"


def _option_lines(options: dict[str, str]) -> list[str]:
    return table_lines(Table(("option", "meaning"), tuple([(f"`{each}`", help) for each, help in options.items()])))


def options() -> str:
    """The page of the options of each command, from what `--help` prints."""
    lines = ["# Options of the commands", "", NOTE, "", "`tileir COMMAND --help` prints the same.", ""]
    lines += ["[The command line](../tools/command_line.md) describes what all commands have in common."]
    usages = [usage_of(name) for name in COMMANDS]
    common = {option.spelling: option.help for usage in usages for option in usage.options if option.is_common}
    lines += ["", "## Options of commands that read programs", "", *_option_lines(common)]
    for usage in usages:
        own = {option.spelling: option.help for option in usage.options if not option.is_common}
        lines += ["", f"## {usage.program}", "", f"{usage.summary}.", "", "```text"]
        lines += [*usage.examples, "```", "", *(_option_lines(own) if own else ["It has no options of its own."])]
        lines += ["", "```text", usage.details, "```"] if usage.details else []
    return "\n".join(lines) + "\n"
