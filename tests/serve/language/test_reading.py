"""Signatures, hints in lines and colors, as functions of documents."""

from __future__ import annotations

import pytest
from lsprotocol import types as lsp

from tileir.serve.language.completion.cursor import signature_help
from tileir.serve.language.document.document import Document
from tileir.serve.language.navigation.decorations import (
    LEGEND,
    inlay_hints,
    semantic_tokens,
)
from tileir.serve.language.settings import Settings

TENSOR = "tensor_view<?x64xf32, strides=[64,1]>"
PROGRAM = f"""\
cuda_tile.module @m {{
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {{
    %a = constant <f32: 0.5> : tile<16x16xf32>  // half
    %tensor = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> {TENSOR}
    %view = make_partition_view %tensor : partition_view<tile=(16x16), padding_value = nan, {TENSOR}>
    %r:2 = for %i in (%n to %n, step %n) : tile<i32> iter_values(%x = %a, %y = %n) -> (tile<16x16xf32>, tile<i32>) {{
      %product = mmaf %a, %a, %x : tile<16x16xf32>, tile<16x16xf32>, tile<16x16xf32>
      %sum = addf %product, %x rounding<zero> flush_to_zero : tile<16x16xf32>
      continue %sum, %y : tile<16x16xf32>, tile<i32>
    }}
    return
  }}
}}
"""


# --- signatures ---


def active(line: str) -> str | None:
    """The part of the form that is shown as the one at hand, at the `|` of a statement."""
    text = f"cuda_tile.module @m {{ entry @k(%a: tile<f32>) {{\n{line}\n}} }}"
    offset = text.index("|")
    document = Document("file:///k.mlir", text.replace("|", "", 1))
    found = signature_help(document, document.position(offset))
    if found is None:
        return None
    (signature,) = found.signatures
    assert signature.parameters is not None and found.active_parameter is not None
    label = signature.parameters[found.active_parameter].label
    assert isinstance(label, tuple)
    return signature.label[label[0] : label[1]]


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("%x = addf |", "%lhs"),
        ("%x = addf %a, |", "%rhs"),
        ("%x = addf %a, %a |", "rounding"),
        ("%x = addf %a, %a rounding<|", "ROUNDING_MODE"),
        ("%x = addf %a, %a : |", "type(%result)"),
        ("%t, %k = load_view_tko weak |", "MEMORY_SCOPE"),
        ("%t, %k = load_view_tko weak %v[|", "%index"),
        ("for %i in (%a to |", "%upperBound"),
        ("%x = |", None),
        ("// addf |", None),
    ],
)
def test_the_part_that_is_to_come(line: str, part: str | None) -> None:
    assert active(line) == part


# --- hints ---


def hints(settings: Settings) -> list[str]:
    document = Document("file:///k.mlir", PROGRAM, settings=settings)
    lines = PROGRAM.splitlines()
    found = inlay_hints(document, document.range(0, len(PROGRAM)))
    return [f"{lines[hint.position.line][: hint.position.character].split('%')[-1]}{hint.label}" for hint in found]


def test_types_that_a_line_does_not_state() -> None:
    assert hints(Settings(inlay_shapes=False)) == [
        "r: tile<16x16xf32>",
        "x: tile<16x16xf32>",
        "y: tile<i32>",
        "product: tile<16x16xf32>",
    ]


def test_grids_of_views_and_nothing() -> None:
    assert hints(Settings(inlay_types=False)) == ["view: ?x4 tiles"]
    assert hints(Settings(inlay_types=False, inlay_shapes=False)) == []


def test_hints_of_a_range_only() -> None:
    document = Document("file:///k.mlir", PROGRAM)
    first = PROGRAM.index("%product")
    found = inlay_hints(document, document.range(first, first + len("%product =")))
    assert [hint.label for hint in found] == [": tile<16x16xf32>"]


# --- colors ---


def words(document: Document, data: list[int]) -> list[tuple[str, str, list[str]]]:
    """Text, kind and modifiers of what is encoded."""
    found = []
    line = column = 0
    for index in range(0, len(data), 5):
        lines, columns, length, kind, modifiers = data[index : index + 5]
        column = columns if lines else column + columns
        line += lines
        start = document.offset(lsp.Position(line, column))
        end = document.offset(lsp.Position(line, column + length))
        names = [name for bit, name in enumerate(LEGEND.token_modifiers) if modifiers >> bit & 1]
        found.append((document.text[start:end], LEGEND.token_types[kind], names))
    return found


def colored(text: str) -> list[tuple[str, str, list[str]]]:
    document = Document("file:///k.mlir", text)
    return words(document, list(semantic_tokens(document).data))


def test_what_words_are() -> None:
    found = colored(PROGRAM)
    for expected in [
        ("@m", "namespace", ["declaration"]),
        ("entry", "keyword", []),
        ("@k", "function", ["declaration"]),
        ("%p", "parameter", ["declaration"]),
        ("ptr", "type", []),
        ("constant", "function", []),
        ("f32", "type", []),
        ("0.5", "number", []),
        ("16", "number", []),
        ("// half", "comment", []),
        ("shape", "property", []),
        ("padding_value", "property", []),
        ("nan", "enumMember", []),
        ("%i", "parameter", ["declaration", "unused"]),
        ("%x", "parameter", []),
        ("step", "keyword", []),
        ("mmaf", "function", []),
        ("rounding", "property", []),
        ("zero", "enumMember", []),
        ("flush_to_zero", "modifier", []),
        ("%product", "variable", ["declaration"]),
        ("%product", "variable", []),
        ("return", "keyword", []),
    ]:
        assert expected in found, expected
    assert all("\n" not in text and text.strip() == text for text, _, _ in found)


def test_wide_characters_do_not_move_colors() -> None:
    text = 'cuda_tile.module @m { // 😀😀\nentry @k() {\n%t = print_tko "é😀" -> token // €\n} }'
    found = [text for text, _, _ in colored(text)]
    assert found[:4] == ["cuda_tile.module", "@m", "// 😀😀", "entry"]
    assert '"é😀"' in found and "// €" in found


def test_a_range_has_the_words_of_the_whole_in_it() -> None:
    document = Document("file:///k.mlir", PROGRAM)
    whole = words(document, list(semantic_tokens(document).data))
    start, end = PROGRAM.index("%tensor"), PROGRAM.index("%r:2")
    part = words(document, list(semantic_tokens(document, document.range(start, end)).data))
    assert part == whole[whole.index(("%tensor", "variable", ["declaration"])) :][: len(part)]
    assert part[-1][0] != "%r" and part[0][0] == "%tensor"
