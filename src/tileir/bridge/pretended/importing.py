"""torch, CuPy and cuTile's calls from JAX look for contexts once they are imported, which may be before or after.

`import cupy` within a context gives CuPy's interface met with NumPy, unless there are a CuPy and a GPU.
"""

from __future__ import annotations

import ctypes
import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final

from tileir.bridge.contexts import active
from tileir.bridge.pretended.features import install
from tileir.forking import NO_FORK


def _hook_torch(torch: Any) -> None:
    # Something else by its name is left alone.
    if hasattr(torch, "__version__"):
        from tileir.bridge.pretended.hooks import hook

        hook()


def _hook_symmetric_memory(module: Any) -> None:
    features = (("symmetric memory", "distributed.hook_symmetric_memory"),)
    version = getattr(sys.modules.get("torch"), "__version__", "")
    if version:
        install("torch", version, features, module)


def _hook_jax_calls(module: Any) -> None:
    version = getattr(sys.modules.get("cuda.tile"), "__version__", "")
    install("cuda.tile", version, (("a call from JAX", "jax_calls.hook_jax_calls"),), module)


_HOOKS: Final[dict[str, Callable[[Any], None]]] = {
    "torch": _hook_torch,
    "torch.distributed._symmetric_memory": _hook_symmetric_memory,
    "cuda.tile.jax._jax": _hook_jax_calls,
}


def prepare() -> None:
    """Hook what is imported already, and watch the imports to come."""
    for name, hook in _HOOKS.items():
        module = sys.modules.get(name)
        # One that is being imported right now is left alone.
        if module is not None and not getattr(getattr(module, "__spec__", None), "_initializing", False):
            hook(module)
    if _FINDER not in sys.meta_path:
        with NO_FORK:
            if _FINDER not in sys.meta_path:
                sys.meta_path.insert(0, _FINDER)


class _Finder(MetaPathFinder):
    """Finds what the others find, and has its loader do one thing more at the end."""

    def __init__(self) -> None:
        self.is_looking: bool = False

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if (name not in _HOOKS and name not in ("cupy", "cupyx")) or self.is_looking:
            return None
        if name not in _HOOKS:
            if active() is None or (self._found(name) is not None and has_gpu()):
                return None
            return ModuleSpec(name, _PretendedLoader(), is_package=True)
        spec = self._found(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec

    def _found(self, name: str) -> ModuleSpec | None:
        """What the other finders find."""
        self.is_looking = True
        try:
            return importlib.util.find_spec(name)
        finally:
            self.is_looking = False


def has_gpu() -> bool:
    """Whether the CUDA driver finds a device."""
    try:
        driver = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
        count = ctypes.c_int(0)
        return driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0
    except (OSError, AttributeError):
        return False


class _Loader(Loader):
    def __init__(self, original: Any) -> None:
        self.original: Any = original

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        found: ModuleType | None = self.original.create_module(spec)
        return found

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        module.__loader__ = self.original
        if spec is not None:
            spec.loader = self.original
        self.original.exec_module(module)
        _HOOKS[module.__name__](module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.original, name)


class _PretendedLoader(Loader):
    """Makes all modules of CuPy at once."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        from tileir.bridge.pretended.cupy.modules import make_modules

        make_modules()
        return sys.modules[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        pass


_FINDER = _Finder()
