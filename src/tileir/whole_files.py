"""Write files whole or not at all.

A file is written under another name beside its target and then renamed, so that a full disk, a quota or Ctrl-C leaves
what was there before.  The new file has the permissions of the old one; a symbolic link stays, and what it leads to is
replaced.  Devices, pipes and open descriptors (`/dev/stdout`) are written directly: there is nothing to replace.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from contextlib import suppress

# Errors of the system for a file that may be written to and not replaced: a mount point, one of another user in /tmp.
_PINNED = (errno.EBUSY, errno.EPERM, errno.EACCES)


def write_file(path: str | os.PathLike[str], data: bytes | memoryview) -> None:
    """Give a file new contents, or raise `OSError` with what was there before in place."""
    path = os.fspath(path)
    descriptor, target, existing = _open_descriptor(path), path, None
    if descriptor >= 0:
        sys.stdout.flush()
        sys.stderr.flush()
        descriptor = os.dup(descriptor)
    else:
        target, existing = _checked(path)
        if existing is not None and not stat.S_ISREG(existing.st_mode):
            descriptor = os.open(target, os.O_WRONLY | getattr(os, "O_NOCTTY", 0))
    if descriptor < 0:
        return _replace(target, existing, data)
    with open(descriptor, "wb") as file:
        file.write(data)


def check_target(path: str) -> None:
    """Raise `OSError` if `write_file` would."""
    if _open_descriptor(path) < 0:
        _checked(path)


def _open_descriptor(path: str) -> int:
    """The number of the open descriptor that a name such as `/dev/stdout` stands for, or -1."""
    streams = ("/dev/stdin", "/dev/stdout", "/dev/stderr")
    if path in streams:
        return streams.index(path)
    directory, _, number = path.rpartition("/")
    is_open = directory in ("/dev/fd", "/proc/self/fd") and number.isascii() and number.isdecimal()
    return int(number) if is_open else -1


def _checked(path: str) -> tuple[str, os.stat_result | None]:
    """The file that a path leads to and its state, None if it is yet to be made; raises if it cannot be written."""
    if not path:
        raise FileNotFoundError(0, "the name is empty")
    if path.endswith(("/", os.sep)):
        raise IsADirectoryError(0, "it is the name of a directory")
    # A loop of links stays as it is: the system reports it.
    target = os.path.realpath(path) if os.path.islink(path) else path
    try:
        existing = os.stat(target)
    except FileNotFoundError:
        directory = os.path.dirname(target) or "."
        if not stat.S_ISDIR(os.stat(directory).st_mode):
            raise NotADirectoryError(0, f"'{directory}' is no directory") from None
        if not os.access(directory, os.W_OK | os.X_OK):
            raise PermissionError(0, f"nothing may be written in '{directory}'") from None
        return target, None
    if stat.S_ISDIR(existing.st_mode):
        raise IsADirectoryError(0, "it is a directory")
    if not os.access(target, os.W_OK):
        # A rename would replace it all the same.
        raise PermissionError(0, "it may not be written to")
    return target, existing


def _replace(target: str, existing: os.stat_result | None, data: bytes | memoryview) -> None:
    """Write a file beside the target and rename it onto the target; write in place if that is not possible."""
    try:
        descriptor, beside = _create_beside(target)
    except PermissionError:
        return _write_in_place(target, data)
    try:
        with open(descriptor, "wb") as file:
            if existing is not None:
                with suppress(OSError, AttributeError):
                    os.chown(beside, existing.st_uid, existing.st_gid)
                os.chmod(beside, stat.S_IMODE(existing.st_mode) & 0o777)
            file.write(data)
        try:
            os.replace(beside, target)
        except OSError as error:
            if existing is None or error.errno not in _PINNED:
                raise
            _write_in_place(target, data)
    finally:
        # No longer there after the rename.
        with suppress(OSError):
            os.unlink(beside)


def _create_beside(target: str) -> tuple[int, str]:
    """A new file in the directory of the target."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    while True:
        # Short, because the target's own name may be as long as names can be.
        beside = os.path.join(os.path.dirname(target), f".tileir-{os.urandom(6).hex()}")
        with suppress(FileExistsError):
            return os.open(beside, flags, 0o666), beside


def _write_in_place(target: str, data: bytes | memoryview) -> None:
    """Onto a file that cannot be replaced: space for all of it is reserved before anything changes."""
    descriptor = os.open(target, os.O_WRONLY | getattr(os, "O_BINARY", 0))
    with open(descriptor, "wb") as file:
        size = os.fstat(descriptor).st_size
        if len(data) > size and hasattr(os, "posix_fallocate"):
            try:
                os.posix_fallocate(descriptor, 0, len(data))
            except OSError as error:
                os.ftruncate(descriptor, size)
                if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                    raise
        file.write(data)
        file.flush()
        os.ftruncate(descriptor, len(data))
