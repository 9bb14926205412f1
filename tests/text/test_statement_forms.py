"""The compiled form of a statement reads what the directives of its operation read."""

import random

import pytest
from tests.text.edits import PROGRAMS, random_edits
from tests.text.test_rereading import dump, told

from tileir.ir.interning import IS_COMPILED
from tileir.text.lexer import tokenize
from tileir.text.reading import read_text
from tileir.text.statement_form import ConstantForm, StatementForm

pytestmark = pytest.mark.skipif(IS_COMPILED, reason="the methods of a compiled class cannot be replaced")


def compare(monkeypatch, text):
    found = read_text(text, partial=True)
    with monkeypatch.context() as patch:
        for form in (StatementForm, ConstantForm):
            patch.setattr(form, "parse", lambda *_: None)
        expected = read_text(text, partial=True)
    assert told(found.diagnostics) == told(expected.diagnostics)
    assert dump(found.module) == dump(expected.module)


@pytest.mark.parametrize("path", PROGRAMS, ids=str)
def test_programs(monkeypatch, path):
    compare(monkeypatch, path.read_text("utf-8", "surrogateescape"))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(4))
def test_edited_programs(monkeypatch, seed):
    chance = random.Random(f"forms {seed}")
    for _ in range(4):
        text = chance.choice(PROGRAMS).read_text("utf-8", "surrogateescape")
        words = [token for token in tokenize(text) if token]
        for start, end, new in random_edits(chance, text, 12, words):
            text = text[:start] + new + text[end:]
            compare(monkeypatch, text)


@pytest.mark.parametrize(
    "statement",
    [
        *[
            f"%0 = constant <i8: {number}> : tile<i8>"
            for number in ["1", "127", "255", "-128", "256", "-129", "007", "1.0"]
        ],
        *[
            f"%0 = constant <f16: {number}> : tile<f16>"
            for number in ["1.0", "65504.0", "65520.0", "1.0e400", "1.", "1e5", "-0.0"]
        ],
        *[f"%0 = constant <f8E8M0FNU: {number}> : tile<4xf8E8M0FNU>" for number in ["1.0", "-1.0", "-0.0"]],
        "%0 = constant <i32: 1> : tile<i32> {note = 1 : i32}",
        "%0 = constant <i32: -1> : tile<4xi32>\n%1 = addi %0, %a : tile<4xf32>",
        "%0 = addi %missing, %a : tile<4xi32>",
        "%0 = addi %later, %a : tile<4xi32>\n%later = addi %a, %a : tile<4xi32>",
        "%0, %1 = addi %a, %a : tile<4xi32>",
        "%0#0 = addi %a, %a : tile<4xi32>",
        "%a = addi %a, %a : tile<4xi32>",
        "%0 = addi %a, %a : tile<4xi32> loc(unknown)",
        "%0 = addi %a, %a : tile<4xi32> loc(nonsense)",
        "return %0 = addi %a, %a : tile<4xi32>",
    ],
)
def test_statements(monkeypatch, statement):
    compare(monkeypatch, f"entry @k(%a: tile<4xi32>) {{\n%t = constant <i8: 3> : tile<i8>\n{statement}\nreturn\n}}\n")
