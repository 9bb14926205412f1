"""Every rule finds what its first program shows, at the lines that say so, and nothing in its second one."""

from __future__ import annotations

import re

import pytest

import tileir
from tileir.analyze.lint.linting import lint
from tileir.analyze.lint.rule import GROUPS, Rule
from tileir.analyze.lint.rules import RULES

KEBAB = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+")


def marked_lines(text: str) -> list[int]:
    """The lines that end in `// here`; one that says nothing else stands for the next."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() == "// here":
            found.append(number + 1)
        elif line.rstrip().endswith("// here"):
            found.append(number)
    return found


def lines_of(rule: Rule, text: str) -> list[int]:
    module = tileir.parse(text, verify=True)
    found = lint(module, select=["all"], target=rule.targets, version=rule.version)
    return [finding.diagnostic().position[1] for finding in found if finding.rule == rule.name]


@pytest.mark.parametrize("rule", RULES.values(), ids=list(RULES))
def test_the_first_program_has_findings_at_the_marked_lines(rule: Rule) -> None:
    assert marked_lines(rule.positive)
    assert lines_of(rule, rule.positive) == marked_lines(rule.positive)


@pytest.mark.parametrize("rule", RULES.values(), ids=list(RULES))
def test_the_second_program_has_none(rule: Rule) -> None:
    assert lines_of(rule, rule.negative) == []


@pytest.mark.parametrize("rule", RULES.values(), ids=list(RULES))
def test_a_rule_says_what_it_is_why_it_matters_and_what_to_do(rule: Rule) -> None:
    assert KEBAB.fullmatch(rule.name)
    assert rule.group in GROUPS
    assert rule.severity in ("warning", "remark")
    assert not rule.summary.endswith(".")
    for sentences in (rule.reason, rule.remedy):
        assert sentences[0].isupper() and sentences.endswith(".")


def test_names_of_rules_are_no_groups() -> None:
    assert not set(RULES) & set(GROUPS)
