"""One process at a time writes a file: a lock beside it, which the system takes back when the process dies.

The lock is a POSIX one: a process that is forked off does not have it, so that a worker that outlives a killed sweep
keeps nobody from going on; and it holds on network file systems.  It knows nothing of threads, so the paths that this
process has locked are in a table, too.
"""

from __future__ import annotations

import os
import socket
import threading
from types import ModuleType
from typing import Final

from tileir.judge.errors import ResultsError

_fcntl: ModuleType | None
_msvcrt: ModuleType | None
try:
    import fcntl as _fcntl
except ImportError:
    _fcntl = None
try:
    import msvcrt as _msvcrt
except ImportError:
    _msvcrt = None

_LONGEST: Final = 200
_OWN: Final[set[str]] = set()
_GUARD: Final = threading.Lock()


class FileLock:
    """The right to write a file, from when it is made until `close`."""

    def __init__(self, path: str) -> None:
        self._path: str = os.path.realpath(path) + ".lock"
        self._file: int = -1
        with _GUARD:
            if self._path in _OWN:
                raise ResultsError(f"'{path}' is being written by another sweep of this process")
            try:
                self._take(path)
            except OSError as error:
                raise ResultsError(f"cannot write '{path}': {error.strerror or error}") from None
            _OWN.add(self._path)

    def _take(self, path: str) -> None:
        while True:
            file = os.open(self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o644)
            try:
                if not _locked(file):
                    owner = os.read(file, _LONGEST).decode("utf-8", "replace").strip()
                    raise ResultsError(
                        f"'{path}' is being written by another sweep{f' ({owner})' if owner else ''}: "
                        "wait until it has ended, or write to another file"
                    )
                if _is_at(file, self._path):
                    os.ftruncate(file, 0)
                    os.write(file, f"process {os.getpid()} on {socket.gethostname()}\n".encode()[:_LONGEST])
                    self._file = file
                    return
            except BaseException:
                os.close(file)
                raise
            # Its owner removed it in the meantime.
            os.close(file)

    def close(self) -> None:
        with _GUARD:
            if self._file < 0:
                return
            try:
                # While it is still locked: who waits for it looks whether it is still there.
                os.unlink(self._path)
            except OSError:
                pass
            os.close(self._file)
            self._file = -1
            _OWN.discard(self._path)


def _locked(file: int) -> bool:
    try:
        if _fcntl is not None:
            _fcntl.lockf(file, _fcntl.LOCK_EX | _fcntl.LOCK_NB)
        elif _msvcrt is not None:
            # Beyond what is read of it: other processes may not read what is locked.
            os.lseek(file, 1 << 20, os.SEEK_SET)
            _msvcrt.locking(file, _msvcrt.LK_NBLCK, 1)
            os.lseek(file, 0, os.SEEK_SET)
    except (BlockingIOError, PermissionError):
        if _msvcrt is not None:
            os.lseek(file, 0, os.SEEK_SET)
        return False
    return True


def _is_at(file: int, path: str) -> bool:
    try:
        there = os.stat(path)
    except OSError:
        return False
    mine = os.fstat(file)
    return (mine.st_dev, mine.st_ino) == (there.st_dev, there.st_ino)
