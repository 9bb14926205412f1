"""docs/reference/drafts.md names files that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# number, title, asks for, status, implemented in, tested in
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (ROOT / "docs" / "reference" / "drafts.md").read_text(encoding="utf-8").splitlines()
    if line.count("|") == 7 and not line.startswith(("| number", "|---"))
]
DONE = [row for row in ROWS if row[3].startswith("done")]


def files(cell: str) -> list[str]:
    return re.findall(r"[\w/]+\.py|[\w/]+/(?=,|$)", cell)


@pytest.mark.parametrize("row", DONE, ids=lambda row: f"{row[0]} {row[1]}")
def test_files_of_a_section_that_is_done_exist(row: list[str]) -> None:
    assert files(row[4]), "no file implements it"
    for name in files(row[4]):
        assert (ROOT / "src" / "tileir" / name).exists(), name
    for name in files(row[5]):
        assert (ROOT / "tests" / name).exists(), name
    assert row[5] not in ("", "-")


def test_the_tables_were_found() -> None:
    assert len(ROWS) > 180
    assert len(DONE) > 130
