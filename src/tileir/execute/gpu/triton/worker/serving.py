"""The process that runs Triton: it reads requests, and writes answers, until nobody asks any more.

It is started as a program, by the path of this file.  Requests come on its standard input and answers go to its
standard output; both are put elsewhere at once, and what Triton, LLVM and ptxas print goes to the file that is its
standard error.  A message is what `marshal` makes of plain values.  The arguments of the program are the directory that
goes when this process ends, and where modules are.

It ends when its input does.  While it compiles it does not look, so the system ends it then.
"""

from __future__ import annotations

import marshal
import os
import select
import signal
import sys
from collections.abc import Callable
from typing import IO, Any, Final

MADE: Final = "made"
REFUSED: Final = "refused"
BROKEN: Final = "broken"
"""Whether Triton made code, output why not, or could not be imported."""

_IDLE_SECONDS: Final = 600
"""How long it waits for a request: it has some hundred megabytes, and another is started when one comes."""


def _main(directory: str, folders: list[str]) -> None:
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    # Not where this file is: modules in its folder have names that others have too.
    sys.path[:] = folders
    _serve(requests, answers)
    # Who started this may have been killed.
    import shutil

    shutil.rmtree(directory, ignore_errors=True)


def _serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    stages, problem = _imported()
    poll = select.poll()
    poll.register(requests, select.POLLIN)
    if stages is not None and not poll.poll(0):
        # Nobody waits yet.
        _answer_to(stages.warm)
    while poll.poll(_IDLE_SECONDS * 1000):
        try:
            asked, seconds, memory = marshal.load(requests)
        except EOFError:
            return
        os.ftruncate(2, 0)
        _limit(seconds, memory)
        _end_with(requests.fileno(), True)
        answer = (BROKEN, problem) if stages is None else _answer_to(stages.compile, *asked)
        _end_with(requests.fileno(), False)
        answers.write(marshal.dumps(answer))
        answers.flush()


def _imported() -> tuple[Any, str]:
    """Triton's stages; or why they cannot be imported."""
    try:
        from tileir.execute.gpu.triton.worker.stages import Libdevice, Stages

        stages = Stages(in_parts=True)
        Libdevice(stages.library).install()
        return stages, ""
    except (Exception, SystemExit) as error:
        return None, f"{type(error).__name__}: {error}"


def _answer_to(work: Callable[..., Any], *asked: Any) -> tuple[Any, ...]:
    try:
        return (MADE, *(work(*asked) or ()), _output())
    except MemoryError:
        # What ends a process for want of memory ends it here too.
        os.abort()
    except (Exception, SystemExit) as error:
        return (REFUSED, type(error).__name__, str(error), _output())


def _output() -> str:
    """What was printed since the request came."""
    sys.stdout.flush()
    sys.stderr.flush()
    size = os.fstat(2).st_size
    return os.pread(2, size, 0).decode("utf-8", "replace")


def _limit(seconds: float, memory: int) -> None:
    """No more memory and time for what comes now, and no file with all memory when it crashes.

    Who asks counts the seconds as well; here it is the processor's time, should nobody count any more.
    """
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF)
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_AS: memory,
        resource.RLIMIT_CPU: int(used.ru_utime + used.ru_stime + seconds) + 2,
    }
    for kind, number in wanted.items():
        most = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, (number if most == resource.RLIM_INFINITY else min(number, most), most))


def _end_with(pipe: int, does: bool) -> None:
    """Have the system end this process, and what it started, when the other end of a pipe is closed."""
    import fcntl

    if not hasattr(fcntl, "F_SETOWN") or not hasattr(os, "O_ASYNC"):
        return
    signal.signal(signal.SIGIO, signal.SIG_DFL if does else signal.SIG_IGN)
    fcntl.fcntl(pipe, fcntl.F_SETOWN, -os.getpgrp())
    flags = fcntl.fcntl(pipe, fcntl.F_GETFL)
    fcntl.fcntl(pipe, fcntl.F_SETFL, flags | os.O_ASYNC if does else flags & ~os.O_ASYNC)


if __name__ == "__main__":
    _main(sys.argv[1], sys.argv[2:])
