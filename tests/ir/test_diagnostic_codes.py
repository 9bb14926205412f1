"""Diagnostics carry codes, and what their messages say in the holes."""

from __future__ import annotations

import copy
import pickle

import pytest

import tileir
from tileir.serve.language.editing.fixes import FIXES

SCALAR = "!cuda_tile.tile<f32>"
CASES: list[tuple[str, str, dict[str, str]]] = [
    ("%r = adf %x, %x : tile<f32>", "unknown-operation", {"name": "adf"}),
    ('%r = "cuda_tile.adf"(%x) : (tile<f32>) -> tile<f32>', "unknown-operation", {"name": "cuda_tile.adf"}),
    ("%r = addf %x, %y : tile<f32>", "undeclared-value", {"name": "%y"}),
    ("%x = addf %x, %x : tile<f32>", "redefined-value", {"name": "%x"}),
    ("%r = addf %x, %x : !t", "undefined-alias", {"name": "t"}),
    ("%r = get_global @g : tile<ptr<f32>>", "undefined-symbol", {}),
    ("%r = addf %x, %x", "expected-token", {"token": ":"}),
    ("%r = addf %x %x : tile<f32>", "expected-token", {"token": ","}),
    ("%r = addf %x, %x : tile<f32", "expected-token", {"token": ">"}),
    ("%r, %s = addf %x, %x : tile<f32>", "result-count", {"defined": "1", "bound": "2"}),
    ("%r = return", "no-results", {}),
    ("}", "unwanted-token", {}),
    ("%r = constant <f32: 4> : tile<f32>", "integer-for-float", {}),
    ('print "a', "unclosed-string", {}),
    ("%r = addf %x, %x rounding<zer> : tile<f32>", "wrong-keyword", {"got": "zer"}),
    ("%r = cmpi less_then %x, %x, signed : tile<f32>", "unknown-keyword", {"written": "less_then"}),
    ("%r = assume div_b<16>, %x : tile<f32>", "unknown-predicate", {"choices": "div_by, same_elements, bounded"}),
    ("%r, %t = load_ptr_tko relaxed %p : tile<ptr<f32>> -> tile<f32>, token", "missing-scope", {"ordering": "relaxed"}),
    ("%r, %t = load_ptr_tko weak device %p : tile<ptr<f32>> -> tile<f32>, token", "unwanted-scope", {}),
    ("for %i in (%n to %n, step %n) : tile<i32> { yield }", "misplaced-terminator", {}),
    ("%r = addf %x, %x : tile<f33>", "unknown-type", {"name": "f33"}),
    ("%n = itof %x signed : tile<f32> -> tile<f33>", "unknown-type", {"name": "f33"}),
    ("%r = addf %x, %x : tile<3xi3>", "wrong-element-type", {}),
    (
        "%r = addf %x, %x : tile<4xf32>",
        "type-of-use",
        {"name": "%x", "written": "!cuda_tile.tile<4xf32>", "expected": SCALAR},
    ),
    ("%r = constant <i32: 4> : tile<i64>", "type-of-constant", {"written": "i32", "expected": "i64"}),
]
# Their programs take more than one statement; tests/serve/language/test_actions.py has them.
ELSEWHERE = {"missing-terminator", "type-of-result"}


@pytest.mark.parametrize(("body", "code", "values"), CASES)
def test_errors_have_codes(body: str, code: str, values: dict[str, str]) -> None:
    with pytest.raises(tileir.TileIRError) as raised:
        parameters = "%x: tile<f32>, %n: tile<i32>, %p: tile<ptr<f32>>"
        tileir.parse(f"entry @k({parameters}) {{\n{body}\nreturn\n}}", verify=True)
    found = raised.value.diagnostics[0]
    assert found.code == code, found.message
    assert {**found.values, **values} == found.values
    for again in (copy.copy(found), copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
        assert (again.code, again.values) == (found.code, found.values)


def test_every_code_with_a_remedy_is_raised() -> None:
    assert {code for _, code, _ in CASES} | ELSEWHERE == set(FIXES)


def test_a_message_that_no_tool_acts_on_has_no_code() -> None:
    found = tileir.Diagnostic("error", "something else", tileir.parse("").location)
    assert (found.code, found.values) == ("", {})
