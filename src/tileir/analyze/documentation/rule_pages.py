"""What there is to know about a rule of `tileir lint`, as a page for the terminal and for docs/lint.md."""

from __future__ import annotations

from tileir.analyze.documentation.pages import Code, Page, Paragraph, Section
from tileir.analyze.lint.rule import Rule

GROUP = "Lint rules"


def rule_page(rule: Rule) -> Page:
    """The page of a rule; its programs are the examples."""
    facts = [f"group {rule.group}", f"a {rule.severity}", "on by default" if rule.default else "off by default"]
    if rule.targets:
        facts.append(f"needs --target, in the examples {', '.join(rule.targets)}")
    if rule.version:
        facts.append(f"needs --bytecode-version, in the examples {rule.version}")
    sections = (
        Section("Why", (Paragraph(rule.reason),)),
        Section("What to do", (Paragraph(rule.remedy),)),
        Section("Found here", (Code(rule.positive.strip("\n")),)),
        Section("Not here", (Code(rule.negative.strip("\n")),)),
    )
    return Page(rule.name, GROUP, rule.summary, tuple(facts), sections)
