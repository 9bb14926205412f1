"""Locations: every kind reads and prints, inline and through aliases before or after their use."""

from __future__ import annotations

import pytest

import tileir
from tileir.dialect.debug_info import DILocation
from tileir.ir.location import (
    UNKNOWN,
    CallSiteLocation,
    FileLocation,
    FusedLocation,
    Location,
    NameLocation,
    OpaqueLocation,
    file_location,
    name_location,
)
from tileir.text.reading import read_text

SUBPROGRAM = (
    '#cuda_tile.di_subprogram<file = <"k.py" in "/src">, line = 1, name = "k", linkageName = "k", '
    'compileUnit = <file = <"k.py" in "/src">>>'
)


def text_with(location: str, before: str = "", after: str = "") -> str:
    return f"{before}cuda_tile.module @m {{\nentry @k() {{\n%r = make_token : token {location}\nreturn\n}}\n}}\n{after}"


def read(location: str, before: str = "", after: str = "") -> Location:
    module = tileir.parse(text_with(location, before, after))
    return next(operation for operation in module.walk() if operation.results).location


def mistakes(location: str, before: str = "", after: str = "") -> list[str]:
    found = read_text(text_with(location, before, after))
    assert found.module is None
    return [diagnostic.message for diagnostic in found.diagnostics]


KINDS: list[tuple[str, type[Location]]] = [
    ('loc("k.py":3:7)', FileLocation),
    ('loc("name")', NameLocation),
    ('loc("name"("k.py":3:7))', NameLocation),
    ('loc(fused["k.py":3:7, "name"])', FusedLocation),
    ('loc(fused<"inlined">["k.py":3:7, "k.py":4:1])', FusedLocation),
    ("loc(fused<{a = 1 : i64}>[unknown])", FusedLocation),
    ('loc(callsite("callee.py":1:2 at "caller.py":3:4))', CallSiteLocation),
    ('loc(callsite("f"("k.py":1:1) at callsite("g" at "h")))', CallSiteLocation),
    (f'loc(#cuda_tile.di_loc<loc("k.py":3:7) in {SUBPROGRAM}>)', DILocation),
    (f'loc(callsite(#cuda_tile.di_loc<loc("k.py":3:7) in {SUBPROGRAM}> at "caller.py":3:4))', CallSiteLocation),
]


@pytest.mark.parametrize(("written", "kind"), KINDS)
def test_location_of_every_kind_reads_back_to_the_same_object(written: str, kind: type[Location]) -> None:
    found = read(written)
    assert isinstance(found, kind)
    assert f"loc({found.inner})" == written
    assert read(f"loc({found.inner})") is found


@pytest.mark.parametrize(("written", "kind"), KINDS)
def test_location_of_every_kind_survives_printing_with_aliases(written: str, kind: type[Location]) -> None:
    module = tileir.parse(text_with(written))
    for generic in (False, True):
        text = module.text(generic=generic, debug_info=True)
        again = tileir.parse(text)
        found = next(operation for operation in again.walk() if operation.results).location
        assert found is read(written)
        assert again.text(generic=generic, debug_info=True) == text


def test_unknown_location_is_kept() -> None:
    assert read("loc(unknown)") is UNKNOWN


def test_operation_without_a_location_has_that_of_its_name_in_the_text() -> None:
    module = tileir.parse(text_with(""))
    operation = next(operation for operation in module.walk() if operation.results)
    assert operation.location.inner == '"-":3:6'


def test_opaque_location_prints_its_fallback() -> None:
    location = OpaqueLocation("handle", file_location("k.py", 1, 2))
    assert location.text == 'loc("k.py":1:2)'


def test_name_location_without_a_child_has_the_unknown_one() -> None:
    assert read('loc("name")') is name_location("name", UNKNOWN)
    assert read('loc("name"(unknown))') is read('loc("name")')


def test_argument_may_have_a_location() -> None:
    module = tileir.parse('cuda_tile.module @m {\nentry @k(%x: tile<i32> loc("k.py":1:2)) {\nreturn\n}\n}')
    function = next(operation for operation in module.walk() if operation.name == "cuda_tile.entry")
    assert function.regions[0].block.arguments[0].location is file_location("k.py", 1, 2)


# --- aliases ---


def test_alias_may_be_defined_before_its_use() -> None:
    assert read("loc(#here)", before='#here = loc("k.py":1:2)\n') is file_location("k.py", 1, 2)


def test_alias_may_be_defined_after_its_use() -> None:
    assert read("loc(#here)", after='#here = loc("k.py":1:2)\n') is file_location("k.py", 1, 2)


def test_alias_may_use_aliases_defined_later() -> None:
    after = '#here = loc(callsite(#callee at #caller))\n#callee = loc("a":1:1)\n#caller = loc("b"(#callee))\n'
    assert read("loc(#here)", after=after).inner == 'callsite("a":1:1 at "b"("a":1:1))'


# What a definition of a place in a file may look like, and what it means or what is said of it, as inside a `loc`.
PLACES = [
    '"k.py":3:7',
    '"k.py":0x10:7',
    '"":0:0',
    '"a\\\\b\\22.py":1:4294967295',
    '"k.py":4294967296:1',
    '"k.py":12345678901:1',
    '"k.py":\u00b2:1',
    '"k.py":-1:1',
    '"k.py":3',
    '"k.py":3:',
    '"k.py" 3:7',
    "k:3:7",
]


