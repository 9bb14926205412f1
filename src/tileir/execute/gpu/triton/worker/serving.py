"""The process that runs Triton: it reads requests, and writes answers, until nobody asks any more.

It is started as a program, by the path of this file.  Requests come on its standard input and answers go to its
standard output; both are put elsewhere at once, and what Triton, LLVM and ptxas print goes to the file that is its
standard error.  A message is its length, and what `marshal` makes of plain values.  The first says where
modules are, and which directory goes when this process ends.

It ends when its input does.  While it compiles it does not look, so the system ends it then.
"""

from __future__ import annotations

import marshal
import os
import select
import signal
import sys
from collections.abc import Callable
from typing import Any, Final

LENGTH: Final = 8
"""Bytes that say how long a message is."""
MADE: Final = "made"
REFUSED: Final = "refused"
BROKEN: Final = "broken"
"""Whether Triton made code, output why not, or could not be imported."""

_IDLE_SECONDS: Final = 600
"""How long it waits for a request: it has some hundred megabytes, and another is started when one comes."""


def message(value: Any) -> bytes:
    """A message, as it is sent."""
    data = marshal.dumps(value)
    return len(data).to_bytes(LENGTH, "little") + data


def _main() -> None:
    requests, answers = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    first = _received(requests)
    if first is None:
        return
    folders, directory = first
    # Not where this file is: modules in its folder have names that others have too.
    sys.path[:] = folders
    _serve(requests, answers)
    # Who started this may have been killed.
    import shutil

    shutil.rmtree(directory, ignore_errors=True)


def _serve(requests: int, answers: int) -> None:
    stages, problem = _imported()
    poll = select.poll()
    poll.register(requests, select.POLLIN)
    if stages is not None and not poll.poll(0):
        # Nobody waits yet.
        _answer_to(stages.warm)
    while poll.poll(_IDLE_SECONDS * 1000):
        request = _received(requests)
        if request is None:
            return
        asked, seconds, memory = request
        os.ftruncate(2, 0)
        _limit(seconds, memory)
        _end_with(requests, True)
        answer = (BROKEN, problem) if stages is None else _answer_to(stages.compile, *asked)
        _end_with(requests, False)
        _send(answers, message(answer))


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


def _received(pipe: int) -> Any:
    """The next message; None at the end of all."""
    length = _read(pipe, LENGTH)
    size = int.from_bytes(length, "little")
    data = _read(pipe, size) if len(length) == LENGTH else b""
    return marshal.loads(data) if data and len(data) == size else None


def _read(pipe: int, size: int) -> bytes:
    parts: list[bytes] = []
    while size:
        part = os.read(pipe, size)
        if not part:
            break
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _send(pipe: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(pipe, rest) :]


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
    _main()
