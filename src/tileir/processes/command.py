"""A command in a process of its own, with limits of time and memory and a temporary directory.

Its whole process group ends when the time is up, or when the caller is interrupted or ended by a signal.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

_FIRST_PAUSE, _LONGEST_PAUSE = 0.001, 0.02
_DYING_SECONDS: Final = 5.0
"""Seconds in which a process that is killed is to be dead."""
_KIBIBYTE: Final = 1024
_MOST_PROCESSORS: Final = 64
_MOST_SECONDS, _MOST_MEMORY = 1 << 31, 1 << 62
"""The system takes numbers of 64 bits, and counts seconds in nanoseconds."""
_PRINTED: Final = "printed"

_ENDING_SIGNALS: Final = tuple([getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)])
"""What ends a process that does not care, as `timeout` and a terminal that closes do."""


class Outcome(NamedTuple):
    """What came of a command."""

    status: int  # Its exit status, or a negative number for the signal that ended it.
    output: str  # All that it printed.
    files: dict[str, bytes]  # What it wrote, of the files that were asked for.
    peak: int  # The most bytes of memory that it had; 0 if unknown.
    timed_out: bool


def run_command(
    command: list[str],
    inputs: dict[str, bytes] | None = None,
    outputs: tuple[str, ...] = (),
    *,
    time_limit: float,
    memory_limit: int = 0,
    without: Collection[str] = (),
) -> Outcome:
    """Run in a directory with the files `inputs`, `without` some environment variables; read `outputs` at the end."""
    with _orderly_end(), tempfile.TemporaryDirectory(prefix="tileir-", ignore_cleanup_errors=True) as folder:
        directory = Path(folder)
        for file, data in (inputs or {}).items():
            (directory / file).write_bytes(data)
        # The tool's own temporary files, and those of what it starts, stay with the rest.
        environment = {name: value for name, value in os.environ.items() if name not in without}
        environment.update(TMPDIR=folder, TMP=folder, TEMP=folder)
        output = directory / _PRINTED
        with output.open("wb") as sink:
            process = subprocess.Popen(
                command,
                cwd=directory,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            status, peak = _awaited(process, time_limit, memory_limit) or (-int(signal.SIGTERM), -1)
        text = output.read_bytes().decode("utf-8", "surrogateescape")
        files = {file: (directory / file).read_bytes() for file in outputs if (directory / file).is_file()}
        return Outcome(status, text, files, max(peak, 0), peak < 0)


class _Ended(BaseException):
    """A signal of some number ends this process."""


@contextmanager
def _orderly_end() -> Iterator[None]:
    """Have a signal that ends this process do so when what was begun is over: nobody else would clean up."""

    def end(number: int, frame: object) -> None:
        raise _Ended(number)

    # Only the main thread may ask, and who has a way of their own with a signal keeps it.
    is_main = threading.current_thread() is threading.main_thread()
    ending = [each for each in _ENDING_SIGNALS if is_main and signal.getsignal(each) is signal.SIG_DFL]
    try:
        for each in ending:
            signal.signal(each, end)
        yield
    except _Ended as ended:
        signal.signal(ended.args[0], signal.SIG_DFL)
        signal.raise_signal(ended.args[0])
        raise
    finally:
        for each in ending:
            signal.signal(each, signal.SIG_DFL)


def _awaited(process: subprocess.Popen[bytes], time_limit: float, memory_limit: int) -> tuple[int, int] | None:
    """The exit status of a process and the most memory it had; None if its time is up, and it is ended."""
    begun = time.monotonic()
    found: tuple[int, int] | None = None
    pause = _FIRST_PAUSE
    try:
        _limit(process.pid, time_limit, memory_limit)
        while (found := _ended(process)) is None and time.monotonic() - begun <= time_limit:
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        return found
    finally:
        if found is None:
            _end(process)


def _ended(process: subprocess.Popen[bytes]) -> tuple[int, int] | None:
    """The exit status of a process and the most memory it had; None while it runs."""
    if not hasattr(os, "wait4"):
        status = process.poll()
        return None if status is None else (status, 0)
    pid, code, usage = os.wait4(process.pid, os.WNOHANG)
    if pid == 0:
        return None
    process.returncode = os.waitstatus_to_exitcode(code)
    unit = 1 if sys.platform == "darwin" else _KIBIBYTE
    return process.returncode, usage.ru_maxrss * unit


def _limit(process: int, seconds: float, memory: int) -> None:
    """Limit the memory of a process and its children, dump no core, and end it if this process is killed."""
    try:
        import resource

        limit: Any = resource.prlimit  # type: ignore[attr-defined,unused-ignore]
    except (ImportError, AttributeError):
        # Where the system has no such limits.
        return
    processor = int(min(seconds * _MOST_PROCESSORS, _MOST_SECONDS)) + 1
    wanted = [(resource.RLIMIT_CORE, 0), (resource.RLIMIT_CPU, processor)]
    wanted += [(resource.RLIMIT_AS, int(min(memory, _MOST_MEMORY)))] if memory else []
    for kind, number in wanted:
        try:
            limit(process, kind, (number, number))
        except (OSError, ValueError):
            # The process has ended, or has a lower limit already: the others count all the same.
            continue


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    # A process in a call of a driver may not end now; nobody waits for it then.
    with suppress(subprocess.TimeoutExpired):
        process.wait(_DYING_SECONDS)
