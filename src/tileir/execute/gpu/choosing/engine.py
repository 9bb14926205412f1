"""The choice between the engines for GPUs, as an engine: what `backend="auto"` takes where several can work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tileir.execute.engine.interface import Engine, KernelSettings, LaunchOptions
from tileir.ir.core import Operation

if TYPE_CHECKING:
    from tileir.execute.gpu.choosing.kernel import ChosenKernel
    from tileir.execute.memory import Region

VARIABLE: Final = "TILEIR_GPU_ENGINE"
"""Names the engine for GPUs that is taken instead."""


class GpuChoice(Engine):
    name: str = "auto"
    title: str = "the choice between the engines for GPUs"
    options: frozenset[str] = frozenset(("stream", "fast"))
    on_gpu: bool = True

    def __init__(self, engines: list[Engine]) -> None:
        self._engines: Final = engines

    def missing(self) -> str:
        reasons = [engine.missing() for engine in self._engines]
        return "" if "" in reasons else reasons[0]

    def refusal(self, entry: Operation, options: LaunchOptions) -> str:
        return self._engines[0].refusal(entry, options)

    def prepare(self, entry: Operation, globals: dict[str, Region], settings: KernelSettings) -> ChosenKernel:
        from tileir.execute.gpu.choosing.kernel import ChosenKernel

        return ChosenKernel(entry, globals, settings, self._engines, _versions)


def _versions() -> tuple[str, ...]:
    """What tells that the compilers are what they were."""
    from tileir.execute.gpu.tileiras.tool import installed_assembler
    from tileir.execute.gpu.triton.versions import installed_triton

    assembler, triton = installed_assembler(), installed_triton()
    return ("" if assembler is None else assembler.look, "" if triton is None else triton.look)


def compilers_here() -> dict[str, bool]:
    """By engine, whether what compiles for it is installed."""
    from tileir.execute.gpu.tileiras import tool
    from tileir.execute.gpu.triton import versions

    return {"tileiras": not tool.why_missing(), "triton": not versions.why_missing()}
