"""`record`: a launch of any kind of kernel, kept so that every step of it can be examined."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

from tileir.bridge.compiling import compile
from tileir.bridge.kernel_kinds import is_cutile_kernel, is_triton_kernel
from tileir.bridge.launch import prepared
from tileir.bridge.specialized import SpecializedKernel
from tileir.execute.arguments.binding import checked_arrays
from tileir.execute.launching.entries import check_arguments
from tileir.execute.launching.kernel import Kernel
from tileir.execute.recording import recording
from tileir.execute.recording.recording import LIMIT, PreparedLaunch, Recording


def record(
    kernel: Any,
    grid: int | tuple[int, ...],
    args: Sequence[object] = (),
    *,
    schedule: str | None = None,
    memory_limit: int = LIMIT,
    sanitize: bool | Literal["all"] = True,
    memory: Iterable[object] = (),
    uninitialized: Iterable[object] = (),
    output: Callable[[str], object] | None = None,
) -> Recording:
    """Launch a kernel in the interpreter and keep what it does (docs/tools/recording.md).

    The kernel is what `tileir.compile` returns or takes: a `Kernel`, a `@cuda.tile.kernel` or `@triton.jit` function, a
    module or the path of one with a single kernel.  Results are in the arrays when it returns.  `memory_limit` is how
    many bytes the recording may take.  `sanitize` puts errors of the kernel into `Recording.findings`; "all" also
    reports elements that are never written; the contents of arrays in `uninitialized` do not count as written.
    `schedule`, `memory` and `output` are as for `Kernel.launch`.  A launch that fails is recorded up to the failure:
    `Recording.failure` is its message.

    >>> recording = tileir.record(kernel, 8, args)
    >>> len(recording.blocks)
    8
    """
    compiled, values, more = _launched(kernel, check_arguments(args), memory, bool(sanitize))
    options: dict[str, Any] = {"schedule": schedule, "limit": memory_limit, "sanitize": sanitize, "output": output}
    options |= {"memory": more, "uninitialized": uninitialized, "source": kernel}
    found: Recording = recording.record(compiled, grid, values, **options)
    return found


def prepared_launch(
    kernel: Any,
    grid: int | tuple[int, ...],
    args: Sequence[object] = (),
    *,
    schedule: str | None = None,
    limit: int = LIMIT,
    memory: Iterable[object] = (),
) -> PreparedLaunch:
    """A launch of whatever is a kernel, to be recorded step by step."""
    compiled, values, more = _launched(kernel, check_arguments(args), memory, False)
    return PreparedLaunch(compiled, grid, values, schedule, limit, more, kernel)


def _launched(
    kernel: Any, arguments: tuple[object, ...], memory: Iterable[object], sanitizes: bool
) -> tuple[Kernel, tuple[object, ...], list[object]]:
    """The kernel of a launch, its arguments, and the arrays that it reaches through memory."""
    more = checked_arrays(memory, "memory") if memory else []
    if isinstance(kernel, SpecializedKernel) or is_cutile_kernel(kernel) or is_triton_kernel(kernel):
        function = kernel.function if isinstance(kernel, SpecializedKernel) else kernel
        exact = isinstance(kernel, SpecializedKernel) and kernel.kernel.exact
        kernel, description = prepared(function, arguments, "interpreter", exact, False, sanitizes=sanitizes)
        return kernel, tuple(description.values), [*more, *description.memory]
    return kernel if isinstance(kernel, Kernel) else compile(kernel, backend="interpreter"), arguments, more
