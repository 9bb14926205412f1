"""What is to be explored: a kernel, a grid and what it is launched with, from whatever names them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tileir.bridge.compiling import compile
from tileir.bridge.launch import described, no_arguments
from tileir.bridge.specialized import SpecializedKernel
from tileir.execute.errors import BlockId
from tileir.execute.launching.entries import check_grid
from tileir.execute.launching.kernel import Kernel
from tileir.ir.core import Operation


@dataclass(slots=True)
class Launch:
    """A launch that has not happened yet; `values` is None if it is not known what with, and then it never does."""

    kernel: Kernel
    grid: BlockId
    values: Sequence[object] | None
    memory: Sequence[object]
    title: str
    source: object = None
    """What the variables of the kernel are found from."""

    @property
    def module(self) -> Operation:
        """The program that the kernel is in."""
        top = self.kernel.entry
        while top.parent_operation is not None:
            top = top.parent_operation
        return top


def launch_of(
    kernel: Any, grid: int | tuple[int, ...], args: Sequence[object] | None, entry: str | None = None, title: str = ""
) -> Launch:
    """The launch of what `tileir.compile` takes or makes, or of a cuTile kernel; without `args`, one that never runs.

    `title` is the name of the program, where it has none of its own.
    """
    if args is not None and not isinstance(args, (tuple, list)):
        raise no_arguments(args)
    extents = check_grid(grid)
    if isinstance(kernel, (str, os.PathLike)):
        title = title or os.path.basename(os.fspath(kernel))
    if isinstance(kernel, (Operation, str, os.PathLike, bytes, bytearray, memoryview)):
        kernel = compile(kernel, entry)
    elif not isinstance(kernel, (Kernel, SpecializedKernel)):
        kernel = compile(kernel, tuple(args or ()))
    if isinstance(kernel, SpecializedKernel):
        function = kernel.cutile_kernel
        values = kernel.values(*(args or ()))
        memory = described(function, tuple(args or ())).memory
        named = title or _script_of(function) or kernel.name
        return Launch(kernel.kernel, extents, values, memory, named, function)
    parameters = kernel.entry.regions[0].blocks[0].arguments
    # Nothing was said of the arguments of a kernel that has some: it cannot run, but it can be read.
    unknown = args is None or (not args and parameters)
    return Launch(kernel, extents, None if unknown else tuple(args or ()), (), title or kernel.name)


def _script_of(function: Any) -> str:
    """The file that a cuTile kernel is written in."""
    code = getattr(function._annotated_function.pyfunc, "__code__", None)
    return os.path.basename(code.co_filename) if code is not None else ""
