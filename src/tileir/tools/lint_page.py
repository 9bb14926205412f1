"""Writes the list of rules into docs/lint.md, behind what is written there by hand: `make docs` does."""

from __future__ import annotations

import sys

from tileir.analyze.documentation.markdown import page_lines
from tileir.analyze.documentation.pages import rule_page
from tileir.analyze.lint.rule import GROUPS
from tileir.analyze.lint.rules import RULES

FILE = "docs/lint.md"
_HEADING = "## The rules\n"


def rules_text() -> str:
    """The part of the page that comes from the declarations of rules."""
    lines = [_HEADING, "`make docs` writes this list from the declarations in `src/tileir/analyze/lint/rules`.", ""]
    lines += ["| rule | |", "|---|---|"]
    for group, words in GROUPS.items():
        rules = [rule for rule in RULES.values() if rule.group == group]
        lines += [f"| **{group}** | *{words}* |"] if rules else []
        for rule in rules:
            off = "" if rule.default else " (off by default)"
            lines.append(f"| [`{rule.name}`](#{rule.name}) | {rule.summary}{off} |")
    for rule in RULES.values():
        first, *rest = page_lines(rule_page(rule), ".")
        lines += ["", f"#{first}", *rest]
    return "\n".join(lines) + "\n"


def main() -> int:
    path = sys.argv[1] if len(sys.argv) > 1 else FILE
    with open(path, encoding="utf-8") as file:
        text = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.partition(_HEADING)[0] + rules_text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
