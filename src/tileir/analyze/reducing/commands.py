"""Tests that are commands: exit status 0 says that a candidate is interesting.

A command runs in a process group of its own, which is killed as a whole when its time is over or its answer is not
needed any more.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from typing import Generic, NamedTuple

from tileir.analyze.reducing.search import Cancelled, Subject
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


class CommandTest(Generic[Subject]):
    """The test of a search: a command is run on every candidate, and `judge` says of its end whether it is one.

    `write` gives the contents of a file, or None for what cannot be written.  Any number of threads may test.
    """

    def __init__(
        self,
        words: list[str],
        timeout: float | None,
        extension: str,
        write: Callable[[Subject], bytes | None],
        judge: Callable[[Ended], bool],
    ) -> None:
        self._words: list[str] = words if any(PLACE in word for word in words) else [*words, PLACE]
        self._timeout: float | None = timeout
        self._name: str = "candidate" + extension
        self._write: Callable[[Subject], bytes | None] = write
        self._judge: Callable[[Ended], bool] = judge
        self._running: set[Command] = set()

    def __call__(self, candidate: Subject) -> bool:
        data = self._write(candidate)
        return data is not None and self._judge(self._run(data))

    def _run(self, data: bytes) -> Ended:
        with tempfile.TemporaryDirectory(prefix="tileir-reduce-") as directory:
            path = os.path.join(directory, self._name)
            with open(path, "wb") as file:
                file.write(data)
            with open(os.path.join(directory, "output"), "w+b") as output:
                words = [word.replace(PLACE, path) for word in self._words]
                with Command(words, stdout=output, stderr=output) as command:
                    self._running.add(command)
                    status = command.wait(self._timeout)
                if command not in self._running:
                    raise Cancelled
                self._running.discard(command)
                output.seek(0, os.SEEK_END)
                output.seek(max(0, output.tell() - _SHOWN))
                return Ended(status, output.read().decode("utf-8", "replace"))

    def cancel(self) -> None:
        """End what runs now."""
        for command in tuple(self._running):
            self._running.discard(command)
            command.kill()


def shell_words(line: str) -> list[str]:
    """A command line for the shell, which finds the path where `{}` stands, or at the end."""
    if sys.platform == "win32":
        return ["cmd", "/c", line if PLACE in line else f"{line} {PLACE}"]
    script = line.replace(PLACE, '"$1"') if PLACE in line else f'{line} "$1"'
    return ["/bin/sh", "-c", script, "sh", PLACE]


def succeeds(ended: Ended) -> bool:
    """Whether a command ended with status 0."""
    return not ended.status.reason and ended.status.code == 0
