"""`torch.library.custom_op` on pretended tensors.

The dispatcher sees tensors of the CPU, and calls a kernel of an operator where `__torch_function__` is off.  So a
kernel for CUDA is registered for the CPU as well, where it takes what is on a pretended device, and kernels run with
`__torch_function__` on: what they make of pretended tensors is on their device too.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from tileir.bridge.contexts import active
from tileir.bridge.pretended.gradients import first_index

_KERNEL = "_tileir_device_kernel"


def _kernel(definition: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def run(*arguments: Any, **keywords: Any) -> Any:
        if first_index((*arguments, *keywords.values())) is None:
            return function(*arguments, **keywords)
        with torch._C._EnableTorchFunction():
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


def hook_custom_operators() -> None:
    definition: Any = torch._library.custom_ops.CustomOpDef
    definition.register_kernel = _registered(definition.register_kernel)
