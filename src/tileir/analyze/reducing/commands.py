"""Tests that are commands: exit status 0 says that a candidate is interesting.

A command runs in a process group of its own, which is killed as a whole when its time is over or its answer is not
needed any more.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, NamedTuple

from tileir.analyze.reducing.search import Cancelled, Tested
from tileir.processes.command import Command
from tileir.processes.exit_status import ExitStatus

PLACE = "{}"
"""What stands for the path of the candidate in a command."""

# Of what a command prints so much is kept, to be shown when the original is not interesting.
_SHOWN = 4000


class Ended(NamedTuple):
    """How a command ended, and what it printed."""

    status: ExitStatus
    output: str


class FileCommand:
    """A command that is run on files; any number of threads may run it."""

    def __init__(self, words: list[str], timeout: float | None, extension: str) -> None:
        self._words: list[str] = words
        self._timeout: float | None = timeout
        self._name: str = "candidate" + extension
        self._running: set[Command] = set()
        self._cancelled: set[Command] = set()

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

    def _status(self, words: list[str], output: int) -> ExitStatus:
        with Command(words, stdout=output, stderr=output) as command:
            self._running.add(command)
            try:
                status = command.wait(self._timeout)
            finally:
                self._running.discard(command)
        if command in self._cancelled:
            self._cancelled.discard(command)
            raise Cancelled
        return status

    def cancel(self) -> None:
        """End what runs now."""
        for command in tuple(self._running):
            self._cancelled.add(command)
            command.kill()


def shell_words(line: str) -> list[str]:
    """A command line for the shell, which finds the path where `{}` stands, or at the end."""
    if sys.platform == "win32":
        return ["cmd", "/c", line if PLACE in line else f"{line} {PLACE}"]
    script = line.replace(PLACE, '"$1"') if PLACE in line else f'{line} "$1"'
    return ["/bin/sh", "-c", script, "sh", PLACE]


@dataclass(eq=False)
class CommandTest(Generic[Tested]):
    """The test of a search: a command is run on every candidate, and `judge` says of its end whether it is one."""

    command: FileCommand
    write: Callable[[Tested], bytes | None]
    judge: Callable[[Ended], bool]

    def __call__(self, candidate: Tested) -> bool:
        data = self.write(candidate)
        return data is not None and self.judge(self.command.run(data))

    def cancel(self) -> None:
        self.command.cancel()


def succeeds(ended: Ended) -> bool:
    """Whether a command ended with status 0."""
    return not ended.status.reason and ended.status.code == 0
