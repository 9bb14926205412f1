"""Reductions and scans against NumPy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.ttir.programs import NUMPY, Array, each_backend, run, tensor

LEFTMOST_LARGEST = """
  ^bb0(%v: f32, %m: i32, %w: f32, %n: i32):
    %equal = "arith.cmpf"(%v, %w) <{predicate = 1 : i64}> : (f32, f32) -> i1
    %before = "arith.cmpi"(%m, %n) <{predicate = 2 : i64}> : (i32, i32) -> i1
    %tie = "arith.andi"(%equal, %before) : (i1, i1) -> i1
    %greater = "arith.cmpf"(%v, %w) <{predicate = 2 : i64}> : (f32, f32) -> i1
    %first = "arith.ori"(%greater, %tie) : (i1, i1) -> i1
    %best = "arith.select"(%first, %v, %w) : (i1, f32, f32) -> f32
    %where = "arith.select"(%first, %m, %n) : (i1, i32, i32) -> i32
    "tt.reduce.return"(%best, %where) : (f32, i32) -> ()
"""

# A linear recurrence: (p, q) before (r, s) is (p r, q r + s).
RECURRENCE = """
  ^bb0(%p: f32, %q: f32, %r: f32, %s: f32):
    %pr = "arith.mulf"(%p, %r) : (f32, f32) -> f32
    %qr = "arith.mulf"(%q, %r) : (f32, f32) -> f32
    %sum = "arith.addf"(%qr, %s) : (f32, f32) -> f32
    "tt.scan.return"(%pr, %sum) : (f32, f32) -> ()
"""


def one_operation(name: str, element: str, kind: str) -> str:
    return f"""
  ^bb0(%a: {element}, %b: {element}):
    %c = "{name}"(%a, %b) : ({element}, {element}) -> {element}
    "tt.{kind}.return"(%c) : ({element}) -> ()
"""


@each_backend
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(
    ("name", "dtype", "oracle"),
    [
        ("arith.addf", "f4", np.add.reduce),
        ("arith.mulf", "f4", np.multiply.reduce),
        ("arith.maxnumf", "f4", np.maximum.reduce),
        ("arith.minimumf", "f4", np.minimum.reduce),
        ("arith.addi", "i4", np.add.reduce),
        ("arith.maxsi", "i1", np.maximum.reduce),
        ("arith.minsi", "i8", np.minimum.reduce),
        ("arith.minui", "u1", np.minimum.reduce),
        ("arith.andi", "i4", np.bitwise_and.reduce),
        ("arith.xori", "i4", np.bitwise_xor.reduce),
    ],
)
def test_one_operation(name: str, dtype: str, oracle: Callable[..., Array], axis: int, backend: str) -> None:
    x = np.random.default_rng(0).integers(1, 100, (4, 128)).astype(dtype)
    if name == "arith.mulf":
        x = (x / 64).astype(dtype)
    y = np.zeros(x.shape[1 - axis], dtype)
    element = tensor(x)[len("tensor<4x128x") : -1]
    body = one_operation(name, element, "reduce")
    reduce = f'%y = "tt.reduce"(%x) <{{axis = {axis} : i32}}> ({{{body}}}) : ({tensor(x)}) -> {tensor(y)}'
    run(reduce, {"x": x}, {"y": y}, backend)
    np.testing.assert_allclose(y, oracle(x, axis=axis), rtol=1e-5)


@each_backend
def test_a_body_without_identity(backend: str) -> None:
    x = np.random.default_rng(0).integers(0, 9, (8, 128)).astype("f4")
    i = np.broadcast_to(np.arange(128, dtype="i4"), x.shape).copy()
    value, index = np.zeros(8, "f4"), np.zeros(8, "i4")
    types = f"({tensor(x)}, {tensor(i)}) -> ({tensor(value)}, {tensor(index)})"
    reduce = f"""
    %value, %index = "tt.reduce"(%x, %i) <{{axis = 1 : i32}}> ({{{LEFTMOST_LARGEST}}}) : {types}"""
    run(reduce, {"x": x, "i": i}, {"value": value, "index": index}, backend)
    assert np.array_equal(value, x.max(1))
    assert np.array_equal(index, x.argmax(1))


@each_backend
@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_that_does_not_commute(reverse: bool, backend: str) -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.uniform(0.5, 1, (2, 16)).astype("f4") for _ in range(2))
    factor, state = np.zeros_like(a), np.zeros_like(a)
    types = f"({tensor(a)}, {tensor(a)}) -> ({tensor(a)}, {tensor(a)})"
    scan = f"""
    %factor, %state = "tt.scan"(%a, %b) <{{axis = 1 : i32, reverse = {str(reverse).lower()}}}> ({{{RECURRENCE}}}) : {types}
"""
    run(scan, {"a": a, "b": b}, {"factor": factor, "state": state}, backend)
    expected, last = np.zeros_like(a), np.zeros(2, "f4")
    for column in reversed(range(16)) if reverse else range(16):
        last = last * a[:, column] + b[:, column]
        expected[:, column] = last
    np.testing.assert_allclose(state, expected, rtol=1e-6)


@each_backend
def test_a_scan_along_the_first_axis(backend: str) -> None:
    x = np.random.default_rng(0).integers(0, 9, (16, 4)).astype("i4")
    y = np.zeros_like(x)
    body = one_operation("arith.addi", "i32", "scan")
    scan = f'%y = "tt.scan"(%x) <{{axis = 0 : i32, reverse = false}}> ({{{body}}}) : ({tensor(x)}) -> {tensor(x)}'
    run(scan, {"x": x}, {"y": y}, backend)
    assert np.array_equal(y, x.cumsum(0))


@each_backend
@pytest.mark.parametrize("type", ["bf16", "f16"])
def test_a_scan_of_16_bits_does_not_drift(type: str, backend: str) -> None:
    x = np.random.default_rng(0).uniform(-1, 1, 1024).astype(NUMPY[type])
    y = np.zeros_like(x)
    body = one_operation("arith.addf", type, "scan")
    run(
        f'%y = "tt.scan"(%x) <{{axis = 0 : i32, reverse = false}}> ({{{body}}}) : ({tensor(x)}) -> {tensor(x)}',
        {"x": x},
        {"y": y},
        backend,
    )
    assert np.array_equal(y, x.astype("f4").cumsum().astype(NUMPY[type]))
