"""The directory that a child may write to, which goes when it ends: whatever is in it, and however deep."""

from __future__ import annotations

import os
import stat
from typing import Final

from tileir.judge.plans import Limits

_MOST_ENTRIES: Final = 2_000
"""Files and directories of one child."""
_DEEPEST: Final = 64
_MOST_FILES: Final = 8
"""So many files as large as one may be are all that a child may keep."""


_LONGEST_PATH: Final = 3_000
"""Characters: what lies deeper than the system takes paths could not be counted."""


def most_written(limits: Limits) -> int:
    """Bytes that a child may write in all, files counted that it has removed."""
    return 2 * _MOST_FILES * limits.file_bytes


class Scratch:
    """A new directory below `root`, for as long as a child uses it."""

    _count: int = 0

    def __init__(self, root: str) -> None:
        Scratch._count += 1
        self._root: str = root
        self.path: str = os.path.join(root, str(Scratch._count))

    @staticmethod
    def at(path: str) -> Scratch:
        """A directory that is there already, and stays."""
        found = Scratch(os.path.dirname(path))
        found.path = path
        return found

    def __enter__(self) -> Scratch:
        os.mkdir(self.path, 0o700)
        return self

    def __exit__(self, *_: object) -> None:
        try:
            # Most children write nothing.
            os.rmdir(self.path)
        except OSError:
            remove_tree(self.path, self._root)

    def why_too_much(self, limits: Limits, written: int = 0) -> str | None:
        """Why a child has to be ended for what it has written; None if that is within limits.

        `written` are all bytes that it has had the system write so far, to disks or to shared memory: files that are
        removed take place there for as long as somebody has them open or mapped.
        """
        most = _MOST_FILES * limits.file_bytes
        if written > most_written(limits):
            return "it wrote more files than its limit allows"
        entries = total = 0
        pending = [(self.path, 0)]
        while pending:
            directory, depth = pending.pop()
            if depth > _DEEPEST:
                # Each look would walk all the way down.
                return "its directories are too deep"
            try:
                with os.scandir(directory) as found:
                    for entry in found:
                        entries += 1
                        if entries > _MOST_ENTRIES:
                            return "it made too many files"
                        if len(entry.path) > _LONGEST_PATH:
                            return "its directories are too deep"
                        about = entry.stat(follow_symlinks=False)
                        # What is allocated: a file with holes takes no place.
                        total += getattr(about, "st_blocks", 0) * 512
                        if entry.is_dir(follow_symlinks=False):
                            pending.append((entry.path, depth + 1))
            except OSError:
                # It goes on removing and making while this looks.
                continue
            if total > most:
                return "it wrote more files than its limit allows"
        return None


def remove_tree(path: str, root: str) -> None:
    """Remove a directory, however deep: directories in it are moved up first, as paths have a length."""
    pending = [path]
    count = 0
    while pending:
        directory = pending.pop()
        try:
            os.chmod(directory, stat.S_IRWXU)
            names = os.listdir(directory)
        except OSError:
            continue
        for name in names:
            inside = os.path.join(directory, name)
            try:
                if stat.S_ISDIR(os.lstat(inside).st_mode):
                    count += 1
                    moved = os.path.join(root, f"{os.path.basename(path)}.{count}")
                    # Moving a directory needs the right to write to it.
                    os.chmod(inside, stat.S_IRWXU)
                    os.rename(inside, moved)
                    pending.append(moved)
                else:
                    os.unlink(inside)
            except OSError:
                continue
        try:
            os.rmdir(directory)
        except OSError:
            continue
