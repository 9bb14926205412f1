"""Autograd on the device: the engine makes gradients in C++, without the mark, and calls Python where the mode is off.

So what it gives to Python is marked here, and what it calls runs within the mode: a user's `autograd.Function`, hooks
of tensors and modules, and hooks for saved tensors (`torch.utils.checkpoint`).  `torch.func` wraps tensors in others.
"""

from __future__ import annotations

import functools
from typing import Any, Final
from weakref import WeakKeyDictionary

import torch

from tileir.bridge.emulated.device import (
    ANYWHERE,
    Tensor,
    any_on_device,
    as_method,
    functions_off,
    is_on_device,
    mark_all,
    mode_on,
)
from tileir.bridge.emulated.threads import THREAD
from tileir.execute.errors import EmulationError

_IS_ON_DEVICE: Final = "_tileir_is_on_device"


def _in_mode(function: Any, is_marked: bool = False) -> Any:
    """A function that torch calls, run within the mode; with `is_marked` its arguments are of the device."""

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        if is_marked:
            mark_all(arguments)
        with mode_on():
            return function(*arguments)

    return call


# --- a user's own functions ---


def hook_functions() -> None:
    function: Any = torch.autograd.Function
    node_class: Any = torch.autograd.function.BackwardCFunction
    original = function.__dict__["apply"]

    # From torch 2.15 on it is a descriptor in C, without `__func__`.
    @functools.wraps(getattr(original, "__func__", original))
    def apply(cls: Any, *arguments: Any, **keywords: Any) -> Any:
        result = original.__get__(None, cls)(*arguments, **keywords)
        results = result if isinstance(result, tuple) else (result,)
        if any_on_device(arguments) or any_on_device(results):
            for item in results:
                node = item.grad_fn if isinstance(item, Tensor) else None
                if isinstance(node, node_class):
                    setattr(node, _IS_ON_DEVICE, True)
        return result

    for name in ("apply", "apply_boxed"):
        if name in node_class.__dict__:
            setattr(node_class, name, _differentiated(getattr(node_class, name)))
    function.apply = classmethod(apply)


def _differentiated(original: Any) -> Any:
    """The step of the engine that calls a user's `backward`."""

    @functools.wraps(original)
    def apply(self: Any, *gradients: Any) -> Any:
        if getattr(self, _IS_ON_DEVICE, False):
            mark_all(gradients)
        with mode_on():
            return original(self, *gradients)

    return apply


# --- hooks ---


def _register_hook(tensor: Any, hook: Any) -> Any:
    return Tensor.register_hook(tensor, _in_mode(hook, is_on_device(tensor)))


def _register_post_accumulate_grad_hook(tensor: Any, hook: Any) -> Any:
    return Tensor.register_post_accumulate_grad_hook(tensor, _in_mode(hook))


def hook_hooks() -> None:
    ANYWHERE[Tensor.register_hook] = as_method(_register_hook)
    ANYWHERE[Tensor.register_post_accumulate_grad_hook] = as_method(_register_post_accumulate_grad_hook)
    for name in ("register_full_backward_hook", "register_full_backward_pre_hook"):
        setattr(torch.nn.Module, name, _hooking_module(getattr(torch.nn.Module, name)))


_hooked: Final[WeakKeyDictionary[Any, bool]] = WeakKeyDictionary()
"""Modules with hooks for their backward pass, and whether they last worked on the device."""


def _note_forward(module: Any, inputs: Any, output: Any) -> None:
    if module in _hooked:
        _hooked[module] = any_on_device((output, inputs))


def _hooking_module(original: Any) -> Any:
    @functools.wraps(original)
    def register(self: Any, hook: Any, prepend: bool = False) -> Any:
        if not _hooked:
            torch.nn.modules.module.register_module_forward_hook(_note_forward)
        _hooked.setdefault(self, False)

        @functools.wraps(hook)
        def call(module: Any, *gradients: Any) -> Any:
            if _hooked.get(module):
                mark_all(gradients)
            with mode_on():
                return hook(module, *gradients)

        return original(self, call, prepend)

    return register


def _pack(hook: Any) -> Any:
    """A hook for saved tensors: autograd shows it a result before that is marked."""

    @functools.wraps(hook)
    def call(tensor: Any) -> Any:
        mode = THREAD.mode
        if mode is not None and mode.call is not None and mode.call.is_on_device:
            mode.call.mark(tensor)
        with mode_on():
            return hook(tensor)

    return call


def hook_saved_tensors() -> None:
    hooks: Any = torch.autograd.graph.saved_tensors_hooks
    original = hooks.__init__

    @functools.wraps(original)
    def __init__(self: Any, pack_hook: Any, unpack_hook: Any) -> None:
        original(self, _pack(pack_hook), _in_mode(unpack_hook))

    hooks.__init__ = __init__


# --- transforms ---

_WRAPPING: Final = ("_add_batch_dim", "_remove_batch_dim", "_wrap_for_grad", "_unwrap_for_grad")
"""Functions of torch by which one tensor stands for another within a transform."""


def _marking(original: Any) -> Any:
    """A function whose results are on the device if an argument is."""

    @functools.wraps(original)
    def call(*arguments: Any, **keywords: Any) -> Any:
        result = original(*arguments, **keywords)
        return mark_all(result) if any_on_device((*arguments, *keywords.values())) else result

    return call


def hook_transforms() -> None:
    from torch._functorch import autograd_function, eager_transforms, vmap

    original = torch.func.linearize

    @functools.wraps(original)
    def linearize(func: Any, *primals: Any) -> Any:
        if any_on_device(primals):
            # It traces below the mode.
            raise EmulationError("torch.func.linearize", "use torch.func.jvp, or tensors of the CPU")
        return original(func, *primals)

    torch.func.linearize = eager_transforms.linearize = linearize
    for module in (autograd_function, eager_transforms, vmap):
        for name in _WRAPPING:
            if hasattr(module, name):
                setattr(module, name, _marking(getattr(module, name)))


def hook_scripting() -> None:
    original = torch.jit.ScriptFunction.__call__

    @functools.wraps(original)
    def call(*arguments: Any, **keywords: Any) -> Any:
        with functions_off():
            result = original(*arguments, **keywords)
        return mark_all(result) if any_on_device((*arguments, *keywords.values())) else result

    torch.jit.ScriptFunction.__call__ = call
