"""Every question of a reader has an answer at every place of every text, however broken it is."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from lsprotocol import types as lsp
from pygls.protocol import default_converter

from tileir.serve.language.completion.completion import complete
from tileir.serve.language.completion.cursor import signature_help
from tileir.serve.language.document.document import Document
from tileir.serve.language.navigation.decorations import inlay_hints, semantic_tokens
from tileir.serve.language.navigation.hover import hover

PROGRAMS = sorted((Path(__file__).parents[2] / "programs").rglob("*.mlir"))
CONVERTER = default_converter()
PIECES = [
    "%",
    "@",
    "{",
    "}",
    "<",
    ">",
    "(",
    "tile<",
    "->",
    "\n",
    "//",
    '"',
    "%x = ",
    "for ",
    ": ",
    "0x",
    "#",
    "!",
    "^a",
    "é😀",
]


def broken(text: str, chance: random.Random) -> str:
    """The text with some of it missing, doubled, or replaced by what does not belong there."""
    for _ in range(chance.randint(1, 6)):
        start = chance.randint(0, len(text))
        end = min(len(text), start + chance.choice([0, 1, 3, 20]))
        text = text[:start] + chance.choice(["", *PIECES, text[start:end] * 2]) + text[end:]
    return text


def ask(document: Document, offset: int) -> None:
    """All questions about one place; the answers are of the protocol's types, as they go over the wire."""
    position = document.position(offset)
    for answer, type in (
        (hover(document, position), lsp.Hover),
        (complete(document, position), lsp.CompletionList),
        (signature_help(document, position), lsp.SignatureHelp),
    ):
        if answer is not None:
            sent = CONVERTER.unstructure(answer)
            assert CONVERTER.unstructure(CONVERTER.structure(sent, type)) == sent


def ask_all(document: Document, chance: random.Random) -> None:
    """The questions about a whole document, or a piece of it."""
    data = list(semantic_tokens(document).data)
    assert len(data) % 5 == 0 and all(number >= 0 for number in data)
    start, end = sorted(chance.choices(range(len(document.text) + 1), k=2))
    semantic_tokens(document, document.range(start, end))
    inlay_hints(document, document.range(start, end))


def places(text: str, chance: random.Random, count: int) -> list[int]:
    return chance.sample(range(len(text) + 1), min(count, len(text) + 1))


@pytest.mark.parametrize("seed", range(4))
def test_places_of_programs_and_of_broken_ones(seed: int) -> None:
    chance = random.Random(seed)
    for path in chance.sample(PROGRAMS, 8):
        text = path.read_text(encoding="utf-8", errors="surrogateescape")[:20000]
        for version in (text, broken(text, chance)):
            document = Document(path.as_uri(), version)
            ask_all(document, chance)
            for offset in places(version, chance, 10):
                ask(document, offset)


@pytest.mark.long
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.name)
def test_every_place_of_every_program(path: Path) -> None:
    chance = random.Random(path.name)
    text = path.read_text(encoding="utf-8", errors="surrogateescape")
    document = Document(path.as_uri(), text)
    ask_all(document, chance)
    for offset in places(text, chance, 2000):
        ask(document, offset)
    for _ in range(20):
        document = Document(path.as_uri(), broken(text, chance))
        ask_all(document, chance)
        for offset in places(document.text, chance, 20):
            ask(document, offset)
