"""Functions of JAX made of cuTile kernels."""

from __future__ import annotations

from typing import Any

import pytest
from tests.bridge.operator_kernels import blocks, scale, square, square_backward

import tileir

ct = pytest.importorskip("cuda.tile", reason="cuda-tile is not installed: pip install cuda-tile")
jax = pytest.importorskip("jax", reason="jax is not installed: pip install jax")


@ct.kernel
def weighted(xs, out, factors: tuple[float, ...], TILE: ct.Constant[int]):
    place = ct.bid(0)
    a, b = ct.load(xs[0], (place,), (TILE,)), ct.load(xs[1], (place,), (TILE,))
    ct.store(out, (place,), a * factors[0] + b * factors[1])


def operator(kernel: Any, outputs: Any, **options: Any) -> Any:
    return tileir.custom_op(kernel, blocks, outputs, constants={"TILE": 16}, framework="jax", **options)


def test_function_runs_alone_compiled_and_batched() -> None:
    scaled = operator(scale, "out")
    x = jax.numpy.arange(50.0)
    assert (scaled(x, 3.0) == x * 3).all()
    assert (scaled(x, factor=2.0) == x * 2).all()
    assert (jax.jit(lambda x: scaled(x + 1, 2.0) + 1)(x) == (x + 1) * 2 + 1).all()
    rows = jax.numpy.arange(12.0).reshape(3, 4)
    assert (jax.vmap(lambda row: scaled(row, 2.0))(rows) == rows * 2).all()


def test_shapes_are_known_without_a_run() -> None:
    double = operator(square, {"out": lambda x: ((x.shape[0],), "float32")})
    found = jax.eval_shape(double, jax.ShapeDtypeStruct((7,), jax.numpy.float32))
    assert (found.shape, found.dtype) == ((7,), jax.numpy.float32)


def test_gradients_come_from_the_backward_kernel() -> None:
    x = jax.numpy.arange(20.0)
    for backward in (operator(square_backward, "grad_x"), lambda grad_out, x: 2 * x * grad_out):
        squared = operator(square, "out", backward=backward)
        gradient = jax.jit(jax.grad(lambda x, squared=squared: (squared(x) * 3).sum()))
        assert (gradient(x) == 6 * x).all()


def test_number_that_is_traced_is_named() -> None:
    scaled = operator(scale, "out")
    with pytest.raises(tileir.LaunchError, match=r"'factor' is a number .* jax.jit\(f, static_argnames='factor'\)"):
        jax.jit(scaled)(jax.numpy.ones(4), 2.0)
    jax.jit(scaled, static_argnames="factor")(jax.numpy.ones(4), factor=2.0)


def test_mistakes_are_named() -> None:
    with pytest.raises(tileir.LaunchError, match="arrays of JAX cannot be changed"):
        operator(scale, (), mutates="out")
    with pytest.raises(tileir.LaunchError, match="backward makes 'out'"):
        operator(square, "out", backward=operator(square, "out"))
    with pytest.raises(TypeError, match="missing a required argument: 'factor'"):
        operator(scale, "out")(jax.numpy.ones(4))


def test_tuples_of_arrays_and_of_numbers() -> None:
    combined = tileir.custom_op(
        weighted,
        lambda xs, TILE: (ct.cdiv(xs[0].shape[0], TILE),),
        "out",
        constants={"TILE": 16},
        types={"xs": tuple},
        framework="jax",
        backward=lambda factors, grad_out: {"xs": [grad_out * factor for factor in factors]},
    )
    a, b = jax.numpy.arange(40.0), jax.numpy.ones(40)
    assert (combined((a, b), (2, 3)) == a * 2 + b * 3).all()
    of_a, of_b = jax.jit(jax.grad(lambda xs: combined(xs, (2.0, 3.0)).sum()))((a, b))
    assert (of_a == 2).all() and (of_b == 3).all()
