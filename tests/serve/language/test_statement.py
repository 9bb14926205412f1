"""Statements are read by the forms of their operations, finished or not."""

from __future__ import annotations

import pytest

from tileir.analyze.documentation.pages import operations
from tileir.dialect.ops import PREVIEW_CALL
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.registry import REGISTRY
from tileir.serve.language.document.statement import Statement, format_of
from tileir.text.lexer import tokenize

DECLARATIONS = [each for each in operations() if each is not PREVIEW_CALL]
"""Those that have a syntax of their own."""


def behind_name(declaration: OperationDeclaration) -> list[str]:
    """The tokens of the example behind the operation's name."""
    tokens = [token for token in tokenize(declaration.example) if token]
    names = [token if "." in token else f"cuda_tile.{token}" for token in tokens]
    return tokens[[REGISTRY.by_name.get(name) for name in names].index(declaration) + 1 :]


def statement(name: str, text: str) -> Statement:
    return Statement(REGISTRY.by_name[f"cuda_tile.{name}"], [token for token in tokenize(text) if token])


def expected(name: str, text: str) -> list[str]:
    return [part.name for part in statement(name, text).expected]


@pytest.mark.parametrize("declaration", DECLARATIONS, ids=lambda d: d.name)
def test_an_example_is_read_to_its_end_and_so_is_every_beginning_of_it(declaration: OperationDeclaration) -> None:
    tokens = behind_name(declaration)
    whole = Statement(declaration, tokens)
    assert whole.is_complete and whole.may_end
    assert all(whole.part(token) is not None for token in range(len(tokens)))
    for length in range(len(tokens)):
        assert Statement(declaration, tokens[:length]).is_complete


@pytest.mark.parametrize(
    ("name", "text", "parts"),
    [
        ("addf", "", ["lhs"]),
        ("addf", "%a", [","]),
        ("addf", "%a, %b", ["rounding", "flush_to_zero", ":"]),
        ("addf", "%a, %b rounding<", ["rounding_mode"]),
        ("addf", "%a, %b {some = 1 : i32}", ["rounding", "flush_to_zero", ":"]),
        ("addf", "%a, %b :", ["result"]),
        ("mmai", "%a, %b, %c signed", ["signed", "unsigned"]),
        (
            "load_view_tko",
            "weak %v[%i]",
            [",", "]"][:0] + ["token", "optimization_hints", "inbounds", "attributes", ":"],
        ),
        ("load_ptr_tko", "weak %p, %mask : tile<4xptr<f32>>,", ["mask", "paddingValue"]),
        ("for", "%i in (%a to", ["upperBound"]),
        ("entry", "@f(", ["argument", ")"]),
        ("make_tensor_view", "%p, shape = [%a, 4],", ["strides"]),
        ("return", "", ["operands"]),
    ],
)
def test_what_may_come_next(name: str, text: str, parts: list[str]) -> None:
    assert expected(name, text) == parts


def test_a_place_in_an_open_bracket_knows_what_it_is_in() -> None:
    assert statement("load_view_tko", "weak %v[%i] optimization_hints = <sm_80 = {").inside is not None
    assert statement("reduce", "%x dim=0 identities=[").inside is not None
    assert statement("addf", "%a, %b {").inside_dictionary
    assert statement("addf", "%a, %b").inside is None


def test_a_token_that_does_not_belong_ends_what_is_read() -> None:
    found = statement("addf", "%a %b : tile<f32>")
    assert found.read == 1 and not found.is_complete
    assert [part.name for part in found.expected] == [","]


def test_parts_know_their_place_in_the_line() -> None:
    form = format_of(REGISTRY.by_name["cuda_tile.mmai"])
    assert [form.line[part.start : part.end] for part in form.parts][:3] == ["%lhs", ",", "%rhs"]
    keywords = [
        part.attribute.name for part in form.parts if part.enumeration is not None and part.attribute is not None
    ]
    assert keywords == ["signedness_lhs", "signedness_lhs", "signedness_rhs", "signedness_rhs"]


def test_every_part_of_a_form_is_something_declared_or_a_word() -> None:
    for declaration in DECLARATIONS:
        for part in format_of(declaration).parts:
            names = [o.name for o in (*declaration.operands, *declaration.results)]
            if part.kind == "value" and part.name in names:
                assert part.operand is not None, (declaration.name, part.name)
            if part.kind == "attribute" and part.name in declaration.inherent:
                assert part.attribute is not None, (declaration.name, part.name)
