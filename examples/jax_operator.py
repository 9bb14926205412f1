"""A cuTile kernel as a function of JAX, with a gradient, inside of what JAX compiles.

pip install 'tileir[cpu]' cuda-tile jax
python examples/jax_operator.py
"""

import cuda.tile as ct
import jax
import numpy
from cutile_kernels import swish, swish_backward

import tileir


def blocks(x, TILE):
    return (ct.cdiv(x.shape[0], TILE),)


gradient = tileir.custom_op(swish_backward, blocks, {"grad_x": "x"}, constants={"TILE": 128}, framework="jax")
activation = tileir.custom_op(swish, blocks, {"out": "x"}, constants={"TILE": 128}, backward=gradient, framework="jax")


def main() -> None:
    x = jax.numpy.linspace(-4, 4, 1000)
    numpy.testing.assert_allclose(activation(x), jax.nn.silu(x), rtol=1e-5, atol=1e-6)

    model = jax.jit(jax.grad(lambda x: activation(2 * x).sum()))
    expected = jax.grad(lambda x: jax.nn.silu(2 * x).sum())(x)
    numpy.testing.assert_allclose(model(x), expected, rtol=1e-5, atol=1e-6)
    print("activation, gradient and compiled model agree with JAX")


if __name__ == "__main__":
    main()
