"""Renaming gives a program that is equal, or a sentence that says why not."""

from __future__ import annotations

import pytest
from lsprotocol import types as lsp
from tests.serve.language.programs import URI, changed, marked, pieces, text_at

from tileir.execute.cache.structural_digest import structural_digest
from tileir.ir.core import Operation
from tileir.serve.language.connection import RequestRefused
from tileir.serve.language.document.document import Document
from tileir.serve.language.document.tree import Name
from tileir.serve.language.navigation.references import prepare_rename, rename
from tileir.text.reading import read_text

PROGRAM = """\
#here = loc("k.py":1:1)
cuda_tile.module @m {
  global @table <f32: [1.0, 2.0]> : tile<2xf32>
  entry @k(%a: tile<i32>, %c: tile<i1>) {
    %t = get_global @table : tile<ptr<f32>>
    if %c {
      %y:2 = get_index_space_shape %v : tile<i32>
      %z = muli %y#1, %y#0 : tile<i32> loc(#here)
    }
    %w = addi %a, %missing : tile<i32>
    return
  }
}
"""


def renamed(at: str, new: str, text: str = PROGRAM) -> str:
    """The program with the name renamed that `at` has a `|` before."""
    document, position = marked(text.replace(at.replace("|", ""), at, 1))
    return changed(document, rename(document, position, new))


@pytest.mark.parametrize(
    ("at", "new", "old_word", "new_word", "count"),
    [
        ("|%a: tile", "%first", "%a", "%first", 2),
        ("|%a: tile", "first", "%a", "%first", 2),
        ("|%y:2", "%shape", "%y", "%shape", 3),
        ("muli |%y#1", "%shape", "%y", "%shape", 3),
        ("|@table", "numbers", "@table", "@numbers", 2),
        ("|@table", "two words", "@table", '@"two words"', 2),
        ("|@table", '@"two words"', "@table", '@"two words"', 2),
        ("loc(|#here", "#there", "#here", "#there", 2),
        ("|%z", "%12", "%z", "%12", 1),
        # Beside the branch that has this name.
        ("|%c: tile", "%c", "%c", "%c", 2),
    ],
)
def test_all_places_are_renamed(at: str, new: str, old_word: str, new_word: str, count: int) -> None:
    expected = PROGRAM.replace(old_word, new_word) if old_word != "%c" else PROGRAM
    assert PROGRAM.count(old_word) == count or old_word == "%c"
    assert renamed(at, new) == expected


@pytest.mark.parametrize(
    ("at", "new", "words"),
    [
        ("|%a: tile", "%c", "'%c' is already the name of another value, defined in line 4"),
        ("|%a: tile", "%z", "'%z' is already the name of another value, defined in line 8"),
        ("|%z", "%a", "'%a' is already the name of another value, defined in line 4"),
        ("|%z", "%w", "'%w' is already the name of another value, defined in line 10"),
        ("|%a: tile", "%missing", "'%missing' is used in line 10 and defined nowhere"),
        ("|@table", "k", "'@k' is already the name of another symbol, defined in line 4"),
        ("|%a: tile", "@b", "that begins with '%'"),
        ("|%a: tile", "%1a", "after '%' comes digits only, or letters"),
        ("|%a: tile", "%a b", "after '%' comes"),
        ("|%a: tile", "%", "A name cannot be empty"),
        ("|%a: tile", "%x#1", "after '%' comes"),
        ("|#here", "a.b", "after '#' comes"),
        ("|@table", "a\tb", "control characters"),
        ("|%missing", "%x", "'%missing' is not defined in this file"),
        ("|return", "%x", "There is no name here"),
    ],
)
def test_what_cannot_be_is_refused_in_words(at: str, new: str, words: str) -> None:
    with pytest.raises(RequestRefused) as refused:
        renamed(at, new)
    assert words in str(refused.value)


def test_kernels_do_not_see_each_others_names() -> None:
    text = "entry @a(%x: tile<i32>) {\n}\nentry @b(%y: tile<i32>) {\n}\n"
    assert "entry @a(%y: tile<i32>)" in renamed("|%x", "%y", text)


def test_blocks_are_renamed_in_their_region() -> None:
    text = """\
"test.outer"() ({
^first(%a: i32):
  "test.jump"()[^second] : () -> ()
^second:
  "test.jump"()[^first] : () -> ()
}) : () -> ()
"""
    assert renamed("^|second]", "^last", text) == text.replace("^second", "^last")
    with pytest.raises(RequestRefused):
        renamed("^|second]", "^first", text)


def test_a_symbol_of_the_generic_form_is_a_string() -> None:
    text = """\
"cuda_tile.module"() <{sym_name = "m"}> ({
  "cuda_tile.global"() <{sym_name = "g", value = dense<1.0> : tile<1xf32>}> : () -> ()
  "cuda_tile.use"() {a = @g} : () -> ()
}) : () -> ()
"""
    assert renamed("@|g}", "h", text) == text.replace('"g"', '"h"').replace("@g", "@h")


def test_what_would_be_renamed_is_shown_without_its_number() -> None:
    document, position = marked(PROGRAM.replace("muli %y#1", "muli %y#|1"))
    found = prepare_rename(document, position)
    assert (text_at(document, found.range), found.placeholder) == ("%y", "%y")


def test_names_of_documents_with_a_version_are_renamed_at_that_version() -> None:
    document = Document(URI, PROGRAM, 7)
    edit = rename(document, document.position(PROGRAM.index("%a:")), "%b")
    assert edit.changes is None and edit.document_changes is not None
    (change,) = edit.document_changes
    assert isinstance(change, lsp.TextDocumentEdit) and change.text_document.version == 7


def check_renaming(document: Document, name: Name, module: Operation) -> None:
    """The program is equal after a name is given that no other has."""
    assert name.definition is not None
    position = document.position(document.syntax.starts[name.definition])
    text = changed(document, rename(document, position, f"{name.text[0]}renamed_by_test"))
    found = read_text(text, allow_unregistered=True)
    assert found.module is not None, (name, [str(each) for each in found.diagnostics])
    if name.kind != "symbol":
        assert structural_digest(found.module) == structural_digest(module), name


def check_all(step: int) -> int:
    count = 0
    number = 0
    for piece in pieces():
        found = read_text(piece, allow_unregistered=True)
        document = Document(URI, piece)
        for name in document.syntax.names if found.module is not None else ():
            number += 1
            if name.definition is not None and number % step == 0:
                assert found.module is not None
                check_renaming(document, name, found.module)
                count += 1
    return count


def test_renaming_keeps_the_program() -> None:
    assert check_all(23) > 60


@pytest.mark.long
def test_renaming_any_name_keeps_the_program() -> None:
    assert check_all(1) > 1500
