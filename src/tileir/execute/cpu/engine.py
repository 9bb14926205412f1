"""The CPU backend, as the choice of an engine sees it; `kernel.py` has its kernels."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from tileir.execute.engine.interface import (
    FORWARD,
    Backend,
    BackendRepresentation,
    KernelSettings,
    LaunchOptions,
    PreparedKernel,
)
from tileir.execute.errors import raise_if_interrupted
from tileir.ir.core import Operation

if TYPE_CHECKING:
    from tileir.execute.memory import Region

_MOST_COMPILED: Final = 20_000  # Operations of a kernel that LLVM is given only to look at what it makes of them.


class CpuEngine(Backend):
    name: str = "cpu"
    title: str = "the CPU backend"
    summary: str = "native code on all processors, through LLVM"
    options: frozenset[str] = frozenset(("exact", "fast", "cpu", "sanitize", "threads", "unchecked"))
    stages: tuple[str, ...] = ("tiles", "loops", "llvm", "llvm-opt", "asm")
    overlaps: bool = True

    def missing(self) -> str:
        return "" if _is_installed() else "it needs llvmlite: pip install 'tileir[cpu]'"

    def facts(self) -> dict[str, str]:
        from tileir.execute.cpu.runtime import parallel_launch, target

        machine, llvm = target.host(), target.llvm()
        return {
            "llvmlite": llvm.binding_version,
            "LLVM": ".".join([str(number) for number in llvm.version]),
            "machine": f"{machine.name}, vectors of {machine.vector_bytes} bytes",
            "threads": str(parallel_launch.default_threads()),
        }

    def representations(self) -> list[BackendRepresentation]:
        reason = self.missing()
        return [
            BackendRepresentation("tiles", "Tile program of the CPU backend", "tile", "tiles", reason),
            BackendRepresentation("loops", "Loops of the CPU backend", "loops", "loops", reason),
            BackendRepresentation("llvm", "LLVM IR", "llvm", "llvm", reason),
            BackendRepresentation("llvm-opt", "LLVM IR, optimized", "llvm", "llvm-opt", reason, _MOST_COMPILED),
            BackendRepresentation("assembly", "Assembly of the CPU backend", "assembly", "asm", reason, _MOST_COMPILED),
        ]

    def suits(self, entry: Operation, arguments: tuple[object, ...], options: LaunchOptions) -> bool:
        # Compiled code finds only a part of what the sanitizer looks for, so it has to be requested.
        return options.observer is None and not options.sanitize and options.schedule == FORWARD

    def prepare(self, entry: Operation, globals: dict[str, Region], settings: KernelSettings) -> PreparedKernel:
        try:
            from tileir.execute.cpu.kernel import CpuKernel
            from tileir.execute.cpu.runtime.target import host
        except ImportError:
            raise_if_interrupted("tileir.execute.cpu.kernel", "CpuKernel")
            raise
        return CpuKernel(entry, globals, settings.fast, host(settings.cpu), settings.exact)


@cache
def _is_installed() -> bool:
    return find_spec("llvmlite") is not None
