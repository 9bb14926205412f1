"""No text makes the reader do anything but give a module or say what is wrong, where."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from tests.fuzz.campaign import text_sources
from tests.fuzz.examine import assert_well_formed, examine_text
from tests.generators.mutations import mutated_text, random_text
from tests.sampling import one_in

import tileir
from tileir.ir.traversal import structurally_equal
from tileir.text.reading import read_text

ROOT = Path(__file__).parent.parent.parent
FILES = sorted([*ROOT.glob("examples/*.mlir"), *ROOT.glob("tests/programs/**/*.mlir")])
SHARDS = 20
MUTATIONS_PER_SHARD = 430
RANDOM_TEXTS_PER_SHARD = 80


@pytest.fixture(scope="module")
def sources() -> list[str]:
    return text_sources()


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "shard", [pytest.param(shard, marks=pytest.mark.long) if shard % 6 else shard for shard in range(SHARDS)]
)
def test_random_edits_end_in_a_program_or_in_diagnostics(shard, sources):
    outcomes = {"refused": 0, "invalid": 0, "valid": 0}
    for number in range(MUTATIONS_PER_SHARD):
        text = mutated_text(Random(f"edit {shard} {number}"), sources)
        outcomes[examine_text(text)] += 1
    # The edits are neither all harmless nor all fatal, or they would test nothing.
    assert all(outcomes.values()), outcomes


@pytest.mark.parametrize("shard", range(SHARDS))
def test_random_texts_end_in_a_program_or_in_diagnostics(shard):
    for number in range(RANDOM_TEXTS_PER_SHARD):
        examine_text(random_text(Random(f"text {shard} {number}")))


def test_a_test_run_covers_ten_thousand_texts():
    assert SHARDS * (MUTATIONS_PER_SHARD + RANDOM_TEXTS_PER_SHARD) >= 10_000
    assert len(FILES) > 50


@pytest.mark.parametrize("shard", range(4))
def test_every_way_of_reading_ends_in_a_module_or_in_diagnostics(shard, sources):
    for number in range(100):
        rng = Random(f"options {shard} {number}")
        text = mutated_text(rng, sources)
        found = read_text(
            text,
            version=rng.choice(((13, 1), (13, 2), (13, 3), (13, 4))),
            allow_unregistered=rng.random() < 0.5,
            recover=rng.random() < 0.5,
            draft_spellings=rng.random() < 0.5,
            implicit_module=rng.random() < 0.5,
            testing=rng.random() < 0.5,
        )
        if found.module is None:
            assert_well_formed(found.diagnostics, text)


# --- depth ---

DEPTH = 10_000


def in_entry(body: str) -> str:
    return f"cuda_tile.module @m {{\nentry @k(%b: tile<i1>) {{\n{body}\n}}\n}}"


def with_attribute(value: str) -> str:
    return f"cuda_tile.module @m attributes {{x.y = {value}}} {{\n}}"


def nested(opening: str, middle: str, closing: str) -> str:
    return opening * DEPTH + middle + closing * DEPTH


DEEP = {
    "if": in_entry(nested("if %b {\n", "", "}\n")),
    "loop": in_entry(nested("loop {\n", "", "}\n")),
    "generic regions": nested('"a.b"() ({\n', "", "}) : () -> ()\n"),
    "modules": nested("cuda_tile.module @m {\n", "", "}\n"),
    "unclosed regions": in_entry("if %b {\n" * DEPTH),
    "braces": nested("{", "", "}"),
    "parentheses": with_attribute(nested("(", "", ")")),
    "function type": with_attribute(nested("(", "i32", ") -> i32")),
    "function type results": with_attribute("() -> (" * DEPTH + "i32" + ")" * DEPTH),
    "dense literal": in_entry("%x = constant <i32: " + nested("[", "1", "]") + "> : tile<1xi32>"),
    "dense attribute": with_attribute("dense<" + nested("[", "1", "]") + "> : tile<1xi32>"),
    "lexical blocks": with_attribute(nested("#cuda_tile.di_lexical_block<scope = ", "1", ">")),
    "tile": in_entry("%x = iota : " + nested("tile<4x", "i32", ">")),
    "ptr": in_entry("%x = iota : " + nested("ptr<", "i32", ">")),
    "opaque type": with_attribute(nested("!a.b<", "i32", ">")) + "}",
    "assume predicates": in_entry("%x = assume " + "[" * DEPTH),
    "type aliases": "!t0 = i32\n" + "".join([f"!t{i + 1} = () -> !t{i}\n" for i in range(DEPTH)]),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", DEEP)
def test_nesting_ten_thousand_deep_is_refused(name):
    assert examine_text(DEEP[name]) == "refused"


@pytest.mark.parametrize(("name", "levels"), [("if", 6000)])
def test_too_deep_nesting_is_named_as_the_reason(name, levels):
    with pytest.raises(tileir.ParseError, match=rf"nesting is too deep \(more than {levels} levels\)"):
        tileir.parse(DEEP[name])


@pytest.mark.parametrize("levels", [60, 101, 1500, pytest.param(5990, marks=pytest.mark.long)])
def test_regions_as_deep_as_bytecode_has_them_are_read(levels):
    module = tileir.parse(in_entry("if %b {\n" * levels + "}\n" * levels))
    tileir.verify(module)
    assert structurally_equal(module, tileir.parse(str(module)))


def test_mistake_deep_inside_regions_is_reported_where_it_is():
    levels = 300
    with pytest.raises(tileir.ParseError) as caught:
        tileir.parse(in_entry("if %b {\n" * levels + "what\n" + "}\n" * levels))
    assert [diagnostic.position[1] for diagnostic in caught.value.diagnostics] == [3 + levels]


FILE = '#cuda_tile.di_file<"k" in "">'
SUBPROGRAM = (
    f'#cuda_tile.di_subprogram<file = {FILE}, line = 1, name = "k", linkageName = "k", '
    f"compileUnit = #cuda_tile.di_compile_unit<file = {FILE}>>"
)
SCOPES = nested("#cuda_tile.di_lexical_block<scope = ", SUBPROGRAM, f", file = {FILE}, line = 1>")
DEBUG_LOCATION = f'#cuda_tile.di_loc<loc("k":1:1) in {SCOPES}>'

#: What nests without a region or a type: read, verified, printed and read again, however deep.
DEEP_AND_VALID = {
    "array": with_attribute(nested("[", "1", "]")),
    "dictionary": with_attribute(nested("{a = ", "1", "}")),
    "arrays in dictionaries": with_attribute(nested("{a = [", "1", "]}")),
    "empty": with_attribute(nested("[", "", "]")),
    "location": in_entry("return loc(" + nested('"a"(', "unknown", ")") + ")"),
    "callsite": in_entry("return loc(" + "callsite(" * DEPTH + "unknown" + " at unknown)" * DEPTH + ")"),
    "callers": in_entry("return loc(" + "callsite(unknown at " * DEPTH + "unknown" + ")" * DEPTH + ")"),
    "fused": in_entry("return loc(" + nested("fused[", "unknown", "]") + ")"),
    "fused metadata": in_entry("return loc(" + nested("fused<loc(", "unknown", ")>[unknown]") + ")"),
    "arrays in metadata": in_entry("return loc(" + nested("fused<[1, {a = loc(", "unknown", ")}]>[]") + ")"),
    "scopes written out": in_entry(f"return loc({DEBUG_LOCATION})"),
    "hints": with_attribute(nested("#cuda_tile.optimization_hints<sm_80 = {a = ", "1", "}>")),
    "cute": with_attribute("#cute.layout<" + nested("(", "1, (), 2@1", ")") + ">"),
    "aliases": "#a0 = [1]\n" + "".join([f"#a{i + 1} = [#a{i}]\n" for i in range(DEPTH)]) + with_attribute(f"#a{DEPTH}"),
    "aliases before their definition": with_attribute(f"#a{DEPTH}")
    + "\n#a0 = [1]\n"
    + "".join([f"#a{i + 1} = [#a{i}]\n" for i in range(DEPTH)]),
    "aliases in the wrong order": "".join([f"#a{i + 1} = [#a{i}]\n" for i in reversed(range(DEPTH))])
    + "#a0 = [1]\n"
    + with_attribute(f"#a{DEPTH}"),
    "location aliases": in_entry(f"return loc(#l{DEPTH})")
    + "\n#l0 = loc(unknown)\n"
    + "".join([f"#l{i + 1} = loc(callsite(#l{i} at unknown))\n" for i in range(DEPTH)]),
    "scopes": in_entry("return loc(#l)")
    + """
