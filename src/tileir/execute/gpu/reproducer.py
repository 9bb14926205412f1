"""Files that reproduce a crash of a compiler."""

from __future__ import annotations

import os
import shlex
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

from tileir.execute.cache.code_cache import default_cache

VARIABLE: Final = "TILEIR_CRASH_DIR"  # Where crashes are kept, if not beside the cache of compiled kernels.


class Reproducer(NamedTuple):
    """A directory with the program that a compiler crashes on, and the command; both empty if nothing could be kept."""

    directory: str = ""
    command: str = ""

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes about it in a message."""
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
