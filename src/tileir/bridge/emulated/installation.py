"""Installs the emulated device in torch, CuPy and cuTile's JAX module, when they are imported.

Part of it uses private names of torch, which change.  So each feature is installed apart from the others: one that does
not fit the version of torch is left out with one warning, and `import torch` works.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Sequence
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final

from tileir.bridge.contexts import active, has_gpu
from tileir.bridge.emulated.threads import hook_threads
from tileir.bridge.hooks import after_import, found_elsewhere, provide
from tileir.execute.errors import warn_caller
from tileir.execute.gpu.gpus import DEFAULT, Gpu, gpu_named
from tileir.forking import NO_FORK

_OLDEST: Final = (2, 6)  # The oldest version of torch that is supported.
_FEATURES: Final = (
    ("a CUDA device", "device.hook_device"),
    ("a CUDA device", "tensor_methods.hook_methods"),
    ("torch.set_default_device", "device.hook_default_device"),
    ("printing of tensors", "tensor_methods.hook_text"),
    ("DLPack", "tensor_methods.hook_dlpack"),
    ("torch.save", "tensor_methods.hook_files"),
    ("torch.multiprocessing", "tensor_methods.hook_sharing"),
    ("torch.cuda.FloatTensor", "tensor_methods.hook_tensor_types"),
    ("torch.nested", "tensor_methods.hook_nested"),
    ("accumulation in f32 and TF32", "arithmetic.hook_accumulation"),
    ("torch.autocast", "arithmetic.hook_autocast"),
    ("torch.autograd.Function", "callbacks.hook_functions"),
    ("Tensor.register_hook", "callbacks.hook_hooks"),
    ("torch.utils.checkpoint", "callbacks.hook_saved_tensors"),
    ("torch.func", "callbacks.hook_transforms"),
    ("torch.jit.script", "callbacks.hook_scripting"),
    ("torch.library", "callbacks.hook_operators"),
    ("torch.cuda", "torch_cuda.hook_cuda"),
    ("torch.Generator", "torch_cuda.hook_random_numbers"),
    ("torch.accelerator", "torch_cuda.hook_accelerator"),
    ("torch.version", "torch_cuda.hook_libraries"),
    ("torch.profiler", "torch_cuda.hook_profiling"),
    ("torch.cuda.CUDAGraph", "graphs.hook_graphs"),
    ("torch.distributed", "distributed.hook_distributed"),
    ("torch.nn.DataParallel", "distributed.hook_data_parallel"),
)
_installed: Final[list[str]] = []


def install(gpu: str = DEFAULT) -> Gpu:
    """Have torch and CuPy, imported before or later, see a GPU within contexts; returns the GPU of that name."""
    found = gpu_named(gpu)
    with NO_FORK:
        hook_threads()
        after_import("torch", _install_torch)
        after_import("torch.distributed._symmetric_memory", _install_symmetric_memory)
        after_import("cuda.tile.jax._jax", _install_jax_calls)
        for name in ("cupy", "cupyx"):
            provide(name, _cupy_spec)
    return found


def _install_torch(torch: Any) -> None:
    # Something else by its name is left alone.
    if "torch" in _installed or not hasattr(torch, "__version__"):
        return
    _installed.append("torch")
    version = re.match(r"(\d+)\.(\d+)", str(torch.__version__))
    if version is not None and (int(version[1]), int(version[2])) < _OLDEST:
        warn_caller(
            f"tileir: torch {torch.__version__} is too old for the emulated GPU: install torch "
            f"{_OLDEST[0]}.{_OLDEST[1]} or newer",
            RuntimeWarning,
        )
        return
    _install_features("torch", torch.__version__, _FEATURES)


def _install_symmetric_memory(module: Any) -> None:
    # Only where torch has the device.
    if "tileir.bridge.emulated.distributed" in sys.modules and "symmetric memory" not in _installed:
        _installed.append("symmetric memory")
        features = (("symmetric memory", "distributed.hook_symmetric_memory"),)
        _install_features("torch", sys.modules["torch"].__version__, features, module)


def _install_jax_calls(module: Any) -> None:
    version = getattr(sys.modules.get("cuda.tile"), "__version__", "")
    _install_features("cuda.tile", version, (("a call from JAX", "jax_calls.hook_jax_calls"),), module)


def _install_features(library: str, version: object, features: Sequence[tuple[str, str]], *arguments: object) -> None:
    """Call the function of each feature; without the first there is no other.

    Importing its module may fail as well as the call.  Warnings come last, since they may be errors.
    """
    left_out: dict[str, str] = {}
    for feature, name in features:
        module, _, function = name.partition(".")
        try:
            getattr(importlib.import_module(f"tileir.bridge.emulated.{module}"), function)(*arguments)
        except Exception as error:
            left_out[feature] = f"{type(error).__name__}: {error}"
            if feature == features[0][0]:
                break
    for feature, reason in left_out.items():
        warn_caller(f"tileir: {library} {version}: {feature} is not emulated ({reason})", RuntimeWarning)


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
