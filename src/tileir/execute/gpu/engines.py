"""The engines for GPUs as the choice of an engine sees them: `tileiras`, `triton`, and the faster of the two.

Each needs a GPU, and a compiler only for kernels that are not in the cache.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from tileir.execute.engine.interface import Backend, BackendRepresentation, KernelSettings, LaunchOptions
from tileir.execute.errors import LaunchError
from tileir.ir.core import Operation

if TYPE_CHECKING:
    from tileir.execute.gpu.cubin import Cubin, Resources
    from tileir.execute.gpu.engine_choice import ChosenKernel
    from tileir.execute.gpu.tileiras.kernel import TileirasKernel
    from tileir.execute.gpu.triton.kernel import TritonKernel
    from tileir.execute.memory import Region

VARIABLE: Final = "TILEIR_GPU_BACKEND"  # Names the engine for GPUs that is taken instead of the faster one.
_SHOWN: Final = (("ttir", "TTIR"), ("ttgir", "TTGIR"), ("ptx", "PTX of Triton"), ("sass", "SASS of Triton"))
_MOST_SHOWN: Final = 20_000  # Operations of a kernel that is compiled only to look at its code.


class TileirasEngine(Backend):
    name: str = "tileiras"
    summary: str = "NVIDIA GPUs, through NVIDIA's assembler"
    options: frozenset[str] = frozenset(("stream", "cubin"))
    stages: tuple[str, ...] = ("bytecode", "sass")
    dumps_anywhere: bool = True
    on_gpu: bool = True

    def missing(self) -> str:
        from tileir.execute.gpu.driver.devices import why_no_gpu
        from tileir.execute.gpu.targets import ASSEMBLER_DRIVER

        return why_no_gpu(ASSEMBLER_DRIVER)

    def facts(self) -> dict[str, str]:
        from tileir.execute.gpu.tileiras.tool import find_assembler

        try:
            tool = find_assembler()
            assembler = f"tileiras {tool.version}, {tool.path}"
        except LaunchError as error:
            assembler = f"{error.message}; kernels of the cache run without it"
        return {"assembler": assembler, **_gpu_facts()}

    def representations(self) -> list[BackendRepresentation]:
        from tileir.execute.gpu import nvidia_tools
        from tileir.execute.gpu.tileiras.tool import SASS, why_missing

        # No GPU is needed to compile for one; one of each generation is shown.
        reason = why_missing() or nvidia_tools.why_missing()
        return [
            BackendRepresentation(
                f"{SASS}{target}", f"SASS for {target}", "assembly", f"{SASS}{target}", reason, _MOST_SHOWN
            )
            for target in ("sm_80", "sm_90", "sm_100", "sm_120")
        ]

    def prepare(self, entry: Operation, globals: dict[str, Region], settings: KernelSettings) -> TileirasKernel:
        from tileir.execute.gpu.tileiras.kernel import TileirasKernel

        return TileirasKernel(entry, globals, settings.cubin)


class TritonEngine(Backend):
    name: str = "triton"
    summary: str = "NVIDIA GPUs, through Triton"
    options: frozenset[str] = frozenset(("stream", "fast", "tune"))
    stages: tuple[str, ...] = ("schedule", "tile", "ttir", "ttgir", "llvm", "ptx", "sass", "amdgcn")
    dumps_anywhere: bool = True
    on_gpu: bool = True

    def missing(self) -> str:
        from tileir.execute.gpu.driver.devices import why_no_gpu
        from tileir.execute.gpu.driver.library import OLDEST_DRIVER

        return why_no_gpu(OLDEST_DRIVER)

    def facts(self) -> dict[str, str]:
        from tileir.execute.gpu.triton.toolchain import find_triton

        gpus = _gpu_facts()
        try:
            triton = find_triton()
            found = {"compiler": f"Triton {triton.version}, {triton.folder}"}
            if not gpus:
                found["without a GPU"] = "tileir compile --backend triton, kernel.cubin and kernel.dump work"
        except LaunchError as error:
            found = {"compiler": f"{error.message}; kernels of the cache run without it"}
        return {**found, **gpus}

    def representations(self) -> list[BackendRepresentation]:
        from tileir.execute.gpu import nvidia_tools
        from tileir.execute.gpu.triton.toolchain import why_missing

        # No GPU is needed to compile for one, and nothing at all for TTIR.
        reason = why_missing()
        lacks = {"ttir": "", "sass": reason or nvidia_tools.why_missing()}
        shown = [
            (f"{stage}-{target}", f"{title} for {target}", lacks.get(stage, reason))
            for stage, title in _SHOWN
            for target in ("sm_90", "sm_100")
        ]
        return [
            BackendRepresentation(f"triton-{id}", title, "assembly", id, lack, _MOST_SHOWN) for id, title, lack in shown
        ]

    def prepare(self, entry: Operation, globals: dict[str, Region], settings: KernelSettings) -> TritonKernel:
        from tileir.execute.gpu.triton.kernel import TritonKernel

        return TritonKernel(entry, globals, settings.fast, settings.tune)


class GpuChoice(Backend):
    """What `backend="auto"` takes where several engines for GPUs can work."""

    name: str = "auto"
    title: str = "the choice between the backends for GPUs"
    options: frozenset[str] = frozenset(("stream", "fast"))
    on_gpu: bool = True

    def __init__(self, engines: list[Backend]) -> None:
        self._engines: Final = engines

    def missing(self) -> str:
        reasons = [engine.missing() for engine in self._engines]
        return "" if "" in reasons else reasons[0]

    def refusal(self, entry: Operation, options: LaunchOptions) -> str:
        return self._engines[0].refusal(entry, options)

    def prepare(self, entry: Operation, globals: dict[str, Region], settings: KernelSettings) -> ChosenKernel:
        from tileir.execute.gpu.engine_choice import ChosenKernel

        return ChosenKernel(entry, globals, settings, self._engines)


def _gpu_facts() -> dict[str, str]:
    from tileir.execute.gpu.driver.devices import devices, why_no_gpu
    from tileir.execute.gpu.driver.library import driver, version_words

    if why_no_gpu():
        return {}
    return {
        "driver": f"for CUDA {version_words(driver().version)}",
        "GPUs": ", ".join([each.words for each in devices()]),
    }


def compilers_here() -> dict[str, bool]:
    """By engine, whether its compiler is installed."""
    from tileir.execute.gpu.tileiras import tool
    from tileir.execute.gpu.triton import toolchain

    return {"tileiras": not tool.why_missing(), "triton": not toolchain.why_missing()}


# --- code without a launch: `Kernel.cubin` and `Kernel.resources` ---

COMPILERS: Final = ("tileiras", "triton")


class CodeRequest(NamedTuple):
    """What to compile; no target is the GPU of this machine."""

    entry: Operation
    target: str | None = None
    opt_level: int = 3
    lineinfo: bool = False
    host: str = ""
    timeout: float | None = None
    fast: bool = False
    ready: bytes | None = None  # A given cubin: it is the answer, unless the request is for another one.


def compiled(backend: str, request: CodeRequest) -> tuple[Cubin, Resources]:
    """The cubin of a kernel, and what it takes of a GPU; diagnostics of the compiler become warnings."""
    if backend not in COMPILERS:
        raise LaunchError(f"'{backend}' makes no cubins: choose the backend {' or '.join(COMPILERS)}")
    return _by_triton(request) if backend == "triton" else _by_assembler(request)


def _by_assembler(request: CodeRequest) -> tuple[Cubin, Resources]:
    from tileir.execute.gpu.tileiras.kernel import cubin_for
    from tileir.execute.gpu.tileiras.tool import TIME_LIMIT, AssemblyOptions

    limit = TIME_LIMIT if request.timeout is None else request.timeout
    options = AssemblyOptions(request.opt_level, request.lineinfo, request.host, time_limit=limit)
    found = cubin_for(request.entry, request.target, request.ready, options, warns=True)
    return found, found.resources


def _by_triton(request: CodeRequest) -> tuple[Cubin, Resources]:
    from tileir.execute.gpu.cubin import warn_of
    from tileir.execute.gpu.driver.devices import target_here
    from tileir.execute.gpu.triton.code import CodeOptions, Limits
    from tileir.execute.gpu.triton.compiler import make
    from tileir.execute.gpu.triton.toolchain import NOT_RUN, triton_target

    if request.opt_level != 3 or request.host:
        raise LaunchError("opt_level and host are the assembler's: compile with backend='tileiras'")
    target = triton_target(target_here() if request.target is None else request.target)
    if target.is_amd:
        raise LaunchError(f"there are no cubins for {target.name}: {NOT_RUN}; 'tileir compile' makes their code")
    limits = Limits() if request.timeout is None else Limits(request.timeout)
    made = make(request.entry, target, CodeOptions(request.fast, request.lineinfo), limits)
    assert made.code is not None and made.resources is not None, "it is code for NVIDIA"
    warn_of(made.diagnostics)
    return made.code.cubin, made.resources
