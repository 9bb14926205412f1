"""A process of one of NVIDIA's tools: what it says, and an end to it in time.

It has a time, an amount of memory, and a directory for what it writes, its own temporary files among them, which goes
when it ends.  It is a group of processes, since it starts others; all of them end when its time is up, or when whoever
waits for it is interrupted or ended by a signal.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any, Final

_FIRST_PAUSE: Final = 0.001
_LONGEST_PAUSE: Final = 0.02
_KIBIBYTE: Final = 1024
_MOST_PROCESSORS: Final = 64
_MOST_SECONDS: Final = 1 << 31
_MOST_MEMORY: Final = 1 << 62
"""The system takes numbers of 64 bits, and counts seconds in nanoseconds."""

_ENDING_SIGNALS: Final = tuple([getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)])
"""What ends a process that does not care, as `timeout` and a terminal that closes do."""


class Outcome:
    """What came of a command."""

    __slots__ = ("files", "output", "peak", "seconds", "status", "timed_out")

    def __init__(
        self, status: int, output: str, files: dict[str, bytes], seconds: float, peak: int, timed_out: bool
    ) -> None:
        self.status: int = status
        """Its exit status, or a negative number for the signal that ended it."""
        self.output: str = output
        """All that it said."""
        self.files: dict[str, bytes] = files
        """What it wrote, of the files that were asked for."""
        self.seconds: float = seconds
        self.peak: int = peak
        """The most bytes of memory that it had; 0 if unknown."""
        self.timed_out: bool = timed_out


def run_command(
    command: list[str],
    inputs: dict[str, bytes] | None = None,
    outputs: tuple[str, ...] = (),
    *,
    time_limit: float,
    memory_limit: int = 0,
    without: Collection[str] = (),
) -> Outcome:
    """Run a command in a directory that has files of `inputs`; `outputs` are read when it ends.

    Variables of the environment that are named in `without` are kept from it.
    """
    with _orderly_end():
        directory = tempfile.mkdtemp(prefix="tileir-")
        try:
            for name, data in (inputs or {}).items():
                with open(os.path.join(directory, name), "wb") as file:
                    file.write(data)
            said = os.path.join(directory, "said")
            with open(said, "wb") as sink:
                status, seconds, peak, timed_out = _run(command, directory, sink, time_limit, memory_limit, without)
            text = _read(said).decode("utf-8", "surrogateescape")
            found = {name: os.path.join(directory, name) for name in outputs}
            files = {name: _read(path) for name, path in found.items() if os.path.isfile(path)}
            return Outcome(status, text, files, seconds, peak, timed_out)
        finally:
            shutil.rmtree(directory, ignore_errors=True)


class _Ended(BaseException):
    """A signal ends this process."""

    def __init__(self, number: int) -> None:
        self.number: int = number


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
        signal.signal(ended.number, signal.SIG_DFL)
        signal.raise_signal(ended.number)
        raise
    finally:
        for each in ending:
            signal.signal(each, signal.SIG_DFL)


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _run(
    command: list[str], directory: str, sink: Any, time_limit: float, memory_limit: int, without: Collection[str]
) -> tuple[int, float, int, bool]:
    # The tool's own temporary files, and those of what it starts, stay with the rest.
    environment = {name: value for name, value in os.environ.items() if name not in without}
    environment.update(TMPDIR=directory, TMP=directory, TEMP=directory)
    begun = time.monotonic()
    process = subprocess.Popen(
        command,
        cwd=directory,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=sink,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    ended = False
    try:
        _limit(process.pid, time_limit, memory_limit)
        pause = _FIRST_PAUSE
        while True:
            found = _ended(process)
            if found is not None:
                ended = True
                status, peak = found
                return status, time.monotonic() - begun, peak, False
            if time.monotonic() - begun > time_limit:
                return -int(signal.SIGTERM), time.monotonic() - begun, 0, True
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
    finally:
        if not ended:
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
    """No more memory than this for a process and what it starts, and no file with its memory when it crashes.

    Should this process be killed, and nobody wait for that one any more, it ends by a limit that it does not reach
    otherwise.
    """
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
    """End a process and all that it has started."""
    try:
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    except OSError:
        pass
    process.wait()
