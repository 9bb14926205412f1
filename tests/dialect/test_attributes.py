"""Attributes: each kind reads, prints in the full and in the short spelling, and reads back to the same object."""

from __future__ import annotations

import pytest

import tileir
from tileir.dialect.attributes import bounded, div_by, parse_cute, same_elements
from tileir.dialect.debug_info import di_compile_unit, di_file, di_subprogram
from tileir.dialect.enums import ENUM_KINDS
from tileir.dialect.types import tile_type
from tileir.ir.attributes import (
    FIRST_DRAFT_ONLY_VALUE,
    Attribute,
    EnumKind,
    array_attribute,
    dense_array_attribute,
    dictionary_attribute,
    float_attribute,
    integer_attribute,
    string_attribute,
    symbol_attribute,
    type_attribute,
)
from tileir.ir.dense import DenseAttribute, dense_attribute
from tileir.ir.types import F32, I1, I4, I8, I32, I64
from tileir.ir.versions import V13_3
from tileir.text.reading import ReadText, read_text

PREFIX = "%r = make_token {x = "


def read_text_of(attribute: str) -> ReadText:
    return read_text(f"cuda_tile.module @m {{\nentry @k() {{\n{PREFIX}{attribute}}} : token\nreturn\n}}\n}}")


def read(attribute: str) -> Attribute:
    module = read_text_of(attribute).module
    assert module is not None
    operation = next(operation for operation in module.walk() if operation.results)
    return operation.attributes["x"]


def mistake(attribute: str) -> tuple[str, int]:
    """The message, and its column counted from the start of the attribute."""
    found = read_text_of(attribute)
    assert found.module is None
    _, line, column = found.diagnostics[0].position
    assert line == 3
    return found.diagnostics[0].message, column - len(PREFIX) - 1


SUBPROGRAM = (
    '#cuda_tile.di_subprogram<file = <"k.py" in "/src">, line = 1, name = "f", linkageName = "g", '
    'compileUnit = <file = <"k.py" in "/src">>'
)

SPELLINGS = [
    ("1", "1 : i64"),
    ("-1 : i8", "-1 : i8"),
    ("255 : i8", "-1 : i8"),
    ("0x10 : i16", "16 : i16"),
    ("1.0", "1.000000e+00 : f64"),
    ("1.5 : bf16", "1.500000e+00 : bf16"),
    ("0x7FC00000 : f32", "0x7FC00000 : f32"),
    ("true", "true"),
    ("0 : i1", "false"),
    ("unit", "unit"),
    (r'"a\22b\0A\n"', r'"a\22b\0A\0A"'),
    ("@f::@inner", "@f::@inner"),
    ('@"a b"', '@"a b"'),
    ('[1, 2 : i32, 1.0, 2.0 : f32, "s", unit]', '[1, 2 : i32, 1.000000e+00, 2.000000e+00 : f32, "s", unit]'),
    ("[]", "[]"),
    ("{b, a = 1}", "{a = 1 : i64, b}"),
    ("i32", "i32"),
    ("tile<4xf32>", "!cuda_tile.tile<4xf32>"),
    ("(i32, token) -> ()", "(i32, !cuda_tile.token) -> ()"),
    ("array<i32: 1, -2>", "array<i32: 1, -2>"),
    ("array<i1: true, false>", "array<i1: true, false>"),
    ("array<i64>", "array<i64>"),
    ("dense<1> : tile<4xi32>", "dense<1> : !cuda_tile.tile<4xi32>"),
    ("dense<[[1, 1], [1, 1]]> : tile<2x2xi8>", "dense<1> : !cuda_tile.tile<2x2xi8>"),
    ('dense<"0x0100000002000000"> : tile<2xi32>', "dense<[1, 2]> : !cuda_tile.tile<2xi32>"),
    ("#cuda_tile.div_by<16>", "#cuda_tile.div_by<16>"),
    ("#cuda_tile.div_by<16, every 4 along 0>", "#cuda_tile.div_by<16, every 4 along 0>"),
    ("#cuda_tile.bounded<?, 3>", "#cuda_tile.bounded<?, 3>"),
    ("#cuda_tile.bounded<-1, 3, strict>", "#cuda_tile.bounded<-1, 3, strict>"),
    ("#cuda_tile.same_elements<[1, 2]>", "#cuda_tile.same_elements<[1, 2]>"),
    (
        "#cuda_tile.optimization_hints<sm_90 = {latency = 2, allow_tma = true}, default = {}>",
        "#cuda_tile.optimization_hints<default = {}, sm_90 = {allow_tma = true, latency = 2}>",
    ),
    ("#cute.layout<( 1@0,16@1 )>", "#cute.layout<(1@0, 16@1)>"),
    ("loc(unknown)", "loc(unknown)"),
    ('loc("k.py":1:2)', 'loc("k.py":1:2)'),
    ('#cuda_tile.di_file<"k.py" in "/src">', '#cuda_tile.di_file<"k.py" in "/src">'),
    (
        '#cuda_tile.di_compile_unit<file = #cuda_tile.di_file<"k.py" in "/src">>',
        '#cuda_tile.di_compile_unit<file = <"k.py" in "/src">>',
    ),
    (f"{SUBPROGRAM}, scopeLine = 7>", f"{SUBPROGRAM}, scopeLine = 7>"),
    (f"{SUBPROGRAM}, scopeLine = 0>", f"{SUBPROGRAM}>"),
    (
        f'#cuda_tile.di_lexical_block<line = 3, scope = {SUBPROGRAM}>, file = <"k.py" in "/src">, column = 4>',
        f'#cuda_tile.di_lexical_block<scope = {SUBPROGRAM}>, file = <"k.py" in "/src">, line = 3, column = 4>',
    ),
    (
        f'#cuda_tile.di_loc<loc("k.py":1:2) in {SUBPROGRAM}>>',
        f'#cuda_tile.di_loc<loc("k.py":1:2) in {SUBPROGRAM}>>',
    ),
    ("#other.thing<1, (2)>", "#other.thing<1, (2)>"),
    ("affine_map<(d0) -> (d0)>", "affine_map<(d0) -> (d0)>"),
]


