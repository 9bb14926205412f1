"""The instructions of a cubin, to read, by NVIDIA's disassembler where it is installed."""

from __future__ import annotations

from typing import Final

from tileir.execute.errors import CompilationError, MissingDependencyError
from tileir.execute.gpu.command import run_command
from tileir.execute.gpu.cubin import Cubin
from tileir.execute.gpu.nvidia_packages import find_tool

_SECONDS: Final = 60.0
_FILE: Final = "kernel.cubin"


def disassembled(cubin: Cubin) -> str:
    """What `nvdisasm` prints of a kernel."""
    tool = find_tool("nvdisasm")
    if not tool:
        raise MissingDependencyError(
            "NVIDIA's disassembler, nvdisasm, is not installed: pip install nvidia-cuda-nvdisasm"
        )
    outcome = run_command([tool, "-c", _FILE], {_FILE: cubin.data}, time_limit=_SECONDS)
    if outcome.status != 0:
        how = "did not finish" if outcome.timed_out else f"ended with status {outcome.status}"
        raise CompilationError(f"NVIDIA's disassembler {how}: {outcome.output.strip()}")
    return outcome.output
