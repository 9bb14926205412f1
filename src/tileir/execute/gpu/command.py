"""A process of one of NVIDIA's tools, with limits, and the files that reproduce a crash of a compiler.

It has limits of time and memory and a temporary directory.  Its whole process group ends when the time is up, or when
the caller is interrupted or ended by a signal.
"""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Final, NamedTuple

from tileir.execute.cache.code_cache import default_cache
from tileir.processes.child import TIMED_OUT
from tileir.processes.command import Command, orderly_end

VARIABLE: Final = "TILEIR_CRASH_DIR"  # Where crashes are kept, if not beside the cache of compiled kernels.


class Outcome(NamedTuple):
    """What came of a command."""

    status: int  # Its exit status, or a negative number for the signal that ended it.
    output: str  # All that it printed.
    files: dict[str, bytes]  # What it wrote, of the files that were asked for.
    peak: int  # The most bytes of memory that it had; 0 if unknown.
    timed_out: bool


def run_tool(
    command: list[str],
    inputs: dict[str, bytes] | None = None,
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
        printed = Path(folder, "output")
        with (
            printed.open("wb") as sink,
            Command(command, stdout=sink, stderr=sink, directory=folder, environment=environment) as running,
        ):
            running.limit(seconds=time_limit, memory=memory_limit)
            status = running.wait(time_limit)
        text = printed.read_bytes().decode("utf-8", "surrogateescape")
        files = {file: Path(folder, file).read_bytes() for file in outputs if Path(folder, file).is_file()}
        return Outcome(status.code, text, files, status.peak_bytes, status.reason == TIMED_OUT)


class Reproducer(NamedTuple):
    """A directory with the program that a compiler crashes on, and the command; both empty if nothing could be kept."""

    directory: str = ""
    command: str = ""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a message says about it."""
        if not self.directory:
            return (f"the program could not be kept: set {VARIABLE} to a directory",)
        return (f"the program that it crashes on is kept in {self.directory}", f"this shows it: {self.command}")


def memory_note(limit: int) -> str:
    """What a message adds where the limit for memory may be the reason."""
    return f"it may have {limit / (1 << 30):.3g} GiB of memory, which may be too little"


def save_reproducer(
    name: str, files: dict[str, bytes], arguments: list[str], what: str, output: str, before: str = ""
) -> Reproducer:
    """Keep the files that reproduce a crash, with `what` happened and its `output`, where they can be written.
    In `arguments`, the command, `{}` stands for the directory; `before` comes before it in the shell."""
    cache = default_cache().directory
    places = [os.path.join(os.path.dirname(cache), "crashes")] if cache is not None else []
    places.append(os.path.join(tempfile.gettempdir(), "tileir-crashes"))
    named = os.environ.get(VARIABLE)
    for parent in [os.path.abspath(named)] if named else places:
        directory = os.path.join(parent, name)
        command = before + shlex.join([argument.replace("{}", directory) for argument in arguments])
        report = f"{what} in\n{command}\nand printed:\n{output}".encode("utf-8", "surrogateescape")
        try:
            os.makedirs(directory, mode=0o700, exist_ok=True)
            for file_name, data in {**files, "crash.txt": report}.items():
                Path(directory, file_name).write_bytes(data)
        except OSError:
            continue
        return Reproducer(directory, command)
    return Reproducer()
