"""Formatting changes blanks only, keeps what people wrote, and leaves alone what the printer wrote."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest
from lsprotocol import types as lsp
from tests.generators.programs import random_module
from tests.serve.language.programs import EXAMPLES, applied, pieces

from tileir.serve.language.document.document import Document
from tileir.serve.language.editing.code_actions import format_document, format_on_type, format_range
from tileir.serve.language.editing.layout import laid_out
from tileir.text.lexer import tokenize
from tileir.text.printer import print_disassembly

PIECES = pieces()


def tokens_of(text: str) -> list[str]:
    return [token for token in tokenize(text) if token]


def comments_of(text: str) -> list[str]:
    """What stands behind `//` outside of strings, without blanks at the end."""
    found = []
    for line in text.split("\n"):
        outside = re.sub(r'"(?:[^"\\]|\\.)*"', "", line)
        if "//" in outside:
            found.append(outside[outside.index("//") :].rstrip())
    return found


@pytest.mark.parametrize("seed", range(2))
def test_what_the_printer_writes_does_not_change(seed: int) -> None:
    module = random_module(Random(seed))
    texts = [module.text(), module.text(generic=True), module.text(debug_info=True), print_disassembly(module, True)]
    for text in texts:
        text = text.rstrip("\n") + "\n"
        assert laid_out(text) == text


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 100))
def test_what_the_printer_writes_of_many_programs_does_not_change(seed: int) -> None:
    test_what_the_printer_writes_does_not_change(seed)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_are_laid_out(path: Path) -> None:
    assert laid_out(path.read_text()) == path.read_text()


def test_tokens_and_comments_stay_and_a_second_time_changes_nothing() -> None:
    assert len(PIECES) > 300
    for piece in PIECES:
        once = laid_out(piece)
        assert tokens_of(once) == tokens_of(piece)
        assert comments_of(once) == comments_of(piece)
        assert laid_out(once) == once


def test_a_program_on_one_line_gets_its_lines() -> None:
    text = "entry @k(%a:tile<i32>){%0:2=foo %a,%a:tile<i32> if %c{return}else{yield}  return}"
    assert laid_out(text) == (
        "entry @k(%a: tile<i32>) {\n"
        "  %0:2 = foo %a, %a : tile<i32>\n"
        "  if %c {\n"
        "    return\n"
        "  } else {\n"
        "    yield\n"
        "  }\n"
        "  return\n"
        "}\n"
    )


def test_lines_that_were_broken_stay_broken() -> None:
    text = """\
entry @k(
 %a: tile<i32>,  // the first
     %b : tile<i32>
   )
{
 %x = addi %a,
   %b : tile<i32>


   // before the end

return   }
"""
    assert laid_out(text) == (
        """\
entry @k(
    %a: tile<i32>,  // the first
    %b: tile<i32>
) {
  %x = addi %a,
      %b : tile<i32>

  // before the end

  return
}
"""
    )


def test_two_spaces_for_a_default_are_kept_and_not_made() -> None:
    head, tail = "entry @k(%a: tile<f32>) {\n", "  return\n}\n"
    for line in ("  %0 = addf %a, %a  : tile<f32>\n", "  %0 = addf %a, %a : tile<f32>\n"):
        assert laid_out(head + line + tail) == head + line + tail
    assert laid_out(head + "  %0 = addf %a,  %a   : tile<f32>\n" + tail) == (
        head + "  %0 = addf %a, %a : tile<f32>\n" + tail
    )


def test_clauses_are_spaced_as_the_operation_prints_them() -> None:
    line = (
        "%r = reduce %x dim = 0 identities = [0.0:f32] : tile<4xf32> -> tile<f32>\n(%a : tile<f32>, %b : tile<f32>) {\n"
    )
    assert laid_out(line + "yield %a:tile<f32>}").split("\n")[:2] == [
        "%r = reduce %x dim=0 identities=[0.0 : f32] : tile<4xf32> -> tile<f32>",
        "(%a: tile<f32>, %b: tile<f32>) {",
    ]


def test_line_ends_of_windows_stay() -> None:
    assert laid_out("entry @k(){\r\nreturn\r\n}\r\n") == "entry @k() {\r\n  return\r\n}\r\n"


@pytest.mark.parametrize("text", ["entry @k( {\nreturn\n  }\n", "  }\n", "%a = foo <[1>]\n"])
def test_a_text_whose_brackets_do_not_match_stays(text: str) -> None:
    assert laid_out(text) == text


@pytest.mark.parametrize("text", ["", "\n\n", "   "])
def test_an_empty_text_is_empty(text: str) -> None:
    assert laid_out(text) == ""


def test_comments_alone_stay() -> None:
    assert laid_out("\n// a\n\n\n//b") == "// a\n\n//b\n"


# --- as an editor asks ---


MESSY = """\
cuda_tile.module @m {
entry @k(%a:tile<i32>) {
%0 = addi %a,%a:tile<i32>
      %1 = addi %0,%a:tile<i32>
return
}
}
"""


def test_a_document_is_formatted_by_edits_between_tokens() -> None:
    document = Document("file:///k.mlir", MESSY)
    edits = format_document(document)
    assert applied(document, edits) == laid_out(MESSY)
    assert all(not edit.new_text.strip() for edit in edits)


def test_a_range_changes_its_lines_only() -> None:
    document = Document("file:///k.mlir", MESSY)
    new = applied(document, format_range(document, lsp.Range(lsp.Position(3, 8), lsp.Position(3, 9))))
    old, good = MESSY.split("\n"), laid_out(MESSY).split("\n")
    assert new.split("\n") == [*old[:3], good[3], *old[4:]]
    whole_lines = lsp.Range(lsp.Position(2, 0), lsp.Position(4, 0))
    assert applied(document, format_range(document, whole_lines)).split("\n") == [*old[:2], *good[2:4], *old[4:]]


@pytest.mark.parametrize(
    ("text", "line", "character", "expected"),
    [
        ("entry @k() {\n\n}\n", 1, "\n", "  "),
        ("entry @k() {\n  if %c {\n\n  }\n}\n", 2, "\n", "    "),
        ("entry @k() {\n  if %c {\n    return\n    }\n}\n", 3, "}", "  "),
        ("entry @k(%a: tile<i32>,\n\n) {\n}\n", 1, "\n", "    "),
        ("entry @k() {\n  return\n}\n\n", 3, "\n", ""),
        ("entry @k() {\n  if %c {\n", 2, "\n", "    "),
    ],
)
def test_a_line_that_is_typed_is_indented(text: str, line: int, character: str, expected: str) -> None:
    document = Document("file:///k.mlir", text)
    column = len(text.split("\n")[line])
    new = applied(document, format_on_type(document, lsp.Position(line, column), character)).split("\n")[line]
    assert new[: len(new) - len(new.lstrip())] == expected
