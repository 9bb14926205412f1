"""Which Python files are candidates, and which reference belongs to each."""

from __future__ import annotations

import os
import re
from pathlib import PurePath
from typing import Final

_CANDIDATE: Final = re.compile(
    rb"^(?:(?:async )?def (?:run|custom_kernel)\b|class ModelNew\b|(?:run|custom_kernel|ModelNew)\s*=)", re.MULTILINE
)
_CUTILE: Final = re.compile(rb"\bcuda\.tile\b|\bfrom\s+cuda\s+import\b[^\n]*\btile\b")

_TORCH: Final = re.compile(rb"^\s*(?:import|from)\s+torch\b", re.MULTILINE)


def is_candidate(content: bytes) -> bool:
    """Whether a Python file is a module with kernels to judge, by its words: it names cuTile and a candidate."""
    return _CUTILE.search(content) is not None and _CANDIDATE.search(content) is not None


def imports_torch(content: bytes) -> bool:
    """Whether a module imports torch, which takes seconds."""
    return _TORCH.search(content) is not None


class NoReference(Exception):
    """A candidate without a reference; the message says where it was looked for."""


class References:
    """A file that is the reference of all candidates, or a directory with one for each.

    In a directory the reference of `softmax/17.py` is `softmax/17.py`, `17.py` or `softmax.py`, that of `softmax_17.py`
    is `softmax_17.py` or `softmax.py`; the first that is there.
    """

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self._path: str | None = None if path is None else os.fspath(path)
        self._is_directory: bool = path is not None and os.path.isdir(path)
        self._known: dict[str, bytes] = {}
        if path is not None and not self._is_directory:
            # One that cannot be read is an OSError, before anything is judged.
            self._read(os.fspath(path))

    def reference_for(self, name: str) -> bytes:
        """The source of the reference of a file; empty if it is its own."""
        if self._path is None:
            return b""
        if not self._is_directory:
            return self._read(self._path)
        tried = _names(name)
        for each in tried:
            path = os.path.join(self._path, each)
            if os.path.isfile(path):
                return self._read(path)
        raise NoReference(f"there is no reference for '{name}' in '{self._path}': {', '.join(tried)}")

    def _read(self, path: str) -> bytes:
        found = self._known.get(path)
        if found is None:
            with open(path, "rb") as file:
                found = self._known[path] = file.read()
        return found


def _names(name: str) -> list[str]:
    """Names that the reference of a file may have, the closest one first."""
    path = PurePath(name)
    parent = path.parent.name
    found = [os.path.join(parent, path.name)] if parent else []
    found.append(path.name)
    stem = path.stem
    # `softmax_17_b` is a candidate for `softmax_17`, and for `softmax`.
    while (place := max(stem.rfind("_"), stem.rfind("-"), stem.rfind("."))) > 0:
        stem = stem[:place]
        found.append(f"{stem}.py")
    if parent:
        found.append(f"{parent}.py")
    return list(dict.fromkeys(found))
