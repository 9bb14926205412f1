"""The engine of Triton, as the choice of an engine sees it.

It needs a GPU.  Triton it needs for kernels that are not in the cache: on a machine where nothing can be installed,
code that was made elsewhere is enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tileir.execute.engine.interface import Engine, EngineForm, KernelSettings
from tileir.ir.core import Operation

if TYPE_CHECKING:
    from tileir.execute.gpu.triton.launching.kernel import TritonKernel
    from tileir.execute.memory import Region


_SHOWN: Final = (("ttir", "TTIR"), ("ttgir", "TTGIR"), ("ptx", "PTX of Triton"), ("sass", "SASS of Triton"))
_SHOWN_TARGETS: Final = ("sm_90", "sm_100")
_MOST: Final = 20_000
"""Operations of a kernel that is compiled only to look at its code."""


class TritonEngine(Engine):
    name: str = "triton"
    title: str = "the engine 'triton'"
    summary: str = "NVIDIA GPUs, through Triton"
    options: frozenset[str] = frozenset(("stream", "fast", "tune"))
    stages: tuple[str, ...] = ("tile", "ttir", "ttgir", "llvm", "ptx", "sass", "amdgcn")
    dumps_anywhere: bool = True
    on_gpu: bool = True

    def missing(self) -> str:
        from tileir.execute.gpu.driver.devices import why_no_gpu
        from tileir.execute.gpu.driver.library import OLDEST_DRIVER

        return why_no_gpu(OLDEST_DRIVER)

    def facts(self) -> dict[str, str]:
        from tileir.execute.errors import LaunchError
        from tileir.execute.gpu.driver.devices import devices, why_no_gpu
        from tileir.execute.gpu.driver.library import driver, version_words
        from tileir.execute.gpu.triton.versions import find_triton

        has_gpu = not why_no_gpu()
        try:
            triton = find_triton()
            found = {"compiler": f"Triton {triton.version}, {triton.folder}"}
            if not has_gpu:
                found["without a GPU"] = "tileir compile --backend triton, kernel.cubin and kernel.dump work"
        except LaunchError as error:
            found = {"compiler": f"{error.message}; kernels of the cache run without it"}
        if has_gpu:
            found["driver"] = f"for CUDA {version_words(driver().version)}"
            found["GPUs"] = ", ".join([each.words for each in devices()])
        return found

    def forms(self) -> list[EngineForm]:
        from tileir.execute.gpu import disassembly
        from tileir.execute.gpu.triton.versions import why_missing

        # No GPU is needed to compile for one, and nothing at all for TTIR.
        reason = why_missing()
        lacks = {"ttir": "", "sass": reason or disassembly.why_missing()}
        return [
            EngineForm(
                f"triton-{stage}-{target}",
                f"{title} for {target}",
                "assembly",
                f"{stage}-{target}",
                lacks.get(stage, reason),
                _MOST,
            )
            for stage, title in _SHOWN
            for target in _SHOWN_TARGETS
        ]

    def prepare(self, entry: Operation, globals: dict[str, Region], settings: KernelSettings) -> TritonKernel:
        from tileir.execute.gpu.triton.launching.kernel import TritonKernel

        return TritonKernel(entry, globals, settings.fast, settings.tune)
