"""Programs inside of archives, which may be hostile: nothing is put on disk, and what is read is bounded.

Names inside of an archive are only ever names.  Links are passed over, for what they lead to is there under its own
name or is outside.  Whatever sizes an archive states, no more than `MOST_OF_A_FILE` is kept of a file and no more
than `MOST_OF_AN_ARCHIVE` is decompressed altogether.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from typing import IO, Any, Final, NamedTuple, TypeAlias, cast

from tileir.judging.errors import message_of

MOST_OF_A_FILE: Final = 64 << 20
MOST_OF_AN_ARCHIVE: Final = 16 << 30
_LARGEST_READ: Final = 64 << 20
_TAIL: Final = 1024

EXTENSIONS: Final = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
_COMPRESSED: Final[dict[bytes, Callable[[IO[bytes]], gzip.GzipFile | bz2.BZ2File | lzma.LZMAFile]]] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\0": lzma.LZMAFile,
}


class _TooLarge(ValueError):
    """The archive holds more than is ever read of one."""

    def __init__(self, limit: int) -> None:
        size = f"{limit >> 30} GiB" if limit >> 30 else f"{limit} bytes"
        super().__init__(f"it holds more than {size}: the rest is left out")


class Member(NamedTuple):
    """A file in an archive: its content, or why there is none."""

    name: str
    content: bytes
    trouble: str = ""


Filter: TypeAlias = Callable[[str, bytes], bool]
"""Whether a file is read, by its name and its first bytes."""


def is_archive(name: str) -> bool:
    return name.lower().endswith(EXTENSIONS)


def members(file: IO[bytes], filter: Filter, limit: int = MOST_OF_AN_ARCHIVE) -> Iterator[Member]:
    """The files in an archive that `filter` takes; a last one without a name is about the archive as a whole."""
    try:
        beginning = file.read(8)
        file.seek(0)
        if beginning.startswith(b"PK"):
            yield from _zipped(file, filter, limit)
            return
        opened = [opening(file) for magic, opening in _COMPRESSED.items() if beginning.startswith(magic)]
        yield from _tarred(_Bounded(opened[0] if opened else file, limit), filter)
    except _TooLarge as error:
        yield Member("", b"", str(error))
    except RecursionError:
        yield Member("", b"", "the archive is damaged")
    except Exception as error:
        # What reads archives raises whatever comes of numbers and names that make no sense.
        yield Member("", b"", f"the archive is damaged: {message_of(error)}")


def _zipped(file: IO[bytes], filter: Filter, limit: int) -> Iterator[Member]:
    left = limit
    with zipfile.ZipFile(file) as archive:
        for entry in archive.infolist():
            mode = entry.external_attr >> 16
            if entry.is_dir() or (mode and stat.S_IFMT(mode) not in (0, stat.S_IFREG)):
                continue
            try:
                member, used = _member(entry.filename, partial(archive.open, entry), filter)
            except Exception as error:
                # One file with a password, an unknown compression or a wrong checksum: the others may be fine.
                member, used = [Member(entry.filename, b"", message_of(error))], 0
            yield from member
            left -= used
            if left < 0:
                raise _TooLarge(limit)


def _tarred(file: _Bounded, filter: Filter) -> Iterator[Member]:
    with tarfile.open(fileobj=cast("IO[bytes]", file), mode="r:") as archive:
        # It would keep every entry.
        kept: list[tarfile.TarInfo] = vars(archive)["members"]
        while (entry := archive.next()) is not None:
            kept.clear()
            if entry.isreg():
                yield from _member(entry.name, partial(archive.extractfile, entry), filter)[0]


def _member(name: str, opened: Callable[[], IO[bytes] | None], filter: Filter) -> tuple[list[Member], int]:
    """A file, if the filter takes it, and how much of it was read."""
    parts = name.split("/")
    if "__MACOSX" in name or any(part.startswith(".") and part not in (".", "..") for part in parts):
        return [], 0
    if is_archive(name):
        return [Member(name, b"", "an archive in an archive is not opened")], 0
    file = opened()
    if file is None:
        return [], 0
    with file:
        content = file.read(4096)
        if not filter(name, content):
            return [], len(content)
        content += file.read(MOST_OF_A_FILE + 1 - len(content))
    if len(content) > MOST_OF_A_FILE:
        return [Member(name, b"", f"it is larger than {MOST_OF_A_FILE >> 20} MiB")], len(content)
    return [Member(name, content)], len(content)


class _Bounded:
    """A stream that is read once, forward, and only so far: what `tarfile` reads from.

    `tarfile` trusts headers, and would read a name of ten gigabytes.  It steps back by less than a block,
    which a decompressor could only do from the beginning."""

    def __init__(self, file: Any, limit: int) -> None:
        self._file: Any = file
        self._limit: int = limit
        self._position: int = 0
        """Where the reader is; the stream itself may be ahead by what is taken from `_tail`."""
        self._tail: bytes = b""
        self._end: int = 0
        """Where the stream is."""

    def read(self, size: int = -1) -> bytes:
        if size < 0 or size > _LARGEST_READ:
            raise ValueError("a header claims more than there can be")
        behind = self._end - self._position
        found = self._tail[len(self._tail) - behind :][:size] if behind else b""
        if len(found) < size:
            more = self._file.read(size - len(found))
            self._end += len(more)
            if self._end > self._limit:
                raise _TooLarge(self._limit)
            self._tail = (self._tail + more)[-_TAIL:]
            found += more
        self._position += len(found)
        return found

    def seek(self, position: int, whence: int = 0) -> int:
        if whence != 0 or position < self._end - len(self._tail):
            raise ValueError("its parts are not in order")
        while position > self._end:
            self._position = self._end
            if not self.read(min(position - self._end, 1 << 20)):
                break
        self._position = min(position, self._end)
        return self._position

    def tell(self) -> int:
        return self._position
