"""`torch.library.custom_op` on pretended tensors.

The dispatcher sees tensors of the CPU, and calls a kernel of an operator where `__torch_function__` is off.  So a
kernel for CUDA is registered for the CPU as well, where it takes what is on a pretended device, and kernels run with
`__torch_function__` on: what they make of pretended tensors is on their device too.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

import torch

from tileir.bridge.contexts import active
from tileir.bridge.pretended.tensors import DISPATCH, first_index
from tileir.execute.errors import EmulationError

_KERNEL = "_tileir_device_kernel"


def _kernel(definition: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def run(*arguments: Any, **keywords: Any) -> Any:
        if first_index((*arguments, *keywords.values())) is None:
            return function(*arguments, **keywords)
        with DISPATCH.on():
            return getattr(definition, _KERNEL, function)(*arguments, **keywords)

    return run


def _registered(original: Any) -> Any:
    """`CustomOpDef.register_kernel`, which `custom_op` calls too."""

    @functools.wraps(original)
    def register_kernel(self: Any, device_types: Any, fn: Any = None, /) -> Any:
        def register(function: Any) -> Any:
            if active() is None:
                return original(self, device_types, function)
            types = device_types
            if types is not None and "cuda" in (types := [types] if isinstance(types, str) else list(types)):
                setattr(self, _KERNEL, function)
                if "cpu" not in types and not {"cpu", None} & self._backend_fns.keys():
                    types.append("cpu")
            original(self, types, _kernel(self, function))
            return function

        return register if fn is None else register(fn)

    return register_kernel


class _Kernels:
    """The functions of an operator that a `torch.library.Library` implements, by device."""

    def __init__(self) -> None:
        self.of_host: Any = None
        self.of_device: Any = None

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        if self.of_device is not None and first_index((*arguments, *keywords.values())) is not None:
            with DISPATCH.on():
                return self.of_device(*arguments, **keywords)
        if self.of_host is None:
            raise NotImplementedError("there is a kernel for CUDA, and none for the CPU, whose tensors were given")
        return self.of_host(*arguments, **keywords)


_kernels: Final[dict[tuple[str, str], _Kernels]] = {}
"""By namespace and name of an operator."""


def _implemented(original: Any) -> Any:
    """`Library.impl`: what is for CUDA is called for the CPU, where the dispatcher takes pretended tensors to be."""

    @functools.wraps(original)
    def impl(self: Any, op_name: Any, fn: Any, dispatch_key: str = "", **keywords: Any) -> Any:
        key = dispatch_key or self.dispatch_key
        is_torchs = self.ns == "aten" and (key == "CPU" or str(getattr(fn, "__module__", "")).startswith("torch."))
        if active() is None or key not in ("CUDA", "CPU") or is_torchs or not callable(fn) or "with_keyset" in keywords:
            return original(self, op_name, fn, dispatch_key, **keywords)
        if self.ns == "aten":
            raise EmulationError(
                "torch.library.Library('aten', 'IMPL').impl(.., 'CUDA')", "it would change the operator for the CPU too"
            )
        name = op_name if isinstance(op_name, str) else op_name._name
        place = (str(self.ns), name.rpartition("::")[2])
        kernels = _kernels.get(place)
        if kernels is None:
            kernels = _kernels[place] = _Kernels()
            original(self, op_name, kernels, "CPU", **keywords)
        if key == "CPU":
            kernels.of_host = fn
        else:
            kernels.of_device = fn
        return None

    return impl


def hook_custom_operators() -> None:
    library: Any = torch.library.Library
    library.impl = _implemented(library.impl)
    definition: Any = torch._library.custom_ops.CustomOpDef
    definition.register_kernel = _registered(definition.register_kernel)
