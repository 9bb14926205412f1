"""A program checked by the rules of an earlier version: what came later is said, as the bytecode writer says it."""

from __future__ import annotations

import pytest

import tileir
from tileir.ir.core import Operation

LATER = {
    "operation": "%0 = atan2 %f, %f : tile<4xf32>",
    "operand": '%t = make_token : token  %1 = print_tko "" token = %t -> token',
    "result": '%1 = print_tko "" -> token  %2 = join_tokens %1, %1 : token',
    "attribute": "%0 = tanh %f rounding<approx> : tile<4xf32>",
    "optional attribute": "%0 = mmaf %m, %m, %m fast_acc : tile<4x4xf32>, tile<4x4xf32>, tile<4x4xf32>",
    "element type": "%b = constant <i8: 1> : tile<4xi8>  %0 = bitcast %b : tile<4xi8> -> tile<4xf8E8M0FNU>",
}
SETUP = "%f = constant <f32: 1.0> : tile<4xf32>  %m = constant <f32: 1.0> : tile<4x4xf32>  "


def program(body: str = "", items: str = "") -> Operation:
    return tileir.parse(f"cuda_tile.module @m {{ {items} entry @k() {{ {SETUP}{body} return }} }}")


def messages(module: Operation, version: str) -> list[str]:
    try:
        tileir.verify(module, version=version)
    except tileir.VerifyError as error:
        return [diagnostic.message for diagnostic in error.diagnostics]
    return []


def refusal(module: Operation, version: str) -> list[str]:
    try:
        tileir.to_bytecode(module, version=version)
    except tileir.BytecodeError as error:
        return [error.diagnostics[0].message]
    return []


@pytest.mark.parametrize("piece", LATER)
def test_what_came_later_is_said_as_the_bytecode_writer_says_it(piece):
    module = program(LATER[piece])
    found = [messages(module, version) for version in ("13.1", "13.2", "13.3", "13.4")]
    assert found == [refusal(module, version) for version in ("13.1", "13.2", "13.3", "13.4")]
    assert found[0] and not found[3]


@pytest.mark.parametrize("word", ["private", "constant"])
def test_what_came_later_about_globals_is_said(word):
    module = program(items=f"global {word} @g <f32: 1.0> : tile<1xf32>")
    assert messages(module, "13.2") == refusal(module, "13.2") != []
    assert messages(module, "13.3") == []


def test_pieces_that_came_later_are_all_reported_at_their_places():
    module = tileir.parse(
        "cuda_tile.module @m {\n  entry @k(%x: tile<f32>) {\n"
        "    %0 = atan2 %x, %x : tile<f32>\n    %1 = atan2 %0, %0 : tile<f32>\n    return\n  }\n}"
    )
    with pytest.raises(tileir.VerifyError) as caught:
        tileir.verify(module, version="13.1")
    assert [d.position for d in caught.value.diagnostics] == [("-", 3, 10), ("-", 4, 10)]


def test_keyword_that_came_later_breaks_the_rule_of_its_operation_first():
    module = program("%0 = ftof %f rounding<nearest_away> : tile<4xf32> -> tile<4xtf32>")
    assert messages(module, "13.4") == []
    assert refusal(module, "13.3") == [
        "enum value for attribute 'rounding_mode' is not available in bytecode version 13.3"
    ]
    assert messages(module, "13.3") == [
        "'cuda_tile.ftof' op invalid rounding mode specified. Only 'nearest_even' is supported"
    ]


def test_attribute_at_its_default_belongs_to_every_version():
    assert messages(program("%0 = tanh %f rounding<full> : tile<4xf32>"), "13.1") == []


def test_views_and_pointers_are_followed_to_what_came_later():
    view = "strided_view<tile=(4), traversal_strides=[2], tensor_view<8xf32, strides=[1]>>"
    body = (
        "%p = constant <i64: 0> : tile<i64>  %q = int_to_ptr %p : tile<i64> -> tile<ptr<f32>>  "
        "%v = make_tensor_view %q, shape = [8], strides = [1] : tensor_view<8xf32, strides=[1]>  "
        f"%s = make_strided_view %v : {view}"
    )
    module = program(body)
    assert messages(module, "13.2") == [
        "operation 'cuda_tile.make_strided_view' is not available in bytecode version 13.2"
    ]


# Whatever takes a version: each is given one and nothing else that could be wrong.
TAKES_A_VERSION = {
    "parse": lambda version: tileir.parse("cuda_tile.module @m { }", version=version),
    "load": lambda version: tileir.load(b"cuda_tile.module @m { }", version=version),
    "from_bytecode": lambda version: tileir.from_bytecode(tileir.to_bytecode(program()), version=version),
    "to_bytecode": lambda version: tileir.to_bytecode(program(), version=version),
    "verify": lambda version: tileir.verify(program(), version=version),
    "text": lambda version: program().text(version=version),
    "Builder": lambda version: tileir.Builder("m", version=version),
    "PassReport": lambda version: tileir.passes.PassReport(version=version),
}


@pytest.mark.parametrize("name", list(TAKES_A_VERSION))
def test_versions_are_texts_everywhere(name):
    take = TAKES_A_VERSION[name]
    for version in ("13.1", "13.2", "13.3", "13.4", "13.5"):
        take(version)
    for version in ("13.9", "", "13", "13.10", " 13.1"):
        with pytest.raises(tileir.errors.VersionError) as caught:
            take(version)
        assert caught.value.message == f"'{version}' is not a version of the dialect: 13.1, 13.2, 13.3, 13.4, 13.5"
    # A compiled build looks at its arguments before we do: `str object expected; got tuple`.
    with pytest.raises(
        TypeError, match=r"a version is a text, such as '13\.4', not \(13, 2\)|str.* expected; got tuple"
    ):
        take((13, 2))


def test_a_version_says_what_is_read_verified_printed_and_written():
    text = "cuda_tile.module @m { entry @k(%x: tile<f32>) { %0 = atan2 %x, %x : tile<f32> return } }"
    newer = "operation 'cuda_tile.atan2' is not available in bytecode version 13.1|custom op 'atan2' is unknown"
    module = tileir.parse(text)
    for refused in (
        lambda: tileir.verify(module, version="13.1"),
        lambda: tileir.to_bytecode(module, version="13.1"),
        lambda: tileir.parse(text, version="13.1"),
        lambda: tileir.load(text.encode(), version="13.1"),
        lambda: tileir.from_bytecode(tileir.to_bytecode(module), version="13.1"),
    ):
        with pytest.raises(tileir.TileIRError, match=newer):
            refused()
    assert tileir.to_bytecode(module, version="13.2")[8:10] == bytes([13, 2])


def test_word_about_hints_nobody_knows_is_refused():
    with pytest.raises(tileir.OptionError, match="'bogus' is not a way to treat hints: use one of ignore, warn, error"):
        tileir.verify(program(), hints="bogus")


def test_names_nobody_knows_are_refused():
    with pytest.raises(tileir.OptionError, match="'zzz' are no names of values: public, draft"):
        program().text(names="zzz")
