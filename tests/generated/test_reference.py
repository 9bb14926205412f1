"""The Markdown reference says what `tileir explain` says, and its links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

from generators.reference import reference

from tileir.analyze.documentation.markdown import anchor
from tileir.analyze.documentation.pages import CHAPTERS
from tileir.analyze.documentation.vocabulary import Entry, all_entries, operation_entries, rule_entries

DOCUMENTS = Path(__file__).parents[2] / "docs"
PAGES = reference()


def headings(text: str) -> list[str]:
    return re.findall(r"^## (?:\[[^\]]+\]\([^)]*\)|(.+))$", text, re.MULTILINE)


def test_there_is_a_page_per_chapter_and_four_more() -> None:
    assert len(PAGES) == len(CHAPTERS) + 4
    assert {"index.md", "types.md", "attributes.md", "versions.md", "control_flow.md"} <= set(PAGES)


def explained() -> list[Entry]:
    rules = {entry.name for entry in rule_entries()}
    return [entry for entry in all_entries() if entry.name not in rules]


def test_everything_that_can_be_explained_has_a_heading_once() -> None:
    found = [name for file, text in PAGES.items() if file != "index.md" for name in headings(text)]
    # The rules of lint have a page of their own.
    assert sorted(found) == sorted(entry.name for entry in explained())


def test_an_operation_stands_in_the_page_of_its_chapter() -> None:
    for entry in operation_entries():
        assert f"\n## {entry.name}\n" in PAGES[entry.group.lower().replace(" ", "_") + ".md"]


def test_links_of_the_index_lead_to_headings() -> None:
    links = re.findall(r"\]\((\w+\.md)(?:#([\w-]+))?\)", PAGES["index.md"])
    assert len(links) > len(explained())
    for file, fragment in links:
        assert file in PAGES
        if fragment:
            assert fragment in [anchor(name) for name in headings(PAGES[file])], (file, fragment)


def test_links_to_other_documents_lead_to_files() -> None:
    targets = {target for text in PAGES.values() for target in re.findall(r"\]\(\.\./\.\./(\w+/\w+\.md)\)", text)}
    assert targets
    for target in targets:
        assert (DOCUMENTS / target).is_file(), target


def test_tables_have_as_many_cells_as_columns() -> None:
    for file, text in PAGES.items():
        width = 0
        for line in text.split("\n"):
            cells = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else 0
            if cells and width:
                assert cells == width, (file, line)
            width = cells
