"""Work on many files in several processes: Python runs on one processor at a time.

The processes are forks, which have everything imported already; each writes what comes of its files into a pipe.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
from collections.abc import Callable, Iterator
from typing import BinaryIO, TypeVar

from tileir.processors import processors
from tileir.tools.arguments import EXIT_FINE, EXIT_WRONG_INPUT, ToolFailure

_Result = TypeVar("_Result")

# Files that a process takes one after the other, before it is the next one's turn.
_CHUNK = 8


def in_processes(work: Callable[[str], _Result], paths: list[str], jobs: int = 0) -> Iterator[_Result]:
    """What comes of each file, in their order; in `jobs` processes, or 0 for one for each processor."""
    jobs = min(jobs or processors(), (len(paths) + _CHUNK - 1) // _CHUNK)
    if jobs < 2 or not hasattr(os, "fork"):
        yield from map(work, paths)
        return
    # What is waiting to be written would be written by each process.
    sys.stdout.flush()
    sys.stderr.flush()
    children: list[int] = []
    pipes: list[BinaryIO] = []
    try:
        for number in range(jobs):
            mine = [path for index, path in enumerate(paths) if index // _CHUNK % jobs == number]
            reading, writing = os.pipe()
            pipes.append(open(reading, "rb"))  # noqa: SIM115
            child = os.fork()
            if child == 0:
                _be_child(work, mine, writing)
            children.append(child)
            os.close(writing)
        for index in range(len(paths)):
            yield pickle.load(pipes[index // _CHUNK % jobs])
    except (EOFError, pickle.UnpicklingError):
        raise ToolFailure(
            "a process was stopped from outside, as happens when memory runs out: try '--jobs 1'", EXIT_WRONG_INPUT
        ) from None
    finally:
        # After Ctrl-C, or when the reader of the output has gone, nobody waits for what is under way.
        for child in children:
            os.kill(child, signal.SIGKILL)
        for child in children:
            os.waitpid(child, 0)
        for pipe in pipes:
            pipe.close()


def _be_child(work: Callable[[str], _Result], paths: list[str], writing: int) -> None:
    """Do the work and end; what is on the stack belongs to the parent."""
    status = EXIT_WRONG_INPUT
    try:
        # Ctrl-C reaches every process of a terminal; the first one ends the others.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with open(writing, "wb") as pipe:
            for path in paths:
                pickle.dump(work(path), pipe)
                pipe.flush()
        status = EXIT_FINE
    except BrokenPipeError:
        # The parent has gone.
        pass
    except BaseException:
        # A defect of the tool: as it would look without other processes.
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(status)
