"""Conversions make quiet NaNs of signalling ones on both engines, also where a compiler would rather drop them in pairs."""

from __future__ import annotations

from typing import Any

import pytest
from tests.hardware.measured import patterns

import tileir
from tileir.ir import floats

SOURCES = ("f16", "bf16", "tf32", "f32", "f64", "f8E5M2")
TARGETS = ("f16", "bf16", "tf32", "f32", "f64")


def _held(name: str, bits: int) -> int:
    """A pattern as memory holds it."""
    return bits << 13 if name == "tf32" else bits


def _nans(name: str) -> list[int]:
    """Signalling NaNs of both signs and, between them, quiet ones; one for each lane."""
    form = floats.FORMATS[name]
    quiet = form.quiet_nan
    some = [form.infinity + 1, quiet, quiet - 1, quiet + 1]
    return [_held(name, bits | (form.sign_mask if lane >= 8 else 0)) for lane, bits in enumerate(some * 4)]


def _is_quiet(name: str, held: int) -> bool:
    form = floats.FORMATS[name]
    bits = held >> 13 if name == "tf32" else held
    return floats.is_nan(form, bits) and bits & form.quiet_nan == form.quiet_nan


def _launch(source: str, body: str, results: dict[str, str], backend: str) -> dict[str, list[int]]:
    """Run a body on `%x`, sixteen NaNs of the source; results by name, with their element types."""
    every = {"x": source, **results}
    head, tail = "%lane = iota : tile<16xi32>\n", ""
    for name, element in every.items():
        point = f"ptr<{element}>"
        head += (
            f"%{name}_1 = reshape %{name}_a : tile<{point}> -> tile<1x{point}>\n"
            f"%{name}_n = broadcast %{name}_1 : tile<1x{point}> -> tile<16x{point}>\n"
            f"%{name}_p = offset %{name}_n, %lane : tile<16x{point}>, tile<16xi32> -> tile<16x{point}>\n"
        )
        if name != "x":
            tail += (
                f"%{name}_s = store_ptr_tko weak %{name}_p, %{name} : tile<16x{point}>, tile<16x{element}> -> token\n"
            )
    head += f"%x, %x_t = load_ptr_tko weak %x_p : tile<16xptr<{source}>> -> tile<16x{source}>, token\n"
    declared = ", ".join([f"%{name}_a: tile<ptr<{element}>>" for name, element in every.items()])
    text = f"cuda_tile.module @m {{ entry @k({declared}) {{\n{head}{body}{tail}return }} }}"
    arrays: list[Any] = [
        patterns(source, _nans(source)),
        *[patterns(element, [0] * 16) for element in results.values()],
    ]
    tileir.compile(tileir.parse(text), backend=backend).launch(1, arrays)
    return {
        name: [int(bits) for bits in array.view(f"u{array.dtype.itemsize}")]
        for name, array in zip(results, arrays[1:], strict=True)
    }


@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
@pytest.mark.parametrize("source", SOURCES)
def test_converted_nans_are_quiet(source: str, backend: str) -> None:
    targets = [target for target in TARGETS if target != source]
    body = "".join([f"%to_{t} = ftof %x : tile<16x{source}> -> tile<16x{t}>\n" for t in targets])
    found = _launch(source, body, {f"to_{target}": target for target in targets}, backend)
    for target in targets:
        bits = found[f"to_{target}"]
        if (source, target) == ("bf16", "f32"):
            assert bits == [pattern << 16 for pattern in _nans(source)]
        else:
            assert all(_is_quiet(target, pattern) for pattern in bits), target


@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
@pytest.mark.parametrize("source", ["f16", "tf32", "f32"])
def test_nans_that_were_widened_and_narrowed_are_quiet(source: str, backend: str) -> None:
    wider = [target for target in ("f32", "f64") if target != source]
    body = "".join([
        f"%w_{t} = ftof %x : tile<16x{source}> -> tile<16x{t}>\n%b_{t} = ftof %w_{t} : tile<16x{t}> -> tile<16x{source}>\n"
        for t in wider
    ])  # fmt: skip
    found = _launch(source, body, {f"b_{target}": source for target in wider}, backend)
    assert all(_is_quiet(source, pattern) for bits in found.values() for pattern in bits)
