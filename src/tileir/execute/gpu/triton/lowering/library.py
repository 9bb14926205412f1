"""Names of functions in the libraries that come with Triton: libdevice for NVIDIA's GPUs, OCML for AMD's."""

from __future__ import annotations

from tileir.execute.gpu.triton.lowering.context import Lowering


def symbol(lowering: Lowering, name: str, element: str) -> str:
    """The function of f32 or f64: `__nv_expf`, `__nv_exp`; `__ocml_exp_f32`."""
    if lowering.has_ptx:
        return f"__nv_{name}{'f' if element == 'f32' else ''}"
    return f"__ocml_{name}_{element}"
