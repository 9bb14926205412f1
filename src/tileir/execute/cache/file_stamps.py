"""What tells, without reading files, that they are what they were."""

from __future__ import annotations

import os
import time
from _blake2 import blake2b
from typing import Final

FileStamp = tuple[str, int, int, int]
"""The path of a file, its size, and two times of change.

The second time is one that nobody can set, where the system has it: a file may be replaced by one of the same size
that brings the time of its own last change along.
"""

_OLD_ENOUGH: Final = 2 * 10**9


def stamp_of(path: str, status: os.stat_result) -> FileStamp:
    return (path, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def are_old_enough(stamps: list[FileStamp]) -> bool:
    """Whether files will have other stamps when they change: one that was changed just now may be changed again within
    what its clock can tell."""
    now = time.time_ns()
    return all(abs(now - moment) > _OLD_ENOUGH for _path, _size, *times in stamps for moment in times)


def name_of(stamps: list[FileStamp], further: str = "") -> str:
    """A name for files with these stamps, and for whatever else what is known of them depends on."""
    text = "\n".join([f"{path} {size} {modified} {changed}" for path, size, modified, changed in stamps])
    return blake2b(f"{text}\n{further}".encode(), digest_size=20).hexdigest()