@pytest.mark.parametrize(("written", "printed"), SPELLINGS)
def test_attribute_prints_in_its_full_spelling_and_reads_back_to_the_same_object(written: str, printed: str) -> None:
    found = read(written)
    assert found.text == printed
    assert read(printed) is found


@pytest.mark.parametrize("generic", [False, True])
@pytest.mark.parametrize(("written", "printed"), SPELLINGS)
def test_attribute_survives_both_forms_of_an_operation(written: str, printed: str, generic: bool) -> None:
    module = read_text_of(written).module
    assert module is not None
    text = module.text(generic=generic)
    # A unit attribute is its name alone.
    assert ("{x}" if printed == "unit" else f"{{x = {printed}}}") in text
    assert tileir.parse(text).text(generic=generic) == text


@pytest.mark.parametrize("kind", ENUM_KINDS.values(), ids=lambda kind: str(kind.name))
def test_every_keyword_of_an_enumeration_reads_and_prints(kind: EnumKind) -> None:
    for keyword, attribute in kind.cases.items():
        full = f"#cuda_tile.{kind.name}<{keyword}>"
        assert read(full) is attribute
        assert attribute.text == (f"{kind.values[keyword]} : i32" if kind.is_integer else full)
        assert attribute.bare_text == keyword


MISTAKES = [
    ("256 : i8", "integer constant out of range for attribute", 0),
    ("-129 : i8", "integer constant out of range for attribute", 0),
    ("1.5 : i32", "floating point value not valid for specified type", 0),
    ("{a, a = 1}", "duplicate key 'a' in dictionary attribute", 4),
    ("#undefined", "undefined symbol alias id 'undefined'", 0),
    ("#cuda_tile.nothing<1>", "unknown attribute `nothing` in dialect `cuda_tile`", 0),
    ("dense<[1, 2]> : tile<4xi32>", "inferred shape of elements literal ([2]) does not match type ([4])", 6),
    ("dense<[[1], [2, 3]]> : tile<4xi32>", "tensor literal is invalid; ranks are not consistent between elements", 6),
    ("dense<[[1], 2, a]> : tile<4xi32>", "tensor literal is invalid; ranks are not consistent between elements", 6),
    ("dense<[[1], a, 2]> : tile<4xi32>", "expected element literal of primitive type", 12),
    ("#cuda_tile.div_by<-1>", "expected unsigned 64-bit integer for divisor", 18),
    ("#cuda_tile.bounded<0>", "expected ','", 20),
    (
        "#cuda_tile.optimization_hints<sm_100 = 5>",
        "custom op 'cuda_tile.make_token' expected dictionary attribute for optimization_hints entry `sm_100` got "
        "value=5 : i64",
        29,
    ),
    ('#cuda_tile.di_file<"k.py">', "expected 'in'", 25),
    (
        '#cuda_tile.di_subprogram<file = <"k.py" in "/src">, line = 1, name = "f", linkageName = "g">',
        "struct is missing required parameter: compileUnit",
        91,
    ),
    (
        '#cuda_tile.di_loc<loc(unknown) in #cuda_tile.di_file<"k.py" in "/src">>',
        'invalid kind of attribute specified for the scope: #cuda_tile.di_file<"k.py" in "/src">',
        34,
    ),
    ("%value", "expected attribute value", 0),
]


@pytest.mark.parametrize(("written", "message", "column"), MISTAKES)
def test_mistake_in_an_attribute_is_reported_where_it_is(written: str, message: str, column: int) -> None:
    assert mistake(written) == (message, column)


