"""Operations that move elements, compared with NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from tests.ttir.programs import COUNT, applied, launch, module, store

X = np.arange(COUNT, dtype=np.float32)


def moved(operation: str, shape: tuple[int, ...], *inputs: np.ndarray, attributes: str = "") -> np.ndarray:
    return applied(operation, inputs, [("f32", shape)], attributes)[0]


@pytest.mark.parametrize("axis", [0, 1])
def test_expand_dims(axis: int) -> None:
    shape = (1, COUNT) if axis == 0 else (COUNT, 1)
    found = moved("tt.expand_dims", shape, X, attributes=f"<{{axis = {axis} : i32}}>")
    assert np.array_equal(found, np.expand_dims(X, axis))


def test_broadcast() -> None:
    assert np.array_equal(moved("tt.broadcast", (4, COUNT), X[None, :]), np.broadcast_to(X, (4, COUNT)))


@pytest.mark.parametrize("attributes", ["", "<{allow_reorder}>", "<{allow_reorder, efficient_layout}>"])
def test_reshape_keeps_row_major_order(attributes: str) -> None:
    assert np.array_equal(moved("tt.reshape", (2, 2, 4), X, attributes=attributes), X.reshape(2, 2, 4))


@pytest.mark.parametrize("order", [(1, 0, 2), (2, 0, 1), (0, 1, 2)])
def test_trans(order: tuple[int, ...]) -> None:
    x = X.reshape(2, 2, 4)
    expected = x.transpose(order)
    attributes = f"<{{order = array<i32: {', '.join(map(str, order))}>}}>"
    assert np.array_equal(moved("tt.trans", expected.shape, x, attributes=attributes), expected)


@pytest.mark.parametrize("shape", [(COUNT,), (4, 4)])
def test_join_and_split(shape: tuple[int, ...]) -> None:
    x = X.reshape(shape)
    joined = moved("tt.join", (*shape, 2), x, -x)
    assert np.array_equal(joined, np.stack([x, -x], axis=-1))
    first, second = applied("tt.split", [joined], [("f32", shape), ("f32", shape)])
    assert np.array_equal(first, x) and np.array_equal(second, -x)


def test_cat() -> None:
    assert np.array_equal(moved("tt.cat", (2 * COUNT,), X, -X), np.concatenate([X, -X]))


def test_splat_unsplat_and_ranges() -> None:
    body = """%a = "tt.splat"(%n) : (i32) -> tensor<1xi32>
    %b = "tt.unsplat"(%a) : (tensor<1xi32>) -> i32
    %c = "tt.splat"(%b) : (i32) -> tensor<4x4xi32>
    %r = "tt.make_range"() <{end = 24 : i32, start = 8 : i32}> : () -> tensor<16xi32>
    %s = "tt.reshape"(%r) : (tensor<16xi32>) -> tensor<4x4xi32>
    %w = "arith.muli"(%c, %s) : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi32>
    """
    y = np.zeros((4, 4), np.int32)
    launch(module("%n: i32, %y: !tt.ptr<i32>", body + store("w", "i32", "y", (4, 4))), 3, y)
    assert np.array_equal(y, 3 * np.arange(8, 24).reshape(4, 4))


def test_programs() -> None:
    ids = "\n    ".join(
        f'%p{axis} = "tt.get_program_id"() <{{axis = {axis} : i32}}> : () -> i32\n'
        f'    %n{axis} = "tt.get_num_programs"() <{{axis = {axis} : i32}}> : () -> i32'
        for axis in range(3)
    )
    body = f"""{ids}
    %a = "arith.muli"(%p0, %n1) : (i32, i32) -> i32
    %b = "arith.addi"(%a, %p1) : (i32, i32) -> i32
    %c = "arith.muli"(%b, %n2) : (i32, i32) -> i32
    %d = "arith.addi"(%c, %p2) : (i32, i32) -> i32
    %e = "tt.addptr"(%y, %d) : (!tt.ptr<i32>, i32) -> !tt.ptr<i32>
    "tt.store"(%e, %d) : (!tt.ptr<i32>, i32) -> ()"""
    y = np.full(24, -1, np.int32)
    launch(module("%y: !tt.ptr<i32>", body), y, grid=(2, 3, 4))
    assert np.array_equal(y, np.arange(24))
