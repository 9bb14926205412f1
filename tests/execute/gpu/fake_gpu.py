"""An engine for the GPU that the fake driver has."""

from __future__ import annotations

from typing import Any

from tests.execute.gpu.fake_cuda import TextCubin, sizes_of

import tileir
from tileir.execute.gpu.launcher import GpuKernel


class FakeGpu(tileir.backends.Backend):
    """An engine whose code the fake driver takes."""

    name = "fake_gpu"
    on_gpu = True
    options = frozenset(("stream",))

    def prepare(self, entry: Any, globals: Any, settings: Any) -> GpuKernel:
        sizes = sizes_of(entry)
        return GpuKernel(entry, {}, lambda target: TextCubin(entry.symbol_name, sizes, target))
