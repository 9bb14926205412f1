"""The directory that a child may write to, which goes when it ends: whatever is in it, and however deep."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from typing import Final

_MOST_ENTRIES: Final = 2_000
"""Files and directories of one child."""
_DEEPEST: Final = 64
_MOST_FILES: Final = 8
"""So many files as large as one may be are all that a child may keep."""
_LONGEST_PATH: Final = 3_000
"""Characters: what lies deeper than the system takes paths could not be counted."""
_count: list[int] = [0]


@contextlib.contextmanager
def scratch_directory(root: str) -> Iterator[str]:
    """The path of a new directory below `root`, for as long as a child uses it."""
    _count[0] += 1
    path = os.path.join(root, str(_count[0]))
    os.mkdir(path, 0o700)
    try:
        yield path
    finally:
        try:
            # Most children write nothing.
            os.rmdir(path)
        except OSError:
            _remove_tree(path, root)


def most_written(file_bytes: int) -> int:
    """Bytes that a child may write in all, files counted that it has removed."""
    return 2 * _MOST_FILES * file_bytes


def why_too_much(scratch: str, file_bytes: int, written: int = 0) -> str:
    """Why a child has to be ended for what it has written; empty if that is within limits.

    `written` are all bytes that it has had the system write so far, to disks or to shared memory: removed files take
    space there for as long as somebody has them open or mapped.
    """
    if written > most_written(file_bytes):
        return "it wrote more files than its limit allows"
    entries = total = 0
    pending = [(scratch, 0)]
    while pending:
        directory, depth = pending.pop()
        if depth > _DEEPEST:
            # Each look would walk all the way down.
            return "its directories are too deep"
        # It goes on removing and making files while this looks.
        with contextlib.suppress(OSError), os.scandir(directory) as found:
            for entry in found:
                entries += 1
                if entries > _MOST_ENTRIES:
                    return "it made too many files"
                if len(entry.path) > _LONGEST_PATH:
                    return "its directories are too deep"
                # What is allocated: a file with holes takes no space.
                total += getattr(entry.stat(follow_symlinks=False), "st_blocks", 0) * 512
                if entry.is_dir(follow_symlinks=False):
                    pending.append((entry.path, depth + 1))
        if total > _MOST_FILES * file_bytes:
            return "it wrote more files than its limit allows"
    return ""


def _remove_tree(path: str, root: str) -> None:
    """Remove a directory, however deep: directories in it are moved up first, as paths have a longest length."""
    pending = [path]
    count = 0
    while pending:
        directory = pending.pop()
        with contextlib.suppress(OSError):
            os.chmod(directory, stat.S_IRWXU)
            for name in os.listdir(directory):
                inside = os.path.join(directory, name)
                with contextlib.suppress(OSError):
                    if not stat.S_ISDIR(os.lstat(inside).st_mode):
                        os.unlink(inside)
                        continue
                    count += 1
                    moved = os.path.join(root, f"{os.path.basename(path)}.{count}")
                    # Moving a directory needs the right to write to it.
                    os.chmod(inside, stat.S_IRWXU)
                    os.rename(inside, moved)
                    pending.append(moved)
            os.rmdir(directory)
