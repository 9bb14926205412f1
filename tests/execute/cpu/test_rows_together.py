"""Reductions of several rows at once, and functions of several vectors side by side, give the interpreter's bits."""

from __future__ import annotations

import random
from typing import Any

import numpy
import pytest
from ml_dtypes import bfloat16

import tileir
from tileir.execute.cpu.runtime.target import host

RUNNABLE = [name for name in ("native", "x86-64-v3", "x86-64", "cortex-a72") if host(name).runnable]
DTYPES: dict[str, Any] = {"f32": numpy.float32, "f16": numpy.float16, "bf16": bfloat16, "f64": numpy.float64}
MACHINES = [("native", element) for element in DTYPES] + [(name, "f32") for name in RUNNABLE[1:]]
# Whole blocks of rows and parts of one, below and above the virtual lanes, other dimensions around.
SHAPES = [(16, 64), (64, 64), (2, 64), (8, 32), (4, 256), (32, 128), (2, 4, 16), (4, 1, 8, 1, 64, 1), (16, 2), (1, 64)]


def reduction(shape: tuple[int, ...], element: str, function: str, bodies: str) -> str:
    """A kernel that reduces the last dimension with more than one element of `function` of its argument."""
    axis = max(place for place, extent in enumerate(shape) if extent > 1)
    kept = [extent for place, extent in enumerate(shape) if place != axis]
    tile = f"tile<{'x'.join(map(str, shape))}x{element}>"
    result = f"tile<{'x'.join(map(str, kept))}x{element}>" if kept else f"tile<{element}>"
    whole, left = "x".join(map(str, shape)), numpy.prod(kept, dtype=int)
    scalar = f"tile<{element}>"
    count = numpy.prod(shape, dtype=int)
    return f"""cuda_tile.module @m {{ entry @k(%p: tile<ptr<{element}>>, %q: tile<ptr<{element}>>) {{
      %zero = constant <i32: 0> : tile<i32>
      %tp = make_tensor_view %p, shape = [{count}], strides = [1] : tensor_view<{count}x{element}, strides=[1]>
      %vp = make_partition_view %tp : partition_view<tile=({count}), tensor_view<{count}x{element}, strides=[1]>>
      %flat, %t0 = load_view_tko weak %vp[%zero]
        : partition_view<tile=({count}), tensor_view<{count}x{element}, strides=[1]>>, tile<i32> -> tile<{count}x{element}>, token
      %given = reshape %flat : tile<{count}x{element}> -> tile<{whole}x{element}>
      %a = {function} %given : {tile}
      %r = reduce %a dim={axis} identities=[0.0 : {element}] : {tile} -> {result}
      (%x: {scalar}, %y: {scalar}) {{
        {bodies.replace("TILE", scalar)}
      }}
      %out = reshape %r : {result} -> tile<{left}x{element}>
      %tq = make_tensor_view %q, shape = [{left}], strides = [1] : tensor_view<{left}x{element}, strides=[1]>
      %vq = make_partition_view %tq : partition_view<tile=({left}), tensor_view<{left}x{element}, strides=[1]>>
      %t1 = store_view_tko weak %out, %vq[%zero]
        : tile<{left}x{element}>, partition_view<tile=({left}), tensor_view<{left}x{element}, strides=[1]>>, tile<i32> -> token
      return }} }}"""


SUM = "%s = addf %x, %y : TILE\nyield %s : TILE"
MAXIMUM = "%s = maxf %x, %y : TILE\nyield %s : TILE"
MINIMUM = "%s = minf %x, %y : TILE\nyield %s : TILE"
# Not symmetric: which one is first counts.
SKEWED = "%h = constant <HALF> : TILE\n%z = mulf %y, %h : TILE\n%s = subf %x, %z : TILE\nyield %s : TILE"


def both(text: str, values: Any, count: int, cpu: str) -> None:
    """Run on both engines and compare bits."""
    module = tileir.parse(text)
    expected, found = numpy.zeros(count, values.dtype), numpy.zeros(count, values.dtype)
    tileir.compile(module, backend="interpreter", exact=True).launch((1,), (values, expected))
    tileir.compile(module, backend="cpu", cpu=cpu, exact=True).launch((1,), (values, found))
    bits = numpy.dtype(f"u{values.dtype.itemsize}")
    numpy.testing.assert_array_equal(found.view(bits), expected.view(bits))


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("cpu", "element"), MACHINES)
def test_rows_are_reduced_in_the_documented_order(cpu: str, element: str) -> None:
    generator = numpy.random.default_rng(len(element))
    for shape in SHAPES:
        count = int(numpy.prod(shape))
        values = generator.standard_normal(count).astype(DTYPES[element])
        for body in (SUM, SKEWED):
            text = reduction(shape, element, "absf", body.replace("HALF", f"{element}: 0.5"))
            both(text, values, count // _extent(shape), cpu)


def _extent(shape: tuple[int, ...]) -> int:
    return [extent for extent in shape if extent > 1][-1]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("cpu", "element"), [machine for machine in MACHINES if machine[1] != "f64"])
@pytest.mark.parametrize("function", ["exp", "exp2"])
def test_functions_side_by_side_are_the_same_functions(cpu: str, element: str, function: str) -> None:
    generator = numpy.random.default_rng(7)
    for shape in ((16, 64), (4, 256), (8, 32), (1, 512)):
        values = (generator.standard_normal(shape) * 40).astype(DTYPES[element]).reshape(-1)
        values[:8] = [0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, -126.5, -149.0, 127.9]
        both(reduction(shape, element, function, SUM), values, shape[0], cpu)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("cpu", "element"), MACHINES)
@pytest.mark.parametrize("body", [MAXIMUM, MINIMUM], ids=["maxf", "minf"])
def test_extremes_of_zeros_and_all_kinds_of_nan(cpu: str, element: str, body: str) -> None:
    """Zeros are in order, NaN loses, signalling or not, and rows of nothing else give the canonical one."""
    dtype = numpy.dtype(DTYPES[element])
    bits = numpy.dtype(f"u{dtype.itemsize}")
    infinity = int(numpy.array(numpy.inf, dtype).view(bits))
    sign = 1 << (8 * dtype.itemsize - 1)
    quiet = int(numpy.array(numpy.nan, dtype).view(bits)) & ~sign
    patterns = [
        0,
        sign,
        infinity,
        infinity | sign,
        1,
        sign | 1,
        quiet,
        quiet | sign | 1,
        infinity | 1,
        sign | infinity | 1,
    ]
    chosen = random.Random(3)
    for shape in ((16, 64), (32, 8), (2, 128), (1, 16)):
        # From a few kinds only, so that most rows lack the others.
        rows = []
        for _ in range(shape[0]):
            kinds = chosen.sample(patterns, chosen.choice((1, 2, 3)))
            rows.append([chosen.choice(kinds) for _ in range(shape[1])])
        values = numpy.array(rows, bits).reshape(-1).view(dtype)
        for function in ("reshape", "negf"):
            text = reduction(shape, element, function, body)
            if function == "reshape":
                tile = f"tile<{shape[0]}x{shape[1]}x{element}>"
                text = text.replace(f"%given : {tile}", f"%given : {tile} -> {tile}")
            both(text, values, shape[0], cpu)
