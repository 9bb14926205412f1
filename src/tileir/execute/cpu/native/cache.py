"""Compiled kernels on disk.

One file per kernel, named by a hash of everything that the code depends on.  A file is written under another name and
then renamed, so that a reader sees all of it or nothing, whatever other processes do.  Each begins with a checksum: a
damaged file is removed and counts as none.  Nothing here fails a compilation: where the directory cannot be used, there
is no cache.

Since what is in the cache is run, a directory that any user may write to is not used.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from tileir.execute.cpu.native.target import Target, binding

SWITCH: Final = "TILEIR_CACHE"
DIRECTORY: Final = "TILEIR_CACHE_DIR"
LIMIT: Final = 256 << 20

_MAGIC: Final = b"tileir1\n"
_DIGEST: Final = 16
_HEADER: Final = len(_MAGIC) + _DIGEST + 4
_SUFFIX: Final = ".kernel"
_UNFINISHED: Final = ".unfinished"
_REFRESH_SECONDS: Final = 3600.0
"""How old the mark of the last use may be: writing it on every use would cost more than reading the file."""
_PRUNE_EVERY: Final = 32


class Cache:
    """A directory of compiled kernels; with no directory, empty for ever."""

    def __init__(self, directory: Path | None, limit: int = LIMIT) -> None:
        self.directory: Path | None = directory
        self.limit: int = limit
        """How many bytes are kept; the kernels used longest ago go first."""
        self._prefix: str = f"{directory}{os.sep}"
        self._written: int = 0

    def get(self, key: str) -> tuple[bytes, dict[str, Any]] | None:
        """The object file and the description stored under a key."""
        if self.directory is None:
            return None
        path = f"{self._prefix}{key}{_SUFFIX}"
        try:
            with open(path, "rb") as file:
                status = os.fstat(file.fileno())
                data = file.read()
        except OSError:
            return None
        found = _unpack(data)
        if found is None or not _is_private(self.directory):
            if found is None:
                _remove(path)
            return None
        if time.time() - status.st_mtime > _REFRESH_SECONDS:
            try:
                os.utime(path)
            except OSError:
                pass
        return found

    def put(self, key: str, data: bytes, meta: dict[str, Any]) -> None:
        """Store an object file and its description, which must be plain JSON."""
        if self.directory is None:
            return
        temporary = f"{self._prefix}{key}.{os.getpid()}.{os.urandom(6).hex()}{_UNFINISHED}"
        try:
            os.makedirs(self.directory, mode=0o700, exist_ok=True)
            if not _is_private(self.directory):
                return
            with open(temporary, "xb") as file:
                file.write(_pack(data, meta))
            os.replace(temporary, f"{self._prefix}{key}{_SUFFIX}")
        except OSError:
            _remove(temporary)
            return
        if self._written % _PRUNE_EVERY == 0:
            self.prune()
        self._written += 1

    def prune(self) -> None:
        """Remove what was used longest ago until the rest is within the limit, and what was never finished."""
        if self.directory is None:
            return
        entries: list[tuple[float, int, str]] = []
        now = time.time()
        try:
            with os.scandir(self.directory) as found:
                for entry in found:
                    try:
                        status = entry.stat(follow_symlinks=False)
                    except OSError:
                        continue
                    if entry.name.endswith(_SUFFIX):
                        entries.append((status.st_mtime, status.st_size, entry.path))
                    elif entry.name.endswith(_UNFINISHED) and now - status.st_mtime > _REFRESH_SECONDS:
                        _remove(entry.path)
        except OSError:
            return
        total = sum([size for _, size, _ in entries])
        if total <= self.limit:
            return
        entries.sort()
        for _, size, path in entries:
            _remove(path)
            total -= size
            # Some room, so that the next kernel does not begin this again.
            if total <= self.limit * 3 // 4:
                break


def _pack(data: bytes, meta: dict[str, Any]) -> bytes:
    description = json.dumps(meta, separators=(",", ":")).encode()
    content = len(description).to_bytes(4, "little") + description + data
    return _MAGIC + hashlib.blake2b(content, digest_size=_DIGEST).digest() + content


def _unpack(data: bytes) -> tuple[bytes, dict[str, Any]] | None:
    if len(data) < _HEADER or not data.startswith(_MAGIC):
        return None
    content = memoryview(data)[_HEADER - 4 :]
    if hashlib.blake2b(content, digest_size=_DIGEST).digest() != data[len(_MAGIC) : _HEADER - 4]:
        return None
    length = int.from_bytes(content[:4], "little")
    meta: dict[str, Any] = json.loads(bytes(content[4 : 4 + length]))
    return bytes(content[4 + length :]), meta


def _remove(path: str) -> None:
    try:
        os.remove(path)
    except OSError:
        pass


def _is_private(directory: Path) -> bool:
    if sys.platform == "win32":
        return True
    try:
        return not os.stat(directory).st_mode & stat.S_IWOTH
    except OSError:
        return False


# --- which directory ---

_caches: dict[tuple[str | None, str | None], Cache] = {}


def default_cache() -> Cache:
    """The cache of this process: TILEIR_CACHE=0 turns it off, TILEIR_CACHE_DIR says where it is."""
    key = (os.environ.get(SWITCH), os.environ.get(DIRECTORY))
    found = _caches.get(key)
    if found is None:
        off = (key[0] or "").strip().lower() in ("0", "off", "no", "false")
        found = _caches[key] = Cache(None if off else Path(key[1]) if key[1] else _user_directory())
    return found


def _user_directory() -> Path | None:
    try:
        home = Path.home()
    except RuntimeError:
        # A user without a home.
        return None
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = home / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    return base / "tileir" / "cpu"


# --- keys ---

_fingerprint: bytes = b""


def key_of(target: Target, parts: Iterable[bytes | str]) -> str:
    """A name for what is compiled: the program and the options, in `parts`, and what they are compiled with and for."""
    digest = hashlib.blake2b(fingerprint(), digest_size=20)
    for part in (target.triple, target.name, target.features, *parts):
        data = part.encode() if isinstance(part, str) else part
        # With its length, so that no two lists of parts run together to the same bytes.
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


def fingerprint() -> bytes:
    """A hash of what does the compiling: the sources of this package and the versions of LLVM and its binding."""
    global _fingerprint
    if not _fingerprint:
        import llvmlite

        from tileir import __version__

        versions = (__version__, llvmlite.__version__, binding().llvm_version_info)
        _fingerprint = hashlib.blake2b(repr(versions).encode() + _hash_of_sources(), digest_size=20).digest()
    return _fingerprint


def _hash_of_sources() -> bytes:
    """A hash of the contents of the sources, which does not depend on when and where they were installed.

    Reading them takes longer than loading a kernel does, so the hash is kept in the cache too, for as long as the files
    look the same.
    """
    sources = _sources()
    text = "\n".join([f"{path} {size} {modified} {changed}" for path, size, modified, changed in sources])
    store = default_cache()
    key = f"sources-{hashlib.blake2b(text.encode(), digest_size=20).hexdigest()}"
    found = store.get(key)
    if found is not None:
        return found[0]
    digest = hashlib.blake2b(digest_size=20)
    for path, *_look in sources:
        with open(path, "rb") as file:
            data = file.read()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    # A file that was changed just now may be changed again within what its clock can tell.
    now = time.time_ns()
    if all(abs(now - moment) > _SETTLED_NANOSECONDS for _path, _size, *moments in sources for moment in moments):
        store.put(key, digest.digest(), {})
    return digest.digest()


_SETTLED_NANOSECONDS: Final = 2 * 10**9

_FOLDERS: Final = (
    "ir", "dialect", "dialect/ops", "rewrite", "passes", "execute", "execute/arithmetic", "execute/interpreter",
    "execute/cpu", "execute/cpu/checking", "execute/cpu/emission", "execute/cpu/lowering", "execute/cpu/matrix",
    "execute/cpu/native", "execute/cpu/vector",
)  # fmt: skip


def _sources() -> list[tuple[str, int, int, int]]:
    """The files that decide what code a program gets: their paths, sizes, and times of change, in order.

    The second time is one that nobody can set, where the system has it: a file may be replaced by one of the same size
    that brings the time of its own last change along.
    """
    # Strings, not paths: a process does this before its first kernel, and paths double what it takes.
    package = os.path.abspath(__file__).rsplit(os.sep, 4)[0]
    found = []
    for folder in _FOLDERS:
        base = f"{package}/{folder}/"
        for name in sorted(os.listdir(base)):
            if name.endswith(".py"):
                status = os.stat(base + name)
                found.append((base + name, status.st_size, status.st_mtime_ns, status.st_ctime_ns))
    return found