#f = #cuda_tile.di_file<"k" in "">
#u = #cuda_tile.di_compile_unit<file = #f>
#b0 = #cuda_tile.di_subprogram<file = #f, line = 1, name = "k", linkageName = "k", compileUnit = #u>
"""
    + "".join([f"#b{i + 1} = #cuda_tile.di_lexical_block<scope = #b{i}, file = #f, line = 1>\n" for i in range(DEPTH)])
    + f'#l = #cuda_tile.di_loc<loc("k":1:1) in #b{DEPTH}>\n',
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", one_in(3, DEEP_AND_VALID))
def test_attributes_and_locations_nest_as_deep_as_the_text_says(name):
    module = tileir.parse(DEEP_AND_VALID[name])
    if "scopes" not in name:  # A scope in a function without one is invalid, which is told all the same.
        tileir.verify(module)
    else:
        with pytest.raises(tileir.VerifyError, match="function debug info scope is undefined"):
            tileir.verify(module)
    again = tileir.parse(module.text(debug_info=True))
    assert structurally_equal(module, again)
    assert module.text(debug_info=True) == again.text(debug_info=True)


def test_alias_that_is_broken_deep_inside_is_reported_for_each_use_without_end():
    chain = "".join([f"#l{i + 1} = loc(callsite(#l{i} at unknown))\n" for i in range(2000)])
    uses = "".join([f"%t{i} = make_token : token loc(#l{i % 2000 + 1})\n" for i in range(2000)])
    with pytest.raises(tileir.ParseError) as caught:
        tileir.parse(in_entry(uses) + "\n" + chain)
    assert {diagnostic.message for diagnostic in caught.value.diagnostics} == {"undefined symbol alias id 'l0'"}


def test_opaque_attribute_nested_deep_is_carried_without_a_look_inside():
    module = tileir.parse(with_attribute("#a.b" + nested("<", "1", ">")))
    assert structurally_equal(module, tileir.parse(str(module)))


# --- short texts that mean long ones ---

LEVELS = 60
GROWING = {
    "arrays": "#a0 = [1]\n" + "".join([f"#a{i + 1} = [#a{i}, #a{i}]\n" for i in range(LEVELS)]),
    "arrays before their use": with_attribute(f"#a{LEVELS}")
    + "\n#a0 = [1]\n"
    + "".join([f"#a{i + 1} = [#a{i}, #a{i}]\n" for i in range(LEVELS)]),
    "locations in an attribute": "#l0 = loc(unknown)\n"
    + "".join([f"#l{i + 1} = loc(callsite(#l{i} at #l{i}))\n" for i in range(LEVELS)])
    + with_attribute(f"[#l{LEVELS}]"),
    "types": "!t0 = i32\n" + "".join([f"!t{i + 1} = (!t{i}, !t{i}) -> !t{i}\n" for i in range(LEVELS)]),
}


@pytest.mark.parametrize("name", GROWING)
def test_aliases_that_would_double_sixty_times_are_refused(name):
    assert examine_text(GROWING[name]) == "refused"
    with pytest.raises(tileir.ParseError, match=r"too long with (the|their parts and) aliases"):
        tileir.parse(GROWING[name])


def test_locations_that_would_double_sixty_times_are_printed_with_their_aliases():
    lines = "".join([f"#l{i + 1} = loc(callsite(#l{i} at #l{i}))\n" for i in range(LEVELS)])
    module = tileir.parse(in_entry(f"return loc(#l{LEVELS})") + '\n#l0 = loc("k":1:1)\n' + lines)
    tileir.verify(module)
    text = module.text(debug_info=True)
    assert text.count("callsite(") == LEVELS
    assert tileir.parse(text).text(debug_info=True) == text


def test_alias_that_refers_to_itself_is_refused():
    with pytest.raises(tileir.ParseError, match="alias 'a' refers to itself"):
        tileir.parse("#a = [#b]\n#b = [#a]")


def test_long_literal_behind_an_alias_is_no_growth():
    values = ", ".join(["1"] * 70_000)
    module = tileir.parse(f"#a = [{values}]\n#b = [#a, #a]\n" + with_attribute("#b"))
    assert module.attributes["x.y"].elements[0] is module.attributes["x.y"].elements[1]


# --- strings ---


@pytest.mark.parametrize("text", ['"', '"abc', '"abc\\', '"abc\\"', '"a\nb"'])
def test_string_that_is_not_closed_is_refused(text):
    assert examine_text(with_attribute(text)) == "refused"


def test_string_that_is_not_closed_is_refused_where_it_begins():
    with pytest.raises(tileir.ParseError, match=r"error: expected '\"' in string literal\n --> -:1:44\n"):
        tileir.parse('cuda_tile.module @m attributes {x = 1, y = "abc} {\n}')


def test_keyword_in_quotes_must_be_closed():
    body = "%x, %t = load_ptr_tko {} %p : tile<ptr<i1>> -> tile<i1>, token"
    program = "cuda_tile.module @m {\nentry @k(%p: tile<ptr<i1>>) {\nBODY\n}\n}"
    assert examine_text(program.replace("BODY", body.format('"weak"'))) == "valid"
    assert examine_text(program.replace("BODY", body.format('"weakk'))) == "refused"


def test_half_of_a_surrogate_pair_is_refused_at_its_position():
    with pytest.raises(tileir.ParseError) as caught:
        tileir.parse(with_attribute('"a\ud800b"'))
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.message == "text has half of a surrogate pair"
    assert diagnostic.position == ("-", 1, 41)


@pytest.mark.parametrize("digit", ["²", "٣", "①"])
def test_digits_of_other_scripts_are_no_numbers(digit):
    assert examine_text(with_attribute(digit)) == "refused"
    assert examine_text(in_entry(f"%x = iota : tile<{digit}xi32>")) == "refused"
    assert examine_text(in_entry(f"%x:{digit} = iota : tile<4xi32>")) == "refused"


@pytest.mark.parametrize(
    "literal", ["[[1], []]", "[[], [1]]", "[[1, 2], [3]]", "[[], []]", "[1, [2]]", "[[1], 2]", "[1,]"]
)
def test_ragged_dense_literal_is_refused(literal):
    assert examine_text(in_entry(f"%x = constant <i32: {literal}> : tile<2x1xi32>")) == "refused"


@pytest.mark.parametrize(
    ("element", "fits", "overflows"),
    [
        ("i1", "0001", "0002"),
        ("i1", "01", "02"),
        ("i1", "0100", "0180"),
    ],
)
def test_hexadecimal_elements_with_bits_outside_the_element_are_refused(element, fits, overflows):
    for data, outcome in ((fits, "valid"), (overflows, "refused")):
        assert examine_text(in_entry(f'%x = constant <{element}: "0x{data}"> : tile<2x{element}>')) == outcome


def test_blanks_inside_a_string_of_an_opaque_attribute_stay():
    module = tileir.parse(with_attribute('#a.b<"x  y",  // comment\n  1>'))
    assert module.attributes["x.y"].text == '#a.b<"x  y", 1>'


def test_very_long_line_is_shown_in_part():
    with pytest.raises(tileir.ParseError) as caught:
        tileir.parse("a" * 5_000 + " $ " + "b" * 5_000)
    shown = caught.value.diagnostics[0].render().split("\n")
    assert len(shown[3]) == len("1 | ") + 1000
    with pytest.raises(tileir.ParseError) as caught:
        tileir.parse("%" + "a" * 5_000 + " = ! " + "b" * 5_000)
    shown = caught.value.diagnostics[0].render().split("\n")
    assert len(shown[3]) == len("1 | ") + 1000
    assert shown[3][len(shown[4]) - 1] == "!"


# --- size ---

LONG = """
import tileir
from tileir.ir.diagnostics import TileIRError

