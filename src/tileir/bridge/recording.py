"""`record`: a launch of whatever is a kernel, kept so that every moment of it can be looked at."""

from __future__ import annotations

from typing import Any

from tileir.bridge.compiling import compile, is_cutile_kernel
from tileir.bridge.launch import compiled_for, described, known_for
from tileir.bridge.specialized import SpecializedKernel
from tileir.execute.errors import LaunchError
from tileir.execute.launch import Kernel
from tileir.execute.recording import recording
from tileir.execute.recording.recording import Recording


def record(kernel: Any, grid: int | tuple[int, ...], *arguments: object, **options: Any) -> Recording:
    """Launch a kernel in the interpreter and keep what it does (docs/recording.md).

    The kernel is what `tileir.compile` gives or takes: a `Kernel`, a `@cuda.tile.kernel` function, a module or the path
    of one with a single kernel.  Results are in the arrays when it returns.  Options: `schedule`, `memory` and `output`
    as for `Kernel.launch`; `sanitize`, by default true, looks for mistakes, which are then in `Recording.findings`;
    `limit` is how many bytes the recording may take, by default 1 GiB.  A launch that fails is recorded up to there.
    """
    if isinstance(kernel, SpecializedKernel) or is_cutile_kernel(kernel):
        function = kernel.cutile_kernel if isinstance(kernel, SpecializedKernel) else kernel
        if "memory" in options:
            raise LaunchError("memory is not an option of tileir.record for cuTile kernels: pass a list of arrays")
        description = described(function, arguments)
        backend, exact = ("interpreter", False)
        compiled, _ = compiled_for(known_for(function), function, description.parameters, backend, exact, False)
        return recording.record(compiled, grid, *description.values, memory=description.memory, **options)
    if not isinstance(kernel, Kernel):
        kernel = compile(kernel, backend="interpreter")
    found: Recording = recording.record(kernel, grid, *arguments, **options)
    return found
