"""Texts of kernels that load tiles, run a few operations on them and store the results, and arrays for them."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy
from tests.execute.cpu.elementwise import special_patterns
from tests.execute.evaluation import program as through_views
from tests.execute.evaluation import split_tile
from tests.hardware.agreement.program import Program, dtype_of, element_of, generator, simple

Shape = tuple[int, ...]

FLOATS = ("f16", "bf16", "f32", "f64")
NARROW = ("tf32", "f8E4M3FN", "f8E5M2")
INTEGERS = ("i1", "i8", "i16", "i32", "i64")
ELEMENTS = (*INTEGERS, *FLOATS, *NARROW)


def tile(shape: Shape, element: str) -> str:
    return f"tile<{''.join([f'{extent}x' for extent in shape])}{element}>"


def pointers(name: str, tile_type: str) -> str:
    """`%NAME_q`: a pointer for each element of a tile, to neighbors from `%NAME_p` on in the order of rows."""
    shape, element = split_tile(tile_type)
    point, count, ones = f"ptr<{element}>", prod(shape), (1,) * len(shape)
    if not shape:
        return f"%{name}_z = constant <i32: 0> : tile<i32>\n%{name}_q = offset %{name}_p, %{name}_z : tile<{point}>, tile<i32> -> tile<{point}>\n"
    return (
        f"%{name}_i = iota : tile<{count}xi32>\n"
        f"%{name}_l = reshape %{name}_i : tile<{count}xi32> -> {tile(shape, 'i32')}\n"
        f"%{name}_1 = reshape %{name}_p : tile<{point}> -> {tile(ones, point)}\n"
        f"%{name}_n = broadcast %{name}_1 : {tile(ones, point)} -> {tile(shape, point)}\n"
        f"%{name}_q = offset %{name}_n, %{name}_l : {tile(shape, point)}, {tile(shape, 'i32')} -> {tile(shape, point)}\n"
    )


def through_pointers(body: str, inputs: dict[str, str], outputs: dict[str, str], module: str = "") -> str:
    """A kernel that loads the inputs, runs the body and stores the outputs; tiles are given by their types."""
    head, tail, parameters = "", "", []
    for name, text in {**inputs, **outputs}.items():
        shape, element = split_tile(text)
        parameters.append(f"%{name}_p: tile<ptr<{element}>>")
        point = tile(shape, f"ptr<{element}>")
        if name in inputs:
            head += (
                pointers(name, text) + f"%{name}, %{name}_k = load_ptr_tko weak %{name}_q : {point} -> {text}, token\n"
            )
        else:
            tail += (
                pointers(name, text) + f"%{name}_k = store_ptr_tko weak %{name}_q, %{name} : {point}, {text} -> token\n"
            )
    return f"cuda_tile.module @m {{ {module}\n entry @k({', '.join(parameters)}) {{\n{head}{body}\n{tail}return }} }}"


def patterns(element: str, count: int, *words: object) -> Any:
    """Random patterns and special ones."""
    rng = generator(element, count, *words)
    dtype = dtype_of(element)
    found = rng.integers(0, 256, (count, dtype.itemsize), numpy.uint8).reshape(-1).view(f"u{dtype.itemsize}").copy()
    special = rng.random(count) < 0.3
    found[special] = rng.choice(special_patterns(element_of(element)), int(special.sum()))
    return (found & 1 if element == "i1" else found).view(dtype)


def numbers(element: str, count: int, *words: object) -> Any:
    """Numbers about one."""
    rng = generator(element, count, *words)
    if element[0] == "i":
        return patterns(element, count, *words)
    values = rng.standard_normal(count).astype(numpy.float32)
    if element == "tf32":
        return (values.view("u4") & 0xFFFFE000).astype("u4").view("f4")
    return values.astype(dtype_of(element))


def evaluated(
    name: str,
    body: str,
    inputs: dict[str, tuple[str, Any]],
    outputs: dict[str, str],
    details: dict[str, Any] | None = None,
    way: str = "pointers",
    module: str = "",
) -> Program:
    """A program that runs a body on arrays; an input is the type of a tile and an array, or None for any patterns."""
    types = {key: value[0] for key, value in inputs.items()}
    text = (through_pointers if way == "pointers" else through_views)(body, types, outputs, module)
    arrays: list[Any] = []
    for key, (kind, array) in inputs.items():
        shape, element = split_tile(kind)
        if array is None:
            # The same arrays for all programs, which are then kept once.
            array = patterns(element, prod(shape), key)
        arrays.append((element, array))
    for kind in outputs.values():
        shape, element = split_tile(kind)
        arrays.append((element, numpy.zeros(prod(shape), dtype_of(element))))
    return simple(name, text, arrays, details=details)
