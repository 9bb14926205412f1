"""`compile`: whatever is a program, ready to run: a module, a file, the bytes of one, a kernel of cuTile or Triton."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

from tileir.bridge.kernel_kinds import is_cutile_kernel, is_triton_kernel
from tileir.execute.errors import LaunchError
from tileir.execute.launching import kernel as launch
from tileir.execute.launching.kernel import Kernel
from tileir.interface import load
from tileir.ir.core import Operation
from tileir.ir.quoting import type_text

if TYPE_CHECKING:
    from tileir.bridge.specialized import SpecializedKernel


@overload
def compile(
    kernel: Operation | str | os.PathLike[str] | bytes | bytearray | memoryview,
    args: None = None,
    *,
    entry: str | None = None,
    backend: str = "auto",
    exact: bool = False,
    fast: bool = False,
    cpu: str | None = None,
    schedule: str = "forward",
    unchecked: bool = False,
    cubin: str | os.PathLike[str] | bytes | None = None,
    tune: bool = False,
) -> Kernel: ...


@overload
def compile(
    kernel: Any,
    args: Sequence[object],
    *,
    backend: str = "auto",
    exact: bool = False,
    fast: bool = False,
) -> SpecializedKernel: ...


def compile(
    kernel: Any,
    args: Sequence[object] | None = None,
    *,
    entry: str | None = None,
    backend: str = "auto",
    exact: bool = False,
    fast: bool = False,
    cpu: str | None = None,
    schedule: str = "forward",
    unchecked: bool = False,
    cubin: str | os.PathLike[str] | bytes | None = None,
    tune: bool = False,
) -> Kernel | SpecializedKernel:
    """Prepare a kernel for launching.

    The program is a module, the path of a file (a string is always a path; use `tileir.parse` for text), or the bytes
    of a file; text and bytecode are recognized by content.  `entry` names the kernel and may be omitted if there is
    only one.  The program may also be a `@cuda.tile.kernel` or `@triton.jit` function, with example arguments in
    `args`: the kernel is compiled for arguments of their kind (`SpecializedKernel`).

    `backend` is "cpu" (docs/internals/cpu.md), "interpreter", the name of a registered or installed one
    (docs/guide/execution.md), or "auto": the CPU backend if llvmlite is installed, and the interpreter for launches
    that only it supports, with an observer, a schedule or `sanitize`.  Matmuls of floats use the best unit of the
    machine, as accurate as a chain of fused multiply-adds; with `exact` they are that chain, in order of k, each step
    rounded once, so that the interpreter and the CPU backend give the same bits on every machine
    (docs/reference/numerics.md).  `fast` lets the CPU backend use faster functions that round differently; it
    contradicts `exact`.  `cpu` names the machine that it generates code for, by default this one.  `schedule` is the
    order of tile blocks, see `Kernel.launch`.  `unchecked` turns off the bounds checks of native code: a faulty kernel
    may then crash the process or corrupt its memory.  `cubin` is the kernel as it was compiled before, a path or bytes,
    for backend="tileiras" (docs/guide/gpu.md).  `tune` has the first launch of each kind search for the schedule that
    is fastest for it, for backend="triton".  The module is verified and copied, so changing it afterwards does not
    affect the kernel.

    >>> kernel = tileir.compile("examples/vector_add.mlir", backend="interpreter")
    >>> kernel.launch(8, (a, b, c, 1000))
    >>> float(c[0])
    2.0
    """
    others: dict[str, Any] = {"cpu": cpu, "schedule": schedule, "unchecked": unchecked, "cubin": cubin}
    if is_cutile_kernel(kernel) or is_triton_kernel(kernel):
        return _specialized(kernel, args, backend, exact, fast, {"entry": entry, **others})
    if args is not None:
        raise LaunchError(
            "arguments were given as an example, which kernels of cuTile and Triton are compiled for, and not "
            f"{type_text(kernel)}: "
            "pass entry= to name the kernel, and the arguments to launch"
        )
    if isinstance(kernel, (str, os.PathLike, bytes, bytearray, memoryview)):
        # What cannot be read is an OSError, as from `tileir.load`.
        kernel = load(kernel, verify=False)
    if isinstance(cubin, (str, os.PathLike)):
        with open(cubin, "rb") as file:
            others["cubin"] = file.read()
    elif cubin is not None and not isinstance(cubin, bytes):
        raise TypeError(f"a cubin is given by its path or its bytes, not as {type_text(cubin)}")
    return launch.compile(kernel, entry=entry, backend=backend, exact=exact, fast=fast, tune=tune, **others)


def _specialized(
    kernel: Any, args: object, backend: str, exact: bool, fast: bool, others: dict[str, object]
) -> SpecializedKernel:
    from tileir.bridge.specialized import SpecializedKernel

    if not isinstance(args, (tuple, list)):
        given = "none were given" if args is None else f"{type_text(args)} was given"
        raise LaunchError(
            "a kernel of cuTile or Triton is compiled for the kinds of its arguments, "
            f"but {given}: pass an example, as tileir.compile(kernel, (a, b, 16))"
        )
    usual = {"schedule": "forward", "unchecked": False}
    for name, value in others.items():
        if value != usual.get(name):
            raise LaunchError(f"{name} is not an option of tileir.compile for kernels of cuTile or Triton")
    return SpecializedKernel(kernel, tuple(args), backend, exact, fast)
