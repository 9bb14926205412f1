"""Matmuls are added to zeros, constants and computed tiles, with the interpreter's bits."""

from __future__ import annotations

import numpy
import pytest
from tests.sampling import one_in

import tileir
from tileir.execute.cpu.runtime.target import host

RUNNABLE = [name for name in ("native", "x86-64-v3", "x86-64", "cortex-a72") if host(name).runnable]


def views(names: str, shape: tuple[int, ...], element: str) -> tuple[str, str, str]:
    """Views of whole matrices, one tile each: the text, the type of a view, that of its tile."""
    extents = "x".join(map(str, shape))
    strides = ",".join([str(int(numpy.prod(shape[place + 1 :]))) for place in range(len(shape))])
    tensor = f"tensor_view<{extents}x{element}, strides=[{strides}]>"
    view = f"partition_view<tile=({extents}), {tensor}>"
    listed = ", ".join(map(str, shape))
    text = "".join(
        f"%t{x} = make_tensor_view %{x}, shape = [{listed}], strides = [{strides.replace(',', ', ')}] : {tensor}\n"
        f"%v{x} = make_partition_view %t{x} : {view}\n"
        for x in names
    )
    return text, view, f"tile<{extents}x{element}>"


def program(batch: int, m: int, n: int, k: int, element: str, kind: str) -> str:
    """C = start + A B three times, each time with what the last one left, by one of several rules."""
    front = (batch,) if batch else ()
    made_a, view_a, a = views("a", (*front, m, k), element)
    made_b, view_b, b = views("b", (*front, k, n), element)
    made_c, view_c, c = views("c", (*front, m, n), element)
    zeros = ", ".join(["%zero"] * (2 + len(front)))
    rows = f"tile<{'x'.join(map(str, (*front, m, 1)))}x{element}>"
    starts = {
        "nothing": f"%s = constant <{element}: 0.0> : {c}",
        "scaled": f"%s = mulf %o, %half : {c}",
        "rows": f"%w = broadcast %row : {rows} -> {c}\n%s = mulf %o, %w : {c}",
        "both": f"%w = broadcast %row : {rows} -> {c}\n%s = addf %c0, %w : {c}",
    }
    return f"""cuda_tile.module @m {{ entry @k(%a: tile<ptr<{element}>>, %b: tile<ptr<{element}>>, %c: tile<ptr<{element}>>) {{
      %zero = constant <i32: 0> : tile<i32>
      %one = constant <i32: 1> : tile<i32>
      %three = constant <i32: 3> : tile<i32>
      {made_a} {made_b} {made_c}
      %x, %t0 = load_view_tko weak %va[{zeros}] : {view_a}, tile<i32> -> {a}, token
      %y, %t1 = load_view_tko weak %vb[{zeros}] : {view_b}, tile<i32> -> {b}, token
      %c0, %t2 = load_view_tko weak %vc[{zeros}] : {view_c}, tile<i32> -> {c}, token
      %half = constant <{element}: 0.75> : {c}
      %sums = reduce %x dim={len(front) + 1} identities=[0.0 : {element}] : {a} -> {rows.replace("x1x", "x")}
      (%p: tile<{element}>, %q: tile<{element}>) {{
        %pq = addf %p, %q : tile<{element}>
        yield %pq : tile<{element}>
      }}
      %row = reshape %sums : {rows.replace("x1x", "x")} -> {rows}
      %r = for %i in (%zero to %three, step %one) : tile<i32> iter_values(%o = %c0) -> ({c}) {{
        {starts[kind]}
        %d = mmaf %x, %y, %s : {a}, {b}, {c}
        continue %d : {c}
      }}
      %t3 = store_view_tko weak %r, %vc[{zeros}] : {c}, {view_c}, tile<i32> -> token
      return }} }}"""


CASES = [("native", "f64")] + [(name, "f32") for name in RUNNABLE]


@pytest.mark.parametrize(
    ("cpu", "element", "kind"),
    one_in(3, [(*case, kind) for kind in ("nothing", "scaled", "rows", "both") for case in CASES]),
)
def test_what_products_start_from(cpu: str, element: str, kind: str) -> None:
    generator = numpy.random.default_rng(2)
    dtype = {"f32": numpy.float32, "f64": numpy.float64}[element]
    for batch, m, n, k in ((0, 16, 64, 8), (2, 8, 16, 4), (0, 4, 2, 16), (0, 32, 1, 8)):
        front = (batch,) if batch else ()
        shapes = ((*front, m, k), (*front, k, n), (*front, m, n))
        a, b, c = (generator.standard_normal(shape).astype(dtype) for shape in shapes)
        module = tileir.parse(program(batch, m, n, k, element, kind))
        expected, found = c.copy(), c.copy()
        tileir.compile(module, backend="interpreter", exact=True).launch((1,), (a, b, expected))
        tileir.compile(module, backend="cpu", cpu=cpu, exact=True).launch((1,), (a, b, found))
        numpy.testing.assert_array_equal(found, expected)
