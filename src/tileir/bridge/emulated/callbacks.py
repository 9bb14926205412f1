"""Python code of the user that torch calls: backward functions, hooks, transforms, kernels of operators.

torch calls it while the mode is off, and autograd makes gradients in C++, without the mark.  So what is given to this
code is marked here, and the code runs within the mode.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final
from weakref import WeakKeyDictionary

import torch

from tileir.bridge.contexts import active
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
from tileir.bridge.hooks import replace
from tileir.execute.errors import EmulationError


def _in_mode(function: Any, on_device: Callable[..., Any] | None = None) -> Any:
    """A function that torch calls, run within the mode; its arguments are of the device where `on_device` says so."""

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        if on_device is not None and on_device(*arguments):
            mark_all(arguments)
        with mode_on():
            return function(*arguments)

    return call


# --- a user's own functions ---

_IS_ON_DEVICE: Final = "_tileir_is_on_device"


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
            # The step of the engine that calls a user's `backward`.
            step = _in_mode(getattr(node_class, name), lambda node, *_: getattr(node, _IS_ON_DEVICE, False))
            setattr(node_class, name, step)
    function.apply = classmethod(apply)


# --- hooks ---


def _register_hook(tensor: Any, hook: Any) -> Any:
    here = is_on_device(tensor)
    return Tensor.register_hook(tensor, _in_mode(hook, lambda *_: here))


def _register_post_accumulate_grad_hook(tensor: Any, hook: Any) -> Any:
    return Tensor.register_post_accumulate_grad_hook(tensor, _in_mode(hook))


def hook_hooks() -> None:
    ANYWHERE[Tensor.register_hook] = as_method(_register_hook)
    ANYWHERE[Tensor.register_post_accumulate_grad_hook] = as_method(_register_post_accumulate_grad_hook)
    for name in ("register_full_backward_hook", "register_full_backward_pre_hook"):
        replace(torch.nn.Module, name, _register_backward_hook)


_hooked: Final[WeakKeyDictionary[Any, bool]] = WeakKeyDictionary()
"""Modules with hooks for their backward pass, and whether they last worked on the device."""


def _note_forward(module: Any, inputs: Any, output: Any) -> None:
    if module in _hooked:
        _hooked[module] = any_on_device((output, inputs))


def _register_backward_hook(original: Any, self: Any, hook: Any, prepend: bool = False) -> Any:
    if not _hooked:
        torch.nn.modules.module.register_module_forward_hook(_note_forward)
    _hooked.setdefault(self, False)
    return original(self, _in_mode(hook, lambda module, *_: _hooked.get(module)), prepend)


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
    def init(original: Any, self: Any, pack_hook: Any, unpack_hook: Any) -> None:
        original(self, _pack(pack_hook), _in_mode(unpack_hook))

    replace(torch.autograd.graph.saved_tensors_hooks, "__init__", init)


# --- transforms ---

_WRAPPING: Final = ("_add_batch_dim", "_remove_batch_dim", "_wrap_for_grad", "_unwrap_for_grad")
"""Functions of torch by which one tensor stands for another within a transform."""


def _linearize(original: Any, func: Any, *primals: Any) -> Any:
    if any_on_device(primals):
        # It traces below the mode.
        raise EmulationError("torch.func.linearize", "use torch.func.jvp, or tensors of the CPU")
    return original(func, *primals)


def _marking(original: Any, *arguments: Any, **keywords: Any) -> Any:
    """A function whose results are on the device if an argument is."""
    with functions_off():
        result = original(*arguments, **keywords)
    return mark_all(result) if any_on_device((*arguments, *keywords.values())) else result


def hook_transforms() -> None:
    from torch._functorch import autograd_function, eager_transforms, vmap

    for module in (torch.func, eager_transforms):
        replace(module, "linearize", _linearize)
    for module in (autograd_function, eager_transforms, vmap):
        for name in _WRAPPING:
            if hasattr(module, name):
                replace(module, name, _marking)


def hook_scripting() -> None:
    replace(torch.jit.ScriptFunction, "__call__", _marking)


# --- operators: the dispatcher sees tensors of the CPU, so a kernel for CUDA is registered for the CPU as well ---


class _Kernels:
    """The functions that implement an operator, by device."""

    of_host: Any = None
    of_device: Any = None

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        is_device = self.of_device is not None and any_on_device((*arguments, *keywords.values()))
        kernel = self.of_device if is_device else self.of_host
        if kernel is None:
            raise NotImplementedError("there is a kernel for CUDA, and none for the CPU, whose tensors were given")
        with mode_on():
            return kernel(*arguments, **keywords)


_kernels: Final[dict[Any, _Kernels]] = {}
"""By the definition, or by namespace and name, of an operator."""


def _register_kernel(original: Any, self: Any, device_types: Any, fn: Any = None, /) -> Any:
    """`CustomOpDef.register_kernel`, which `custom_op` calls too."""
    if fn is None:
        return functools.partial(_register_kernel, original, self, device_types)
    types = [device_types] if device_types is None or isinstance(device_types, str) else list(device_types)
    if active() is None or not {None, "cpu", "cuda"} & {*types}:
        return original(self, device_types, fn)
    is_new = self not in _kernels
    kernels = _kernels.setdefault(self, _Kernels())
    if "cuda" in types or None in types:
        kernels.of_device = fn
    if "cpu" in types or None in types:
        kernels.of_host = fn
    rest = [each for each in types if each not in (None, "cpu", "cuda")]
    if rest:
        original(self, rest, fn)
    if is_new:
        run = functools.wraps(fn)(lambda *arguments, **keywords: kernels(*arguments, **keywords))
        original(self, None if None in types else ["cpu", "cuda"], run)
    return fn


def _implement(original: Any, self: Any, op_name: Any, fn: Any, dispatch_key: str = "", **keywords: Any) -> None:
    """`Library.impl`."""
    key = dispatch_key or self.dispatch_key
    is_torchs = str(getattr(fn, "__module__", "")).startswith("torch.") or (self.ns == "aten" and key == "CPU")
    if active() is None or key not in ("CUDA", "CPU") or is_torchs or not callable(fn):
        original(self, op_name, fn, dispatch_key, **keywords)
        return
    if self.ns == "aten":
        raise EmulationError(
            "torch.library.Library('aten', 'IMPL').impl(.., 'CUDA')", "it would change the operator for the CPU too"
        )
    name = op_name if isinstance(op_name, str) else op_name._name
    operator = (str(self.ns), name.rpartition("::")[2])
    if operator not in _kernels:
        _kernels[operator] = _Kernels()
        original(self, op_name, _kernels[operator], "CPU", **keywords)
    setattr(_kernels[operator], "of_host" if key == "CPU" else "of_device", fn)


def hook_operators() -> None:
    replace(torch.library.Library, "impl", _implement)
    replace(torch._library.custom_ops.CustomOpDef, "register_kernel", _register_kernel)
