"""Installs the emulated device in torch, CuPy and cuTile's JAX module when they are imported, and in threads.

Part of it uses private names of torch, which change.  So each feature is installed apart from the others: one that does
not fit the version of torch is left out with one warning, and `import torch` works.

torch keeps modes for each thread.  A thread has that of `device` while it is in a context of `emulate`, and so have
threads that are started, and functions that are submitted to a thread pool, within one.  A thread that was started
before the context by other means sees no device.
"""

from __future__ import annotations

import functools
import importlib
import re
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final

from tileir.bridge.contexts import active, has_gpu
from tileir.bridge.hooks import after_import, found_elsewhere, provide, replace
from tileir.execute.errors import warn_caller
from tileir.execute.gpu.gpus import DEFAULT, Gpu, gpu_named
from tileir.forking import NO_FORK

_OLDEST: Final = (2, 6)  # The oldest version of torch that is supported.
_TORCH: Final = {
    "device.hook_device": "a CUDA device",
    "tensor_methods.hook_methods": "a CUDA device",
    "device.hook_default_device": "torch.set_default_device",
    "tensor_methods.hook_text": "printing of tensors",
    "tensor_methods.hook_exchange": "DLPack, torch.save or torch.multiprocessing",
    "arithmetic.hook_arithmetic": "accumulation in f32 and TF32, or torch.autocast",
    "callbacks.hook_autograd": "torch.autograd",
    "callbacks.hook_transforms": "torch.func, torch.jit.script or torch.nested",
    "callbacks.hook_operators": "torch.library",
    "torch_cuda.hook_cuda": "torch.cuda",
    "torch_cuda.hook_distributed": "torch.distributed",
    "graphs.hook_graphs": "torch.cuda.CUDAGraph",
}
"""The features by the functions that install them; without the first there is no other."""
_JAX: Final = {".operators.jax_calls.hook_jax_calls": "a call from JAX"}
_installed: Final[list[Any]] = []


def install(gpu: str = DEFAULT) -> Gpu:
    """Have torch and CuPy, imported before or later, see a GPU within contexts; returns the GPU of that name."""
    found = gpu_named(gpu)
    with NO_FORK:
        if not _installed:
            _installed.append("threads")
            replace(threading.Thread, "start", _start)
            replace(ThreadPoolExecutor, "submit", _submit)
        after_import("torch", _install_torch)
        after_import("cuda.tile.jax._jax", _install_jax_calls)
        provide("cupy", _cupy_spec)
    return found


def _install_torch(torch: Any) -> None:
    # Something else by its name is left alone.
    version = re.match(r"(\d+)\.(\d+)", str(getattr(torch, "__version__", "")))
    if version is not None and (int(version[1]), int(version[2])) >= _OLDEST:
        _install_features(f"torch {torch.__version__}", _TORCH)
    elif version is not None and _TORCH not in _installed:
        _installed.append(_TORCH)
        warn_caller(
            f"tileir: torch {torch.__version__} is too old for the emulated GPU: install torch "
            f"{_OLDEST[0]}.{_OLDEST[1]} or newer",
            RuntimeWarning,
        )


def _install_features(library: str, features: dict[str, str], *arguments: object) -> None:
    """Call the functions of features, once.

    Importing its module may fail as well as the call.  Warnings come last, since they may be errors.
    """
    if features in _installed:
        return
    _installed.append(features)
    left_out: dict[str, str] = {}
    for name, feature in features.items():
        module, _, function = name.rpartition(".")
        try:
            getattr(importlib.import_module(f".{module}", __package__), function)(*arguments)
        except Exception as error:
            left_out[feature] = f"{type(error).__name__}: {error}"
            if feature == next(iter(features.values())):
                break
    for feature, reason in left_out.items():
        warn_caller(f"tileir: {library}: {feature} is not emulated ({reason})", RuntimeWarning)


_install_jax_calls: Final = functools.partial(_install_features, "cuda.tile", _JAX)


# --- CuPy ---


def _cupy_spec(name: str) -> ModuleSpec | None:
    """CuPy's interface over NumPy within a context, unless there are a CuPy and a GPU."""
    if active() is None or (found_elsewhere(name) is not None and has_gpu()):
        return None
    return ModuleSpec(name, _CupyLoader(), is_package=True)


class _CupyLoader(Loader):
    """Makes all modules of CuPy at once."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        from tileir.bridge.emulated.cupy_modules import make_modules

        make_modules()
        return sys.modules[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        pass


# --- threads ---


class _Thread(threading.local):
    contexts: int = 0
    mode: Any = None


THREAD: Final = _Thread()
"""How many contexts this thread is in, and its mode once torch is imported."""
MODE: Final[list[Callable[[], Any]]] = []
"""The class of modes, once torch is imported."""


def enter_device() -> None:
    THREAD.contexts += 1
    push_mode()


def leave_device() -> None:
    # A context may end in another thread than that in which it began.
    THREAD.contexts = max(THREAD.contexts - 1, 0)
    if not THREAD.contexts and THREAD.mode is not None:
        THREAD.mode.__exit__(None, None, None)
        THREAD.mode = None


def push_mode() -> None:
    """Give this thread the mode, if it is in a context and torch is imported."""
    if THREAD.contexts and THREAD.mode is None and MODE:
        THREAD.mode = MODE[0]()
        THREAD.mode.__enter__()


def _in_device(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        enter_device()
        try:
            return function(*arguments, **keywords)
        finally:
            leave_device()

    return call


def _start(original: Any, self: Any) -> None:
    if active() is not None:
        self.run = _in_device(self.run)
    original(self)


def _submit(original: Any, self: Any, fn: Any, /, *arguments: Any, **keywords: Any) -> Any:
    return original(self, fn if active() is None else _in_device(fn), *arguments, **keywords)
