"""The pages of the documentation as blocks, commands and outputs, for the tests that run them."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import NamedTuple

from generators import is_generated

ROOT = Path(__file__).parents[1]


DOCUMENTS = tuple(sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")))
PAGES = ("README.md", "CONTRIBUTING.md", *[path for path in DOCUMENTS if not is_generated(ROOT / path)])
"""What people write; tests/analyze/documentation/test_examples.py runs what is generated."""


class Block(NamedTuple):
    """A fenced block: its language, its text, the line it starts in; `output` is a `text` block right behind it."""

    page: str
    language: str
    text: str
    line: int
    output: str | None

    @property
    def first_line(self) -> str:
        return self.text.partition("\n")[0]


@functools.cache
def blocks(page: str) -> list[Block]:
    text = (ROOT / page).read_text(encoding="utf-8")
    found: list[Block] = []
    end = -1
    for match in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        language, body = match.groups()
        if language == "text" and found and text[end : match.start()].strip() == "":
            found[-1] = found[-1]._replace(output=body)
        else:
            found.append(Block(page, language, body, text.count("\n", 0, match.start()) + 1, None))
        end = match.end()
    return found


def sessions(block: Block) -> list[tuple[str, str]]:
    """Each command of a `console` block with the output that is shown for it."""
    commands = re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]
    parts = [command.partition("\n") for command in commands]
    return [(line, output) for line, _, output in parts]


def commands(block: Block) -> list[str]:
    """The commands of a block without outputs; empty if it has anything else.  `mkdir -p build` may come first."""
    lines = [line for line in block.text.splitlines() if line and line != "mkdir -p build"]
    return lines if all(line.startswith(("tileir ", "tileir-")) for line in lines) else []


def steps(block: Block) -> list[str]:
    """The commands of tileir in a workflow."""
    return re.findall(r"^ *- run: (tileir .*)$", block.text, re.MULTILINE) if block.language == "yaml" else []


def agrees(printed: str, shown: str) -> bool:
    """Whether an output is as shown: the end may be left out (`...`), and so may the digits of addresses (`0x..`)."""
    if "0x.." in shown:
        printed = re.sub(r"\b0x[0-9a-f]+", "0x..", printed)
    shown, more, rest = shown.partition("...\n")
    assert not rest, "only the end can be left out"
    return printed.startswith(shown) and len(printed) > len(shown) if more else printed == shown
