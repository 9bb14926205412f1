"""`record`: a launch of whatever is a kernel, kept so that every moment of it can be looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

from tileir.bridge.compiling import compile, is_cutile_kernel
from tileir.bridge.launch import compiled_for, described, known_for
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
    limit: int = LIMIT,
    sanitize: bool | Literal["all"] = True,
    memory: Iterable[object] = (),
    uninitialized: Iterable[object] = (),
    output: Callable[[str], object] | None = None,
) -> Recording:
    """Launch a kernel in the interpreter and keep what it does (docs/tools/recording.md).

    The kernel is what `tileir.compile` gives or takes: a `Kernel`, a `@cuda.tile.kernel` function, a module or the path
    of one with a single kernel.  Results are in the arrays when it returns.  `limit` is how many bytes the recording
    may take.  `sanitize` looks for mistakes, which are in `Recording.findings` then; "all" looks for elements that are
    never written too; the contents of arrays in `uninitialized` do not count as written.  `schedule`, `memory` and
    `output` are as for `Kernel.launch`.  A launch that fails is recorded up to there: `Recording.failure` says why.

    >>> recording = tileir.record(kernel, 8, args)
    >>> len(recording.blocks)
    8
    """
    compiled, values, more = _launched(kernel, check_arguments(args), memory)
    options: dict[str, Any] = {"schedule": schedule, "limit": limit, "sanitize": sanitize, "output": output}
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
    compiled, values, more = _launched(kernel, check_arguments(args), memory)
    return PreparedLaunch(compiled, grid, values, schedule, limit, more, kernel)


def _launched(
    kernel: Any, arguments: tuple[object, ...], memory: Iterable[object]
) -> tuple[Kernel, tuple[object, ...], list[object]]:
    """The kernel of a launch, its arguments, and the arrays that it reaches through memory."""
    more = checked_arrays(memory, "memory") if memory else []
    if isinstance(kernel, SpecializedKernel) or is_cutile_kernel(kernel):
        function = kernel.cutile_kernel if isinstance(kernel, SpecializedKernel) else kernel
        description = described(function, arguments)
        exact = isinstance(kernel, SpecializedKernel) and kernel.kernel.exact
        kernel, _ = compiled_for(known_for(function), function, description.parameters, "interpreter", exact, False)
        return kernel, tuple(description.values), [*more, *description.memory]
    return kernel if isinstance(kernel, Kernel) else compile(kernel, backend="interpreter"), arguments, more
