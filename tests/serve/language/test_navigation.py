"""Definitions, references, outline, folding and selections."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types as lsp
from tests.serve.language.programs import EXAMPLES, URI, marked, pieces, place_of, text_at

from tileir.serve.language.document.document import Document
from tileir.serve.language.navigation.outline import (
    document_symbols,
    folding_ranges,
    selection_ranges,
    workspace_symbols,
)
from tileir.serve.language.navigation.references import (
    definition,
    highlights,
    linked_editing,
    references,
    type_definition,
)

PROGRAM = """\
!number = !cuda_tile.tile<i32>
cuda_tile.module @m {
  global @table <f32: [1.0, 2.0]> : tile<2xf32>
  entry @k(%a: !number, %c: tile<i1>) {
    %t = get_global @table : tile<ptr<f32>>
    %p:2 = get_index_space_shape %v : tile<i32>
    %x = addi %a, %p#1 : !number
    if %c {
      %y = muli %x, %a : tile<i32>
    } else {
      %y = negi %x : tile<i32>
    }
    return
  }
}
"""


@pytest.mark.parametrize(
    ("before", "at", "line", "text"),
    [
        ("%y = muli ", "%x", 6, "%x"),
        ("%y = negi ", "%x", 6, "%x"),
        ("%x = addi ", "%a", 3, "%a"),
        ("%x = addi %a, ", "%p#1", 5, "%p"),
        ("get_global ", "@table", 2, "@table"),
        ("%x = addi %a, %p#1 : ", "!number", 0, "!number"),
        ("  if ", "%c", 3, "%c"),
    ],
)
def test_a_use_leads_to_its_definition(before: str, at: str, line: int, text: str) -> None:
    assert before + at in PROGRAM
    for place in (0, len(at)):
        document, position = marked(PROGRAM.replace(before + at, f"{before}{at[:place]}|{at[place:]}", 1))
        found = definition(document, position)
        assert [(each.uri, each.range.start.line, text_at(document, each.range)) for each in found] == [
            (URI, line, text)
        ]


def test_what_is_defined_nowhere_leads_nowhere() -> None:
    assert definition(*marked(PROGRAM.replace("%v :", "|%v :"))) == []
    assert definition(*marked(PROGRAM.replace("return", "ret|urn"))) == []
    assert definition(*marked("|")) == []


def test_a_value_leads_to_the_alias_of_its_type() -> None:
    for text in (PROGRAM.replace("addi %a,", "addi |%a,"), PROGRAM.replace("%x = ", "|%x = ")):
        document, position = marked(text)
        assert [place_of(each.range) for each in type_definition(document, position)] == [(0, 0)]
    assert type_definition(*marked(PROGRAM.replace("%y = muli", "|%y = muli"))) == []


def test_references_with_and_without_the_definition() -> None:
    document, position = marked(PROGRAM.replace("muli %x", "muli |%x"))
    lines = [each.range.start.line for each in references(document, position)]
    assert lines == [6, 8, 10]
    assert [each.range.start.line for each in references(document, position, False)] == [8, 10]


def test_names_of_branches_are_their_own() -> None:
    document, position = marked(PROGRAM.replace("%y = muli", "|%y = muli"))
    assert [each.range.start.line for each in references(document, position)] == [8]


def test_a_definition_is_written_and_a_use_is_read() -> None:
    document, position = marked(PROGRAM.replace("%p:2", "|%p:2"))
    kinds = [(each.range.start.line, each.kind) for each in highlights(document, position)]
    assert kinds == [(5, lsp.DocumentHighlightKind.Write), (6, lsp.DocumentHighlightKind.Read)]
    linked = linked_editing(document, position)
    assert linked is not None and [text_at(document, each) for each in linked.ranges] == ["%p", "%p"]


def test_a_location_leads_to_the_script(tmp_path: Path) -> None:
    script = tmp_path / "kernel.py"
    script.write_text("import cuda.tile as ct\n\n\ndef kernel(a):\n    pass\n")
    program = """\
