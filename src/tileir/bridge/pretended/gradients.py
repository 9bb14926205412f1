"""Autograd on pretended tensors.

The engine makes gradients in C++, as plain tensors.  What it hands to Python is put on the device here: gradients of
leaves (`tensor.grad`, through `__torch_function__`), arguments and saved tensors of a user's `autograd.Function`, and
arguments of hooks, also of those for saved tensors (`torch.utils.checkpoint`).
"""

from __future__ import annotations

import contextlib
import functools
import threading
from typing import Any, Final

import torch

from tileir.bridge.contexts import active
from tileir.bridge.pretended.tensors import (
    DISPATCH,
    SPECIAL,
    as_method,
    first_index,
    is_pretended,
    placed,
    undispatched,
)

Tensor: Final[Any] = torch.Tensor
_INDEX: Final = "_tileir_device_index"
_CALLS: Final = "_tileir_calls"


def _place_all(values: Any, index: int) -> Any:
    for value in values:
        if type(value) is Tensor:
            placed(value, index)
    return values


# --- a user's own functions ---


def _applied(original: Any, node_class: Any) -> Any:
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
                if isinstance(node, node_class):
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
        with DISPATCH.on():
            return original(self, *gradients)

    return apply


def _saved_tensors(original: Any) -> Any:
    def saved_tensors(self: Any) -> Any:
        saved = original.__get__(self)
        index = getattr(self, _INDEX, None)
        return saved if index is None else _place_all(saved, index)

    return property(saved_tensors)


def hook_functions() -> None:
    function: Any = torch.autograd.Function
    node: Any = torch.autograd.function.BackwardCFunction
    saved_tensors = _saved_tensors(node.saved_tensors)
    function.apply = _applied(function.__dict__["apply"], node)
    for name in ("apply", "apply_boxed"):
        if name in node.__dict__:
            setattr(node, name, _differentiated(getattr(node, name)))
    node.saved_tensors = saved_tensors


# --- hooks ---


def _hooked(tensor: Any, hook: Any) -> Any:
    """`tensor.register_hook(hook)`."""
    index = tensor.get_device()

    @functools.wraps(hook)
    def call(gradient: Any) -> Any:
        with DISPATCH.on():
            return hook(_place_all((gradient,), index)[0])

    return undispatched(_REGISTER_HOOK, (), (tensor, call))


def _hooked_after_accumulation(tensor: Any, hook: Any) -> Any:
    """`tensor.register_post_accumulate_grad_hook(hook)`, whose hook is given the tensor itself."""

    @functools.wraps(hook)
    def call(leaf: Any) -> Any:
        with DISPATCH.on():
            return hook(leaf)

    return undispatched(_REGISTER_HOOK_AFTER_ACCUMULATION, (), (tensor, call))


def _backward(
    tensor: Any, gradient: Any = None, retain_graph: Any = None, create_graph: bool = False, inputs: Any = None
) -> None:
    torch.autograd.backward(tensor, gradient, retain_graph, create_graph, inputs=inputs)


_REGISTER_HOOK: Final[Any] = Tensor.register_hook
_REGISTER_HOOK_AFTER_ACCUMULATION: Final[Any] = Tensor.register_post_accumulate_grad_hook


def hook_hooks() -> None:
    SPECIAL[_REGISTER_HOOK] = as_method(_hooked)
    SPECIAL[_REGISTER_HOOK_AFTER_ACCUMULATION] = as_method(_hooked_after_accumulation)
    SPECIAL[Tensor.backward] = as_method(_backward)


class _Undefined:
    """`torch._C._functions.UndefinedGrad`, by which `gradcheck` tries gradients that are None."""

    original: Any

    def __init__(self) -> None:
        self._apply: Any = self.original()

    def __call__(self, tensor: Any) -> Any:
        result = self._apply(tensor)
        return placed(result, tensor.get_device()) if is_pretended(tensor) else result


def hook_gradcheck() -> None:
    functions: Any = torch._C._functions
    _Undefined.original = functions.UndefinedGrad
    functions.UndefinedGrad = _Undefined


# --- hooks for saved tensors ---


class _Call(threading.local):
    """The call of torch that saves tensors: autograd shows a result to hooks before it is put on the device."""

    index: int | None = None
    arguments: tuple[Any, ...] = ()


_call: Final = _Call()


class _Calls(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
    """Notes the calls between entering and leaving hooks for saved tensors."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        before = _call.index, _call.arguments
        _call.arguments = (*args, *kwargs.values()) if kwargs else args
        _call.index = first_index(_call.arguments)
        try:
            return func(*args, **(kwargs or {}))
        finally:
            _call.index, _call.arguments = before


def _is_among(tensor: Any, values: Any) -> bool:
    return any(value is tensor or (type(value) in (list, tuple) and _is_among(tensor, value)) for value in values)


def _packed(pack: Any) -> Any:
    @functools.wraps(pack)
    def call(tensor: Any) -> Any:
        # What the caller gave on the CPU stays there.
        if type(tensor) is Tensor and _call.index is not None and not _is_among(tensor, _call.arguments):
            placed(tensor, _call.index)
        with DISPATCH.on():
            return pack(tensor)

    return call


def _unpacked(unpack: Any) -> Any:
    @functools.wraps(unpack)
    def call(packed: Any) -> Any:
        with DISPATCH.on():
            return unpack(packed)

    return call


def hook_saved_tensors() -> None:
    hooks: Any = torch.autograd.graph.saved_tensors_hooks
    made, entered, left = hooks.__init__, hooks.__enter__, hooks.__exit__

    @functools.wraps(made)
    def __init__(self: Any, pack_hook: Any, unpack_hook: Any) -> None:
        made(self, _packed(pack_hook), _unpacked(unpack_hook))

    @functools.wraps(entered)
    def __enter__(self: Any) -> Any:
        calls = _Calls() if active() is not None else contextlib.nullcontext()
        result = entered(self)
        calls.__enter__()
        self.__dict__.setdefault(_CALLS, []).append(calls)
        return result

    @functools.wraps(left)
    def __exit__(self: Any, *error: Any) -> Any:
        calls = self.__dict__.get(_CALLS)
        if calls:
            calls.pop().__exit__(*error)
        return left(self, *error)

    hooks.__init__, hooks.__enter__, hooks.__exit__ = __init__, __enter__, __exit__
