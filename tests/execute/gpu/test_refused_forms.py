"""Forms that NVIDIA's assembler refuses are written as others: with the same results, and taken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest
from tests.execute.cpu.elementwise import special_patterns
from tests.hardware.measured import element_of, patterns

import tileir
from tileir.dialect.ops import FTOF, FTOI, LOAD_VIEW_TKO
from tileir.execute.gpu.tileiras.program import work_around
from tileir.execute.gpu.tileiras.tool import why_missing

DIRECTED = ("zero", "negative_inf", "positive_inf", "nearest_away")
WIDENED = [
    *[("f16", target) for target in ("tf32", "f32", "f64")],
    *[("bf16", target) for target in ("tf32", "f32", "f64")],
    *[(source, target) for source in ("f8E4M3FN", "f8E5M2") for target in ("f16", "bf16", "tf32", "f32", "f64")],
]
SATURATED = [(source, f"i{width}") for source in ("tf32", "f8E4M3FN", "f8E5M2") for width in (1, 8, 16, 32, 64)]


def kernel(source: str, conversions: list[tuple[str, str]]) -> str:
    """A kernel that stores conversions of a tile, each with its target, one after the other."""
    parameters, lines = [f"%x_a: tile<ptr<{source}>>"], ["%lane = iota : tile<32xi32>"]
    tiles = [("x", source), *[(f"r{number}", target) for number, (_, target) in enumerate(conversions)]]
    for name, element in tiles:
        point = f"ptr<{element}>"
        lines += [
            f"%{name}_1 = reshape %{name}_a : tile<{point}> -> tile<1x{point}>",
            f"%{name}_n = broadcast %{name}_1 : tile<1x{point}> -> tile<32x{point}>",
            f"%{name}_p = offset %{name}_n, %lane : tile<32x{point}>, tile<32xi32> -> tile<32x{point}>",
        ]
    lines.append(f"%x, %x_t = load_ptr_tko weak %x_p : tile<32xptr<{source}>> -> tile<32x{source}>, token")
    for number, (operation, target) in enumerate(conversions):
        tile, point = f"tile<32x{target}>", f"tile<32xptr<{target}>>"
        parameters.append(f"%r{number}_a: tile<ptr<{target}>>")
        lines.append(f"%r{number} = {operation} : tile<32x{source}> -> {tile}")
        lines.append(f"%s{number} = store_ptr_tko weak %r{number}_p, %r{number} : {point}, {tile} -> token")
    return f"cuda_tile.module @m {{ entry @k({', '.join(parameters)}) {{\n" + "\n".join(lines) + "\nreturn } }"


def conversions_of(source: str) -> list[tuple[str, str]]:
    found = [(f"ftof %x rounding<{mode}>", target) for first, target in WIDENED if first == source for mode in DIRECTED]
    for first, target in SATURATED:
        if first == source:
            found += [(f"ftoi %x {signedness} saturating", target) for signedness in ("signed", "unsigned")]
    return found


def stored(module: Any, arrays: list[Any]) -> list[bytes]:
    copies = [array.copy() for array in arrays]
    tileir.compile(module, backend="interpreter").launch(1, copies)
    return [array.tobytes() for array in copies]


SOURCES = ("f16", "bf16", "tf32", "f8E4M3FN", "f8E5M2")


@pytest.mark.parametrize("source", SOURCES)
def test_rewritten_conversions_give_the_same_bits(source: str) -> None:
    conversions = conversions_of(source)
    text = kernel(source, conversions)
    operands = numpy.resize(special_patterns(element_of(source)), 32)
    arrays = [patterns(source, [int(bits) for bits in operands])]
    arrays += [patterns(target, [0] * 32) for _, target in conversions]
    module = tileir.parse(text)
    tileir.verify(module)
    assert work_around(module) == len(conversions)
    tileir.verify(module)
    for operation in module.walk():
        assert operation.declaration is not FTOF or "rounding_mode" not in operation.attributes
        if operation.declaration is FTOI:
            assert operation.operands[0].type.text == "!cuda_tile.tile<32xf32>"
    assert stored(module, arrays) == stored(tileir.parse(text), arrays)


def views(padding: str, inbounds: str) -> str:
    tensor = "tensor_view<4x4xf32, strides=[4,1]>"
    view = f"partition_view<tile=(2x4), {padding}{tensor}>"
    return f"""cuda_tile.module @m {{ entry @k(%p: tile<ptr<f32>>) {{
      %zero = constant <i32: 0> : tile<i32>
      %one = constant <i32: 1> : tile<i32>
      %tensor = make_tensor_view %p, shape = [4, 4], strides = [4, 1] : {tensor}
      %view = make_partition_view %tensor : {view}
      %x, %t = load_view_tko weak %view[%zero, %zero] inbounds = [{inbounds}] : {view}, tile<i32> -> tile<2x4xf32>, token
      %s = store_view_tko weak %x, %view[%one, %zero] inbounds = [{inbounds}] : tile<2x4xf32>, {view}, tile<i32> -> token
      return }} }}"""


@pytest.mark.parametrize("inbounds", ["true, true", "true, false"])
@pytest.mark.parametrize("padding", ["", "padding_value = zero, ", "padding_value = nan, "])
def test_the_promise_of_a_load_is_dropped_where_its_view_has_a_padding_value(padding: str, inbounds: str) -> None:
    module = tileir.parse(views(padding, inbounds))
    tileir.verify(module)
    assert work_around(module) == (1 if padding else 0)
    tileir.verify(module)
    (load,) = (operation for operation in module.walk() if operation.declaration is LOAD_VIEW_TKO)
    assert ("inbounds" in load.attributes) == (not padding)
    numbers = numpy.arange(16, dtype=numpy.float32)
    assert stored(module, [numbers]) == [numpy.tile(numbers[:8], 2).tobytes()]


def test_what_rounds_and_what_is_taken_stays() -> None:
    text = kernel("f32", [("ftof %x rounding<zero>", "f16"), ("ftoi %x signed saturating", "i8"), ("ftof %x", "f64")])
    module = tileir.parse(text)
    before = str(module)
    assert work_around(module) == 0
    assert str(module) == before


@pytest.mark.skipif(bool(why_missing()), reason="needs NVIDIA's assembler: pip install 'tileir[tileiras]'")
@pytest.mark.parametrize("target", ["sm_90", "sm_100"])
def test_the_assembler_takes_all_of_them(target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEIR_CACHE_DIR", str(tmp_path / "cache"))
    texts = [kernel(source, conversions_of(source)) for source in SOURCES]
    texts += [views("padding_value = zero, ", "true, true"), views("padding_value = nan, ", "true, false")]
    for text in texts:
        assert tileir.compile(tileir.parse(text), backend="interpreter").cubin(target).target == target
