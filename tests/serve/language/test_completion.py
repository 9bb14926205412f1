"""What is offered while a program is written, and that the text is better with it than without."""

from __future__ import annotations

import pytest
from lsprotocol import types as lsp
from tests.serve.language.programs import applied

import tileir
from tileir.ir.versions import V13_1
from tileir.serve.language.completion.completion import complete, resolve
from tileir.serve.language.document.document import Document
from tileir.serve.language.settings import Settings

TENSOR = "tensor_view<?x64xf32, strides=[64,1]>"
VIEW = f"partition_view<tile=(16x16), padding_value = zero, {TENSOR}>"
PROGRAM = f"""\
cuda_tile.module @m {{
  global @table <f32: [0.5, 1.5]> : tile<2xf32>
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {{
    %c = constant <i32: 16> : tile<i32>
    %z = constant <f32: 0.1> : tile<64xf32>
    %less = cmpi less_than %n, %c, signed : tile<i32> -> tile<i1>
    %tensor = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> {TENSOR}
    %view = make_partition_view %tensor : {VIEW}
    <here>
    %sum = for %i in (%c to %n, step %c) : tile<i32> iter_values(%acc = %z) -> (tile<64xf32>) {{
      <inside>
      continue %acc : tile<64xf32>
    }}
    return
  }}
  <item>
}}
"""


def placed(line: str, place: str = "<here>", settings: Settings | None = None) -> tuple[Document, lsp.Position]:
    """The program with a line in it, and the position of the `|` in that line."""
    text = PROGRAM.replace(place, line, 1)
    for other in ("<here>", "<inside>", "<item>"):
        text = text.replace(other, "")
    offset = text.index("|")
    document = Document("file:///k.mlir", text.replace("|", "", 1), settings=settings or Settings(snippets=False))
    return document, document.position(offset)


def labels(line: str, place: str = "<here>", settings: Settings | None = None) -> list[str]:
    document, position = placed(line, place, settings)
    return [item.label for item in complete(document, position).items]


def edits_of(item: lsp.CompletionItem) -> list[lsp.TextEdit]:
    """What accepting an item does to the text."""
    assert isinstance(item.text_edit, lsp.TextEdit)
    return [item.text_edit, *(item.additional_text_edits or [])]


@pytest.mark.parametrize(
    ("line", "first"),
    [
        ("ad|", ["addf", "addi"]),
        ("%x = addf |", ["%z"]),
        ("%x = addf %|", ["%z"]),
        ("%x = addf %z, |", ["%z"]),
        ("%x = addf %|, %z : tile<64xf32>", ["%z"]),
        ("%x = addf %z, %z |", ["rounding", "flush_to_zero", ": tile<64xf32>"]),
        ("%x = addf %z, %z rounding<|", ["nearest_even", "zero", "negative_inf", "positive_inf"]),
        ("%x = addf %z, %z : |", ["tile<64xf32>", "tile"]),
        ("%x = addf %z, %z : ti|", ["tile<64xf32>", "tile"]),
        ("%x = cmpi |", ["equal", "not_equal", "less_than"]),
        ("%x = bitcast %z : tile<64xf32> -> |", ["tile<64xf32>", "tile<64xi32>"]),
        ("%t, %token = load_view_tko |", ["weak", "relaxed", "acquire"]),
        ("%t, %token = load_view_tko weak %view[%|", ["%c", "%n"]),
        ("%t, %token = load_view_tko weak %view[%c, %c] : |", [f"{VIEW}, tile<i32> -> tile<16x16xf32>, token"]),
        ("%t, %token = load_view_tko weak %view[%c, %c] optimization_hints = <|", ["sm_80"]),
        ("%t, %token = load_view_tko weak %view[%c, %c] optimization_hints = <sm_90 = {|", ["latency", "allow_tma"]),
        ("%g = get_global @|", ["@table"]),
        ("%a = assume |", ["div_by", "bounded", "same_elements"]),
        ("if %|", ["%less"]),
    ],
)
def test_what_comes_first(line: str, first: list[str]) -> None:
    assert labels(line)[: len(first)] == first


@pytest.mark.parametrize("line", ["// ad|", '%x = print_tko "ad|" -> token', "%new|"])
def test_nothing_is_offered_in_comments_strings_and_new_names(line: str) -> None:
    assert labels(line) == []


def test_operations_are_those_of_the_place() -> None:
    assert {"entry", "global"} == set(labels("|", "<item>"))
    assert "entry" not in labels("|") and "continue" not in labels("|")
    assert "continue" in labels("con|", "<inside>") and "yield" not in labels("|", "<inside>")
    assert "store_view_tko" in labels("%x = st|")
    assert "return" not in labels("%x = |")


def test_operations_are_those_of_the_version() -> None:
    assert "atan2" in labels("|") and "atan2" not in labels("|", settings=Settings(version=V13_1))


