"""Diagnostics carry codes, and what their messages say in the holes."""

from __future__ import annotations

import pytest

import tileir
from tileir.ir.diagnostic_codes import CODES, coded


def first_mistake(body: str) -> tileir.Diagnostic:
    with pytest.raises(tileir.TileIRError) as raised:
        tileir.parse(f"entry @k(%x: tile<f32>) {{\n{body}\nreturn\n}}", verify=True)
    return raised.value.diagnostics[0]


@pytest.mark.parametrize(
    ("body", "code", "values"),
    [
        ("%r = adf %x, %x : tile<f32>", "unknown-operation", {"name": "adf"}),
        ("%r = addf %x, %y : tile<f32>", "undeclared-value", {"name": "%y"}),
        ("%x = addf %x, %x : tile<f32>", "redefined-value", {"name": "%x"}),
        ("%r = addf %x, %x", "missing-types", {"token": ":"}),
        ("%r = addf %x %x : tile<f32>", "expected-token", {"token": ","}),
        ("%r, %s = addf %x, %x : tile<f32>", "result-count", {"defined": "1", "bound": "2"}),
        ("%r = addf %x, %x : tile<f33>", "unknown-type", {"name": "f33"}),
        ("%n = itof %x signed : tile<f32> -> tile<f33>", "unknown-type", {"name": "f33"}),
        (
            "%r = addf %x, %x : tile<4xf32>",
            "type-of-use",
            {"written": "!cuda_tile.tile<4xf32>", "expected": "!cuda_tile.tile<f32>"},
        ),
    ],
)
def test_mistakes_have_codes(body: str, code: str, values: dict[str, str]) -> None:
    found = first_mistake(body)
    assert (found.code, found.values) == (code, values), found.message


def test_a_message_that_no_tool_acts_on_has_no_code() -> None:
    assert coded("something else") == ("", {})
    assert all(code == code.lower() and " " not in code for code, _ in CODES)
