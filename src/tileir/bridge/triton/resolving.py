"""The compiled kernel of a requested launch: Triton binds the arguments, tunes, and compiles, as for any."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from tileir.bridge.contexts import ENTERED, innermost
from tileir.bridge.frames import BINDER, is_compile_error, is_triton_refusal
from tileir.bridge.triton.arguments import as_triton_takes_them
from tileir.bridge.triton.entry_points import hook_triton
from tileir.bridge.triton.frontend import triton
from tileir.bridge.triton.kernel import REQUESTED, Launched, TritonKernel
from tileir.bridge.triton.recognition import KnownLaunches, launches_of
from tileir.execute.errors import LaunchError
from tileir.ir.quoting import type_text


def resolved(kernel: Any, grid: Any, arguments: Sequence[object], keywords: Mapping[str, object]) -> Launched:
    """The kernel that a launch runs, its grid, and all arguments of the kernel, with constants."""
    if isinstance(kernel, TritonKernel):
        if keywords:
            raise LaunchError(f"{kernel.name} is compiled: it takes no {', '.join(keywords)}")
        return kernel, grid, tuple(arguments)
    module = triton()
    if not isinstance(kernel, module.runtime.jit.KernelInterface):
        raise LaunchError(f"{type_text(kernel)} cannot be launched as a Triton kernel: decorate it with @triton.jit")
    if module.knobs.runtime.interpret:
        raise LaunchError("TRITON_INTERPRET selects Triton's interpreter: unset it to run kernels here")
    hook_triton(module)
    requested: list[Launched] = []
    before = REQUESTED.set(requested)
    extents = (grid,) if isinstance(grid, int) else grid
    try:
        kernel.run(*as_triton_takes_them(arguments), grid=extents, warmup=False, **keywords)
    except Exception as error:
        if is_compile_error(error) or not is_triton_refusal(error):
            raise
        raise LaunchError(_refusal(kernel, error)) from None
    finally:
        REQUESTED.reset(before)
    return requested[-1]


def _refusal(kernel: Any, error: Exception) -> str:
    """Why Triton refuses the arguments or options of a launch; its message is mostly one of Python's."""
    while hasattr(kernel, "fn"):
        kernel = kernel.fn
    reason = str(error.args[0] if error.args else error).replace(f"{BINDER}() ", "")
    if isinstance(error, KeyError) and not reason.startswith("Keyword argument"):
        reason = f"Triton has no elements of type {reason}"
    elif reason.startswith("unhashable type"):
        reason += ", which no constant can be: pass a tuple"
    return f"{kernel.__name__} cannot be launched: {reason}"


def resolved_launches(kernel: Any) -> KnownLaunches | None:
    """The known launches of a kernel, for requests; None where Triton chooses among kernels."""
    jit: Any = sys.modules["triton"].runtime.jit
    if type(kernel) is not jit.JITFunction or kernel.pre_run_hooks:
        return None
    return launches_of(kernel, innermost() if ENTERED else None, True)
