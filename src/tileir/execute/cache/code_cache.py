"""Compiled kernels on disk.

One file per kernel, named by a hash of everything that the code depends on.  Nothing here fails a compilation: where
the directory cannot be used, there is no cache.

What is in the cache is run.  So only a directory is used that nobody but the user can change (`private_files`), and
each file begins with a code of its name and contents that takes the user's key, in the same directory, to make.  A file
whose code is wrong is removed.
"""

from __future__ import annotations

import json
import os
import sys
import time

# From where `hashlib` and `hmac` have them: those bring OpenSSL, which takes longer to load than a kernel.
from _blake2 import blake2b
from _operator import _compare_digest as compare_digest
from typing import TYPE_CHECKING, Any, Final

from tileir.execute.cache.private_files import (
    FileStamp,
    PrivateDirectory,
    are_old_enough,
    name_of,
    stamp_of,
    usable_home,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path

SWITCH: Final = "TILEIR_CACHE"
DIRECTORY: Final = "TILEIR_CACHE_DIR"
LIMIT: Final = 256 << 20

_MAGIC: Final = b"tileir2\n"
_CODE: Final = 32
_HEADER: Final = len(_MAGIC) + _CODE + 4
_KEY: Final = "key"
_KEY_BYTES: Final = 32
_SUFFIX: Final = ".kernel"
_UNFINISHED: Final = ".unfinished"
_REFRESH_SECONDS: Final = 3600.0
"""How old the mark of the last use may be: writing it on every use would cost more than reading the file."""
_PRUNE_EVERY: Final = 32


class Cache:
    """A directory of compiled kernels; with no directory, empty for ever."""

    def __init__(self, directory: str | Path | None, limit: int = LIMIT) -> None:
        self.directory: str | None = str(directory) if directory is not None else None
        self.limit: int = limit  # How many bytes are kept; the kernels used longest ago go first.
        # No directory is safe to use for one that is empty.
        self._files: PrivateDirectory = PrivateDirectory(self.directory or "")
        self._written: int = 0

    def get(self, key: str) -> tuple[bytes, dict[str, Any]] | None:
        files, name = self._files, key + _SUFFIX
        secret = _secret(files) if files.is_safe() else None
        found = files.read(name, self.limit) if secret is not None else None
        if secret is None or found is None:
            return None
        content = _unpack(found.data, name, secret)
        if content is None:
            files.remove(name)
        elif time.time() - found.modified > _REFRESH_SECONDS:
            files.touch(name)
        return content

    def put(self, key: str, data: bytes, meta: dict[str, Any]) -> None:
        """Store an object file and its description, which must be plain JSON."""
        files, name = self._files, key + _SUFFIX
        secret = _made_secret(files) if files.make() else None
        if secret is None:
            return
        if not _store(files, key, _pack(data, meta, name, secret), lambda temporary: files.rename(temporary, name)):
            return
        if self._written % _PRUNE_EVERY == 0:
            self.prune()
        self._written += 1

    def keys(self, prefix: str) -> list[str]:
        names = [name for name, _, _ in self._files.entries() if name.startswith(prefix) and name.endswith(_SUFFIX)]
        return sorted([name.removesuffix(_SUFFIX) for name in names])

    def prune(self) -> None:
        """Remove what was used longest ago until the rest is within the limit, and what was never finished."""
        files, now = self._files, time.time()
        found = files.entries()
        for name, _, modified in found:
            if name.endswith(_UNFINISHED) and now - modified > _REFRESH_SECONDS:
                files.remove(name)
        kernels = sorted([(modified, size, name) for name, size, modified in found if name.endswith(_SUFFIX)])
        total = sum([size for _, size, _ in kernels])
        # Some room, so that the next kernel does not begin this again.
        aim = self.limit * 3 // 4 if total > self.limit else total
        for _, size, name in kernels:
            if total <= aim:
                break
            files.remove(name)
            total -= size


def _secret(files: PrivateDirectory) -> bytes | None:
    found = files.read(_KEY, _KEY_BYTES)
    return found.data if found is not None and len(found.data) == _KEY_BYTES else None


def _made_secret(files: PrivateDirectory) -> bytes | None:
    """The same, made where there is none; another process may make one at the same time."""
    for _ in range(2):
        found = _secret(files)
        if found is not None:
            return found
        # One that is not whole, or that others could read, is replaced: what it vouches for counts no more.
        if files.is_own(_KEY):
            files.remove(_KEY)
        _store(files, _KEY, os.urandom(_KEY_BYTES), lambda temporary: files.rename_new(temporary, _KEY))
    return _secret(files)


def _store(files: PrivateDirectory, name: str, content: bytes, rename: Callable[[str], bool]) -> bool:
    """Write a file under a temporary name, then rename it: a reader sees all of it or nothing."""
    temporary = f"{name}.{os.getpid()}.{os.urandom(6).hex()}{_UNFINISHED}"
    try:
        return files.write(temporary, content) and rename(temporary)
    finally:
        # Where it was renamed there is none.
        files.remove(temporary)


def _code(content: Any, name: str, secret: bytes) -> bytes:
    digest = blake2b(key=secret, digest_size=_CODE, person=b"tileir cache")
    # With its name: an entry of the user's own under another name would be other code.
    label = name.encode()
    digest.update(len(label).to_bytes(4, "little") + label)
    digest.update(content)
    return digest.digest()


def _pack(data: bytes, meta: dict[str, Any], name: str, secret: bytes) -> bytes:
    description = json.dumps(meta, separators=(",", ":")).encode()
    content = len(description).to_bytes(4, "little") + description + data
    return _MAGIC + _code(content, name, secret) + content


def _unpack(data: bytes, name: str, secret: bytes) -> tuple[bytes, dict[str, Any]] | None:
    if len(data) < _HEADER or not data.startswith(_MAGIC):
        return None
    content = memoryview(data)[_HEADER - 4 :]
    if not compare_digest(_code(content, name, secret), data[len(_MAGIC) : _HEADER - 4]):
        return None
    length = int.from_bytes(content[:4], "little")
    try:
        meta = json.loads(bytes(content[4 : 4 + length]))
    except (ValueError, RecursionError):
        return None
    return (bytes(content[4 + length :]), meta) if isinstance(meta, dict) else None


_caches: dict[tuple[str | None, str | None], Cache] = {}


def default_cache() -> Cache:
    """The cache of this process: TILEIR_CACHE=0 turns it off, TILEIR_CACHE_DIR, made absolute once, is where it is."""
    key = (os.environ.get(SWITCH), os.environ.get(DIRECTORY))
    found = _caches.get(key)
    if found is None:
        off = (key[0] or "").strip().lower() in ("0", "off", "no", "false")
        found = _caches.setdefault(key, Cache(None if off else _named(key[1]) if key[1] else _user_directory()))
    return found


def _named(text: str) -> str | None:
    try:
        return os.path.abspath(text)
    except (OSError, ValueError):
        # The directory that the process is in is gone.
        return None


def _user_directory() -> str | None:
    home = usable_home()
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        base = local if local else os.path.join(home, "AppData", "Local") if home else None
    elif sys.platform == "darwin":
        base = os.path.join(home, "Library", "Caches") if home else None
    else:
        # The XDG specification ignores a relative path.
        chosen = os.environ.get("XDG_CACHE_HOME")
        base = chosen if chosen and os.path.isabs(chosen) else os.path.join(home, ".cache") if home else None
    return os.path.normpath(os.path.join(base, "tileir", "code")) if base is not None else None


# --- a hash of this package's own sources: what an engine compiles follows from them ---


def hash_of_sources(left_out: Collection[str], inside: Sequence[str] = ("",)) -> bytes:
    """A hash of the sources of the package, or of those `inside` some of its folders, without folders of some names.

    Reading them takes longer than loading a kernel, so the cache keeps the hash while the files have the same stamps.
    """
    sources = sources_but(left_out, inside)
    store = default_cache()
    key = f"sources-{name_of(sources)}"
    found = store.get(key)
    if found is not None:
        return found[0]
    digest = blake2b(digest_size=20)
    for path, *_stamp in sources:
        with open(path, "rb") as file:
            data = file.read()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    if are_old_enough(sources):
        store.put(key, digest.digest(), {})
    return digest.digest()


def hash_of_installed() -> bytes | None:
    """A hash of the stamp of the file list that an installer wrote with this package; None in a checkout.

    To stat each file takes longer than anything else before a first launch on a GPU.  Edits in place are not seen.
    """
    from tileir import __version__

    path = f"{_package()}-{__version__}.dist-info{os.sep}RECORD"
    try:
        return bytes.fromhex(name_of([stamp_of(path, os.stat(path))]))
    except OSError:
        return None


def _package() -> str:
    return os.path.abspath(__file__).rsplit(os.sep, 3)[0]


def sources_but(left_out: Collection[str], inside: Sequence[str] = ("",)) -> list[FileStamp]:
    """The files of the package or of folders in it, in order, without those in folders of some names."""
    # Strings, not paths: a process does this before its first kernel, and paths double what it takes.
    package = _package()
    folders = [os.path.join(package, *each.split("/")) if each else package for each in inside]
    found = []
    for folder in folders:
        for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
            if entry.name.endswith(".py"):
                found.append(stamp_of(entry.path, entry.stat()))
            elif entry.name != "__pycache__" and entry.name not in left_out and entry.is_dir():
                folders.append(entry.path)
    return found
