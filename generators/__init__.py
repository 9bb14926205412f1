"""What the repository derives from the declarations; `make docs` writes it, `make docs-check` compares it.

operation_index  the index of chapters in dialect/ops/__init__.py
accessors        the properties of operations in ir/accessors.py
stubs            builder.pyi, and a stub for each public module that is a table
reference        docs/reference/operations, lint_rules.md and options.md
records          docs/reference/operations/records.md
support          docs/reference/support.md
cheats           docs/reference/cheats.md, from the table of cheats and the corpus of their tests
highlighting     the words in editors/; textmate.py has the grammar for Visual Studio Code

upstream         compares the declarations with releases of cuda-tile and tileiras; encoders.py reads cuda-tile's

Each function returns the text of a file; __main__.py lists the files.  The same declarations give the same bytes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
NOTE: Final = "<!-- Written by `make docs` from the declarations; edit those. -->"
"""What a page begins with, behind its title, that is generated as a whole."""


def is_generated(page: Path) -> bool:
    return NOTE in page.read_text(encoding="utf-8")[:200]


def with_generated(file: str, text: str, begin: str, end: str = "") -> str:
    """A file of the repository with `text` between the lines `begin` and `end`; without `end`, up to its last line."""
    before, found, rest = (ROOT / file).read_text(encoding="utf-8").partition(f"{begin}\n")
    after = rest[rest.index(f"{end}\n") :] if end else ""
    if not found:
        raise ValueError(f"{file} has no line '{begin}'")
    return before + found + text + after
