"""docs/reference/drafts.md has a row for every section of the drafts, and names files and conflicts that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tileir.dialect.ops  # noqa: F401  (registers the declarations)
from tileir.ir.registry import REGISTRY

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "docs" / "reference"
PARTS = re.split(r"^## ", (REFERENCE / "drafts.md").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
DRAFTS = {part.partition("\n")[0]: part for part in PARTS}
SECTIONS = {
    "The operations draft": 135,
    "The bytecode draft": 21,
    "The types draft": 22,
    "The printer draft": 13,
    "The folds draft": 14,
}


def rows(draft: str) -> list[tuple[str, ...]]:
    """Title and requirement of each section; only the sections of the operations draft have numbers before them."""
    number = r"(?:[\d.]+(?: \(second\))? \| )" if draft == "The operations draft" else ""
    found = re.findall(rf"^\| {number}(?!section \||---)(.+?) \| (.*?) ?\|$", DRAFTS[draft], re.MULTILINE)
    return [row for row in found if ".py" not in row[0]]


@pytest.mark.parametrize("draft", SECTIONS)
def test_every_section_has_a_row(draft: str) -> None:
    titles = [title for title, _ in rows(draft)]
    assert len(titles) == len(set(titles)) == SECTIONS[draft]


@pytest.mark.parametrize("draft", SECTIONS)
def test_files_of_a_draft_exist(draft: str) -> None:
    found = 0
    # A sentence, or a row of chapters: what implements them, then what tests them.
    for line in re.findall(r"^Implemented in (.*)$|^\| [\d., ]+ \| (\w+/.*)\|$", DRAFTS[draft], re.MULTILINE):
        sources, _, tests = "".join(line).replace("; tested in", " | ").partition(" | ")
        for folder, cell in (("src/tileir", sources), ("tests", tests)):
            names = re.findall(r"[\w/]+\.py|\w+/(?:\w+/)*(?=[,.\s]|$)", cell)
            assert names, line
            found += len(names)
            for name in names:
                assert (ROOT / folder / name).exists(), name
    assert found > 5


def test_operations_of_the_drafts_are_declared() -> None:
    titles = [title for title, _ in rows("The operations draft")]
    declared = [title for title in titles if f"cuda_tile.{title}" in REGISTRY.by_name]
    assert len(declared) == 104
    # Only chapters and argument kinds have other titles.
    others = [title for title in titles if title not in declared]
    assert [title for title in others if re.fullmatch(r"[a-z]\w*", title)] == ["bool", "view_type"]


def test_conflicts_that_rows_cite_exist() -> None:
    known = re.findall(r"^\| ([A-H]\d+) \|", (REFERENCE / "conflicts.md").read_text(encoding="utf-8"), re.MULTILINE)
    for draft in SECTIONS:
        for title, requirement in rows(draft):
            for cited in re.findall(r"\b[A-H]\d+\b", requirement):
                assert cited in known, (title, cited)
