"""The engine of NVIDIA's assembler, as the choice of an engine sees it.

It needs a GPU.  The assembler it needs for kernels that are not in the cache: on a machine where nothing can be
installed, cubins that were made elsewhere are enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tileir.execute.engine.interface import Engine, EngineForm, KernelSettings
from tileir.ir.core import Operation

if TYPE_CHECKING:
    from tileir.execute.gpu.tileiras.kernel import TileirasKernel
    from tileir.execute.memory import Region


class TileirasEngine(Engine):
    name: str = "tileiras"
    title: str = "the engine 'tileiras'"
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
        from tileir.execute.errors import LaunchError
        from tileir.execute.gpu.driver.devices import devices, why_no_gpu
        from tileir.execute.gpu.driver.library import driver, version_words
        from tileir.execute.gpu.tileiras.tool import find_assembler

        try:
            tool = find_assembler()
            assembler = f"tileiras {tool.version}, {tool.path}"
        except LaunchError as error:
            assembler = f"{error.message}; kernels of the cache run without it"
        found = {"assembler": assembler}
        if not why_no_gpu():
            found["driver"] = f"for CUDA {version_words(driver().version)}"
            found["GPUs"] = ", ".join([each.words for each in devices()])
        return found

    def forms(self) -> list[EngineForm]:
        from tileir.execute.gpu import disassembly
        from tileir.execute.gpu.tileiras.options import MOST_SHOWN, SASS, SHOWN_TARGETS
        from tileir.execute.gpu.tileiras.tool import why_missing

        # No GPU is needed to compile for one.
        reason = why_missing() or disassembly.why_missing()
        return [
            EngineForm(f"{SASS}{target}", f"SASS for {target}", "assembly", f"{SASS}{target}", reason, MOST_SHOWN)
            for target in SHOWN_TARGETS
        ]

    def prepare(self, entry: Operation, globals: dict[str, Region], settings: KernelSettings) -> TileirasKernel:
        from tileir.execute.gpu.tileiras.kernel import TileirasKernel

        return TileirasKernel(entry, globals, settings.cubin)
