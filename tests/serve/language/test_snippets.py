"""A statement that is begun for the user is one that the parser and the verifier accept."""

from __future__ import annotations

import pytest

import tileir
from tileir.analyze.documentation.examples import ITEMS, MODULES
from tileir.analyze.documentation.pages import operations
from tileir.dialect.ops import MMAF_SCALED, PACK, PREVIEW_CALL, UNPACK
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.registry import REGISTRY
from tileir.ir.versions import NEWEST
from tileir.serve.language.completion.operands import Expectation, Placeholder, Pool, Visible
from tileir.serve.language.completion.snippets import plain_text, snippet_text, statement_pieces
from tileir.text.types import TypeCursor

TENSOR = "tensor_view<?x64xf32, strides=[64,1]>"
VALUES = {
    "%a": "tile<4x8xf32>",
    "%b": "tile<4x8xf32>",
    "%b_transposed": "tile<8x4xf32>",
    "%product": "tile<4x4xf32>",
    "%n": "tile<i32>",
    "%m": "tile<4x8xi32>",
    "%bytes": "tile<4x8xi8>",
    "%bytes_transposed": "tile<8x4xi8>",
    "%integer_product": "tile<4x4xi32>",
    "%p": "tile<ptr<f32>>",
    "%pointers": "tile<16xptr<f32>>",
    "%row": "tile<16xf32>",
    "%t": "token",
    "%tensor": TENSOR,
    "%view": f"partition_view<tile=(4x8), {TENSOR}>",
    "%c": "tile<i1>",
    "%addresses": "tile<16xi64>",
}
# Those for which nothing above fits, and terminators, which end another block than that of an entry.
# No visible pointer is one to several devices.
SEVERAL_DEVICES = {d for d in operations() if d.mnemonic.startswith("multimem_")}
NOTHING_FITS = {MMAF_SCALED, PACK, UNPACK, PREVIEW_CALL, *SEVERAL_DEVICES}
STATEMENTS = [d for d in operations() if d not in NOTHING_FITS and (d.mnemonic == "return" or not d.is_terminator)]


def type_of(text: str) -> tileir.types.Type:
    return TypeCursor(text, "-", NEWEST).parse_type()


POOL = Pool([Visible(name, type_of(type)) for name, type in VALUES.items()], symbols=["@table"])


def program(declaration: OperationDeclaration, statement: str) -> str:
    if declaration in MODULES:
        return statement
    if declaration in ITEMS:
        return f"cuda_tile.module @m {{\n{statement}\n}}"
    casts = "\n".join([f"{name} = unrealized_conversion_cast to {type}" for name, type in VALUES.items()])
    table = "global @table <f32: [0.5, 1.5]> : tile<2xf32>"
    return f"cuda_tile.module @m {{\n{table}\nentry @example() {{\n{casts}\n{statement}\n}}\n}}"


@pytest.mark.parametrize("declaration", STATEMENTS, ids=lambda d: d.name)
def test_a_statement_made_of_visible_values_is_right(declaration: OperationDeclaration) -> None:
    statement = plain_text(statement_pieces(declaration, POOL, with_results=True))
    tileir.verify(tileir.parse(program(declaration, statement)))


@pytest.mark.parametrize("declaration", STATEMENTS, ids=lambda d: d.name)
def test_a_statement_can_be_made_of_nothing(declaration: OperationDeclaration) -> None:
    """Where nothing is visible, only names are missing: the text is a statement of the operation all the same."""
    statement = plain_text(statement_pieces(declaration, Pool([]), with_results=True))
    try:
        tileir.parse(program(declaration, statement))
    except tileir.ParseError as error:
        assert all("undeclared" in d.message or "expects different type" in d.message for d in error.diagnostics), error


def test_values_are_the_nearest_that_fit_and_types_follow_from_them() -> None:
    addf = REGISTRY.by_name["cuda_tile.addf"]
    assert plain_text(statement_pieces(addf, POOL, with_results=True)) == "%result = addf %a, %b : tile<4x8xf32>"
    mmaf = plain_text(statement_pieces(REGISTRY.by_name["cuda_tile.mmaf"], POOL, with_results=False))
    assert mmaf == "mmaf %a, %b_transposed, %product : tile<4x8xf32>, tile<8x4xf32>, tile<4x4xf32>"


def test_a_snippet_has_placeholders_choices_and_an_end() -> None:
    pieces = statement_pieces(REGISTRY.by_name["cuda_tile.load_view_tko"], POOL, with_results=False)
    assert snippet_text(pieces).startswith(
        "load_view_tko ${1|weak,relaxed,acquire|} ${2:%view}[${3:%n}, ${4:%n}] : ${5:"
    )
    loop = snippet_text(statement_pieces(REGISTRY.by_name["cuda_tile.for"], POOL, with_results=True))
    assert loop.endswith("{\n  $0\n}")
    assert snippet_text(["a$b", Placeholder("c}d")]) == "a\\$b${1:c\\}d}"


def test_names_of_results_are_new() -> None:
    pool = Pool([Visible("%result", None), Visible("%result_1", None)])
    text = plain_text(statement_pieces(REGISTRY.by_name["cuda_tile.make_token"], pool, with_results=True))
    assert text == "%result_2 = make_token : token"


@pytest.mark.parametrize(
    ("name", "operands", "types"),
    [
        ("cmpf", {"lhs": "tile<4xf32>"}, ["tile<4xi1>"]),
        ("load_view_tko", {"view": VALUES["%view"]}, ["tile<4x8xf32>"]),
        ("reshape", {"source": "tile<32xf32>"}, ["tile<4x8xf32>", "tile<8x4xf32>", "tile<32xf32>"]),
        ("broadcast", {"source": "tile<4x1xf32>"}, ["tile<4x8xf32>", "tile<4x4xf32>", "tile<4x1xf32>"]),
        ("ptr_to_int", {"source": "tile<16xptr<f32>>"}, ["tile<16xi64>"]),
    ],
)
def test_types_of_results_are_those_that_the_rules_admit(name: str, operands: dict[str, str], types: list[str]) -> None:
    declaration = REGISTRY.by_name[f"cuda_tile.{name}"]
    known = {operand: [type_of(text)] for operand, text in operands.items()}
    found = Expectation(declaration, known, in_use=POOL.types).of_result(declaration.results[0].name)
    assert [type.spelling for type in found] == types
