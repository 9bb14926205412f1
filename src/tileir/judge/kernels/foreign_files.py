"""Files that foreign code may have written: read with care.

A candidate may leave anything under the name of its results: a link to what others write later, a pipe that never
ends, a file that does not fit into memory.
"""

from __future__ import annotations

import os
import stat


class NotReadable(Exception):
    """Why a file is not read, in words."""


def read_foreign(directory: str, name: str, most: int) -> bytes:
    """The contents of a plain file in a directory, of at most so many bytes."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    path = os.path.join(directory, name)
    try:
        if os.path.islink(directory) or os.path.islink(path):
            raise NotReadable(f"{name} is a link")
        descriptor = os.open(path, flags)
    except FileNotFoundError:
        raise NotReadable(f"{name} is missing") from None
    except OSError as error:
        raise NotReadable(f"{name} cannot be read ({error.strerror})") from None
    found = os.fstat(descriptor)
    why = ""
    if not stat.S_ISREG(found.st_mode):
        why = "is no plain file"
    elif found.st_nlink > 1:
        # Another name of a file that somebody else writes.
        why = "is a link"
    elif found.st_size > most:
        why = f"has {found.st_size} bytes, more than {most}"
    if why:
        os.close(descriptor)
        raise NotReadable(f"{name} {why}")
    with open(descriptor, "rb") as file:
        return file.read(most)
