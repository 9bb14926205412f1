"""How far off a result may be.

An element is right if it differs from what is expected by at most `relative * |expected| + absolute`.  Where nobody
says how much that is, it depends on the element type of what is expected, and the absolute part is taken of the size of
the results, up to 1: so a softmax over ten thousand columns is not passed by zeros.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import ml_dtypes
import numpy

from tileir.execute.dtypes import Array, DType

# Those that KernelBench takes for float32, float16 and bfloat16; integers must be equal.
DEFAULTS: Final[dict[str, float]] = {
    "float64": 1e-8,
    "complex128": 1e-8,
    "float32": 1e-4,
    "complex64": 1e-4,
    "float16": 1e-2,
    "bfloat16": 1e-2,
    "float8_e4m3fn": 0.13,
    "float8_e5m2": 0.26,
}


class Tolerance(NamedTuple):
    relative: float
    absolute: float


def tolerance_for(expected: Array, stated: Tolerance | None) -> Tolerance:
    """The tolerance for one result."""
    if stated is not None:
        return stated if is_inexact(expected.dtype) else Tolerance(0.0, 0.0)
    amount = DEFAULTS.get(expected.dtype.name, 0.0)
    if not amount or not expected.size:
        return Tolerance(amount, amount)
    wide = numpy.abs(widened(expected))
    finite = wide[numpy.isfinite(wide)]
    size = float(numpy.sqrt(numpy.mean(numpy.square(finite)))) if finite.size else 1.0
    return Tolerance(amount, amount * min(1.0, size))


def is_inexact(dtype: DType) -> bool:
    """Whether elements are rounded."""
    return dtype.kind in "fc" or (dtype.kind == "V" and dtype.name in vars(ml_dtypes)) or dtype.name in DEFAULTS


def widened(array: Array) -> Array:
    """Elements in which differences are exact enough."""
    if array.dtype.kind == "c":
        return array.astype(numpy.complex128)
    return array.astype(numpy.float64)
