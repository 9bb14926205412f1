"""What a sweep is given, as items: files, directories, archives, lists of paths, seeds, programs in memory.

Items come one after the other, so that a hundred thousand of them are never in memory together.  What cannot be read is
an item too, with the reason: it becomes a row of the table, and the sweep goes on.
"""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePath
from typing import BinaryIO, Final, NamedTuple, TypeAlias

from tileir.bytecode import MAGIC, is_bytecode
from tileir.cpp import is_cpp
from tileir.ir.core import Operation
from tileir.judging.archives import MOST_OF_A_FILE, is_archive, members
from tileir.judging.errors import message_of
from tileir.judging.model import SweepInput, unreadable
from tileir.program_files import EXTENSIONS, ProgramFiles, is_program

ProgramSource: TypeAlias = "str | os.PathLike[str] | SweepInput | Operation"
"""A path, a directory, a pattern, an archive, `@LIST` or `-`; or what was made in this process."""

STANDARD_INPUT, KERNELS, _LIST = "-", ".py", "@"
_PATTERN: Final = frozenset("*?[")
_CANDIDATE: Final = re.compile(
    rb"^(?:(?:async )?def (?:run|custom_kernel)\b|class ModelNew\b|(?:run|custom_kernel|ModelNew)\s*=)", re.MULTILINE
)
_LANGUAGE: Final = re.compile(
    rb"\bcuda\.tile\b|\bfrom\s+cuda\s+import\b[^\n]*\btile\b|^\s*(?:from|import\s[^#\n]*)\b\s*\btriton\b", re.MULTILINE
)
IMPORTS: Final = re.compile(rb"^\s*(?:import|from)\s+(torch|triton)\b", re.MULTILINE)
"""The modules that a module imports, of those that take seconds."""


class SeedRange(NamedTuple):
    """Programs of `tileir.smith`: each seed, in each family."""

    numbers: Iterable[int]
    families: Sequence[str] = ()
    operations: Sequence[str] = ()
    version: str = ""
    size: int | None = None

    @property
    def total(self) -> int | None:
        return len(self.numbers) * (len(self.families) or 1) if isinstance(self.numbers, Sequence) else None

    def items(self) -> Iterator[SweepInput]:
        # Only what is chosen: the rest has the defaults of whoever makes the program.
        rest = {"operations": list(self.operations), "version": self.version, "size": self.size}
        chosen = {name: value for name, value in rest.items() if value}
        words = [",".join(v) if isinstance(v, list) else f"{name}={v}" for name, v in chosen.items()]
        for seed in self.numbers:
            for family in self.families or ("",):
                own = {"seed": seed, **chosen, **({"family": family} if family else {})}
                name = ":".join(["smith", *([family] if family else []), str(seed), *words])
                yield SweepInput(name, "seed", json.dumps(own, sort_keys=True).encode())


class Inputs:
    """All that is swept, in order; it can be gone through once.  `references` are of the Python modules among it."""

    def __init__(
        self,
        given: ProgramSource | Iterable[ProgramSource],
        seeds: SeedRange | None = None,
        references: References | None = None,
    ) -> None:
        if isinstance(given, (str, os.PathLike, SweepInput, Operation)):
            given = [given]
        self._seeds: SeedRange | None = seeds
        self._references: References = references or References(None)
        self._programs: int = 0
        self.total: int | None = None
        """How many items there will be; None where nobody knows before they are read."""
        self._sources: Iterable[str | SweepInput] = (source for each in given for source in self._searched(each))
        if isinstance(given, Sequence):
            # What a directory holds is looked up first, so that progress has a total.
            found = self._sources = list(self._sources)
            if not any(isinstance(each, str) and is_archive(each) for each in found):
                self.total = len(found)
        if seeds is not None and self.total is not None:
            self.total = None if seeds.total is None else self.total + seeds.total

    def __iter__(self) -> Iterator[SweepInput]:
        for source in self._sources:
            yield from self._in_file(source) if isinstance(source, str) else [source]
        if self._seeds is not None:
            yield from self._seeds.items()

    def _searched(self, given: ProgramSource) -> list[str | SweepInput]:
        """The files that a directory, a pattern or a list stands for; what was made in this process as an item."""
        if isinstance(given, SweepInput):
            return [given]
        if isinstance(given, Operation):
            self._programs += 1
            name = given.symbol_name or f"program {self._programs}"
            return [SweepInput(name, "program", given.text(debug_info=True).encode())]
        path = os.fspath(given)
        if path.startswith(_LIST) and len(path) > 1:
            return self._listed(path)
        if os.path.isdir(path) or (_PATTERN & set(path) and not os.path.lexists(path)):
            files = ProgramFiles([path], _is_wanted_file)
            return [*[unreadable(name, why) for name, why in files.failures], *files.paths]
        return [path]

    def _listed(self, path: str) -> list[str | SweepInput]:
        """The paths in a file, one on each line."""
        try:
            content = _content(path[len(_LIST) :])
        except (OSError, ValueError) as error:
            return [unreadable(path, f"cannot read '{path[len(_LIST) :]}': {message_of(error)}")]
        lines = [os.fsdecode(line.rstrip(b"\r")) for line in content.split(b"\n")]
        # A list may not name lists, for they could name each other.
        paths = [f"./{line}" if line.startswith(_LIST) else line for line in lines if line.strip()]
        return [source for each in paths for source in self._searched(each)]

    def _in_file(self, path: str) -> Iterator[SweepInput]:
        try:
            if is_archive(path):
                yield from self._in_archive(path)
            else:
                yield self._item("standard input" if path == STANDARD_INPUT else path, _content(path))
        except (OSError, ValueError) as error:
            yield unreadable(path, f"cannot read '{path}': {message_of(error)}")

    def _in_archive(self, path: str) -> Iterator[SweepInput]:
        any_found = False
        with _opened(path) as file:
            for member in members(file, _is_wanted):
                name = f"{path}/{member.name}" if member.name else path
                if member.trouble:
                    yield unreadable(name, f"cannot read '{name}': {member.trouble}")
                elif _has_kernels(name, member.content):
                    yield self._item(name, member.content)
                else:
                    continue
                any_found = True
        if not any_found:
            yield unreadable(path, f"cannot read '{path}': there is no Tile IR program in it")

    def _item(self, name: str, content: bytes) -> SweepInput:
        if is_cpp(name) and not is_bytecode(content):
            return SweepInput(name, "cpp", content)
        if not name.endswith(KERNELS):
            return SweepInput(name, "program", content)
        try:
            return SweepInput(name, "kernels", content, self._references.reference_for(name))
        except LookupError as error:
            return unreadable(name, str(error))


