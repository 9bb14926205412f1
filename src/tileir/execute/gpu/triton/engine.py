"""The engine of Triton, as the choice of an engine sees it.

It needs a GPU.  Triton it needs for kernels that are not in the cache: on a machine where nothing can be installed,
code that was made elsewhere is enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tileir.execute.engine import Engine, KernelSettings
from tileir.ir.core import Operation

if TYPE_CHECKING:
    from tileir.execute.gpu.triton.kernel import TritonKernel
    from tileir.execute.memory import Region


class TritonEngine(Engine):
    name: str = "triton"
    title: str = "the engine 'triton'"
    summary: str = "NVIDIA GPUs, through Triton"
    options: frozenset[str] = frozenset(("stream", "fast"))
    stages: tuple[str, ...] = ("ttir", "ttgir", "llvm", "ptx", "sass")
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

        try:
            triton = find_triton()
            compiler = f"Triton {triton.version}, {triton.folder}"
        except LaunchError as error:
            compiler = f"{error.message}; kernels of the cache run without it"
        found = {"compiler": compiler}
        if not why_no_gpu():
            found["driver"] = f"for CUDA {version_words(driver().version)}"
            found["GPUs"] = ", ".join([each.words for each in devices()])
        return found

    def prepare(self, entry: Operation, globals: dict[str, Region], settings: KernelSettings) -> TritonKernel:
        from tileir.execute.gpu.triton.kernel import TritonKernel

        return TritonKernel(entry, globals, settings.fast)
