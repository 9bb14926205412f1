"""Nothing that a diagnostic quotes is obeyed by a terminal, and the caret stays under its column."""

from __future__ import annotations

import pytest

import tileir
from tileir.ir.diagnostics import Diagnostic
from tileir.ir.location import file_location, name_location
from tileir.ir.quoting import harmless, harmless_line, is_control

OBEYED = ["\x1b", "\x07", "\x08", "\r", "\x7f", "\x85", "\x9b", "\u202e", "\u2066", "\u2028", "\udc9b", "\ud800"]


@pytest.mark.parametrize("character", OBEYED)
def test_what_a_terminal_obeys_is_written_out(character: str) -> None:
    for text in (harmless(f"a{character}b", "\n\t"), harmless_line(f"a{character}b")):
        assert text[0] == "a" and text[-1] == "b"
        assert not any(is_control(c) for c in text)
        text.encode("utf-8")
    assert len(harmless_line(f"a{character}b")) == 3


def test_what_people_write_stays() -> None:
    for text in ("plain", "größer ≤ 16", "日本語", "a\u00a0b", "👩‍🔬", "\ue000"):
        assert harmless(text) == text == harmless_line(text)
    assert harmless("a\nb\tc", "\n\t") == "a\nb\tc"
    assert harmless("a\nb") == "a\\x0ab"
    assert harmless_line("a\tb") == "a\tb"


def test_a_byte_that_is_not_utf8_is_shown_as_that_byte() -> None:
    assert harmless(b"\x9b".decode("utf-8", "surrogateescape")) == "\\x9b"


def test_messages_names_and_lines_of_a_diagnostic() -> None:
    text = 'cuda_tile.module @m {\n \x1b[31m\x9b "\x1b]0;t\x07" nonsense\n}\n'
    with pytest.raises(tileir.ParseError) as caught:
        tileir.parse(text, "k\x1b[2J.mlir")
    for shown in (str(caught.value), *[repr(d) for d in caught.value.diagnostics]):
        assert not any(is_control(c) and c != "\n" for c in shown)
    assert "\n --> k\\x1b[2J.mlir:2:2\n" in str(caught.value)
    line, caret = str(caught.value).split("\n")[3:5]
    assert line == '2 |  ␛[31m� "␛]0;t␇" nonsense'
    assert caret == "  |  ^"


def test_the_caret_stays_under_its_column() -> None:
    with pytest.raises(tileir.ParseError) as caught:
        tileir.parse('cuda_tile.module @"\x1b\x9b\x1b" { nonsense }')
    line, caret = str(caught.value).split("\n")[3:5]
    assert line == '1 | cuda_tile.module @"␛�␛" { nonsense }'
    assert line[caret.index("^") :] == "nonsense }"


def test_other_locations_are_quoted_too() -> None:
    found = Diagnostic("error", "wrong", name_location("\x1b[1m", file_location("\x1b", 1, 1)))
    assert "\x1b" not in str(found)
