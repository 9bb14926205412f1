"""Which files the operands of a command stand for: directories are searched, patterns are matched.

In a directory these are programs: files named `*.mlir`, `*.tileir` or `*.tileirbc`, and files of any other name that
begin as bytecode does.  Names that begin with a dot are passed over, and so are links to directories, which may lead
round in circles; a link to a file counts as the file.  The order is that of the names.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator

from tileir.bytecode import MAGIC, is_bytecode

EXTENSIONS = (".mlir", ".tileir", ".tileirbc")
_PATTERN = re.compile(r"[*?\[]")


def is_program(path: str) -> bool:
    """Whether a file in a directory is a program; pipes and devices are none, whatever their names."""
    if path.endswith(EXTENSIONS):
        # A link that leads nowhere is one that cannot be read.
        return not os.path.exists(path) or os.path.isfile(path)
    try:
        if not os.path.isfile(path):
            return False
        with open(path, "rb") as file:
            return is_bytecode(file.read(len(MAGIC)))
    except OSError:
        return False


class ProgramFiles:
    """The files to read, in the order of the operands, each once; and a message for each operand without any.

    `wanted` selects the programs of a directory.  `searched` is true if an operand was a directory or a pattern, so
    that the user does not know which files it is.
    """

    def __init__(self, operands: list[str], wanted: Callable[[str], bool] = is_program) -> None:
        self._wanted: Callable[[str], bool] = wanted
        # By path: a pattern may come to a directory more than once.
        self._failures: dict[str, str] = {}
        self.searched: bool = False
        found: dict[str, None] = {}
        for operand in operands:
            if os.path.isdir(operand):
                paths = self._searched(operand, self._programs_in, "there is no Tile IR program in it")
            elif _PATTERN.search(operand) and not os.path.lexists(operand):
                paths = self._searched(operand, self._matching, "nothing matches this pattern")
            else:
                paths = [operand]
            found.update(dict.fromkeys(paths))
        self.paths: list[str] = list(found)
        self.failures = [(path, f"cannot read '{path}': {why}") for path, why in self._failures.items()]

    def _searched(self, operand: str, search: Callable[[str], list[str]], nothing: str) -> list[str]:
        self.searched = True
        failures = len(self._failures)
        paths = search(operand)
        if not paths and len(self._failures) == failures:
            self._failures[operand] = nothing
        return paths

    def _refused(self, error: OSError) -> None:
        self._failures.setdefault(error.filename, error.strerror or str(error))

    def _directories(self, directory: str) -> Iterator[tuple[str, list[str]]]:
        """A directory and all below it, each with its files in order."""
        for place, inside, names in os.walk(directory, onerror=self._refused):
            inside[:] = sorted([name for name in inside if not name.startswith(".")])
            yield place, [os.path.join(place, name) for name in sorted(names) if not name.startswith(".")]

    def _programs_in(self, directory: str) -> list[str]:
        return [path for _, paths in self._directories(directory) for path in paths if self._wanted(path)]

    def _matching(self, pattern: str) -> list[str]:
        """The files that a pattern stands for; in a directory that it stands for, the programs."""
        drive, rest = os.path.splitdrive(pattern)
        places = [drive + os.path.sep if os.path.isabs(pattern) else drive]
        parts = [part for part in re.split(r"[\\/]" if os.name == "nt" else "/", rest) if part]
        for number, part in enumerate(parts):
            last = number == len(parts) - 1
            places = list(dict.fromkeys([path for place in places for path in self._matching_part(place, part, last)]))
        return [path for each in places for path in (self._programs_in(each) if os.path.isdir(each) else [each])]

    def _matching_part(self, place: str, part: str, last: bool) -> list[str]:
        """What one part of a pattern stands for in a directory."""
        if not _PATTERN.search(part):
            path = os.path.join(place, part)
            return [path] if os.path.lexists(path) else []
        if part == "**":
            # Any number of directories, none included.
            if last:
                return [place or "."]
            below = [path for path, _ in self._directories(place or ".")]
            return below if place else [path[2:] for path in below]
        # Imported here: shells match most patterns themselves.
        import fnmatch

        try:
            names = sorted(fnmatch.filter(os.listdir(place or "."), part))
        except OSError as error:
            self._refused(error)
            return []
        found = [os.path.join(place, name) for name in names if not name.startswith(".") or part.startswith(".")]
        return found if last else [path for path in found if os.path.isdir(path)]
