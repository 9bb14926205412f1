"""What is kept of a crash of a compiler: enough to see it again, and to report it to who makes it."""

from __future__ import annotations

import os
import shlex
import tempfile
from typing import Final

from tileir.execute.cache.code_cache import default_cache

VARIABLE: Final = "TILEIR_CRASH_DIR"
"""Where crashes are kept, if not beside the cache of compiled kernels."""


class Reproducer:
    """A directory with the program that a compiler crashes on, and the command."""

    def __init__(self, directory: str, command: str) -> None:
        self.directory: Final = directory
        self.command: Final = command


def save_reproducer(
    name: str, files: dict[str, bytes], arguments: list[str], what: str, said: str, before: str = ""
) -> Reproducer | None:
    """Keep the files that show a crash under a name; None if there is no place that can be written to.

    `arguments` is the command, in which `{}` stands for the directory; `before` comes before it in the shell.  `what`
    happened stands beside them, with what was `said`.
    """
    for parent in _places():
        directory = os.path.join(parent, name)
        command = before + shlex.join([argument.replace("{}", directory) for argument in arguments])
        told = f"{what} in\n{command}\nand said:\n{said}".encode("utf-8", "surrogateescape")
        try:
            os.makedirs(directory, mode=0o700, exist_ok=True)
            for file_name, data in {**files, "crash.txt": told}.items():
                with open(os.path.join(directory, file_name), "wb") as file:
                    file.write(data)
        except OSError:
            continue
        return Reproducer(directory, command)
    return None


def _places() -> list[str]:
    named = os.environ.get(VARIABLE)
    if named:
        return [os.path.abspath(named)]
    cache = default_cache().directory
    found = [os.path.join(os.path.dirname(cache), "crashes")] if cache is not None else []
    return [*found, os.path.join(tempfile.gettempdir(), "tileir-crashes")]
