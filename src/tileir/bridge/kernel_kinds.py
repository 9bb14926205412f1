"""Whether a value is a kernel of cuTile or of Triton, without importing either: who has a kernel has imported it."""

from __future__ import annotations

import sys
from types import FunctionType
from typing import Any


def is_cutile_kernel(value: object) -> bool:
    tile: Any = sys.modules.get("cuda.tile")
    return tile is not None and isinstance(value, tile.kernel)


def is_triton_kernel(value: object) -> bool:
    """Whether this is a `@triton.jit` function, one that is tuned or has heuristics, or what tileir compiled of one."""
    jit: Any = sys.modules.get("triton.runtime.jit")
    compiled: Any = sys.modules.get("tileir.bridge.triton.kernel")
    if jit is not None and isinstance(value, jit.KernelInterface):
        return True
    return compiled is not None and isinstance(value, compiled.TritonKernel)


def kernel_function(kernel: object) -> FunctionType | None:
    """The Python function of a kernel; None if it has none that is known."""
    function: Any = getattr(kernel, "_pyfunc", None)
    if is_triton_kernel(kernel):
        # Tuning, heuristics and compiled kernels are wrapped around it.
        function = kernel
        while function is not None and not isinstance(function, FunctionType):
            function = getattr(function, "fn", getattr(function, "src", None))
    return function if isinstance(function, FunctionType) else None


def kernel_name(kernel: object) -> str:
    """The name of a kernel, as its script has it; empty if it has none."""
    function = kernel_function(kernel)
    return str(getattr(kernel, "name", "")) if function is None else function.__name__
