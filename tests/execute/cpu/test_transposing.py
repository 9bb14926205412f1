"""Products whose factors lie in columns: turned in registers, over edges too, with the interpreter's bits."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from ml_dtypes import bfloat16

import tileir
from tileir.execute.cpu.runtime.target import host

RUNNABLE = [name for name in ("native", "x86-64-v3", "x86-64", "cortex-a72") if host(name).runnable]
DTYPES: dict[str, Any] = {
    "f32": numpy.float32, "f16": numpy.float16, "bf16": bfloat16, "f64": numpy.float64, "i8": numpy.int8,
}  # fmt: skip


def product(element: str, accumulator: str, tile: tuple[int, int, int], right: str) -> str:
    """C = A B of matrices of any extents; B is given by columns, and a tile of it is made in one of three ways."""
    m, n, k = tile
    views = {"a": (f"{m}x{k}", element, ""), "c": (f"{m}x{n}", accumulator, "")}
    views["b"] = (f"{k}x{n}", element, ", dim_map=[1, 0]") if right == "view" else (f"{n}x{k}", element, "")
    extents = {"a": ("m", "k"), "b": ("n", "k"), "c": ("m", "n")}
    made, types = "", {}
    for name, (shape, kind, order) in views.items():
        tensor = f"tensor_view<?x?x{kind}, strides=[?,1]>"
        types[name] = f"partition_view<tile=({shape}), padding_value = zero, {tensor}{order}>"
        rows, columns = extents[name]
        made += f"""%t{name} = make_tensor_view %{name}, shape = [%{rows}, %{columns}], strides = [%{columns}, 1]
          : tile<i32> -> {tensor}
        %v{name} = make_partition_view %t{name} : {types[name]}
        """
    mma = "mmai %x, %y, %acc signed signed" if element == "i8" else "mmaf %x, %y, %acc"
    lhs, rhs, flipped = f"tile<{m}x{k}x{element}>", f"tile<{k}x{n}x{element}>", f"tile<{n}x{k}x{element}>"
    result, zero = f"tile<{m}x{n}x{accumulator}>", "0" if element == "i8" else "0.0"
    load = f"%y, %ty = load_view_tko weak %vb[%step, %j] : {types['b']}, tile<i32> -> {rhs}, token"
    if right != "view":
        load = f"""%z, %ty = load_view_tko weak %vb[%j, %step] : {types["b"]}, tile<i32> -> {flipped}, token
          {"%w = absf %z : " + flipped if right == "computed" else f"%w = reshape %z : {flipped} -> {flipped}"}
          %y = permute %w [1, 0] : {flipped} -> {rhs}"""
    return f"""cuda_tile.module @m {{ entry @k(%a: tile<ptr<{element}>>, %b: tile<ptr<{element}>>,
        %c: tile<ptr<{accumulator}>>, %m: tile<i32>, %n: tile<i32>, %k: tile<i32>) {{
      %i, %j, %u = get_tile_block_id : tile<i32>
      %zero = constant <i32: 0> : tile<i32>
      %one = constant <i32: 1> : tile<i32>
      {made}
      %rows, %count = get_index_space_shape %va : {types["a"]} -> tile<i32>
      %empty = constant <{accumulator}: {zero}> : {result}
      %sum = for %step in (%zero to %count, step %one) : tile<i32> iter_values(%acc = %empty) -> ({result}) {{
        %x, %tx = load_view_tko weak %va[%i, %step] : {types["a"]}, tile<i32> -> {lhs}, token
        {load}
        %r = {mma} : {lhs}, {rhs}, {result}
        continue %r : {result}
      }}
      %s = store_view_tko weak %sum, %vc[%i, %j] : {result}, {types["c"]}, tile<i32> -> token
      return }} }}"""


CASES = [("native", element, "view") for element in DTYPES] + [(name, "f32", "view") for name in RUNNABLE[1:]]
CASES += [("native", "f32", "permuted"), ("native", "i8", "permuted"), ("native", "f32", "computed")]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("cpu", "element", "right"), CASES)
def test_factors_in_columns(cpu: str, element: str, right: str) -> None:
    accumulator = {"f64": "f64", "i8": "i32"}.get(element, "f32")
    generator = numpy.random.default_rng(1)
    for tile, extents in (((16, 32, 32), (20, 50, 70)), ((8, 64, 8), (8, 64, 16)), ((4, 2, 16), (7, 5, 33))):
        m, n, k = extents
        a, b = (generator.integers(-9, 9, shape) if element == "i8" else generator.standard_normal(shape)
                for shape in ((m, k), (n, k)))  # fmt: skip
        given = [a.astype(DTYPES[element]), b.astype(DTYPES[element])]
        found = []
        module = tileir.parse(product(element, accumulator, tile, right))
        for kernel in (
            tileir.compile(module, backend="interpreter", exact=True),
            tileir.compile(module, backend="cpu", cpu=cpu, exact=True),
        ):
            c = numpy.zeros((m, n), {"f64": "f8", "i32": "i4", "f32": "f4"}[accumulator])
            kernel.launch((-(-m // tile[0]), -(-n // tile[1])), (*given, c, m, n, k))
            found.append(c)
        numpy.testing.assert_array_equal(found[0], found[1])
        assert numpy.any(found[0])


def left_in_columns(element: str, tile: tuple[int, int, int]) -> str:
    """C = A B of matrices of any extents; A is given by columns."""
    m, _, k = tile
    text = product(element, element, tile, "view").replace(", dim_map=[1, 0]", "")
    text = text.replace("shape = [%n, %k], strides = [%k, 1]", "shape = [%k, %n], strides = [%n, 1]")
    text = text.replace("shape = [%m, %k], strides = [%k, 1]", "shape = [%k, %m], strides = [%m, 1]")
    first = f"tile=({m}x{k}), padding_value = zero, tensor_view<?x?x{element}, strides=[?,1]>"
    return text.replace(f"{first}>", f"{first}, dim_map=[1, 0]>")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("cpu", RUNNABLE)
@pytest.mark.parametrize("element", ["f32", "f64"])
def test_a_left_factor_in_columns_is_turned_in_squares_of_every_size(cpu: str, element: str) -> None:
    generator = numpy.random.default_rng(2)
    for tile, extents in (
        ((16, 32, 32), (33, 64, 70)),
        ((32, 16, 8), (64, 16, 16)),
        ((4, 32, 16), (9, 33, 33)),
        ((32, 32, 2), (33, 32, 6)),
    ):
        m, n, k = extents
        text = left_in_columns(element, tile)
        given = [generator.standard_normal(shape).astype(DTYPES[element]) for shape in ((k, m), (k, n))]
        found = []
        kernels = (
            tileir.compile(tileir.parse(text), backend="interpreter", exact=True),
            tileir.compile(tileir.parse(text), backend="cpu", cpu=cpu, exact=True),
        )
        assert "call void @plain.transpose." in kernels[1].dump("llvm")
        for kernel in kernels:
            c = numpy.zeros((m, n), DTYPES[element])
            kernel.launch((-(-m // tile[0]), -(-n // tile[1])), (*given, c, m, n, k))
            found.append(c)
        assert found[0].tobytes() == found[1].tobytes()
        assert numpy.any(found[0])
