"""A hash of this package's own sources: what an engine compiles follows from them, and so do the keys of its code."""

from __future__ import annotations

import os
from _blake2 import blake2b
from collections.abc import Collection, Sequence

from tileir.execute.cache.code_cache import default_cache
from tileir.execute.cache.private_files import FileStamp, are_old_enough, name_of, stamp_of


def hash_of_sources(left_out: Collection[str], inside: Sequence[str] = ("",)) -> bytes:
    """A hash of the contents of the sources, which does not depend on when and where they were installed; those of the
    package or `inside` some of its folders, without folders of some names.

    Reading them takes longer than loading a kernel does, so the hash is kept in the cache too, for as long as the files
    have the same stamps.
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
    """A hash of the stamp of the list that an installer has left of this package's files, which it writes anew with
    them; None in a checkout, or where the package is installed as a link to one.

    To stat each file takes a process longer than anything else it does before its first launch on a GPU.  What is
    edited where it is installed is not seen.
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
