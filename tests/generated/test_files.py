"""The generated files of the repository are what the generators write."""

from __future__ import annotations

import pytest

pytest.importorskip("numpy", reason="one of the pages lists what the engines have")

from generators import ROOT, with_generated
from generators.__main__ import files


def test_generated_files_are_up_to_date() -> None:
    stale = [name for name, text in files().items() if (ROOT / name).read_text(encoding="utf-8") != text]
    assert stale == [], "run: make docs"


def test_a_file_without_the_line_is_refused() -> None:
    with pytest.raises(ValueError, match=r"CHANGELOG\.md has no line 'words: begin'"):
        with_generated("CHANGELOG.md", "", "words: begin")
