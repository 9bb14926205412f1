"""Work on many files in several processes: Python runs on one processor at a time."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from tileir.tools.arguments import EXIT_WRONG_INPUT
from tileir.tools.programs import ToolFailure

_Result = TypeVar("_Result")

# Files that a process gets at once.
_CHUNK = 16


def in_processes(work: Callable[[str], _Result], paths: list[str], jobs: int = 0) -> Iterator[_Result]:
    """What comes of each file, in their order; in `jobs` processes, or 0 for one for each processor."""
    jobs = min(jobs or _processors(), (len(paths) + _CHUNK - 1) // _CHUNK)
    if jobs < 2 or sys.platform == "win32" or "fork" not in multiprocessing.get_all_start_methods():
        yield from map(work, paths)
        return
    # A fork has everything imported already.
    context = multiprocessing.get_context("fork")
    sys.stdout.flush()
    sys.stderr.flush()
    with ProcessPoolExecutor(jobs, context, _ignore_interrupts) as pool:
        try:
            yield from pool.map(work, paths, chunksize=_CHUNK)
        except BrokenProcessPool:
            raise ToolFailure(
                "a process was stopped from outside, as happens when memory runs out: try '--jobs 1'", EXIT_WRONG_INPUT
            ) from None
        finally:
            # Ctrl-C, or a reader that has gone: nobody waits for the rest.
            pool.shutdown(wait=False, cancel_futures=True)


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _ignore_interrupts() -> None:
    """Ctrl-C reaches every process of a terminal; the first one ends the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
