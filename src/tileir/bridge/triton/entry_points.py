"""Triton's functions that need a GPU or its driver, and what they do in a context or where a launch is requested."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tileir.bridge.contexts import ENTERED, LAUNCHES, Emulation, active, innermost
from tileir.bridge.hooks import hook, replace
from tileir.bridge.triton import frontend
from tileir.bridge.triton.driver import EmulatedDriver
from tileir.bridge.triton.frontend import compile_options, source_of, ttir_of
from tileir.bridge.triton.kernel import PERFORM, REQUESTED, TritonKernel
from tileir.bridge.triton.recognition import launches_of, variant_of

_DRIVER: Final = EmulatedDriver()
_HOOKED: Final = "_tileir_hooked"


def hook_triton(
    triton: Any, perform: Callable[[Emulation, tuple[int, ...], TritonKernel, tuple[object, ...]], None] | None = None
) -> None:
    """Have Triton's compiler, and its questions about the GPU, come by here; `perform` carries out launches."""
    from triton.compiler import compiler
    from triton.runtime import jit
    from triton.runtime.driver import driver

    frontend.triton()
    if perform is not None:
        PERFORM[:] = [perform]
    hook(compiler, "compile", _compile)
    drivers: Any = type(driver)
    if not hasattr(drivers, _HOOKED):
        setattr(drivers, _HOOKED, True)
        original = drivers.active
        drivers.active = property(lambda self: _DRIVER if _stands_in() else original.fget(self))
        replace(jit.JITFunction, "run", _run)
        cuda: Any = triton.backends.backends["nvidia"].driver
        is_active = cuda.is_active
        cuda.is_active = staticmethod(lambda: _stands_in() or is_active())
        # Scripts that inductor writes make a driver themselves.
        cuda.__new__ = staticmethod(lambda cls: _DRIVER if _stands_in() else object.__new__(cls))
        replace(drivers, "set_active", lambda set, self, other: None if other is _DRIVER else set(self, other))


def _stands_in() -> bool:
    """Whether there is no GPU for Triton's driver."""
    return REQUESTED.get() is not None or active() is not None


def _compile(original: Any, src: Any, target: Any = None, options: Any = None, **more: Any) -> Any:
    context = innermost() if ENTERED else None
    if context is None and REQUESTED.get() is None:
        return original(src, target=target, options=options, **more)
    from triton.runtime.driver import driver

    target = driver.active.get_current_target() if target is None else target
    source = source_of(src, target)
    chosen = compile_options(target, {**(options or {}), **source.parse_options()})
    return TritonKernel(source, target, chosen, ttir_of(source, target, chosen))


def _run(original: Any, self: Any, *arguments: Any, grid: Any, warmup: bool, **keywords: Any) -> Any:
    """A launch of a `@triton.jit` function."""
    context = innermost() if ENTERED else None
    requested = REQUESTED.get()
    known = launches_of(self, context, requested is not None)
    variant = None
    if context is not None and requested is None and not warmup:
        variant = variant_of(self, context)
    if variant is None:
        return original(self, *arguments, grid=grid, warmup=warmup, **keywords)
    found: Any = known.launch(grid, arguments, keywords, variant)
    if found is not None:
        LAUNCHES.here += 1
        return found
    found = original(self, *arguments, grid=grid, warmup=warmup, **keywords)
    known.learn(found, arguments, keywords, variant)
    return found
