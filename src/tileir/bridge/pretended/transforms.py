"""`torch.func`, `torch.vmap` and `torch.jit.script`: what they make below `__torch_function__` is on the device too."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

import torch

from tileir.bridge.pretended.factories import REPLACEMENTS
from tileir.bridge.pretended.tensors import first_index, is_pretended, placed
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


def _place(value: Any, index: int) -> None:
    if isinstance(value, torch.Tensor):
        placed(value, index)
    elif isinstance(value, (list, tuple, dict)):
        for each in value.values() if isinstance(value, dict) else value:
            _place(each, index)


def _scripted(original: Callable[..., Any]) -> Callable[..., Any]:
    """The call of a function that `torch.jit.script` has compiled."""

    @functools.wraps(original)
    def call(self: Any, *arguments: Any, **keywords: Any) -> Any:
        result = original(self, *arguments, **keywords)
        index = first_index((*arguments, *keywords.values()))
        if index is not None:
            _place(result, index)
        return result

    return call


def _refused_linearize(original: Callable[..., Any]) -> Callable[..., Any]:
    """It traces below what makes a tensor a pretended one."""

    @functools.wraps(original)
    def linearize(func: Any, *primals: Any) -> Any:
        if first_index(primals) is not None:
            raise EmulationError("torch.func.linearize", "use torch.func.jvp, or tensors of the CPU")
        return original(func, *primals)

    return linearize


def hook_transforms() -> None:
    from torch._functorch import autograd_function, eager_transforms, vmap

    torch.func.linearize = eager_transforms.linearize = _refused_linearize(torch.func.linearize)
    for module in (autograd_function, eager_transforms, vmap):
        for name in _WRAPPING:
            if hasattr(module, name):
                setattr(module, name, _placing(getattr(module, name)))


def hook_scripting() -> None:
    """`torch.jit.script`, and forward differentiation by it, know the replacements as the operators they replace.

    The compiler's table has been filled by torch's own scripts already; where it has not, it will be with replacements.
    """
    import torch.jit._builtins

    torch.jit.ScriptFunction.__call__ = _scripted(torch.jit.ScriptFunction.__call__)
    table = torch.jit._builtins._builtin_table
    if table is not None:
        for original, replacement in REPLACEMENTS.items():
            operator = table.get(id(original))
            if operator is not None:
                table[id(replacement)] = operator
