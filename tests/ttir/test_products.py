"""Matrix products against NumPy in f64."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tests.ttir.programs import Array, each_backend, run, tensor

E4M3, E5M2, BF16 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.bfloat16
PRECISIONS = {
    "tf32": (0, 2**-10),
    "tf32x3": (1, 2**-20),
    "ieee": (2, 2**-22),
    "bf16x3": (3, 2**-15),
    "bf16x6": (4, 2**-21),
}
FORMATS: dict[str, tuple[int, Any]] = {
    "e4m3": (0, E4M3),
    "e5m2": (1, E5M2),
    "e2m1": (4, ml_dtypes.float4_e2m1fn),
    "bf16": (5, BF16),
    "fp16": (6, np.float16),
}


def matrix(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def check_dot(a: Array, b: Array, acc: Any, tolerance: float, backend: str, attributes: str = "") -> None:
    c = np.random.default_rng(2).integers(-4, 4, (*a.shape[:-1], b.shape[-1])).astype(acc)
    d = np.zeros_like(c)
    types = f"({tensor(a)}, {tensor(b)}, {tensor(c)}) -> {tensor(c)}"
    run(f'%d = "tt.dot"(%a, %b, %c) <{{{attributes}}}> : {types}', {"a": a, "b": b, "c": c}, {"d": d}, backend)
    expected = a.astype("f8") @ b.astype("f8") + c.astype("f8")
    magnitude = np.abs(a.astype("f8")) @ np.abs(b.astype("f8")) + np.abs(c.astype("f8"))
    assert np.all(np.abs(d - expected) <= tolerance * magnitude)


@each_backend
@pytest.mark.parametrize(
    ("left", "right", "acc", "tolerance"),
    [
        ("f8", "f8", "f8", 2**-50),
        ("f2", "f2", "f4", 2**-20),
        ("f2", "f2", "f2", 2**-9),
        (BF16, BF16, "f4", 2**-20),
        (E4M3, E4M3, "f4", 2**-20),
        (E5M2, E5M2, "f2", 2**-9),
        (E4M3, E5M2, "f4", 2**-20),
        ("i1", "i1", "i4", 0),
    ],
)
def test_element_types(left: Any, right: Any, acc: str, tolerance: float, backend: str) -> None:
    a, b = (10 * matrix((16, 64), "f4")).astype(left), (10 * matrix((64, 32), "f4", 1)).astype(right)
    if acc == "f2":
        a, b = (a.astype("f4") / 8).astype(left), (b.astype("f4") / 8).astype(right)
    check_dot(a, b, acc, tolerance, backend, "inputPrecision = 2 : i32, maxNumImpreciseAcc = 64 : i32")


@each_backend
@pytest.mark.parametrize("precision", PRECISIONS)
def test_precisions(precision: str, backend: str) -> None:
    number, tolerance = PRECISIONS[precision]
    a, b = matrix((16, 32), "f4"), matrix((32, 16), "f4", 1)
    check_dot(a, b, "f4", tolerance, backend, f"inputPrecision = {number} : i32, maxNumImpreciseAcc = 0 : i32")


@each_backend
@pytest.mark.parametrize("precision", ["tf32x3", "bf16x6"])
def test_infinities_of_split_products(precision: str, backend: str) -> None:
    a, b = matrix((16, 16), "f4"), np.abs(matrix((16, 16), "f4", 1)) + 1
    a[3, 2], a[5, 7] = np.inf, np.nan
    c, d = np.zeros_like(a), np.zeros_like(a)
    attributes = f"inputPrecision = {PRECISIONS[precision][0]} : i32"
    types = f"({tensor(a)}, {tensor(b)}, {tensor(c)}) -> {tensor(c)}"
    run(f'%d = "tt.dot"(%a, %b, %c) <{{{attributes}}}> : {types}', {"a": a, "b": b, "c": c}, {"d": d}, backend)
    np.testing.assert_allclose(d, a @ b, rtol=1e-4, atol=1e-4)


@each_backend
def test_batches(backend: str) -> None:
    check_dot(matrix((4, 16, 32), "f2"), matrix((4, 32, 16), "f2", 1), "f4", 2**-20, backend)


def operand(format: str, shape: tuple[int, int], pack: int, seed: int) -> tuple[Array, Array]:
    """A matrix as the kernel loads it, packed along an axis if it has 4 bits, and its values."""
    values = matrix(shape, FORMATS[format][1], seed)
    if format != "e2m1":
        return (values if format in ("bf16", "fp16") else values.view("i1")), values.astype("f8")
    bits = np.moveaxis(values.view("u1") & 15, pack, -1)
    pairs = np.moveaxis(bits[..., ::2] | bits[..., 1::2] << 4, -1, pack)
    return np.ascontiguousarray(pairs).view("i1"), values.astype("f8")


@each_backend
@pytest.mark.parametrize(
    ("left", "right", "scaled", "packed_along_k"),
    [
        ("e4m3", "e5m2", "ab", True),
        ("e2m1", "e2m1", "ab", True),
        ("e2m1", "e2m1", "ab", False),
        ("e2m1", "bf16", "a", True),
        ("fp16", "e2m1", "b", False),
        ("bf16", "e4m3", "", True),
    ],
)
def test_scaled_operands(left: str, right: str, scaled: str, packed_along_k: bool, backend: str) -> None:
    m, n, k = 16, 32, 64
    a, wide_a = operand(left, (m, k), 1 if packed_along_k else 0, 0)
    b, wide_b = operand(right, (k, n), 0 if packed_along_k else 1, 1)
    inputs = {"a": a, "b": b, "c": matrix((m, n), "f4", 2)}
    scales = {}
    for name, rows in (("a", m), ("b", n)):
        if name in scaled:
            exponents = np.random.default_rng(3).integers(120, 135, (rows, k // 32))
            scales[name] = np.repeat(2.0 ** (exponents - 127), 32, 1)
            inputs[f"{name}s"] = exponents.astype("u1").view("i1")
    wide_a = wide_a * scales.get("a", 1)
    wide_b = wide_b * np.transpose(scales.get("b", 1))
    if "a" in scaled:
        # Scale 255: the whole row is NaN.
        inputs["as"][5, 1] = -1
        wide_a[5, 32:] = np.nan
    attributes = (
        f"a_elem_type = {FORMATS[left][0]} : i32, b_elem_type = {FORMATS[right][0]} : i32, fastMath = false, "
        f"lhs_k_pack = {str(packed_along_k).lower()}, rhs_k_pack = {str(packed_along_k).lower()}, "
        f"operandSegmentSizes = array<i32: 1, 1, 1, {int('a' in scaled)}, {int('b' in scaled)}>"
    )
    names = ["a", "b", "c", *[f"{name}s" for name in scaled]]
    types = ", ".join(tensor(inputs[name]) for name in names)
    d = np.zeros((m, n), "f4")
    dot = f'%d = "tt.dot_scaled"({", ".join(f"%{n}" for n in names)}) <{{{attributes}}}> : ({types}) -> {tensor(d)}'
    run(dot, inputs, {"d": d}, backend)
    expected = wide_a @ wide_b + inputs["c"]
    assert np.array_equal(np.isnan(d), np.isnan(expected))
    error = np.nan_to_num(np.abs(d - expected) / (np.abs(wide_a) @ np.abs(wide_b) + 1))
    assert error.max() < 2**-18
