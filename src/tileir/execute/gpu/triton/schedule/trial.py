"""The process in which a search first launches code with specialized warps: a barrier may wait forever.

It reads a kernel, a schedule and the arguments of a launch from a file, makes the launch and ends.
"""

from __future__ import annotations

import pickle
from pathlib import Path

from tileir.execute.engine.interface import LaunchOptions
from tileir.execute.gpu.triton.code import Code, Schedule, Specialization
from tileir.execute.gpu.triton.kernel import TritonKernel
from tileir.execute.gpu.triton.toolchain import TritonTarget
from tileir.ir.core import Operation
from tileir.processes.linux import end_with_parent


class _Scheduled(TritonKernel):
    def __init__(self, entry: Operation, fast: bool, schedule: Schedule) -> None:
        super().__init__(entry, {}, fast)
        self._schedule = schedule

    def compiled(self, target: TritonTarget, kind: Specialization, schedule: Schedule | None = None) -> Code:
        return super().compiled(target, kind, self._schedule)


def main(request: str) -> None:
    end_with_parent()
    entry, fast, schedule, grid, arguments = pickle.loads(Path(request).read_bytes())
    _Scheduled(entry, fast, schedule).launch(grid, arguments, LaunchOptions())
