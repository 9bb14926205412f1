"""Edits and positions of documents, against the whole text worked out anew."""

import random
from typing import Any, cast

import pytest
from lsprotocol import types as lsp

from tileir.serve.language.document.document import Document

PIECES = [
    "a",
    "%x",
    "\n",
    "\r\n",
    "\r",
    "é",
    "€",
    "😀",
    "\ud83d",
    "\ude00",
    " ",
    "addi %a, %b : tile<4xi32>\n",
    "{",
    "}",
]
UNITS = {"utf-8": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}


def units(text, encoding):
    size = {"utf-8": 1, "utf-16": 2, "utf-32": 4}[encoding]
    return len(text.encode(UNITS[encoding], "surrogatepass")) // size


@pytest.mark.parametrize("encoding", UNITS)
def test_edits_keep_lines_and_positions(encoding):
    chance = random.Random(18)
    for _ in range(60):
        document = Document("file:///x.mlir", "".join(chance.choices(PIECES, k=12)), encoding=encoding)
        for _ in range(12):
            start, end = sorted(chance.choices(range(len(document.text) + 1), k=2))
            new = "".join(chance.choices(PIECES, k=chance.randrange(4)))
            document.replace(start, end, new)
            fresh = Document("file:///x.mlir", document.text, encoding=encoding)
            assert document._line_starts == fresh._line_starts
            for offset in range(len(document.text) + 1):
                position = document.position(offset)
                line = document.text[document.line_start(position.line) : offset]
                assert units(line, encoding) == position.character
                inside = offset <= document.line_end(position.line)
                assert not inside or document.offset(position) == offset


def test_positions_outside_are_taken_for_the_nearest_inside():
    document = Document("file:///x.mlir", "ab\r\ncd")
    assert document.offset(lsp.Position(0, 99)) == 2
    assert document.offset(lsp.Position(9, 0)) == 6
    assert document.offset(lsp.Position(1, 1)) == 5


def test_an_edit_of_the_protocol_counts_utf16():
    document = Document("file:///x.mlir", "// 😀x\n")
    edit = lsp.TextDocumentContentChangePartial(lsp.Range(lsp.Position(0, 5), lsp.Position(0, 6)), "y")
    document.change(edit)
    assert document.text == "// 😀y\n"
    document.change(lsp.TextDocumentContentChangeWholeDocument("whole"))
    assert document.text == "whole"


def test_halves_of_a_pair_take_as_many_units_as_before():
    document = Document("file:///x.mlir", "\ud83dx\ude00\ud83d\ude00")
    assert document.text == "\ufffdx\ufffd😀"
    document.replace(1, 2, "")
    assert document.position(3) == lsp.Position(0, 4)


def test_what_may_be_meant_is_said_of_any_number_of_texts():
    document = Document("file:///a.mlir", "entry @k() {\n  retur\n}\n")
    for number in range(150):
        start = document.text.index("  retur") + 2
        document.replace(start, document.text.index("\n", start), f"nonsense{number}")
        assert document.analysis.diagnostics
        document.replace(start, document.text.index("\n", start), "retur")
    (found,) = document.analysis.diagnostics
    assert [note.message for note in found.notes] == ["did you mean 'return'?"]


def test_a_text_whose_parts_cannot_be_read_is_read_as_a_whole():
    document = Document("file:///a.mlir", "entry @k() {\n  return\n}\n")
    assert document.analysis.diagnostics == []

    class Failing:
        def update(self, change):
            raise IndexError("a mistake of the reader")

    document._edited = cast(Any, Failing())
    document.replace(15, 21, "retur")
    assert len(document.analysis.diagnostics) == 1
    document.replace(15, 20, "return")
    assert document.analysis.diagnostics == []
