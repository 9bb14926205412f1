"""Python code of the user that torch calls: backward functions, hooks, transforms, kernels of operators.

torch calls it while the mode is off, and autograd makes gradients in C++, without the mark.  So what is given to this
code is marked here, and the code runs within the mode.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

import torch

from tileir.bridge.contexts import active
from tileir.bridge.emulated import device as emulated
from tileir.bridge.emulated.device import Tensor
from tileir.bridge.emulated.installation import THREAD
from tileir.bridge.hooks import replace
from tileir.execute.errors import EmulationError


def _in_mode(function: Any, on_device: Callable[..., Any]) -> Any:
    """A function that torch calls, run within the mode; its arguments are on the device if `on_device` returns true."""

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        if on_device(*arguments):
            emulated.marked(arguments)
        with emulated.mode_on():
            return function(*arguments)

    return call


_IS_ON_DEVICE: Final = "_tileir_is_on_device"


def _register(register: Any, tensor: Any, hook: Any) -> Any:
    here = emulated.is_on_device(tensor)
    return register(tensor, _in_mode(hook, lambda *_: here))


def _set_up_hooks(original: Any, self: Any, outputs: Any) -> Any:
    """Set up the backward hooks of a module: `outputs` are those of its forward pass."""
    here = emulated.any_on_device(outputs)
    for name in ("user_hooks", "user_pre_hooks"):
        setattr(self, name, [_in_mode(hook, lambda *_: here) for hook in getattr(self, name)])
    return original(self, outputs)


def _init_saved(original: Any, self: Any, pack_hook: Any, unpack_hook: Any) -> None:
    @functools.wraps(pack_hook)
    def pack(tensor: Any) -> Any:
        # Autograd shows a result before it is marked.
        mode = THREAD.mode
        if mode is not None and mode.call is not None and mode.call.is_on_device:
            mode.call.mark(tensor)
        with emulated.mode_on():
            return pack_hook(tensor)

    original(self, pack, _in_mode(unpack_hook, lambda *_: False))


def hook_autograd() -> None:
    function: Any = torch.autograd.Function
    node_class: Any = torch.autograd.function.BackwardCFunction
    original = function.__dict__["apply"]

    # From torch 2.15 on it is a descriptor in C, without `__func__`.
    @functools.wraps(getattr(original, "__func__", original))
    def apply(cls: Any, *arguments: Any, **keywords: Any) -> Any:
        result = original.__get__(None, cls)(*arguments, **keywords)
        if emulated.any_on_device((arguments, result)):
            for item in result if isinstance(result, tuple) else (result,):
                node = item.grad_fn if isinstance(item, Tensor) else None
                if isinstance(node, node_class):
                    setattr(node, _IS_ON_DEVICE, True)
        return result

    for name in {"apply", "apply_boxed"} & node_class.__dict__.keys():
        # The step of the engine that calls a user's `backward`.
        step = _in_mode(getattr(node_class, name), lambda node, *_: getattr(node, _IS_ON_DEVICE, False))
        setattr(node_class, name, step)
    function.apply = classmethod(apply)
    for register in (Tensor.register_hook, Tensor.register_post_accumulate_grad_hook):
        emulated.ANYWHERE[register] = emulated.as_method(functools.partial(_register, register))
    replace(torch.utils.hooks.BackwardHook, "setup_output_hook", _set_up_hooks)
    replace(torch.autograd.graph.saved_tensors_hooks, "__init__", _init_saved)


# --- functions of torch that take tensors of the device for those of the CPU that they are ---

_WRAPPING: Final = ("_add_batch_dim", "_remove_batch_dim", "_wrap_for_grad", "_unwrap_for_grad")
"""Functions of torch by which one tensor stands for another within a transform."""


def _linearize(original: Any, func: Any, *primals: Any) -> Any:
    if emulated.any_on_device(primals):
        # It traces below the mode.
        raise EmulationError("torch.func.linearize", "use torch.func.jvp, or tensors of the CPU")
    return original(func, *primals)


def _marking(original: Any, *arguments: Any, **keywords: Any) -> Any:
    """A function whose results are on the device if an argument is."""
    with emulated.functions_off():
        result = original(*arguments, **keywords)
    return emulated.marked(result) if emulated.any_on_device((arguments, keywords)) else result


def _nested(original: Any, *arguments: Any, **keywords: Any) -> Any:
    """Tensors of tensors: those of the layout that is torch's default."""
    device = keywords.get("device")
    if not (emulated.any_on_device((arguments, keywords)) if device is None else emulated.is_emulated(device)):
        return original(*arguments, **keywords)
    if keywords.get("layout") is torch.jagged:
        raise EmulationError(
            f"torch.nested.{original.__name__}(layout=torch.jagged)", "use the layout torch.strided, or the CPU"
        )
    with emulated.functions_off():
        return emulated.marked(original(*arguments, **{**keywords, "device": "cpu"}))


def hook_transforms() -> None:
    replace(torch.jit.ScriptFunction, "__call__", _marking)
    for name in ("nested_tensor", "as_nested_tensor"):
        replace(torch.nested, name, _nested)
    from torch._functorch import autograd_function, eager_transforms, vmap

    for module in (torch.func, eager_transforms):
        replace(module, "linearize", _linearize)
    for module in (autograd_function, eager_transforms, vmap):
        for name in _WRAPPING:
            if hasattr(module, name):
                replace(module, name, _marking)


# --- operators: the dispatcher sees tensors of the CPU, so a kernel for CUDA is registered for the CPU as well ---


class _Kernels:
    """The functions that implement an operator, by device."""

    def __init__(self) -> None:
        self.functions: dict[str, Any] = {}

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        is_device = "cuda" in self.functions and emulated.any_on_device((arguments, keywords))
        kernel = self.functions.get("cuda" if is_device else "cpu")
        if kernel is None:
            raise NotImplementedError("there is a kernel for CUDA, and none for the CPU, whose tensors were given")
        with emulated.mode_on():
            return kernel(*arguments, **keywords)


_kernels: Final[dict[Any, _Kernels]] = {}
"""By library, or its namespace, and name of an operator."""
_DEVICES: Final = {"CPU": {"cpu"}, "CUDA": {"cuda"}, "CompositeExplicitAutograd": {"cpu", "cuda"}}


def _implement(original: Any, self: Any, op_name: Any, fn: Any, dispatch_key: str = "", **keywords: Any) -> None:
    """`Library.impl`, by which operators of `custom_op` get their kernels too."""
    key = dispatch_key or self.dispatch_key
    module = str(getattr(fn, "__module__", ""))
    is_custom = module == "torch._library.custom_ops"
    is_torchs = (module.startswith("torch.") and not is_custom) or (self.ns == "aten" and key != "CUDA")
    if active() is None or key not in _DEVICES or is_torchs or not callable(fn):
        original(self, op_name, fn, dispatch_key, **keywords)
        return
    if self.ns == "aten":
        raise EmulationError(
            "torch.library.Library('aten', 'IMPL').impl(.., 'CUDA')", "it would change the operator for the CPU too"
        )
    name = op_name if isinstance(op_name, str) else op_name._name
    # A custom operator that replaces one of its name has a library of its own.
    operator = (self if is_custom else str(self.ns), name.rpartition("::")[2])
    if operator not in _kernels:
        _kernels[operator] = _Kernels()
        original(self, op_name, _kernels[operator], "CPU" if key == "CUDA" else key, **keywords)
    _kernels[operator].functions.update(dict.fromkeys(_DEVICES[key], fn))


def hook_operators() -> None:
    replace(torch.library.Library, "impl", _implement)
