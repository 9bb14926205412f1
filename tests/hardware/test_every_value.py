"""The conversions that follow the hardware, of every 8-bit and 16-bit value, in both engines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy
import pytest
from tests.hardware.measured import patterns

import tileir
from tileir.ir import floats

BACKENDS = ("interpreter", "cpu")
FLOATS = ("f16", "bf16", "tf32", "f32", "f64", "f8E4M3FN", "f8E5M2", "f8E8M0FNU", "fnv8E5M3FNU")
NARROW_FLOATS = ("f16", "bf16", "f8E4M3FN", "f8E5M2", "f8E8M0FNU", "fnv8E5M3FNU")
MODES = ("", " rounding<zero>", " rounding<negative_inf>", " rounding<positive_inf>", " rounding<nearest_away>")
COUNTS = {"f16": 1 << 16, "bf16": 1 << 16, "i16": 1 << 16, "i1": 2}


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEIR_CACHE", "0")


def module(operation: str, source: str, target: str) -> Any:
    """A kernel that converts every value of a source; None if the dialect has no such conversion."""
    count = COUNTS.get(source, 256)
    head = f"%lane = iota : tile<{count}xi32>\n"
    for name, element in (("from", source), ("to", target)):
        point = f"ptr<{element}>"
        head += (
            f"%{name}_1 = reshape %{name} : tile<{point}> -> tile<1x{point}>\n"
            f"%{name}_n = broadcast %{name}_1 : tile<1x{point}> -> tile<{count}x{point}>\n"
            f"%{name}_p = offset %{name}_n, %lane : tile<{count}x{point}>, tile<{count}xi32> -> tile<{count}x{point}>\n"
        )
    made = tileir.parse(
        f"cuda_tile.module @m {{ entry @k(%from: tile<ptr<{source}>>, %to: tile<ptr<{target}>>) {{\n{head}"
        f"%x, %t = load_ptr_tko weak %from_p : tile<{count}xptr<{source}>> -> tile<{count}x{source}>, token\n"
        f"%r = {operation} : tile<{count}x{source}> -> tile<{count}x{target}>\n"
        f"%s = store_ptr_tko weak %to_p, %r : tile<{count}xptr<{target}>>, tile<{count}x{target}> -> token\nreturn }} }}"
    )
    try:
        tileir.verify(made)
    except tileir.VerifyError:
        return None
    return made


def converted(operation: str, source: str, target: str, backend: str) -> Any:
    """The patterns of the results, in the order of the patterns of the operands."""
    count = COUNTS.get(source, 256)
    operands, results = patterns(source, list(range(count))), patterns(target, [0] * count)
    tileir.compile(module(operation, source, target), backend=backend).launch(1, (operands, results))
    return results.view(f"u{results.dtype.itemsize}")


def numbers(element: str) -> Any:
    """Every value of an element type as float64."""
    dtype = {"f16": numpy.float16, "bf16": ml_dtypes.bfloat16, "i16": numpy.int16}[element]
    with numpy.errstate(invalid="ignore"):
        return numpy.arange(1 << 16, dtype=numpy.uint16).view(dtype).astype(numpy.float64)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("target", ["f8E4M3FN", "f8E5M2"])
@pytest.mark.parametrize("source", ["f16", "bf16", "i16"])
def test_conversions_to_eight_bits_saturate_as_rounded_clamped_values_do(
    source: str, target: str, backend: str
) -> None:
    dtype, largest = {"f8E4M3FN": (ml_dtypes.float8_e4m3fn, 448.0), "f8E5M2": (ml_dtypes.float8_e5m2, 57344.0)}[target]
    # Values of 16 bits are exact in float32, from which ml_dtypes rounds once; `clip` keeps NaN.
    expected = numpy.clip(numbers(source), -largest, largest).astype(numpy.float32).astype(dtype)
    found = converted("itof %x signed" if source == "i16" else "ftof %x", source, target, backend).view(dtype)
    nan = numpy.isnan(expected)
    assert (numpy.isnan(found) == nan).all()
    assert (found.view(numpy.uint8) == expected.view(numpy.uint8))[~nan].all()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("source", ["f16", "bf16"])
def test_i1_is_true_for_all_that_is_not_zero(source: str, backend: str) -> None:
    for words in ("signed", "unsigned", "signed saturating", "unsigned saturating"):
        assert (converted(f"ftoi %x {words}", source, "i1", backend) == (numbers(source) != 0)).all()


def conversions() -> Iterator[tuple[str, str, str]]:
    for source in NARROW_FLOATS:
        for target in FLOATS:
            yield from [(f"ftof %x{mode}", source, target) for mode in MODES]
        for target in ("i1", "i8", "i16", "i32", "i64"):
            for sign in ("signed", "unsigned"):
                yield from [(f"ftoi %x {sign}{ending}", source, target) for ending in ("", " saturating")]
    for source in ("i1", "i8", "i16"):
        for target in FLOATS:
            yield from [(f"itof %x {sign}", source, target) for sign in ("signed", "unsigned")]


@pytest.mark.long
def test_both_engines_convert_every_value_alike() -> None:
    compared = 0
    for operation, source, target in conversions():
        if module(operation, source, target) is None:
            continue
        compared += 1
        left, right = (converted(operation, source, target, backend) for backend in BACKENDS)
        different = left != right
        if target in FLOATS:
            # Both are NaN: which one is open, except for moves.
            different &= ~(_is_nan(target, left) & _is_nan(target, right)) | ((source, target) == ("bf16", "f32"))
        assert not different.any(), (operation, source, target, int(numpy.flatnonzero(different)[0]))
    assert compared > 300


def _is_nan(element: str, bits: Any) -> Any:
    form = floats.FORMATS[element]
    shift = 13 if element == "tf32" else 0
    magnitude = (bits >> bits.dtype.type(shift)) & bits.dtype.type(form.magnitude_mask)
    return magnitude > max(form.largest, form.infinity if form.has_infinity else 0)
