"""Which files the operands of a command stand for: directories are searched, patterns are matched.

In a directory these are programs: files named `*.mlir`, `*.tileir` or `*.tileirbc`, and files of any other name that
begin as bytecode does.  Names that begin with a dot are passed over, and so are links to directories, which may lead
round in circles; a link to a file counts as the file.  The order is that of the names.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable

from tileir.bytecode import MAGIC, is_bytecode

EXTENSIONS = (".mlir", ".tileir", ".tileirbc")
_PATTERN = re.compile(r"[*?\[]")
# Any number of directories, none included.
_ANY_DEPTH = "**"


class ProgramFiles:
    """The files to read, in the order of the operands, each once; and, in words, what is wrong with operands that gave
    none.  `wanted` says which files of a directory are programs.

    `searched` says whether an operand was a directory or a pattern, so that the user does not know which files it is.
    """

    def __init__(self, operands: list[str], wanted: Callable[[os.DirEntry[str]], bool] | None = None) -> None:
        found: dict[str, None] = {}
        self._wanted: Callable[[os.DirEntry[str]], bool] = wanted if wanted is not None else is_program
        self.failures: list[tuple[str, str]] = []
        self._failed: set[str] = set()
        self.searched: bool = False
        for operand in operands:
            if os.path.isdir(operand):
                self._add(operand, found, self._programs_in, "there is no Tile IR program in it")
            elif _PATTERN.search(operand) and not os.path.lexists(operand):
                self._add(operand, found, self._matching, "nothing matches this pattern")
            else:
                found[operand] = None
        self.paths: list[str] = list(found)

    def _add(self, operand: str, found: dict[str, None], search: Callable[[str], list[str]], nothing: str) -> None:
        self.searched = True
        failures = len(self.failures)
        paths = search(operand)
        found.update(dict.fromkeys(paths))
        if not paths and len(self.failures) == failures:
            self._fail(operand, nothing)

    def _fail(self, path: str, why: str) -> None:
        # A pattern may come to a directory more than once.
        if path not in self._failed:
            self._failed.add(path)
            self.failures.append((path, f"cannot read '{path}': {why}"))

    def _entries(self, directory: str) -> list[os.DirEntry[str]]:
        """What is in a directory, sorted."""
        try:
            with os.scandir(directory) as entries:
                return sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            self._fail(directory, error.strerror or str(error))
            return []

    def _programs_in(self, directory: str) -> list[str]:
        found: list[str] = []
        waiting = [directory]
        while waiting:
            inside: list[str] = []
            for entry in self._entries(waiting.pop()):
                if entry.name.startswith("."):
                    continue
                if _is_directory(entry):
                    inside.append(entry.path)
                elif self._wanted(entry):
                    found.append(entry.path)
            waiting.extend(reversed(inside))
        return found

    def _matching(self, pattern: str) -> list[str]:
        """The files that a pattern stands for; in a directory that it stands for, the programs."""
        drive, rest = os.path.splitdrive(pattern)
        places = [drive + os.path.sep if os.path.isabs(pattern) else drive]
        parts = [part for part in re.split(r"[\\/]" if os.name == "nt" else "/", rest) if part]
        for number, part in enumerate(parts):
            last = number == len(parts) - 1
            found: dict[str, None] = {}
            for place in places:
                for path in self._matching_part(place, part, last):
                    found[path] = None
            places = list(found)
        paths: list[str] = []
        for place in places:
            paths.extend(self._programs_in(place) if os.path.isdir(place) else [place])
        return paths

    def _matching_part(self, place: str, part: str, last: bool) -> list[str]:
        """What one part of a pattern stands for in a directory."""
        if not _PATTERN.search(part):
            path = os.path.join(place, part)
            return [path] if os.path.lexists(path) else []
        if part == _ANY_DEPTH:
            return [place or "."] if last else self._directories_below(place)
        # Imported here: shells match most patterns themselves.
        import fnmatch

        matches = re.compile(fnmatch.translate(part)).match
        return [
            entry.path if place else entry.name
            for entry in self._entries(place or ".")
            if matches(entry.name)
            and (not entry.name.startswith(".") or part.startswith("."))
            and (last or entry.is_dir())
        ]

    def _directories_below(self, place: str) -> list[str]:
        """A directory and all that are in it; links are not followed."""
        found: list[str] = []
        waiting = [place]
        while waiting:
            directory = waiting.pop()
            found.append(directory)
            inside = [
                entry.path if directory else entry.name
                for entry in self._entries(directory or ".")
                if not entry.name.startswith(".") and _is_directory(entry)
            ]
            waiting.extend(reversed(inside))
        return found


def _is_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def is_program(entry: os.DirEntry[str]) -> bool:
    """Whether a file in a directory is a program; pipes and devices are none, whatever their names."""
    try:
        if entry.name.endswith(EXTENSIONS):
            # A link that leads nowhere is one that cannot be read.
            return not os.path.exists(entry.path) or entry.is_file()
        if not entry.is_file():
            return False
        with open(entry.path, "rb") as file:
            return is_bytecode(file.read(len(MAGIC)))
    except OSError:
        return False
