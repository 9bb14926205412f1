"""A command in a process group of its own: started, limited, awaited, and ended with all that it started."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple, cast

from tileir.processes.exit_status import FINISHED, TIMED_OUT, ExitStatus, exit_status, kill_group
from tileir.processes.messages import BadMessage, FrameReader

if TYPE_CHECKING:
    from tileir.processes.child import Handler
    from tileir.processes.sandbox import Sandbox

DISCARD: Final = subprocess.DEVNULL
PIPE: Final = subprocess.PIPE

_START_SECONDS: Final = 20.0
"""How long a new Python may take until it begins: that is not the task's time."""
_DYING_SECONDS: Final = 5.0
"""Seconds in which a process that is killed is to be dead."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.001, 0.02
_MOST_PROCESSORS: Final = 64
_MOST_SECONDS, _MOST_MEMORY = 1 << 31, 1 << 62
"""The system takes numbers of 64 bits, and counts seconds in nanoseconds."""

_ENDING_SIGNALS: Final = tuple([getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)])
"""Signals that end a process that does not handle them, as `timeout` and a terminal that closes send."""


class Command:
    """A command that was started.  Leaving its `with` block ends the whole group."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        stdin: int | IO[bytes] = DISCARD,
        stdout: int | IO[bytes] = DISCARD,
        stderr: int | IO[bytes] = DISCARD,
        directory: str | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Raises `OSError` if it cannot be started."""
        streams: dict[str, Any] = {"stdin": stdin, "stdout": stdout, "stderr": stderr}
        own_session = sys.platform != "win32"
        self._process: Final[subprocess.Popen[bytes]] = subprocess.Popen(
            command, **streams, cwd=directory, env=environment, start_new_session=own_session
        )
        self.number: Final = self._process.pid
        """The number of the process."""
        self.stdin: Final = cast("IO[bytes]", self._process.stdin)
        """As `stdout`, of one that was started with a pipe."""
        self.stdout: Final = cast("IO[bytes]", self._process.stdout)
        self._lock: Final = threading.Lock()
        self._status: ExitStatus | None = None

    def limit(self, *, seconds: float = 0.0, memory: int = 0) -> None:
        """Limit its processor time and address space, and let it write no core file; 0 is no limit."""
        limits = {"RLIMIT_CORE": 0}
        if seconds:
            limits["RLIMIT_CPU"] = int(min(seconds * _MOST_PROCESSORS, _MOST_SECONDS)) + 1
        if memory:
            limits["RLIMIT_AS"] = int(min(memory, _MOST_MEMORY))
        for name, number in limits.items():
            # The system has no such limits, the process has ended, or it has a lower limit already.
            with suppress(ImportError, AttributeError, OSError, ValueError):
                resource: Any = import_module("resource")
                resource.prlimit(self.number, getattr(resource, name), (number, number))

    def wait(self, seconds: float | None = None) -> ExitStatus:
        """How it ended.  After so many seconds, or when this is interrupted, the whole group is killed."""
        deadline = None if seconds is None else time.monotonic() + seconds
        pause = _FIRST_PAUSE
        try:
            while (status := self._ended()) is None and (deadline is None or time.monotonic() <= deadline):
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
        except BaseException:
            self.end()
            raise
        return self.end()._replace(reason=TIMED_OUT) if status is None else status

    def end(self) -> ExitStatus:
        """Kill the group, close the pipes and return how it ended; one stuck in a driver is not waited for long."""
        self.kill()
        self.close()
        until = time.monotonic() + _DYING_SECONDS
        while (status := self._ended()) is None and time.monotonic() < until:
            time.sleep(_FIRST_PAUSE)
        return status if status is not None else ExitStatus("", -int(signal.SIGTERM))

    def kill(self) -> None:
        """Kill the group; any thread may do so, and a thread that waits continues."""
        with self._lock:
            if self._status is None:
                self._kill()

    def close(self) -> None:
        """Close the pipes; in a fork of this process they are all that it has of the command."""
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()

    def _ended(self) -> ExitStatus | None:
        """How it ended; None while it runs."""
        with self._lock:
            if self._status is not None:
                return self._status
            if hasattr(os, "wait4"):
                number, status, usage = os.wait4(self.number, os.WNOHANG)
                if number:
                    self._status = exit_status("", status, usage)
                    # Else Python would wait for the process itself.
                    self._process.returncode = self._status.code
            elif self._process.poll() is not None:
                self._status = ExitStatus("", self._process.returncode)
            if self._status is not None:
                # What it has started and left behind.
                self._kill()
            return self._status

    def _kill(self) -> None:
        if sys.platform != "win32":
            kill_group(self.number)
        else:
            self._process.kill()

    def __enter__(self) -> Command:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


class Outcome(NamedTuple):
    """What came of a command."""

    status: int  # Its exit status, or a negative number for the signal that ended it.
    output: str  # All that it printed.
    files: dict[str, bytes]  # The requested files that it wrote.
    peak: int  # The most bytes of memory that it had; 0 if unknown.
    timed_out: bool


def run_command(
    command: Sequence[str],
    inputs: Mapping[str, bytes] | None = None,
    outputs: tuple[str, ...] = (),
    *,
    time_limit: float,
    memory_limit: int = 0,
    without: Collection[str] = (),
) -> Outcome:
    """Run in a directory with the files `inputs`, `without` some environment variables; read `outputs` at the end."""
    with orderly_end(), tempfile.TemporaryDirectory(prefix="tileir-", ignore_cleanup_errors=True) as folder:
        for file, data in (inputs or {}).items():
            Path(folder, file).write_bytes(data)
        # The tool's own temporary files, and those of what it starts, stay with the rest.
        environment = {name: value for name, value in os.environ.items() if name not in without}
        environment.update(TMPDIR=folder, TMP=folder, TEMP=folder)
        status, printed, _ = communicate(
            command, seconds=time_limit, memory=memory_limit, directory=folder, environment=environment, together=True
        )
        files = {file: Path(folder, file).read_bytes() for file in outputs if Path(folder, file).is_file()}
        text = printed.decode("utf-8", "surrogateescape")
        return Outcome(status.code, text, files, status.peak_bytes, status.reason == TIMED_OUT)


def communicate(
    command: Sequence[str],
    data: bytes = b"",
    *,
    seconds: float | None = None,
    memory: int = 0,
    directory: str | None = None,
    environment: Mapping[str, str] | None = None,
    together: bool = False,
) -> tuple[ExitStatus, bytes, bytes]:
    """Run a command with `data` as its input; how it ended, its output and its errors, or both `together` as output.

    Files hold them, so that a command that reads and writes in any order never waits for this process."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        given.write(data)
        given.seek(0)
        streams: dict[str, Any] = {"stdin": given, "stdout": output, "stderr": output if together else errors}
        with orderly_end(), Command(command, **streams, directory=directory, environment=environment) as running:
            running.limit(seconds=seconds or 0.0, memory=memory)
            status = running.wait(seconds)
        output.seek(0)
        errors.seek(0)
        return status, output.read(), errors.read()