MILLION = 1_000_000

def repeated(piece):
    return piece * (MILLION // len(piece))

def in_entry(body):
    return "cuda_tile.module @m {\\nentry @k(%b: tile<i1>) {\\n" + body + "\\n}\\n}"

def listed(piece, count=100_000):
    return ", ".join([piece.replace("NUMBER", str(i)) for i in range(count)])

texts = [repeated(piece) for piece in PIECES]
texts += [in_entry(text[: MILLION // 10]) for text in texts]
texts += [
    '"' + "a" * MILLION,
    "tile<" + "a" * MILLION,
    "tile<" + repeated("<>"),
    in_entry("%x = constant <f32: 1." + "1" * MILLION + "> : tile<f32>"),
    in_entry("%x = constant <f32: 1.0e" + "9" * MILLION + "> : tile<f32>"),
    in_entry("%x = constant <i32: 0x" + "F" * MILLION + "> : tile<i32>"),
    in_entry("%x = constant <i32: [" + listed("1", 131072) + "]> : tile<131072xi32>"),
    in_entry('%t = print_tko "' + "%" * MILLION + '" -> token'),
    "cuda_tile.module @m attributes {a = [" + listed("NUMBER") + "]} { }",
    "cuda_tile.module @m attributes {" + listed("aNUMBER") + "} { }",
    "cuda_tile.module @m attributes {a = array<i32: " + listed("NUMBER") + ">} { }",
    "cuda_tile.module @m attributes {a = [" + listed("#o.p<a b>") + "]} { }",
    "cuda_tile.module @m attributes {a = #cute.layout<(" + listed("1@0") + ")>} { }",
    "cuda_tile.module @m { entry @k(" + listed("%aNUMBER: tile<i32>") + ") { } }",
    "cuda_tile.module @m { entry @k() optimization_hints=<" + listed("aNUMBER = {}") + "> { } }",
    "cuda_tile.module @m { " + listed("entry @kNUMBER() { }", 20_000).replace(",", "") + " }",
    in_entry(listed("%xNUMBER = absi %yNUMBER : tile<i32>", 20_000).replace(", %x", "\\n%x")),
    in_entry("%x0 = iota : tile<4xi32>\\n" + "".join(
        [f"%x{i + 1} = assume div_by<1>, %x{i} : tile<4xi32>\\n" for i in range(20_000)]
    )),
]
for text in texts:
    try:
        module = tileir.parse(text)
        tileir.verify(module)
        str(module)
    except TileIRError as error:
        assert error.diagnostics
        for diagnostic in error.diagnostics[:100]:
            diagnostic.render()
print("done")
"""

PIECES = [
    *(
        "tile<",
        "ptr<ptr<",
        "tile<<a>",
        " ",
        "\n",
        '"',
        '\\"',
        "\\",
        "%a,",
        "%a = ",
        "%a =\n",
        "1",
        "0x",
        "//",
        "//\n",
        "-",
    ),
    *(
        "addi ",
        "addi\n",
        "addi %a, %b ",
        "foo %a\n",
        "return\n",
        "{",
        "}",
        "{}",
        "(",
        "[",
        "#",
        "#a = 1\n",
        "!",
        "@",
        '@"',
    ),
    *(
        "^a:",
        "loc(",
        "if %b { }\n",
        "\0",
        "\r",
        "\ufeff",
        "entry @k() { }\n",
        "cuda_tile.module @m { ",
        "a.b ",
        "%0#1 ",
    ),
]


@pytest.mark.long
@pytest.mark.parametrize("part", range(4))
def test_a_megabyte_of_anything_is_read_to_its_end(part):
    program = f"PIECES = {PIECES[part::4]!r}\n{LONG}"
    if part:
        # The long lists are for one of the parts.
        program = program.replace("texts += [\n", "unused = lambda: [\n")
    # Generous: the point is that it ends at all, which what grows with the square of the length does not.
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False)
    assert result.stdout == "done\n", result.stderr[-2000:]
