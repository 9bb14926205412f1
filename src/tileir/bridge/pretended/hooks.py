"""Puts everything in its place in torch, once.

Much of it uses private names of torch, which change.  So each feature is installed apart from the others: one that does
not fit the version of torch is left out with a warning, and `import torch` works.
"""

from __future__ import annotations

import re
from typing import Final

import torch

from tileir.bridge.pretended.features import install
from tileir.execute.errors import warn_caller
from tileir.forking import NO_FORK

_OLDEST: Final = (2, 6)
"""The oldest version of torch that is supported."""
_FEATURES: Final = (
    ("a CUDA device", "moving.hook_moving"),
    # torch collects its functions for the default device now: they must be its own.
    ("torch.set_default_device", "defaults.hook_default_device"),
    ("a CUDA device", "factories.hook_factories"),
    ("a CUDA device", "modules.hook_modules"),
    ("torch within kernels and backward functions of your own", "tensors.hook_dispatch"),
    ("torch.nested", "factories.hook_nested"),
    ("accumulation in f32 and TF32", "accumulation.hook_accumulation"),
    ("printing and copying of tensors", "presenting.hook_presenting"),
    ("torch.save", "presenting.hook_files"),
    ("torch.multiprocessing", "sharing.hook_sharing"),
    ("torch.cuda.FloatTensor", "tensor_types.hook_tensor_types"),
    ("torch.nn.DataParallel", "collectives.hook_collectives"),
    ("torch.autograd.Function", "gradients.hook_functions"),
    ("Tensor.register_hook", "gradients.hook_hooks"),
    ("torch.autograd.gradcheck", "gradients.hook_gradcheck"),
    ("torch.utils.checkpoint", "gradients.hook_saved_tensors"),
    ("torch.library", "custom_operators.hook_custom_operators"),
    ("torch.func", "transforms.hook_transforms"),
    ("torch.jit.script", "transforms.hook_scripting"),
    ("torch.autocast", "autocast.hook_autocast"),
    ("pinned memory", "pinned.hook_pinned"),
    ("the choice of an attention kernel", "operators.hook_operators"),
    ("torch.distributed", "distributed.hook_distributed"),
    ("torch.cuda", "cuda_module.hook_cuda"),
    ("torch.Generator", "defaults.hook_random_numbers"),
    ("torch.cuda.CUDAGraph", "graphs.hook_graphs"),
    ("torch.accelerator", "libraries.hook_libraries"),
    ("torch.profiler", "libraries.hook_profiling"),
    ("a function of torch imported by name before", "factories.replace_imported"),
)
_hooked: Final[list[bool]] = []


def hook() -> None:
    if _hooked:
        return
    with NO_FORK:
        if _hooked:
            return
        _hooked.append(True)
        version = re.match(r"(\d+)\.(\d+)", str(torch.__version__))
        if version is not None and (int(version[1]), int(version[2])) < _OLDEST:
            warn_caller(
                f"tileir: torch {torch.__version__} is too old for the emulated GPU: install torch "
                f"{_OLDEST[0]}.{_OLDEST[1]} or newer",
                RuntimeWarning,
            )
            return
        install("torch", torch.__version__, _FEATURES)
