"""Operators of the user on the device: `torch.library.custom_op` and `torch.library.Library.impl`.

The dispatcher sees tensors of the CPU.  So a kernel for CUDA is registered for the CPU as well, where it takes tensors
of the device, and kernels run within the mode.
"""

from __future__ import annotations

import functools
from typing import Any, Final

import torch

from tileir.bridge.contexts import active
from tileir.bridge.emulated.device import any_on_device, mode_on
from tileir.execute.errors import EmulationError


class _Kernels:
    """The functions that implement an operator, by device."""

    def __init__(self) -> None:
        self.of_host: Any = None
        self.of_device: Any = None

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        if self.of_device is not None and any_on_device((*arguments, *keywords.values())):
            with mode_on():
                return self.of_device(*arguments, **keywords)
        if self.of_host is None:
            raise NotImplementedError("there is a kernel for CUDA, and none for the CPU, whose tensors were given")
        with mode_on():
            return self.of_host(*arguments, **keywords)


_kernels: Final[dict[Any, _Kernels]] = {}
"""By the definition, or by namespace and name, of an operator."""


def _registering(original: Any) -> Any:
    """`CustomOpDef.register_kernel`, which `custom_op` calls too."""

    @functools.wraps(original)
    def register_kernel(self: Any, device_types: Any, fn: Any = None, /) -> Any:
        def register(function: Any) -> Any:
            types = [device_types] if device_types is None or isinstance(device_types, str) else list(device_types)
            if active() is None or not {None, "cpu", "cuda"} & {*types}:
                return original(self, device_types, function)
            is_new = self not in _kernels
            kernels = _kernels.setdefault(self, _Kernels())
            if "cuda" in types or None in types:
                kernels.of_device = function
            if "cpu" in types or None in types:
                kernels.of_host = function
            rest = [each for each in types if each not in (None, "cpu", "cuda")]
            if rest:
                original(self, rest, function)

            @functools.wraps(function)
            def run(*arguments: Any, **keywords: Any) -> Any:
                return kernels(*arguments, **keywords)

            if is_new:
                original(self, None if None in types else ["cpu", "cuda"], run)
            return function

        return register if fn is None else register(fn)

    return register_kernel


def _implementing(original: Any) -> Any:
    """`Library.impl`."""

    @functools.wraps(original)
    def impl(self: Any, op_name: Any, fn: Any, dispatch_key: str = "", **keywords: Any) -> Any:
        key = dispatch_key or self.dispatch_key
        is_torchs = str(getattr(fn, "__module__", "")).startswith("torch.") or (self.ns == "aten" and key == "CPU")
        if active() is None or key not in ("CUDA", "CPU") or is_torchs or not callable(fn):
            return original(self, op_name, fn, dispatch_key, **keywords)
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
        return None

    return impl


def hook_operators() -> None:
    library: Any = torch.library.Library
    library.impl = _implementing(library.impl)
    definition: Any = torch._library.custom_ops.CustomOpDef
    definition.register_kernel = _registering(definition.register_kernel)
