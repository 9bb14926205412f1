"""Launches that are like one before: recognized without Triton, which takes many times as long as a small kernel runs.

What a kernel is compiled for follows from dtypes and alignment of arrays, from constants, and from whether integers
are 1, multiples of 16, and wide.  What is not known here is left to Triton: descriptors, tuples, parts of tensors.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy

from tileir.bridge.contexts import CAPTURE, ENTERED, Emulation, torch_functions_off
from tileir.bridge.emulated.gpu_interface import current_gpu
from tileir.bridge.parameters import constant_key
from tileir.bridge.triton.arguments import CONSTANT
from tileir.bridge.triton.kernel import TritonKernel
from tileir.execute.arguments.binding import EMULATED_STORAGE, PINNED_STORAGE
from tileir.execute.binder import torch_classes
from tileir.execute.engine.interface import ArgumentKind, DirectLaunches
from tileir.execute.errors import LaunchError
from tileir.execute.launching.entries import check_grid

Variant = tuple[str, bool, bool]
"""What kernels are compiled for beside their arguments: backend, exact, fast."""

_MOST_KEPT: Final = 4096
_MISALIGNMENT: Final = 15
_UNKNOWN: Final = (KeyError, TypeError, ValueError, AttributeError, RuntimeError, LaunchError)
_KNOWN: Final = "_tileir_known"
_TENSORS: Final[set[type]] = set()
"""torch's own classes of tensors, once one was launched with: the data of others may be elsewhere."""


class _Inspected:
    """The arguments of a launch: their key, and for each parameter what stands in the record of a launch."""

    __slots__ = ("key", "parts", "values")

    def __init__(self, key: list[Any], values: Sequence[Any]) -> None:
        self.key: list[Any] = key
        self.values: Sequence[Any] = values
        self.parts: list[tuple[Any, ...]] = []


