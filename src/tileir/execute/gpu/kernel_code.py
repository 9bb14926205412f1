"""The code of a kernel for a GPU, as who has no use for a launch asks for it: `Kernel.cubin` and `Kernel.resources`."""

from __future__ import annotations

from typing import Final, NamedTuple

from tileir.execute.errors import AssemblerWarning, LaunchError, warn_caller
from tileir.execute.gpu.cubin import Cubin, Resources, cubin_of
from tileir.execute.gpu.driver.devices import target_here
from tileir.execute.gpu.targets import target_named
from tileir.ir.core import Operation

COMPILERS: Final = ("tileiras", "triton")


class CodeRequest(NamedTuple):
    """What is asked for."""

    entry: Operation
    target: str | None = None
    """None for the GPU of this machine."""
    opt_level: int = 3
    lineinfo: bool = False
    host: str = ""
    time_limit: float | None = None
    fast: bool = False
    ready: bytes | None = None
    """A cubin that was given: it is the answer, unless another is asked for."""


def compiled(backend: str, request: CodeRequest) -> tuple[Cubin, Resources]:
    """The cubin of a kernel, and what it takes of a GPU; what there is to say about it is a warning."""
    if backend not in COMPILERS:
        raise LaunchError(f"'{backend}' makes no cubins: choose the backend {' or '.join(COMPILERS)}")
    return _by_triton(request) if backend == "triton" else _by_assembler(request)


def _by_assembler(request: CodeRequest) -> tuple[Cubin, Resources]:
    from tileir.execute.gpu.tileiras.cached import make_cubin
    from tileir.execute.gpu.tileiras.options import TIME_LIMIT, AssemblyOptions

    limit = TIME_LIMIT if request.time_limit is None else request.time_limit
    options = AssemblyOptions(request.opt_level, request.lineinfo, request.host, time_limit=limit)
    target = request.target
    if request.ready is not None and options == AssemblyOptions():
        ready = cubin_of(request.entry, request.ready)
        if target is None or target_named(target) == ready.target:
            return ready, ready.resources
    found = make_cubin(request.entry, target_here() if target is None else target, options, warns=True)
    return found, found.resources


def _by_triton(request: CodeRequest) -> tuple[Cubin, Resources]:
    from tileir.execute.gpu.triton.making import make
    from tileir.execute.gpu.triton.options import CodeOptions, Limits
    from tileir.execute.gpu.triton.targets import NOT_RUN, triton_target

    if request.opt_level != 3 or request.host:
        raise LaunchError("opt_level and host are the assembler's: compile with backend='tileiras'")
    target = triton_target(target_here() if request.target is None else request.target)
    if target.is_amd:
        raise LaunchError(f"there are no cubins for {target.name}: {NOT_RUN}; 'tileir compile' makes their code")
    limits = Limits() if request.time_limit is None else Limits(request.time_limit)
    made = make(request.entry, target, CodeOptions(request.fast, request.lineinfo), limits)
    assert made.code is not None and made.resources is not None, "it is code for NVIDIA"
    for each in made.diagnostics:
        if each.severity == "warning":
            warn_caller(each.render(), AssemblerWarning)
    return made.code.cubin, made.resources
