"""`torch.func`, `torch.vmap` and `torch.jit.script`: what they make below `__torch_function__` is on the device too."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

import torch
from torch._functorch import autograd_function, eager_transforms, vmap
from torch.utils._pytree import tree_leaves, tree_map_only

from tileir.bridge.pretended.gradients import first_index
from tileir.bridge.pretended.tensors import is_pretended, placed
from tileir.execute.errors import EmulationError

_WRAPPING: Final = ("_add_batch_dim", "_remove_batch_dim", "_wrap_for_grad", "_unwrap_for_grad")
"""Functions of torch by which one tensor stands for another within a transform."""


def _placing(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def wrap(tensor: Any, *arguments: Any, **keywords: Any) -> Any:
        result = original(tensor, *arguments, **keywords)
        if is_pretended(tensor) and isinstance(result, torch.Tensor):
            placed(result, tensor.get_device())
        return result

    return wrap


def _scripted(original: Callable[..., Any]) -> Callable[..., Any]:
    """The call of a function that `torch.jit.script` has compiled."""

    @functools.wraps(original)
    def call(self: Any, *arguments: Any, **keywords: Any) -> Any:
        result = original(self, *arguments, **keywords)
        index = first_index((*arguments, *keywords.values()))
        return result if index is None else tree_map_only(torch.Tensor, lambda tensor: placed(tensor, index), result)

    return call


def _refused_linearize(original: Callable[..., Any]) -> Callable[..., Any]:
    """It traces below what makes a tensor a pretended one."""

    @functools.wraps(original)
    def linearize(func: Any, *primals: Any) -> Any:
        if first_index(tree_leaves(primals)) is not None:
            raise EmulationError("torch.func.linearize", "use torch.func.jvp, or tensors of the CPU")
        return original(func, *primals)

    return linearize


def hook_transforms() -> None:
    torch.func.linearize = eager_transforms.linearize = _refused_linearize(torch.func.linearize)
    torch.jit.ScriptFunction.__call__ = _scripted(torch.jit.ScriptFunction.__call__)
    for module in (autograd_function, eager_transforms, vmap):
        for name in _WRAPPING:
            if hasattr(module, name):
                setattr(module, name, _placing(getattr(module, name)))
