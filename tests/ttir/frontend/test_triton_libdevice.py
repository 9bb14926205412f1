"""Every function that `triton.language.extra.libdevice` offers is translated, or refused by name."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest
import triton
import triton.language as tl
from tests.ttir.programs import module
from triton.language.extra import libdevice
from triton.language.extra.cuda import libdevice as declarations

import tileir
from tileir.ttir import TTIRError, translate

TYPES = {"int32": "i32", "uint32": "i32", "int64": "i64", "uint64": "i64", "fp32": "f32", "fp64": "f64"}
REFUSED = {
    *("cyl_bessel_i0", "cyl_bessel_i1", "j0", "j1", "jn", "y0", "y1", "yn"),
    *("erfc", "erfcinv", "erfcx", "erfinv", "normcdf", "normcdfinv", "lgamma", "tgamma"),
    *[f"{source}2float_{mode}" for source in ("ll", "ull") for mode in ("rz", "rd", "ru")],
    *[f"{source}2double_{mode}" for source in ("ll", "ull") for mode in ("rz", "rd", "ru")],
    "rcp64h",
}


def symbols() -> list[tuple[str, str, str]]:
    """The symbols that a call may become: the types of the operands, the symbol, the type of the result."""
    found = []
    for types, symbol, result in re.findall(
        r'\(((?:core\.dtype\("\w+"\),?\s*)+)\):\s*\("(\w+)",\s*core\.dtype\("(\w+)"\)', inspect.getsource(declarations)
    ):
        operands = [TYPES[each] for each in re.findall(r'"(\w+)"', types)]
        found.append((", ".join(operands), symbol, TYPES[result]))
    return found


def test_every_symbol() -> None:
    refused = set()
    for operands, symbol, result in symbols():
        names = [f"%x{number}" for number in range(operands.count(",") + 1)]
        parameters = ", ".join([f"{name}: {type}" for name, type in zip(names, operands.split(", "), strict=True)])
        attributes = f'<{{libname = "", libpath = "", pure = true, symbol = "{symbol}"}}>'
        call = f'%y = "tt.extern_elementwise"({", ".join(names)}) {attributes} : ({operands}) -> {result}'
        try:
            translate(module(parameters, call))
        except TTIRError as error:
            assert symbol in str(error)
            refused.add(symbol.removeprefix("__nv_").removesuffix("f" if result == "f32" else ""))
    assert refused == REFUSED
    assert len(symbols()) > 250


@triton.jit
def curve(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    inside = at < n
    value = tl.load(x + at, mask=inside)
    other = libdevice.asin(tl.load(x))
    value = libdevice.pow(libdevice.expm1(libdevice.abs(value)), 2) + other
    tl.store(out + at, tl.where(libdevice.isnan(value), 0.0, value), mask=inside)


@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_calls_of_a_kernel(dtype: type, backend: str) -> None:
    x: np.ndarray = np.linspace(-0.5, 2, 50).astype(dtype)
    out: np.ndarray = np.zeros(50, dtype)
    x[3] = np.nan
    tileir.launch(curve, 1, (x, out, 50, 64), backend=backend)
    expected = np.nan_to_num(np.expm1(np.abs(x)) ** 2 + np.arcsin(x[0]))
    np.testing.assert_allclose(out, expected, rtol=1e-6)


@triton.jit
def bessel(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, libdevice.cyl_bessel_i0(tl.load(x + at)))


def test_a_refused_function_is_named_with_its_line() -> None:
    x = np.ones(64, np.float32)
    with pytest.raises(TTIRError) as caught:
        tileir.launch(bessel, 1, (x, x, 64))
    text = str(caught.value)
    assert "'__nv_cyl_bessel_i0f' of libdevice is not supported" in text
    assert f"{__file__}:{inspect.getsourcelines(bessel.fn)[1] + 3}" in text
