"""Work on many files in several processes: Python runs on one processor at a time.

The processes are forks, which have everything imported already.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any, TypeVar

from tileir.processors import processors
from tileir.tools.arguments import EXIT_WRONG_INPUT, ToolFailure

_Result = TypeVar("_Result")

# Files that a process takes at a time.
_CHUNK = 8
# What the forks do with a path; a function made by a command cannot be sent to a process.
_work: list[Callable[[str], Any]] = []


def in_processes(work: Callable[[str], _Result], paths: list[str], jobs: int = 0) -> Iterator[_Result]:
    """What comes of each file, in their order; in `jobs` processes, or 0 for one for each processor."""
    jobs = min(jobs or processors(), (len(paths) + _CHUNK - 1) // _CHUNK)
    if jobs < 2 or not hasattr(os, "fork"):
        yield from map(work, paths)
        return
    _work[:] = [work]
    # Ctrl-C reaches every process of a terminal; the first one ends the others.
    pool = ProcessPoolExecutor(jobs, get_context("fork"), signal.signal, (signal.SIGINT, signal.SIG_IGN))
    try:
        yield from pool.map(_done, paths, chunksize=_CHUNK)
    except BrokenProcessPool:
        message = "a process was stopped from outside, as happens when memory runs out: try '--jobs 1'"
        raise ToolFailure(message, EXIT_WRONG_INPUT) from None
    finally:
        # After Ctrl-C, or when the reader of the output has gone, nobody waits for what is under way.
        for process in list((pool._processes or {}).values()):
            process.kill()
        pool.shutdown(cancel_futures=True)


def _done(path: str) -> Any:
    return _work[0](path)
