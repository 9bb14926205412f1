"""Files that nobody but the user can have made or changed.

A directory is safe if nobody else may change what its path leads to: each directory on the way, and it itself, belongs
to the user or the administrator and may be written to by nobody else, unless it keeps users from each other's files
(/tmp).  A link on the way must belong to one of them too, and leads on to a path for which the same holds.  A process
that runs with the rights of another user than its own trusts no directory: the environment is that of the caller.

Each call checks all of it: that takes a few microseconds, and permissions change.
"""

from __future__ import annotations

import os
import stat
import sys
import time
from _blake2 import blake2b
from collections.abc import Callable
from io import FileIO
from typing import Final, NamedTuple

_MOST_LINKS: Final = 40
_OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH
_ANYTHING_FOR_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO

# A file must not be a link, and opening it must not wait for the other end of a pipe.
_READ: Final = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_MAKE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)

_HAS_OWNERS: Final = hasattr(os, "geteuid")
"""Whether files belong to users by number.  Elsewhere, on Windows, directories below the user's own are private."""


class FileContents(NamedTuple):
    data: bytes
    modified: float


class PrivateDirectory:
    """A directory of the user's own.  Methods return failure and do not raise."""

    def __init__(self, path: str) -> None:
        self.path: str = path
        self._prefix: str = f"{path}{os.sep}"

    def is_safe(self) -> bool:
        """Whether it is there, and nobody else can change anything about it."""
        return _is_safe(self.path, True)

    def make(self) -> bool:
        """Make it where it is not there; False if it cannot be, or is not safe."""
        missing: list[str] = []
        path = self.path
        try:
            while not os.path.lexists(path):
                missing.append(path)
                path, before = os.path.dirname(path), path
                if path == before:
                    return False
            if missing and not _is_safe(path, False):
                return False
            for each in reversed(missing):
                try:
                    os.mkdir(each, 0o700)
                except FileExistsError:
                    continue
                # Whatever the mask of the process: too little is as useless as too much is dangerous.
                os.chmod(each, 0o700)
        except (OSError, ValueError):
            return False
        return self.is_safe()

    def read(self, name: str, limit: int) -> FileContents | None:
        """The contents of a file of the user's, which others cannot write to; a larger one than the limit is none."""
        try:
            with self._opened(name, _READ, "rb") as file:
                status = os.fstat(file.fileno())
                if not _is_private(status) or status.st_size > limit:
                    return None
                return FileContents(file.readall(), status.st_mtime)
        except (OSError, ValueError):
            return None

    def write(self, name: str, data: bytes) -> bool:
        """Make a file that only the user can read and write; False if that fails, or if there is one."""
        try:
            with self._opened(name, _MAKE, "wb") as file:
                if _HAS_OWNERS:
                    os.fchmod(file.fileno(), 0o600)
                rest = memoryview(data)
                while rest:
                    rest = rest[file.write(rest) :]
        except (OSError, ValueError):
            return False
        return True

    def _opened(self, name: str, flags: int, mode: str) -> FileIO:
        # One step: an interrupt finds no file that is open and not yet an object's, which closes it in the end.
        return next(map(FileIO, map(os.open, [self._prefix + name], [flags], [0o600]), [mode]))

    def rename(self, old: str, new: str) -> bool:
        """Give a file another name; one that had it is gone."""
        return _succeeds(os.replace, self._prefix + old, self._prefix + new)

    def rename_new(self, old: str, new: str) -> bool:
        """Give a file a name that none has; False if one has it."""
        try:
            os.link(self._prefix + old, self._prefix + new)
        except FileExistsError:
            return False
        except (OSError, AttributeError):
            # A file system without links.
            return not os.path.lexists(self._prefix + new) and self.rename(old, new)
        self.remove(old)
        return True

    def is_own(self, name: str) -> bool:
        """Whether there is such a file or link, and it is the user's."""
        try:
            status = os.lstat(self._prefix + name)
        except OSError:
            return False
        return not _HAS_OWNERS or status.st_uid == os.geteuid()

    def remove(self, name: str) -> None:
        _succeeds(os.remove, self._prefix + name)

    def touch(self, name: str) -> None:
        _succeeds(os.utime, self._prefix + name)

    def entries(self) -> list[tuple[str, int, float]]:
        """Names, sizes and times of all files; none where it is not safe."""
        found = []
        try:
            names = os.listdir(self.path) if self.is_safe() else []
        except OSError:
            return []
        for name in names:
            try:
                status = os.lstat(self._prefix + name)
            except OSError:
                continue
            found.append((name, status.st_size, status.st_mtime))
        return found


