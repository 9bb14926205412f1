"""Operators of torch made of cuTile kernels."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, Final

from tileir.bridge.operators.plan import ARRAY, LIST, Named, Plan, TupleOf
from tileir.execute.errors import LaunchError, MissingDependencyError

_SCHEMA: Final = {ARRAY: "Tensor", LIST: "Tensor[]", int: "SymInt", float: "float", bool: "bool", str: "str"}
NAMESPACE: Final = "tileir"

_names: Final[dict[str, itertools.count[int]]] = {}


def torch_operator(plan: Plan, name: str | None, options: dict[str, Any]) -> Any:
    """An operator of torch: what `torch.library.custom_op` makes, with shape inference, `vmap` and gradients."""
    try:
        import torch
    except ImportError as missing:
        raise MissingDependencyError(f"operators of torch need torch ({missing}): pip install torch") from None

    def made(named: Named) -> list[Any]:
        """The outputs, with nothing in them yet."""
        device = next((each.device for each in plan.arrays(named)), None)
        found = []
        for output in plan.outputs:
            shape, dtype, like = plan.specification(output, named)
            found.append(torch.empty(shape, dtype=_dtype(torch, dtype), device=device if like is None else like.device))
        return found

    def result(outputs: list[Any]) -> Any:
        return None if not outputs else outputs[0] if len(outputs) == 1 else tuple(outputs)

    def run(*arguments: Any) -> Any:
        named = plan.named(arguments)
        outputs = made(named)
        plan.launch(named, outputs, options)
        return result(outputs)

    def shapes(*arguments: Any) -> Any:
        return result(made(plan.named(arguments)))

    if plan.backward is not None and plan.mutates:
        raise LaunchError("an operator that changes its arguments has no gradients: leave out mutates or backward")
    qualified = _qualified(name, plan.kernel_name)
    operator = torch.library.custom_op(qualified, run, mutates_args=plan.mutates, schema=_schema(plan))
    operator.register_fake(shapes)
    if plan.backward is not None:
        gradients, save = _autograd(torch, plan)
        operator.register_autograd(gradients, setup_context=save)
    if not plan.mutates and not any(kind is LIST or isinstance(kind, TupleOf) for kind in plan.types.values()):
        operator.register_vmap(_batched(torch, operator))
    operator.__doc__ = f"{plan.kernel_name}({', '.join(plan.arguments)}) as an operator of torch"
    operator.plan = plan
    return operator


def _qualified(name: str | None, kernel: str) -> str:
    """The name of the operator among all of torch's; a number is added to one of ours that is taken."""
    if name is not None:
        if not isinstance(name, str) or not name.replace("::", "_", 1).isidentifier():
            raise LaunchError(f"the name of an operator is 'name' or 'library::name', not {name!r}")
        return name if "::" in name else f"{NAMESPACE}::{name}"
    number = next(_names.setdefault(kernel, itertools.count()))
    return f"{NAMESPACE}::{kernel}" if not number else f"{NAMESPACE}::{kernel}_{number}"


def _schema(plan: Plan) -> str:
    arguments = []
    for number, name in enumerate(plan.arguments):
        kind = plan.types[name]
        spelled = f"{_SCHEMA[kind.kind]}[]" if isinstance(kind, TupleOf) else _SCHEMA[kind]
        if name in plan.mutates:
            spelled = spelled.replace("Tensor", f"Tensor(a{number}!)")
        arguments.append(f"{spelled} {name}")
    outputs = ["Tensor"] * len(plan.outputs)
    return f"({', '.join(arguments)}) -> {outputs[0] if len(outputs) == 1 else '(' + ', '.join(outputs) + ')'}"


def _dtype(torch: Any, dtype: Any) -> Any:
    """A dtype of torch, from one or from a name that NumPy has for it, too."""
    if isinstance(dtype, torch.dtype):
        return dtype
    name = dtype if isinstance(dtype, str) else getattr(dtype, "name", None) or getattr(dtype, "__name__", "")
    found = getattr(torch, name, None) if isinstance(name, str) else None
    if not isinstance(found, torch.dtype):
        raise LaunchError(f"{dtype!r} is no dtype of an output: pass one of torch's, as torch.float32")
    return found


def _autograd(torch: Any, plan: Plan) -> tuple[Callable[..., tuple[Any, ...]], Callable[..., None]]:
    """The function that torch calls for the gradients of all arguments, and what keeps for it what it will be given."""

    def save(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        outputs = output if isinstance(output, tuple) else (output,)
        named = plan.named(inputs) | dict(zip(plan.outputs, outputs, strict=True))
        ctx.tensors = [name for name in plan.needed if isinstance(named.get(name), torch.Tensor)]
        ctx.save_for_backward(*[named[name] for name in ctx.tensors])
        ctx.others = {name: named[name] for name in plan.needed if name in named and name not in ctx.tensors}

    def gradients(ctx: Any, *given: Any) -> tuple[Any, ...]:
        named = dict(zip(ctx.tensors, ctx.saved_tensors, strict=True)) | ctx.others
        found = plan.gradients(named, given)
        # torch expects a list instead of a tuple.
        found = {name: list(each) if isinstance(each, tuple) else each for name, each in found.items()}
        return tuple([found.get(name) for name in plan.arguments])

    return gradients, save


def _batched(torch: Any, operator: Any) -> Callable[..., Any]:
    """The rule for `torch.vmap`: one launch after the other."""

    def batched(info: Any, in_dims: tuple[int | None, ...], *arguments: Any) -> Any:
        results = []
        for number in range(info.batch_size):
            given = [
                value if dim is None else value.select(dim, number)
                for value, dim in zip(arguments, in_dims, strict=True)
            ]
            found = operator(*given)
            results.append(found if isinstance(found, tuple) else (found,))
        stacked = [torch.stack(each) for each in zip(*results, strict=True)]
        return (stacked[0], 0) if len(stacked) == 1 else (tuple(stacked), (0,) * len(stacked))

    return batched
