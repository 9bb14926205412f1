"""Names for compiled kernels: hashes of everything that the code depends on."""

from __future__ import annotations

import os
from _blake2 import blake2b
from collections.abc import Iterable
from typing import Final

from tileir.execute.code_cache import default_cache
from tileir.execute.cpu.native.target import Target, llvm
from tileir.execute.looks import Look, are_settled, look_of, name_of

_fingerprint: bytes = b""


def key_of(target: Target, parts: Iterable[bytes | str]) -> str:
    """A name for what is compiled: the program and the options, in `parts`, and what they are compiled with and for."""
    digest = blake2b(fingerprint(), digest_size=20)
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
        from tileir import __version__

        found = llvm()
        versions = (__version__, found.binding_version, found.version)
        _fingerprint = blake2b(repr(versions).encode() + _hash_of_sources(), digest_size=20).digest()
    return _fingerprint


def _hash_of_sources() -> bytes:
    """A hash of the contents of the sources, which does not depend on when and where they were installed.

    Reading them takes longer than loading a kernel does, so the hash is kept in the cache too, for as long as the files
    look the same.
    """
    sources = _sources()
    store = default_cache()
    key = f"sources-{name_of(sources)}"
    found = store.get(key)
    if found is not None:
        return found[0]
    digest = blake2b(digest_size=20)
    for path, *_look in sources:
        with open(path, "rb") as file:
            data = file.read()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    if are_settled(sources):
        store.put(key, digest.digest(), {})
    return digest.digest()


_NO_PART: Final = ("bridge", "bytecode", "gpu", "tools", "__pycache__")
"""Folders of the package that nothing the engine does comes from; `tests/test_architecture.py` looks at its imports.
Everything else is followed, what comes to be too: the worst of that is to compile once more."""


def _sources() -> list[Look]:
    """The files that decide what code a program gets: their paths, sizes, and times of change, in order.

    The second time is one that nobody can set, where the system has it: a file may be replaced by one of the same size
    that brings the time of its own last change along.
    """
    # Strings, not paths: a process does this before its first kernel, and paths double what it takes.
    folders = [os.path.abspath(__file__).rsplit(os.sep, 4)[0]]
    found = []
    for folder in folders:
        for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
            if entry.name.endswith(".py"):
                found.append(look_of(entry.path, entry.stat()))
            elif entry.name not in _NO_PART and entry.is_dir():
                folders.append(entry.path)
    return found
