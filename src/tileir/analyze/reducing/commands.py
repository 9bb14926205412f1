"""Tests that are commands: exit status 0 says that a candidate is interesting.

A command runs in a process group of its own, which is killed as a whole when its time is over or its answer is not
needed any more.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, NamedTuple

from tileir.analyze.reducing.search import Cancelled, Tested
from tileir.processes.child import TIMED_OUT, ExitStatus, kill_group

PLACE = "{}"
"""What stands for the path of the candidate in a command."""

# Of what a command prints so much is kept, to be shown when the original is not interesting.
_SHOWN = 4000


class Ended(NamedTuple):
    """How a command ended: its exit status (negative for a signal, None if it took too long) and what it printed."""

    status: int | None
    output: str

    @property
    def words(self) -> str:
        return ExitStatus(TIMED_OUT if self.status is None else "", self.status or 0).message


class Command:
    """A command that is run on files; any number of threads may run it."""

    def __init__(self, words: list[str], timeout: float | None, extension: str) -> None:
        self._words: list[str] = words
        self._timeout: float | None = timeout
        self._name: str = "candidate" + extension
        self._lock: threading.Lock = threading.Lock()
        self._running: dict[int, subprocess.Popen[bytes]] = {}
        self._cancelled: set[int] = set()

    def run(self, data: bytes) -> Ended:
        """Run the command on a file with some contents; raises `Cancelled` if `cancel` ended it."""
        with tempfile.TemporaryDirectory(prefix="tileir-reduce-") as directory:
            path = os.path.join(directory, self._name)
            with open(path, "wb") as file:
                file.write(data)
            with open(os.path.join(directory, "output"), "w+b") as output:
                status = self._status(self._command(path), output.fileno())
                output.seek(0, os.SEEK_END)
                output.seek(max(0, output.tell() - _SHOWN))
                return Ended(status, output.read().decode("utf-8", "replace"))

    def _command(self, path: str) -> list[str]:
        if any(PLACE in word for word in self._words):
            return [word.replace(PLACE, path) for word in self._words]
        return [*self._words, path]

    def _status(self, command: list[str], output: int) -> int | None:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=sys.platform != "win32",
        )
        with self._lock:
            self._running[process.pid] = process
        try:
            return process.wait(self._timeout)
        except subprocess.TimeoutExpired:
            return None
        finally:
            # What the command has left behind goes with it.
            _kill(process)
            process.wait()
            with self._lock:
                del self._running[process.pid]
                cancelled = process.pid in self._cancelled
                self._cancelled.discard(process.pid)
            if cancelled:
                raise Cancelled

    def cancel(self) -> None:
        """End what runs now."""
        with self._lock:
            for process in self._running.values():
                self._cancelled.add(process.pid)
                _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    if sys.platform == "win32":
        process.kill()
    else:
        kill_group(process.pid)


def shell_words(line: str) -> list[str]:
    """A command line for the shell, which finds the path where `{}` stands, or at the end."""
    if sys.platform == "win32":
        return ["cmd", "/c", line if PLACE in line else f"{line} {PLACE}"]
    script = line.replace(PLACE, '"$1"') if PLACE in line else f'{line} "$1"'
    return ["/bin/sh", "-c", script, "sh", PLACE]


@dataclass(eq=False)
class CommandTest(Generic[Tested]):
    """The test of a search: a command is run on every candidate, and `judge` says of its end whether it is one."""

    command: Command
    write: Callable[[Tested], bytes | None]
    judge: Callable[[Ended], bool]

    def __call__(self, candidate: Tested) -> bool:
        data = self.write(candidate)
        return data is not None and self.judge(self.command.run(data))

    def cancel(self) -> None:
        self.command.cancel()


def succeeds(ended: Ended) -> bool:
    """Whether a command ended with status 0."""
    return ended.status == 0
