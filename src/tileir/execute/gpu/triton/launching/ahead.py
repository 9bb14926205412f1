"""Code for launches that are made elsewhere: compiled ahead, on a machine without a GPU."""

from __future__ import annotations

from collections.abc import Sequence

from tileir.execute.gpu.triton.code import Code
from tileir.execute.gpu.triton.compiling import compile_kernel
from tileir.execute.gpu.triton.launch_views import launch_views
from tileir.execute.gpu.triton.options import CodeOptions
from tileir.execute.gpu.triton.targets import triton_target
from tileir.execute.gpu.triton.variants import Classifier
from tileir.ir.core import Operation


def compile_ahead(entry: Operation, target: str, values: Sequence[int | float], fast: bool = False) -> Code:
    """The code that a launch with these values takes, addresses for pointers; it is in the cache then.

    Of an address only its last bits matter: memory of GPUs begins at multiples of 256.
    """
    types = [parameter.type for parameter in entry.regions[0].blocks[0].arguments]
    kind = Classifier(types, launch_views(entry)).specialization(values, triton_target(target).has_tma)
    return compile_kernel(entry, target, CodeOptions(fast, specialization=kind))
