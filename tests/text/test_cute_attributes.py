"""cuTe layout attributes: carried as written, never as opaque text (the printer draft; docs/reference/conflicts.md A14)."""

from __future__ import annotations

import pytest

import tileir
from tileir.dialect.attributes import CuteAttribute
from tileir.text.reading import ReadText, read_text


def read(attribute: str) -> ReadText:
    return read_text(
        f"cuda_tile.module @m {{\nentry @k(%x: tile<f32>) {{\n%r = absf %x {{layout = {attribute}}} : tile<f32>\nreturn\n}}\n}}"
    )


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("#cute.layout<(1@0, 16@1)>", "#cute.layout<(1@0, 16@1)>"),
        ("#cute.shape<(128@0, 64@1)>", "#cute.shape<(128@0, 64@1)>"),
        ("#cute.stride<(1@0,128@1)>", "#cute.stride<(1@0, 128@1)>"),
        ("#cute.layout< ( ( 1@0 , 2 ) , -16@1 ) >", "#cute.layout<((1@0, 2), -16@1)>"),
        ("#cute.layout<8>", "#cute.layout<8>"),
        ("#cute.layout<()>", "#cute.layout<()>"),
    ],
)
def test_layout_on_an_operation_survives_both_forms(written: str, printed: str) -> None:
    module = read(written).module
    assert module is not None
    tileir.verify(module)
    assert f"%0 = absf %arg0 {{layout = {printed}}} : tile<f32>" in str(module)
    for generic in (False, True):
        text = module.text(generic=generic)
        assert f"{{layout = {printed}}}" in text
        assert tileir.parse(text).text(generic=generic) == text


def test_equal_layouts_are_one_attribute() -> None:
    found = [read(text).module for text in ("#cute.layout<(1@0,16@1)>", "#cute.layout<( 1@0, 16@1 )>")]
    first, second = [
        next(op.attributes["layout"] for op in module.walk() if op.results) for module in found if module is not None
    ]
    assert isinstance(first, CuteAttribute)
    assert first is second


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (
            "#cute.layout<(1@0, 16@)>",
            "malformed parameter '16@' of 'cute.layout': expected a dimension number after '@'",
        ),
        ("#cute.layout<(1@0, x@1)>", "malformed parameter 'x@1' of 'cute.layout': expected an integer or a tuple"),
        ("#cute.shape<(1@-1)>", "malformed parameter '1@-1' of 'cute.shape': expected a dimension number after '@'"),
        ("#cute.stride<(1@0 2@1)>", "malformed parameter '2@1' of 'cute.stride': expected ',' or ')'"),
        ("#cute.layout<(1, )>", "malformed parameter ')' of 'cute.layout': expected an integer or a tuple"),
        ("#cute.layout<>", "malformed parameter of 'cute.layout': expected an integer or a tuple"),
        ("#cute.layout<1@0, 2@1>", "malformed parameter ',' of 'cute.layout': expected the end of the attribute"),
        (
            "#cute.layout<(99999999999999999999@0)>",
            "malformed parameter '99999999999999999999@0' of 'cute.layout': expected an integer or a tuple",
        ),
        (
            f"#cute.layout<{'(' * 70}1{')' * 69}>",
            "expected ')'",
        ),
        ("#cute.swizzle<(1@0)>", "unknown cute attribute 'swizzle', expected one of: layout, shape, stride"),
        ("#cute.layout", "expected '<'"),
    ],
)
def test_malformed_layout_is_reported_with_the_parameter(written: str, message: str) -> None:
    found = read(written)
    assert found.module is None
    assert [d.message for d in found.diagnostics] == [message]
    assert found.diagnostics[0].position[1] == 3
