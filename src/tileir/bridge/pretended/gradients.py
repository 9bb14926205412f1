"""Autograd on pretended tensors.

The engine makes gradients in C++, as plain tensors.  What it hands to Python is put on the device here: gradients of
leaves (`tensor.grad`, through `__torch_function__`), arguments and saved tensors of a user's `autograd.Function`, and
arguments of hooks.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

import torch

from tileir.bridge.pretended.tensors import SPECIAL, is_pretended, placed, undispatched

Tensor: Final[Any] = torch.Tensor
_Node: Final[Any] = torch.autograd.function.BackwardCFunction
_SAVED: Final[Any] = _Node.saved_tensors
_INDEX: Final = "_tileir_device_index"


def _place_all(values: Any, index: int) -> Any:
    for value in values:
        if type(value) is Tensor:
            placed(value, index)
    return values


# --- a user's own functions ---


def first_index(values: Any) -> int | None:
    for value in values:
        if is_pretended(value):
            return int(value.get_device())
        if type(value) in (list, tuple):
            found = first_index(value)
            if found is not None:
                return found
    return None


def _applied(original: Any) -> Any:
    """`Function.apply`: remembers the device of its arguments, for `backward`."""

    # From torch 2.15 on it is a descriptor in C, without `__func__`.
    @functools.wraps(getattr(original, "__func__", original))
    def apply(cls: Any, *arguments: Any, **keywords: Any) -> Any:
        result = original.__get__(None, cls)(*arguments, **keywords)
        index = first_index(arguments)
        if index is None:
            index = first_index(result if isinstance(result, tuple) else (result,))
        if index is not None:
            for item in result if isinstance(result, tuple) else (result,):
                node = item.grad_fn if isinstance(item, Tensor) else None
                if isinstance(node, _Node):
                    setattr(node, _INDEX, index)
        return result

    return classmethod(apply)


def _differentiated(original: Any) -> Any:
    """The step of the engine that calls a user's `backward`."""

    @functools.wraps(original)
    def apply(self: Any, *gradients: Any) -> Any:
        index = getattr(self, _INDEX, None)
        if index is None:
            return original(self, *gradients)
        for gradient in gradients:
            _place_all(gradient if isinstance(gradient, list) else (gradient,), index)
        # `tensor.backward()` may have come through `__torch_function__`, where it is off.
        with torch._C._EnableTorchFunction():
            return original(self, *gradients)

    return apply


def _saved_tensors(self: Any) -> Any:
    saved = _SAVED.__get__(self)
    index = getattr(self, _INDEX, None)
    return saved if index is None else _place_all(saved, index)


# --- hooks ---


def _hooked(function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """`tensor.register_hook(hook)`."""
    tensor, hook = arguments
    index = tensor.get_device()

    @functools.wraps(hook)
    def call(gradient: Any) -> Any:
        with torch._C._EnableTorchFunction():
            return hook(_place_all((gradient,), index)[0])

    return undispatched(function, (), (tensor, call), keywords)


def _hooked_after_accumulation(function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """`tensor.register_post_accumulate_grad_hook(hook)`, whose hook is given the tensor itself."""
    tensor, hook = arguments

    @functools.wraps(hook)
    def call(leaf: Any) -> Any:
        with torch._C._EnableTorchFunction():
            return hook(leaf)

    return undispatched(function, (), (tensor, call), keywords)


class _Undefined:
    """`torch._C._functions.UndefinedGrad`, by which `gradcheck` tries gradients that are None."""

    original: Any = torch._C._functions.UndefinedGrad

    def __init__(self) -> None:
        self._apply: Any = self.original()

    def __call__(self, tensor: Any) -> Any:
        result = self._apply(tensor)
        return placed(result, tensor.get_device()) if is_pretended(tensor) else result


def _backward(function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    def backward(
        tensor: Any, gradient: Any = None, retain_graph: Any = None, create_graph: bool = False, inputs: Any = None
    ) -> None:
        torch.autograd.backward(tensor, gradient, retain_graph, create_graph, inputs=inputs)

    return backward(*arguments, **keywords)


def hook_gradients() -> None:
    function: Any = torch.autograd.Function
    function.apply = _applied(function.__dict__["apply"])
    for name in ("apply", "apply_boxed"):
        if name in _Node.__dict__:
            setattr(_Node, name, _differentiated(getattr(_Node, name)))
    _Node.saved_tensors = property(_saved_tensors)
    torch._C._functions.UndefinedGrad = _Undefined
    special: dict[Any, Callable[..., Any]] = {
        Tensor.register_hook: _hooked,
        Tensor.register_post_accumulate_grad_hook: _hooked_after_accumulation,
        Tensor.backward: _backward,
    }
    SPECIAL.update(special)