def run_spawned(
    command: Sequence[str], main: Callable[[], None], handle: Handler, deadline: float, sandbox: Sandbox
) -> tuple[ExitStatus, bytes]:
    """Call `main` in a new Python, where the system has no fork; how it ended, and what it printed.

    `command` calls `child.be_spawned`.  It takes a second to start, has a time limit, and no other confinement."""
    left = max(deadline - time.perf_counter(), 0.0) + _START_SECONDS
    status, found, printed = communicate(command, pickle.dumps((main, sandbox.scratch)), seconds=left)
    try:
        if any(handle(content) for content in FrameReader().add(found)):
            status = status._replace(reason=FINISHED)
    except BadMessage as error:
        status = status._replace(reason=str(error))
    return status, printed[: sandbox.output_bytes]


class _Ended(BaseException):
    """A signal of some number ends this process."""


@contextmanager
def orderly_end() -> Iterator[None]:
    """Delay a signal that ends this process until what was begun is cleaned up."""

    def end(number: int, frame: object) -> None:
        raise _Ended(number)

    # Only the main thread may set handlers, and handlers of the user stay.
    is_main = threading.current_thread() is threading.main_thread()
    ending = [each for each in _ENDING_SIGNALS if is_main and signal.getsignal(each) is signal.SIG_DFL]
    try:
        for each in ending:
            signal.signal(each, end)
        yield
    except _Ended as ended:
        # Within another one, that one ends the process.
        if ended.args[0] in ending:
            signal.signal(ended.args[0], signal.SIG_DFL)
            signal.raise_signal(ended.args[0])
        raise
    finally:
        for each in ending:
            signal.signal(each, signal.SIG_DFL)