def test_values_of_a_loop_are_visible_in_it_only() -> None:
    assert "%acc" in labels("%x = addf %|", "<inside>")
    assert "%acc" not in labels("%x = addf %|")


def test_a_word_is_replaced_with_its_sigil() -> None:
    document, position = placed("%x = addf %z|")
    item = complete(document, position).items[0]
    assert isinstance(item.text_edit, lsp.TextEdit) and item.text_edit.new_text == "%z"
    assert (
        document.text[document.offset(item.text_edit.range.start) : document.offset(item.text_edit.range.end)] == "%z"
    )


def test_the_rest_of_a_type_replaces_the_whole_type() -> None:
    document, position = placed("%x = addf %z, %z : tile<64x|")
    item = next(item for item in complete(document, position).items if item.label == "tile<64xf32>")
    assert isinstance(item.text_edit, lsp.TextEdit)
    assert document.text[document.offset(item.text_edit.range.start) :].startswith("tile<64x")
    assert "xf32" in [item.label for item in complete(document, position).items]


def test_an_operation_with_more_results_than_are_named_names_them() -> None:
    document, position = placed("%x = load_v|")
    item = complete(document, position).items[0]
    assert item.label == "load_view_tko"
    assert item.additional_text_edits is not None and item.additional_text_edits[0].new_text == ", %token"


def test_placeholders_are_for_editors_that_have_them() -> None:
    document, position = placed("%x = sub|", settings=Settings(snippets=True))
    item = complete(document, position).items[0]
    assert item.insert_text_format == lsp.InsertTextFormat.Snippet
    assert isinstance(item.text_edit, lsp.TextEdit) and item.text_edit.new_text.startswith("subf ${1:%z}")
    plain = complete(*placed("%x = sub|")).items[0]
    assert isinstance(plain.text_edit, lsp.TextEdit) and plain.text_edit.new_text == "subf %z, %z : tile<64xf32>"


def test_documentation_comes_when_it_is_asked_for() -> None:
    item = complete(*placed("%x = sub|")).items[0]
    assert item.documentation is None
    documentation = resolve(item).documentation
    assert isinstance(documentation, lsp.MarkupContent) and "%result = subf %lhs, %rhs" in documentation.value


@pytest.mark.parametrize("line", ["|", "%x = |"])
@pytest.mark.parametrize("place", ["<here>", "<inside>"])
def test_every_operation_that_is_offered_makes_a_right_program(line: str, place: str) -> None:
    """Where visible values fit; where none does, at least nothing but names is missing."""
    document, position = placed(line, place)
    found = complete(document, position).items
    assert len(found) > 80
    wrong = []
    for item in found:
        text = applied(document, edits_of(item))
        try:
            module = tileir.parse(text)
        except tileir.ParseError as error:
            if not all("undeclared" in found.message for found in error.diagnostics):
                wrong.append((item.label, str(error)))
            continue
        try:
            tileir.verify(module)
        except tileir.VerifyError as error:
            wrong.append((item.label, str(error)))
    # A terminator in the middle of a block is none; the others take types that are not there.
    allowed = {"return", "break", "continue", "yield", "mmaf", "mmaf_scaled", "mmai", "pack", "unpack", "permute"}
    assert {label for label, _ in wrong} <= allowed, wrong


STATEMENTS = [
    "%x = addf %z, %z rounding<zero> flush_to_zero : tile<64xf32>",
    "%t, %token = load_view_tko weak %view[%c, %n] optimization_hints = <sm_90 = {latency = 2}> : ",
    "%flag = cmpi less_than %n, %c, signed : tile<i32> -> tile<i1>",
    "%r = make_partition_view %tensor : ",
    "%g = get_global @table : tile<ptr<f32>>",
    "%q = assume div_by<16>, %n : tile<i32>",
    "%s = select %less, %n, %c : tile<i1>, tile<i32>",
    "%f = for %j in (%c to %n, step %c) : tile<i32>",
]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_what_is_offered_first_can_be_read(statement: str) -> None:
    """A text that ends with the first offer is wrong at its end only: there is more to come, but nothing to correct."""
    text = PROGRAM[: PROGRAM.index("<here>")]
    offers = 0
    for end in range(len(statement.split(" = ")[0]) + 3, len(statement) + 1):
        document = Document("file:///k.mlir", text + statement[:end], settings=Settings(snippets=False))
        items = complete(document, document.position(len(document.text))).items
        if not items or (statement[end - 1 : end + 1].strip().isalnum() and end < len(statement)):
            continue
        offers += 1
        better = applied(document, edits_of(items[0]))
        wrong = [
            found for found in Document("file:///k.mlir", better).analysis.diagnostics if found.severity == "error"
        ]
        assert wrong and min(found.start for found in wrong) >= len(better.rstrip()), better[len(text) :]
    assert offers > 2