def _opened(path: str) -> BinaryIO:
    # Opening it must not wait for the other end of a pipe.
    file = open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)), "rb")  # noqa: SIM115
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise ValueError("it is no file")
    return file


def _content(path: str) -> bytes:
    if path == STANDARD_INPUT:
        if sys.stdin is None:
            raise ValueError("it is closed")
        content = sys.stdin.buffer.read(MOST_OF_A_FILE + 1)
    else:
        with _opened(path) as file:
            content = file.read(MOST_OF_A_FILE + 1)
    if len(content) > MOST_OF_A_FILE:
        raise ValueError(f"it is larger than {MOST_OF_A_FILE >> 20} MiB")
    return content


def _is_wanted_file(path: str) -> bool:
    """Whether a file of a directory is judged: a program, or a C++ source or Python module with kernels."""
    if not path.endswith(KERNELS) and not is_cpp(path):
        return is_program(path)
    try:
        return os.path.isfile(path) and _has_kernels(path, _content(path))
    except (OSError, ValueError):
        return False


def _is_wanted(name: str, beginning: bytes) -> bool:
    """The same for a file in an archive."""
    return name.endswith((*EXTENSIONS, KERNELS)) or is_cpp(name) or is_bytecode(beginning[: len(MAGIC)])


def _has_kernels(name: str, content: bytes) -> bool:
    """Whether a file that was found is to be judged, as most Python modules and C++ sources are not."""
    if is_cpp(name):
        return b"__tile_global__" in content
    return not name.endswith(KERNELS) or is_candidate(content)


# --- Python modules and their references ---


def is_candidate(content: bytes) -> bool:
    """Whether a Python file is a module with kernels to judge: it names cuTile or Triton, and a candidate."""
    return _LANGUAGE.search(content) is not None and _CANDIDATE.search(content) is not None


class References:
    """A file, or its content, that is the reference of all candidates, or a directory with one for each.

    In a directory the reference of `softmax/17.py` is `softmax/17.py`, `17.py` or `softmax.py`, that of `softmax_17.py`
    is `softmax_17.py` or `softmax.py`; the first that is there.
    """

    def __init__(self, path: str | os.PathLike[str] | None, content: bytes = b"") -> None:
        self._content: Final = content
        self._path: str | None = None if path is None else os.fspath(path)
        self._known: dict[str, bytes] = {}
        if self._path is not None and not os.path.isdir(self._path):
            # One that cannot be read is an OSError, before anything is judged.
            self._read(self._path)

    def reference_for(self, name: str) -> bytes:
        """The source of the reference of a file; empty if it is its own."""
        if self._path is None or self._path in self._known:
            return self._known.get(self._path or "", self._content)
        tried = _names(name)
        for each in tried:
            path = os.path.join(self._path, each)
            if os.path.isfile(path):
                return self._read(path)
        raise LookupError(f"there is no reference for '{name}' in '{self._path}': {', '.join(tried)}")

    def _read(self, path: str) -> bytes:
        if path not in self._known:
            self._known[path] = Path(path).read_bytes()
        return self._known[path]


def _names(name: str) -> list[str]:
    """Names that the reference of a file may have, the closest one first."""
    path = PurePath(name)
    parent, stem = path.parent.name, path.stem
    found = [os.path.join(parent, path.name), path.name]
    # `softmax_17_b` is a candidate for `softmax_17`, and for `softmax`.
    while (place := max(stem.rfind("_"), stem.rfind("-"), stem.rfind("."))) > 0:
        stem = stem[:place]
        found.append(f"{stem}.py")
    return list(dict.fromkeys([*found, *([f"{parent}.py"] if parent else [])]))
