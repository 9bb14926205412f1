"""`tileir.custom_op`: operators of torch and functions of JAX made of cuTile kernels.

`plan` is what is common to both libraries, `torch_operators` and `jax_operators` the rest.  `jax_calls` is not about
`tileir.op`: it runs cuTile's own calls from JAX.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tileir.execute.errors import LaunchError


def custom_op(
    kernel: Any,
    grid: int | tuple[int, ...] | Callable[..., int | tuple[int, ...]],
    outputs: str | Sequence[str] | Mapping[str, Any],
    *,
    constants: Mapping[str, Any] | None = None,
    types: Mapping[str, Any] | None = None,
    mutates: str | Sequence[str] = (),
    backward: Callable[..., Any] | None = None,
    name: str | None = None,
    framework: str = "torch",
    **options: Any,
) -> Any:
    """An operator made of a `@cuda.tile.kernel` function, which runs on tensors of the CPU:

        scaled = tileir.custom_op(scale, lambda x: (ct.cdiv(x.shape[0], 16),), "out", constants={"TILE": 16})
        y = scaled(x, 2.0)

    `outputs` are the parameters that the operator makes and returns: a name or names, each like the first array given,
    or a dict from names to what each is: the name of the argument it is like, a pair (shape, dtype), or a function that
    returns one of these.  `constants` are parameters with a value that is known now, or a function of others.  The
    other parameters are the arguments of the operator, in order: arrays, unless the kernel annotates them with int,
    float, bool or str (also in `ct.Constant[int]`), or `types` does, as `{"factor": float}`; and tuples of arrays or of
    numbers (`tuple[int, ...]`), where `types` without an annotation has {"xs": tuple}.  `mutates` names arguments that
    the kernel changes.  `grid`, and all that may be functions, are given the parameters they name.

    `backward` makes it differentiable: an operator made by this function, or another function, of arguments, outputs
    and gradients of outputs by name (`grad_out`).  Its outputs are the gradients: `grad_x` of the argument x; another
    function returns one for each array, or a dict by name.

    For torch it is what `torch.library.custom_op` makes, called `tileir::` and the kernel's name, or `name`; torch
    compiles, exports and batches programs with it.  `framework="jax"` makes a function of arrays of JAX instead, whose
    numbers are static.  `options` are those of `tileir.launch`.

    >>> add = tileir.custom_op(vector_add, lambda a: (8,), "c", name="docs::add")
    """
    from tileir.bridge.operators.plan import Plan

    plan = Plan(kernel, grid, outputs, constants or {}, mutates, types or {}, backward)
    if framework == "torch":
        from tileir.bridge.operators.torch_operators import torch_operator

        return torch_operator(plan, name, options)
    if framework == "jax":
        from tileir.bridge.operators.jax_operators import JaxOperator

        return JaxOperator(plan, options)
    raise LaunchError(f"framework is {framework!r}: choose 'torch' or 'jax'")
