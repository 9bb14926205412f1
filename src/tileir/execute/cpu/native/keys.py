"""Names for compiled kernels: hashes of everything that the code depends on."""

from __future__ import annotations

from _blake2 import blake2b
from collections.abc import Iterable
from typing import Final

from tileir.execute.cache.code_cache import hash_of_sources
from tileir.execute.cpu.native.target import Target, llvm

NO_PART: Final = ("bridge", "bytecode", "gpu", "tools")
"""Folders of the package that nothing the engine does comes from; `tests/test_architecture.py` looks at its imports.
Everything else is followed, what comes to be too: the worst of that is to compile once more."""

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
        _fingerprint = blake2b(repr(versions).encode() + hash_of_sources(NO_PART), digest_size=20).digest()
    return _fingerprint