@pytest.mark.parametrize("inside", PLACES)
@pytest.mark.parametrize("in_scope", [False, True])
def test_alias_of_a_place_is_what_is_written_out(inside: str, in_scope: bool) -> None:
    definitions = f"#place = loc({inside})\n"
    written = f"loc({inside})"
    name = "#place"
    if in_scope:
        definitions = f"#placed = #cuda_tile.di_loc<#place in #scope>\n{definitions}#scope = {SUBPROGRAM}\n"
        written = f"loc(#cuda_tile.di_loc<loc({inside}) in {SUBPROGRAM}>)"
        name = "#placed"
    wanted = read_text(text_with(written))
    for before, after in ((definitions, ""), ("", definitions)):
        found = read_text(text_with(f"loc({name})", before, after))
        assert [each.message for each in found.diagnostics[:1]] == [each.message for each in wanted.diagnostics]
        if wanted.module is not None:
            assert read(f"loc({name})", before, after) is read(written)


def test_definitions_of_places_are_read_where_nothing_uses_them() -> None:
    known = f'#a = loc("k.py":1:2)\n#c = #cuda_tile.di_loc<#a in #s>\n#s = {SUBPROGRAM}\n'
    assert read("loc(#c)", after=known) is read("loc(#c)", before=known)
    assert read("loc(unknown)", after=known) is UNKNOWN
    assert mistakes("loc(#a)", after=f'{known}#a = loc("k.py":1:2)\n') == [
        "redefinition of attribute alias id 'a'",
    ]
    assert mistakes("loc(#c)", after=f"{known}#d = #cuda_tile.di_loc<#a in #a>\n")[0].startswith("invalid kind of")


def test_alias_of_an_attribute_stands_wherever_an_attribute_may() -> None:
    text = "#fact = #cuda_tile.div_by<16>\ncuda_tile.module @m {\nentry @k(%x: tile<i32>) {\n%r = assume #fact, %x : tile<i32>\nreturn\n}\n}"
    assert "%assume = assume div_by<16>, %arg0 : tile<i32>" in str(tileir.parse(text))


def test_type_alias_stands_for_its_type() -> None:
    text = "!vector = !cuda_tile.tile<8xi32>\ncuda_tile.module @m {\nentry @k() {\n%r = iota : !vector\nreturn\n}\n}"
    assert "%0 = iota : tile<8xi32>" in str(tileir.parse(text))


def test_alias_that_is_defined_nowhere_is_reported() -> None:
    assert mistakes("loc(#here)") == ["undefined symbol alias id 'here'"]


def test_second_definition_of_an_alias_is_reported() -> None:
    twice = '#here = loc("k.py":1:2)\n#here = loc("k.py":1:3)\n'
    assert mistakes("", before=twice) == ["redefinition of attribute alias id 'here'"]


def test_second_definition_of_a_type_alias_is_reported() -> None:
    assert mistakes("", before="!a = i32\n!a = i64\n") == ["redefinition of type alias id 'a'"]


def test_alias_that_refers_to_itself_is_reported() -> None:
    assert mistakes("loc(#here)", after="#here = loc(callsite(#here at unknown))\n")[0] == (
        "alias 'here' refers to itself"
    )


def test_aliases_that_refer_to_each_other_are_reported() -> None:
    after = "#a = loc(callsite(#b at unknown))\n#b = loc(callsite(#a at unknown))\n"
    assert mistakes("loc(#a)", after=after)[0] == "alias 'a' refers to itself"


def test_broken_alias_does_not_hide_other_mistakes() -> None:
    after = "#a = loc(callsite(#a at unknown))\n"
    found = mistakes("loc(#a)\n%s = make_token : token loc(#missing)", after=after)
    assert found[:2] == ["alias 'a' refers to itself", "undefined symbol alias id 'missing'"]


def test_alias_that_is_no_location_is_refused_as_one() -> None:
    assert mistakes("loc(#here)", before="#here = 1 : i32\n") == ["expected location attribute"]


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("loc()", "expected location instance"),
        ("loc(nowhere)", "expected location instance"),
        ('loc("k.py":x:1)', "expected integer line number"),
        ('loc("k.py":1:x)', "expected integer column number"),
        ('loc(callsite("a" "b"))', "expected 'at' in callsite location"),
        ('loc(fused"a")', "expected '['"),
        ('loc("a"', "expected ')'"),
    ],
)
def test_malformed_location_is_reported(written: str, message: str) -> None:
    assert mistakes(written)[0] == message


def test_printed_aliases_are_numbered_by_depth_and_kind() -> None:
    location = f'loc(callsite(#cuda_tile.di_loc<loc("k.py":3:7) in {SUBPROGRAM}> at "caller.py":3:4))'
    text = tileir.parse(text_with(location).replace("return", "return loc(unknown)")).text(debug_info=True)
    definitions = [line for line in text.splitlines() if line.startswith("#")]
    assert [line.partition(" = ")[0] for line in definitions if "#di" in line[:4]] == [
        "#di_file",
        "#di_compile_unit",
        "#di_subprogram",
    ]
    assert '#di_file = #cuda_tile.di_file<"k.py" in "/src">' in definitions
    assert "#di_compile_unit = #cuda_tile.di_compile_unit<file = #di_file>" in definitions


def test_a_redefinition_within_a_line_is_read_once() -> None:
    text = '( #a = loc("x":1:2) foo ( #a = loc("x":1:2) bar'
    with pytest.raises(tileir.ParseError) as caught:
        tileir.parse(text)
    assert [str(each)[:7] for each in caught.value.diagnostics] == ["-:1:1: ", "-:1:21:", "-:1:45:"]