def _succeeds(function: Callable[..., object], *paths: str) -> bool:
    try:
        function(*paths)
    except OSError:
        return False
    return True


def usable_home() -> str | None:
    """The user's home; None where there is none that does not depend on where the process is."""
    found = os.path.expanduser("~")
    if not os.path.isabs(found) and sys.platform != "win32":
        import pwd

        try:
            found = pwd.getpwuid(os.getuid()).pw_dir
        except KeyError:
            return None
    return found if os.path.isabs(found) else None


def _is_private(status: os.stat_result) -> bool:
    """A regular file of the user's that no other user can access."""
    if not stat.S_ISREG(status.st_mode):
        return False
    return not _HAS_OWNERS or (status.st_uid == os.geteuid() and not status.st_mode & _ANYTHING_FOR_OTHERS)


def _parts(path: str) -> list[str]:
    """The names in a path, the last first."""
    return [part for part in reversed(path.split("/")) if part and part != "."]


def _is_safe(path: str, is_own: bool) -> bool:
    """Whether nobody else can change what a path leads to; with `is_own` that must be the user's and private."""
    if not os.path.isabs(path):
        return False
    if not _HAS_OWNERS:
        return os.path.isdir(path)
    user = os.geteuid()
    if user != os.getuid() or os.getegid() != os.getgid():
        return False
    trusted = (0, user)
    links = 0
    pending, place = _parts(path), "/"
    try:
        status = os.lstat(place)
        while True:
            if status.st_uid not in trusted or (status.st_mode & _OTHERS and not status.st_mode & stat.S_ISVTX):
                return False
            if not pending:
                break
            part = pending.pop()
            # No part of `place` is a link, so `..` is its parent.
            following = os.path.dirname(place) if part == ".." else os.path.join(place, part)
            status = os.lstat(following)
            if stat.S_ISLNK(status.st_mode):
                links += 1
                if status.st_uid not in trusted or links > _MOST_LINKS:
                    return False
                target = os.readlink(following)
                pending += _parts(target)
                place = "/" if target.startswith("/") else place
                status = os.lstat(place)
            elif stat.S_ISDIR(status.st_mode):
                place = following
            else:
                return False
    except (OSError, ValueError):
        return False
    return not is_own or (status.st_uid == user and not status.st_mode & _OTHERS)


# --- file stamps: whether files changed, without reading them ---

FileStamp = tuple[str, int, int, int]
"""The path of a file, its size, its time of modification and, where the system has it, its time of change.  No program
can set the latter: a file may be replaced by one of the same size and time of modification."""

_OLD_ENOUGH: Final = 2 * 10**9


def stamp_of(path: str, status: os.stat_result) -> FileStamp:
    return (path, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def are_old_enough(stamps: list[FileStamp]) -> bool:
    """Whether a further change would show in the stamps: two at once may fall within a tick of the clock."""
    now = time.time_ns()
    return all(abs(now - stamp) > _OLD_ENOUGH for _path, _size, *times in stamps for stamp in times)


def name_of(stamps: list[FileStamp], further: str = "") -> str:
    """A name for files with these stamps, and for whatever else what is known of them depends on."""
    text = "\n".join([f"{path} {size} {modified} {changed}" for path, size, modified, changed in stamps])
    return blake2b(f"{text}\n{further}".encode(), digest_size=20).hexdigest()
