"""A cuTile kernel as an operator of torch, with a gradient, inside of what torch compiles.

pip install 'tileir[cpu]' cuda-tile torch
python examples/torch_operator.py
"""

import cuda.tile as ct
import torch
from cutile_kernels import swish, swish_backward

import tileir


def blocks(x, TILE):
    return (ct.cdiv(x.shape[0], TILE),)


gradient = tileir.custom_op(swish_backward, blocks, {"grad_x": "x"}, constants={"TILE": 128})
activation = tileir.custom_op(swish, blocks, {"out": "x"}, constants={"TILE": 128}, backward=gradient)


def main() -> None:
    x = torch.linspace(-4, 4, 1000, requires_grad=True)
    expected = torch.nn.functional.silu(x)
    torch.testing.assert_close(activation(x), expected)

    # The operator is part of the graph: torch knows its shapes, and its gradient.
    model = torch.compile(lambda x: activation(2 * x).sum(), backend="aot_eager", fullgraph=True)
    model(x).backward()
    (expected,) = torch.autograd.grad(torch.nn.functional.silu(2 * x).sum(), x)
    torch.testing.assert_close(x.grad, expected)

    torch.library.opcheck(activation, (x,))
    print("activation, gradient and compiled model agree with torch")


if __name__ == "__main__":
    main()
