"""The scanner of a compiled tileir finds the tokens that the expression defines."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tileir.text.lexer import TOKEN, matched_tokens, scanned_tokens

PROGRAMS = sorted(Path(__file__).resolve().parents[2].glob("examples/*.mlir")) + sorted(
    Path(__file__).resolve().parents[1].glob("programs/**/*.mlir")
)

# Pieces whose neighbors decide what they are, and characters that end what others begin.
PIECES = [
    *["%a", "%0", "%a-b", "%a#1", "%a#", "%a#b", "%", "%#1", "%%0"],
    *["tile<4xf32>", "tile <", "tile<", "ptr<f32>", "!cuda_tile.tile<i1>", "cuda_tile.ptr<", "tiles<", "!tile", "!"],
    *["tensor_view<?xf32, strides=[?,1]>", "partition_view<tile=(8), ", "a<b<c<d>>>", "tile<a<b<c<d>>>>", "<", ">"],
    *[
        "// comment",
        "/",
        "//",
        "// tile<\n",
        '// "',
        '"',
        '"text"',
        '"a\\"b"',
        '"\\',
        '@"name"',
        "@name",
        "@",
        "@-a",
        "@$",
    ],
    *["0x1F", "0x", "0xg", "12", "1.", "1.5e-3", "1.5e", "1.5e+", "007", "1e5", "-", "->", "->>", ":", "::", ":::"],
    *["#loc1", "#1", "#", "#a-b", "#cuda_tile.x<1>", "^bb0", "^", "a.b$c", "_", "$", "&", "\\", "\0", "\x1c", "\x7f"],
    *["(", ")", "{", "}", "[", "]", ",", "=", "?", "*", "+", "|", " ", "  ", "\n", "\t", "\r\n", "\f", "\v"],
]


def agree(text):
    tokens = [token for token in TOKEN.findall(text) if token]
    assert matched_tokens(text) == tokens
    assert scanned_tokens(text) == tokens


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_pieces(text):
    agree(text)


@given(st.text(st.characters(max_codepoint=127), max_size=40))
def test_any_text(text):
    agree(text)


@given(st.data(), st.sampled_from(PROGRAMS))
def test_cut_programs(data, path):
    """A program without its begin and its end, which may be in the middle of anything."""
    text = path.read_text(encoding="utf-8")
    start = data.draw(st.integers(0, len(text)))
    text = text[start : data.draw(st.integers(start, min(len(text), start + 400)))]
    if text.isascii():
        agree(text)


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_programs(path):
    text = path.read_text(encoding="utf-8")
    if text.isascii():
        agree(text)