def test_refused_keyword_names_the_public_ones_of_the_version() -> None:
    found = read_text(
        f"cuda_tile.module @m {{\nentry @k() {{\n{PREFIX}#cuda_tile.memory_ordering_semantics<strong>}} : token\nreturn\n}}\n}}"
    )
    assert [d.message for d in found.diagnostics] == [
        "expected one of: weak, relaxed, acquire, release, acq_rel, but got: strong"
    ]
    assert ENUM_KINDS["rounding"].keywords(V13_3)[-1] == "nearest_int_to_zero"


def test_only_draft_keywords_have_values_without_a_public_byte() -> None:
    beyond = {
        keyword
        for kind in ENUM_KINDS.values()
        for keyword, value in kind.values.items()
        if value >= FIRST_DRAFT_ONLY_VALUE
    }
    assert beyond == {"seq_cst", "cluster"}


# --- uniquing ---


def test_equal_contents_give_the_same_attribute() -> None:
    file = di_file("k.py", "/src")
    unit = di_compile_unit(file)
    pairs = [
        (integer_attribute(I32, 1), integer_attribute(I32, 1)),
        (float_attribute(F32, 0x7FC00000), float_attribute(F32, 0x7FC00000)),
        (string_attribute("a"), string_attribute("a")),
        (symbol_attribute("a", "b"), symbol_attribute("a", "b")),
        (type_attribute(I32), type_attribute(I32)),
        (array_attribute((type_attribute(I32),)), array_attribute((type_attribute(I32),))),
        (
            dictionary_attribute({"a": string_attribute("a"), "b": string_attribute("b")}),
            dictionary_attribute({"b": string_attribute("b"), "a": string_attribute("a")}),
        ),
        (dense_array_attribute(I32, (1, 2)), dense_array_attribute(I32, (1, 2))),
        (div_by(4, 2, 0), div_by(4, 2, 0)),
        (bounded(0, None), bounded(0, None)),
        (same_elements((1, 2)), same_elements((1, 2))),
        (parse_cute("layout", "(1@0)"), parse_cute("layout", " ( 1@0 ) ")),
        (di_subprogram(file, 1, "f", "g", unit), di_subprogram(file, 1, "f", "g", unit)),
    ]
    for first, second in pairs:
        assert first is second
    assert integer_attribute(I32, 1) is not integer_attribute(I64, 1)
    assert bounded(0, 1) is not bounded(0, 1, True)


def test_splat_is_one_attribute_however_it_is_written() -> None:
    assert read("dense<1> : tile<2x2xi32>") is read("dense<[[1, 1], [1, 1]]> : tile<2x2xi32>")
    assert read('dense<"0x01000000"> : tile<2x2xi32>') is read("dense<1> : tile<2x2xi32>")


# --- the debug form of dense constants (the printer draft, "Dense Constant Debug Output") ---


@pytest.mark.parametrize(
    ("written", "values"),
    [
        ("dense<[[1, -2], [3, 4]]> : tile<2x2xi8>", "1, -2, 3, 4"),
        ("dense<[true, false]> : tile<2xi1>", "true, false"),
        ("dense<[1.5, -0.0]> : tile<2xf32>", "1.500000e+00, -0.000000e+00"),
        ("dense<7> : tile<8xi32>", "7"),
    ],
)
def test_debug_form_lists_values_without_type_or_shape(written: str, values: str) -> None:
    found = read(written)
    assert isinstance(found, DenseAttribute)
    assert found.debug_text == f"/* not parseable */ {values}"


def test_debug_form_does_not_parse() -> None:
    found = read("dense<[1, 2]> : tile<2xi32>")
    assert isinstance(found, DenseAttribute)
    assert read_text_of(found.debug_text).module is None
    assert mistake(f"dense<{found.debug_text}> : tile<2xi32>")[0] == "expected element literal of primitive type"


def test_dense_bytes_are_little_endian_and_elements_are_read_back() -> None:
    type = tile_type((2,), I4)
    found = dense_attribute(type, (2,), I4, bytes([0x0F, 0x07]))
    assert found.literal == "[-1, 7]"
    assert dense_attribute(tile_type((2,), I1), (2,), I1, bytes([1, 0])).literal == "[true, false]"
    assert dense_attribute(tile_type((2,), I8), (2,), I8, bytes([5, 5])).is_splat


@pytest.mark.parametrize(("element", "data", "literal"), [(I32, b"\1\0\0\0\2", "[1, 2]"), (I64, b"\3", "[3]")])
def test_dense_elements_that_are_not_whole_are_shown_all_the_same(element, data, literal):
    """Nothing keeps anyone from making one, and what is wrong with a program is told with its text."""
    found = dense_attribute(tile_type((2,), element), (2,), element, data)
    assert found.literal == literal
