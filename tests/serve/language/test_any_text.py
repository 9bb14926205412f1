"""Every question about names, layout and mistakes has an answer on any text."""

from __future__ import annotations

from random import Random

import pytest
from lsprotocol import types as lsp
from tests.serve.language.programs import URI, changed, pieces

from tileir.serve.language.connection import RequestRefused
from tileir.serve.language.document.document import Document
from tileir.serve.language.document.tree import apply
from tileir.serve.language.editing.code_actions import code_actions, fix_all, format_on_type, format_range
from tileir.serve.language.editing.layout import laid_out
from tileir.serve.language.navigation.outline import document_symbols, folding_ranges, selection_ranges
from tileir.serve.language.navigation.references import (
    definition,
    highlights,
    linked_editing,
    references,
    rename,
    type_definition,
)
from tileir.text.lexer import tokenize

SCRAPS = [
    "{", "}", "(", ")", "<", ">", "%", "%a", "@", "^bb", '"', "//", "\n", "\r\n", "\t", ":", "::", "=", "->", "-", "loc(",
    "#x =", "!t = ", "for ", "else", "yield", "entry @k(", "0x", "é", "😀", "reduce %x dim=0 ", "constant <f32: 1> : tile<f32>",
]  # fmt: skip


def broken(random: Random, piece: str) -> str:
    """A program with a few pieces of it taken out, and others put in."""
    for _ in range(random.randrange(1, 6)):
        start = random.randrange(len(piece) + 1)
        end = start + random.choice([0, 0, 1, 3, 20, 100])
        piece = piece[:start] + (random.choice(SCRAPS) if random.random() < 0.7 else "") + piece[end:]
    return piece


def check(random: Random, text: str) -> None:
    document = Document(URI, text)
    good = laid_out(text)
    assert [token for token in tokenize(good) if token] == [token for token in tokenize(text) if token]
    assert laid_out(good) == good
    folding_ranges(document)
    document_symbols(document)
    for _ in range(4):
        place = random.randrange(len(text) + 1)
        position = document.position(place)
        for question in (definition, type_definition, references, highlights, linked_editing):
            question(document, position)
        selection_ranges(document, [position])
        format_range(document, document.range(place, min(place + 30, len(text))))
        format_on_type(document, position, random.choice(["\n", "}"]))
        try:
            changed(document, rename(document, position, "%other"))
        except RequestRefused as refused:
            assert str(refused).endswith(".")
    everywhere = document.range(0, len(text))
    for action in code_actions(document, everywhere, lsp.CodeActionContext([])):
        assert action.command is not None or changed(document, action.edit) != text
    apply(text, fix_all(document))


def test_a_few_broken_programs() -> None:
    programs = pieces()
    random = Random(5)
    for _ in range(40):
        check(random, broken(random, random.choice(programs)))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(20))
def test_many_broken_programs(seed: int) -> None:
    programs = pieces()
    random = Random(seed)
    for _ in range(300):
        check(random, broken(random, random.choice(programs)))