class KnownLaunches:
    """The launches of a `@triton.jit` function that are recognized."""

    def __init__(self, kernel: Any) -> None:
        self._kernel: Any = kernel
        self._hash: Any = kernel.hash
        self._parameters: list[tuple[str, Any, bool]] = [
            (each.name, each.default, each.is_constexpr) for each in kernel.params
        ]
        self._direct: dict[tuple[Any, ...], tuple[DirectLaunches, list[bool], TritonKernel]] = {}

    def launch(
        self, grid: Any, arguments: tuple[Any, ...], keywords: Mapping[str, Any], variant: Variant
    ) -> TritonKernel | None:
        """Launch with such arguments again; None if nothing is known of them."""
        if not self._direct or self._has_changed():
            return None
        try:
            found = self._inspect(arguments, keywords, variant)
            direct, takes, compiled = self._direct[tuple(found.key)]
        except _UNKNOWN:
            return None
        values = found.values
        if callable(grid):
            grid = grid({name: value for (name, _, _), value in zip(self._parameters, values, strict=True)})
        if 0 in grid if isinstance(grid, (tuple, list)) else grid == 0:
            return None
        numbers = [number for part, is_taken in zip(found.parts, takes, strict=True) if is_taken for number in part]
        direct.launch(check_grid(grid), tuple(numbers), lambda: (tuple(compiled.describe(values).values), ()))
        return compiled

    def learn(
        self, compiled: object, arguments: tuple[Any, ...], keywords: Mapping[str, Any], variant: Variant
    ) -> None:
        """Recognize launches like this one from now on, if there is a short way for them."""
        if not isinstance(compiled, TritonKernel) or compiled.follows_addresses or self._has_changed():
            return
        try:
            found = self._inspect(arguments, keywords, variant)
            key = tuple(found.key)
            hash(key)
        except _UNKNOWN:
            # An argument of another kind, or an option that is a dictionary.
            return
        kinds = list(compiled.src.signature.values())
        takes = [kind != CONSTANT for kind in kinds]
        if not all(isinstance(kind, str) for kind in kinds):
            return
        kernel, description = compiled.prepared(found.values, *variant, False)
        parts = [part for part, is_taken in zip(found.parts, takes, strict=True) if is_taken]
        given: list[ArgumentKind] = [(0, True) if len(part) > 1 else None for part in parts]
        if description.memory or len(given) != len(description.values) or not all(parts):
            return
        direct = kernel.direct(given, tuple(description.values))
        if direct is not None:
            if len(self._direct) >= _MOST_KEPT:
                self._direct.clear()
            self._direct[key] = (direct, takes, compiled)

    def _has_changed(self) -> bool:
        """Whether the kernel, or what it reads of its module, is another one, which Triton notices."""
        if self._kernel.hash != self._hash:
            self._hash = self._kernel.hash
            self._direct.clear()
        used = self._kernel.used_global_vals.items()
        return any(variables.get(name, self) != value for (name, _), (value, variables) in used)

    def _inspect(self, arguments: tuple[Any, ...], keywords: Mapping[str, Any], variant: Variant) -> _Inspected:
        key: list[Any] = [variant]
        values: Sequence[Any] = arguments
        rest = self._parameters[len(arguments) :]
        if keywords or rest:
            options = dict(keywords)
            values = (*arguments, *[options.pop(name, default) for name, default, _ in rest])
            key += options.items()
        found = _Inspected(key, values)
        if not ENTERED:
            self._inspect_each(found)
        else:
            with torch_functions_off():
                self._inspect_each(found)
        return found

    def _inspect_each(self, found: _Inspected) -> None:
        key, parts = found.key, found.parts
        for (_, _, is_constant), value in zip(self._parameters, found.values, strict=True):
            kind = type(value)
            if is_constant:
                key.append((kind, value) if kind is int else constant_key(value))
                parts.append(())
            elif kind is int:
                # As Triton distinguishes them.
                wide = (value + (1 << 31)) >> 32 != 0
                key.append((value == 1, not value & _MISALIGNMENT, wide, value >> 63 > 0))
                parts.append((value,))
            elif kind is float or kind is bool:
                key.append(kind)
                parts.append((value,))
            elif value is None:
                key.append(None)
                parts.append(())
            elif kind is numpy.ndarray:
                if not (value.flags.c_contiguous and value.flags.writeable):
                    raise KeyError
                address = value.__array_interface__["data"][0]
                key.append((value.dtype, address & _MISALIGNMENT))
                parts.append((address, b"", value.nbytes))
            elif kind in _TENSORS or _is_tensor_class(kind):
                storage, address = value.untyped_storage(), value.data_ptr()
                # A kernel reaches all of a storage.
                if not value.is_cpu or value.nbytes != storage.nbytes() or value.is_neg():
                    raise KeyError
                is_reachable = hasattr(storage, EMULATED_STORAGE) or hasattr(storage, PINNED_STORAGE)
                key.append((value.dtype, address & _MISALIGNMENT, is_reachable))
                parts.append((address, b"", value.nbytes))
            else:
                raise KeyError


def _is_tensor_class(kind: type) -> bool:
    if "torch" not in sys.modules or kind not in torch_classes():
        return False
    _TENSORS.add(kind)
    return True


def launches_of(kernel: Any, context: Emulation | None, is_requested: bool) -> KnownLaunches:
    """What is known of the launches of a `@triton.jit` function.  What was compiled for a GPU, or another emulated one,
    is of no use here, and the other way round."""
    kind = None
    if context is not None or is_requested:
        kind = (current_gpu().architecture, context is not None and context.is_real)
    found: tuple[object, KnownLaunches] | None = kernel.__dict__.get(_KNOWN)
    if found is None or found[0] != kind:
        kernel.device_caches.clear()
        found = kernel.__dict__[_KNOWN] = kind, KnownLaunches(kernel)
    return found[1]


def variant_of(kernel: Any, context: Emulation) -> Variant | None:
    """What launches of a context are compiled for; None where somebody looks at each."""
    runtime = sys.modules["triton"].knobs.runtime
    hooks = (runtime.launch_enter_hook, runtime.launch_exit_hook)
    if any(hook is not None and getattr(hook, "calls", True) for hook in hooks) or runtime.debug:
        return None
    if kernel.pre_run_hooks or CAPTURE.recorder is not None:
        return None
    options = context.options
    if context.watching is not None or context.is_real or set(options) - {"backend", "exact", "fast"}:
        return None
    return options.get("backend", "auto"), options.get("exact", False), options.get("fast", False)
