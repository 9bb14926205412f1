"""`cost`: what a launch costs on a target, for whatever is a kernel."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from tileir.analyze.cost.estimating import estimate
from tileir.analyze.cost.result import Cost
from tileir.analyze.cost.targets import DEFAULT, GpuTarget, Target, target_named
from tileir.bridge.compiling import compile
from tileir.bridge.kernel_kinds import is_cutile_kernel, is_triton_kernel
from tileir.bridge.specialized import SpecializedKernel
from tileir.execute.arguments.binding import Pointer
from tileir.execute.launching.entries import check_arguments, check_grid, check_number
from tileir.execute.launching.kernel import Kernel
from tileir.execute.locations.wording import script_name
from tileir.ir.core import Operation
from tileir.ir.quoting import type_text


def cost(
    kernel: Kernel | SpecializedKernel | Operation | str | os.PathLike[str] | bytes | Any,
    grid: int | tuple[int, ...],
    args: Sequence[object] = (),
    *,
    target: str = DEFAULT,
    entry: str | None = None,
    assemble: bool = True,
    measure: bool = False,
) -> Cost:
    """What a launch costs on a GPU, which need not be here, or on this processor: bytes, operations, the roofline,
    occupancy, waves, and an estimated time with its reasons (docs/tools/cost.md).

    The kernel is one that `tileir.compile` made, or what it takes: a module, a file, bytes, or a kernel of cuTile or
    Triton; `entry` names one of several in a module.  Of an array only `nbytes` matters, so any object with that
    attribute may replace one; kernels of cuTile and Triton need arrays.  `target` is a GPU, as "h200", or "cpu".  With
    `assemble`, and where NVIDIA's assembler is installed, the kernel is compiled to see what it takes of the GPU.  With
    `measure` it is launched too, on the arrays that are given, if the target is here.

    >>> tileir.cost(kernel, 8, args, target="h200").bytes_moved
    12000
    """
    arguments = check_arguments(args)
    chosen = target_named(target)
    made: Any = kernel
    if isinstance(kernel, (Operation, str, os.PathLike, bytes, bytearray, memoryview)):
        made = compile(kernel, entry=entry)
    elif is_cutile_kernel(kernel) or is_triton_kernel(kernel):
        made = compile(kernel, arguments)
    elif not isinstance(kernel, (Kernel, SpecializedKernel)):
        known = "pass a kernel, a module, a file, or a kernel of cuTile or Triton"
        raise TypeError(f"the cost of {type_text(kernel)} is not known: {known}")
    values: tuple[object, ...] = arguments
    if isinstance(made, SpecializedKernel):
        values = made.values(arguments)
        made = made.kernel
    check_number(made.entry, values)
    names = [script_name(given.name) if isinstance(given, Pointer) else "" for given in values]
    arrays = [given.array if isinstance(given, Pointer) else given for given in values]
    found = estimate(made.entry, check_grid(grid), arrays, chosen, names, assemble)
    if measure:
        _measure(found, made, chosen, grid, values)
    return found


def _measure(found: Cost, kernel: Kernel, target: Target, grid: Any, values: tuple[object, ...]) -> None:
    """Measure the launch on the target of the estimate; if that is not possible, a note explains why."""
    backend = "cpu"
    if isinstance(target, GpuTarget):
        backend = "tileiras"
        from tileir.execute.gpu.driver.devices import device, why_no_gpu

        missing = why_no_gpu()
        here = "" if missing else device(0).name
        if here != target.title:
            found.notes.append(f"not measured: {missing or f'the GPU of this machine is a {here}'}")
            return
    found.measured = Kernel(kernel.entry, backend=backend).time(grid, values).median