cuda_tile.module @m {
  entry @k() {
    %0 = make_token : token loc(#here)
    return
  }
}
#here = loc("kernel.py":4:5)
"""
    uri = (tmp_path / "k.mlir").as_uri()
    for name in ("kernel.py", str(script)):
        text = program.replace("kernel.py", name)
        document = Document(uri, text)
        position = document.position(text.index(":4:5") + 1)
        assert [(each.uri, place_of(each.range)) for each in definition(document, position)] == [
            (script.as_uri(), (3, 4))
        ]
    absolute = Document(uri, program.replace("kernel.py", str(script)))
    name_of_operation = absolute.position(absolute.text.index("make_token"))
    found = definition(absolute, name_of_operation)
    assert [(each.uri, each.range.start.line) for each in found] == [(script.as_uri(), 3)]
    alias = absolute.position(absolute.text.index("#here") + 1)
    assert [each.range.start.line for each in definition(absolute, alias)] == [6]
    missing = Document(uri, program.replace("kernel.py", "nowhere.py"))
    assert definition(missing, missing.position(missing.text.index(":4:5") + 1)) == []


# --- outline ---


def outline(symbols: list[lsp.DocumentSymbol] | None) -> list[object]:
    return [(each.name, outline(list(each.children or []))) for each in symbols or []]


def test_the_outline_has_kernels_and_what_has_a_body() -> None:
    document = Document(URI, PROGRAM)
    assert outline(document_symbols(document)) == [("@m", [("@table", []), ("@k", [("if", [])])])]
    kernel = (document_symbols(document)[0].children or [])[1]
    assert kernel.kind == lsp.SymbolKind.Function
    assert kernel.detail == "(%a: !number, %c: tile<i1>)"
    assert text_at(document, kernel.selection_range) == "@k"
    assert text_at(document, kernel.range).startswith("entry @k(") and text_at(document, kernel.range).endswith("}")


def test_loops_and_reductions_are_named_by_what_they_define() -> None:
    attention = next(path for path in EXAMPLES if path.stem == "attention")
    assert outline(document_symbols(Document(URI, attention.read_text()))) == [
        ("@kernels", [("@attention", [("for %mixed", [("reduce %largest", []), ("reduce %sum", [])])])])
    ]


def test_a_selection_is_inside_of_its_range() -> None:
    def look(symbols: list[lsp.DocumentSymbol]) -> int:
        count = 0
        for each in symbols:
            outer, inner = each.range, each.selection_range
            assert (outer.start.line, outer.start.character) <= (inner.start.line, inner.start.character)
            assert (inner.end.line, inner.end.character) <= (outer.end.line, outer.end.character)
            assert each.name
            count += 1 + look(list(each.children or []))
        return count

    assert sum([look(document_symbols(Document(URI, piece))) for piece in pieces()]) > 300


def test_symbols_of_a_workspace(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a.mlir").write_text("cuda_tile.module @m {\n  entry @softmax_row() {\n  }\n}\n")
    (tmp_path / "b.mlir").write_text('entry @"odd name"() {\n}\n')
    (tmp_path / "c.py").write_text("entry @not_this() {\n")
    open_document = Document((tmp_path / "b.mlir").as_uri(), "entry @changed() {\n}\n")
    everything = workspace_symbols("", [open_document], [str(tmp_path)])
    assert [each.name for each in everything] == ["@changed", "@m", "@softmax_row"]
    (found,) = workspace_symbols("SMrow", [open_document], [str(tmp_path)])
    assert isinstance(found.location, lsp.Location)
    assert found.location.uri == (tmp_path / "deep" / "a.mlir").as_uri()
    assert (place_of(found.location.range), found.location.range.end.character) == ((1, 8), 20)
    assert workspace_symbols("nothing", [open_document], [str(tmp_path), "/nowhere"]) == []


# --- folding and selections ---


def test_regions_comments_constants_and_aliases_fold() -> None:
    text = """\
// A comment
// on two lines.
#a = loc("k.py":1:1)
#b = loc("k.py":2:1)
#c = loc("k.py":3:1)
entry @k(
    %a: tile<i32>
) {
  %0 = constant <i32: 0> : tile<i32>
  %1 = constant <i32: 1> : tile<i32>
  %2 = constant <i32: 2> : tile<i32>
  // one line
  if %c {
    return
  } else {
    return
  }
  // #region end
  return
  // #endregion
}
"""
    found = {(each.start_line, each.end_line): each.kind for each in folding_ranges(Document(URI, text))}
    kinds = lsp.FoldingRangeKind
    assert found == {
        (0, 1): kinds.Comment,
        (2, 4): kinds.Imports,
        (5, 6): None,
        (7, 19): None,
        (8, 10): None,
        (12, 13): None,
        (14, 15): None,
        (17, 19): kinds.Region,
    }


def test_a_region_that_is_open_folds_to_the_end() -> None:
    found = folding_ranges(Document(URI, "entry @k() {\n  if %c {\n    return\n"))
    assert {(each.start_line, each.end_line) for each in found} >= {(0, 3), (1, 3)}


def selections(text: str) -> list[str]:
    document, position = marked(text)
    found = []
    selection: lsp.SelectionRange | None = selection_ranges(document, [position])[0]
    while selection is not None:
        found.append(text_at(document, selection.range))
        selection = selection.parent
    return found


def test_selections_grow_by_what_belongs_together() -> None:
    text = "entry @k() {\n  %x = foo %a[%i, %j|j] : tile<i32>\n  return\n}\n"
    whole = text.replace("|", "")
    assert selections(text) == [
        "",
        "%jj",
        "%i, %jj",
        "[%i, %jj]",
        "foo %a[%i, %jj] : tile<i32>",
        "%x = foo %a[%i, %jj] : tile<i32>",
        "%x = foo %a[%i, %jj] : tile<i32>\n  return",
        "{\n  %x = foo %a[%i, %jj] : tile<i32>\n  return\n}",
        "entry @k() {\n  %x = foo %a[%i, %jj] : tile<i32>\n  return\n}",
        whole,
    ]


def test_every_question_has_an_answer_on_any_text() -> None:
    for piece in pieces()[::7]:
        for cut in (len(piece) // 3, len(piece) // 2, len(piece)):
            document = Document(URI, piece[:cut])
            folding_ranges(document)
            document_symbols(document)
            for offset in range(0, cut + 1, max(cut // 12, 1)):
                position = document.position(offset)
                definition(document, position)
                type_definition(document, position)
                highlights(document, position)
                references(document, position)
                (selection,) = selection_ranges(document, [position])
                assert selection.range.start == position == selection.range.end


def test_uses_are_told_in_the_order_of_the_text():
    text = (
        "entry @k(%a: tile<i32>) {\n  %c = cmpi equal %a, %a, signed : tile<i32> -> tile<i1>\n  if %c {\n"
        "    %x = addi %a, %a : tile<i32>\n  }\n  %y = addi %a, %a : tile<i32>\n  return\n}\n"
    )
    found = references(Document("file:///a.mlir", text), lsp.Position(0, 10), True)
    assert [each.range.start.line for each in found or []] == [0, 1, 1, 3, 3, 5, 5]
