"""Matrix products of every element type, on tiles of many shapes: of numbers, of small integers, of special values."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy
from tests.hardware.agreement.program import Program, dtype_of, generator
from tests.hardware.agreement.writing import Shape, evaluated, numbers, patterns, tile

FLOATS = (
    ("f16", "f16"), ("f16", "f32"), ("bf16", "f32"), ("tf32", "f32"), ("f32", "f32"), ("f64", "f64"),
    ("f8E4M3FN", "f32"), ("f8E4M3FN", "f16"), ("f8E5M2", "f32"), ("f8E5M2", "f16"),
)  # fmt: skip
SHAPES: tuple[tuple[int, int, int, int], ...] = (
    (0, 1, 1, 1), (0, 4, 4, 4), (0, 8, 8, 8), (0, 16, 8, 16), (0, 16, 16, 16), (0, 32, 16, 16), (0, 32, 32, 32),
    (0, 64, 8, 16), (0, 64, 64, 64), (0, 64, 16, 32), (0, 128, 32, 64), (0, 16, 64, 128), (2, 16, 16, 16),
    (2, 4, 8, 16), (0, 1, 16, 16), (0, 16, 1, 16),
)  # fmt: skip
"""Batch, M, N and K."""
LARGEST = 64 * 64 * 64
"""Multiplications of f32 and f64, for which the assembler takes long."""


def programs() -> Iterator[Program]:
    for element, total in FLOATS:
        for shape in SHAPES:
            if element in ("f32", "f64") and prod(shape[1:]) > LARGEST // 4:
                continue
            for values in ("numbers", "integers", "special"):
                yield float_product(element, total, shape, values)
            if element.startswith("f8") and total == "f32":
                yield float_product(element, total, shape, "numbers", " fast_acc")
    for signs in ("signed signed", "signed unsigned", "unsigned signed", "unsigned unsigned"):
        for shape in SHAPES:
            for values in ("patterns", "overflow"):
                yield integer_product(signs, shape, values)


def _shapes(shape: tuple[int, int, int, int]) -> tuple[Shape, Shape, Shape]:
    batch, m, n, k = shape
    first = (batch,) if batch else ()
    return (*first, m, k), (*first, k, n), (*first, m, n)


def float_product(element: str, total: str, shape: tuple[int, int, int, int], values: str, extra: str = "") -> Program:
    shapes = _shapes(shape)
    kinds = [tile(each, kind) for each, kind in zip(shapes, (element, element, total), strict=True)]
    body = f"%r = mmaf %a, %b, %c{extra} : {', '.join(kinds)}"
    arrays = [
        _values(kind, prod(each), values, place)
        for place, (kind, each) in enumerate(zip((element, element, total), shapes, strict=True))
    ]
    details: dict[str, Any] = {"operation": f"mmaf{extra}", "types": f"{element} to {total}{extra}", "values": values}
    details["sum"] = {"kind": "product", "operands": [[place, list(each)] for place, each in enumerate(shapes)]}
    # Of products of f8, some tensor cores keep 14 bits of the sum.
    details["limit"] = 4096.0 if element.startswith("f8") and total == "f32" else 10.0
    inputs = {name: (kind, array) for name, kind, array in zip("abc", kinds, arrays, strict=True)}
    name = f"products: mmaf{extra} {element} {total} {'x'.join(map(str, shape))} {values}"
    return evaluated(name, body, inputs, {"r": kinds[2]}, details)


def _values(element: str, count: int, values: str, place: int) -> Any:
    if values == "numbers":
        return numbers(element, count, place)
    if values == "special":
        return _few_special(element, count, place)
    # Sums of products of small integers are exact in every order.
    rng = generator(element, count, place)
    return rng.integers(-2, 3, count).astype(numpy.float32).astype(dtype_of(element))


def _few_special(element: str, count: int, place: int) -> Any:
    """Numbers with a few infinities, NaNs, zeros of both signs and subnormal numbers among them."""
    found = numbers(element, count, place).copy()
    rng = generator("special", element, count, place)
    for value in (numpy.inf, -numpy.inf, numpy.nan, 0.0, -0.0, 2.0**-130, 2.0**-20):
        with numpy.errstate(all="ignore"):
            found[rng.integers(0, count, 1)] = numpy.float64(value).astype(dtype_of(element))
    return found


def integer_product(signs: str, shape: tuple[int, int, int, int], values: str) -> Program:
    shapes = _shapes(shape)
    kinds = [tile(each, kind) for each, kind in zip(shapes, ("i8", "i8", "i32"), strict=True)]
    body = f"%r = mmai %a, %b, %c {signs} : {', '.join(kinds)}"
    if values == "overflow":
        arrays = [numpy.full(prod(each), 100, "i1") for each in shapes[:2]]
        sums = generator(shape).integers(2**31 - 40_000, 2**31, prod(shapes[2]))
        arrays.append(sums.astype("i4"))
    else:
        arrays = [patterns("i8", prod(each), place) for place, each in enumerate(shapes[:2])]
        arrays.append(generator(shape, "sum").integers(-1000, 1000, prod(shapes[2])).astype("i4"))
    inputs = {name: (kind, array) for name, kind, array in zip("abc", kinds, arrays, strict=True)}
    details = {"operation": "mmai", "types": "i8 to i32", "values": values}
    return evaluated(
        f"products: mmai {signs} {'x'.join(map(str, shape))} {values}", body, inputs, {"r": kinds[2]}, details
    )
