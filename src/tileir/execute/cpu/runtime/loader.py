"""Loading a compiled object into this process, and the name under which it is kept on disk.

LLVM links an object with the functions of this process that generated code may call (`CALLABLE`).
"""

from __future__ import annotations

import ctypes
import operator
import sys
from _blake2 import blake2b
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, cast

from tileir.execute.cache.code_cache import hash_of_sources
from tileir.execute.cpu.runtime.launch_record import ARGUMENTS, GRID
from tileir.execute.cpu.runtime.llvm_thread import give_back_after, uninterrupted
from tileir.execute.cpu.runtime.target import Target, binding, llvm
from tileir.execute.errors import CompilationError

_WORKER: Final = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)


class Loaded:
    """A function in native code, alive as long as this is; calling it releases the interpreter lock."""

    __slots__ = ("_deciding", "_library", "_measured", "address", "call", "ns_per_block", "repeats")

    def __init__(self, library: object, address: int) -> None:
        self._library: object = library
        self.address: int = address
        self.call: Callable[[int, int], int] = cast("Callable[[int, int], int]", _WORKER(address))
        """The worker: the address of a record and that of scratch memory."""
        self.repeats: bool = False  # Whether a tile block has loops, which may take any time.
        self.ns_per_block: int = 0  # Of the last launch, kept by `thread_pool`; 0 before the first
        self._deciding: Callable[[Any], object] | None = None
        self._measured: object = None

    def has_loops(self, deciding: list[int] | None) -> None:
        """Tile blocks have loops; the arguments named decide how many iterations they have."""
        self.repeats = True
        if deciding is not None:
            self._deciding = operator.itemgetter(*range(GRID, GRID + 3), *[ARGUMENTS + each for each in deciding])

    def takes_as_long(self, slots: Any) -> bool:
        """Whether a tile block of this launch takes about as long as one of the launch that `ns_per_block` is of."""
        if not self.repeats:
            return True
        return self._deciding is not None and self._deciding(slots) == self._measured

    def measured(self, slots: Any, ns_per_block: int) -> None:
        self._measured = None
        self.ns_per_block = ns_per_block
        if self._deciding is not None:
            self._measured = self._deciding(slots)


_engine: Any = None
_libraries_of_engine: int = 0
_MOST_LIBRARIES: Final = 16
"""How many kernels one of LLVM's engines is given.  It never forgets a library, which is 8 KB even when the code is
gone, while an engine, which is 120 KB, goes with the last of its libraries."""


def load(data: bytes) -> Loaded:
    """Load an object file and find the worker in it."""
    return load_all(data, ["worker"])[0]


def load_all(data: bytes, entries: Sequence[str]) -> list[Loaded]:
    library, addresses = uninterrupted(_linked, data, entries)
    return [Loaded(library, address) for address in addresses]


class _Library:
    """Code that LLVM has put into memory, as long as this is there."""

    __slots__ = ("__weakref__",)


def _linked(data: bytes, entries: Sequence[str]) -> tuple[_Library, list[int]]:
    global _engine, _libraries_of_engine
    found = binding()
    builder = found.JITLibraryBuilder().add_object_img(data).add_current_process()
    for entry in entries:
        builder.export_symbol(entry)
    if _engine is not None and _libraries_of_engine >= _MOST_LIBRARIES:
        # What was linked with it still holds it.
        _engine.close()
        _engine = None
    if _engine is None:
        # LLVM's newer linker keeps code and constants together, so that no distance is too large for an instruction;
        # for Windows it is not complete.
        _engine = found.create_lljit_compiler(use_jit_link=sys.platform != "win32")
        _libraries_of_engine = 0
    # One that cannot be linked has taken its name, too.
    _libraries_of_engine += 1
    try:
        library = builder.link(_engine, f"kernel{_libraries_of_engine}")
        addresses = [library[entry] for entry in entries]
    except RuntimeError as error:
        raise CompilationError(f"the compiled kernel cannot be loaded: {str(error).strip()}") from None
    owner = _Library()
    give_back_after(owner, library)
    return owner, addresses


_ROUNDING: Final = ("floor", "ceil", "trunc", "rint", "nearbyint", "round", "roundeven")

CALLABLE: Final = frozenset(
    ["fmod", "fmodf", "fma", "fmaf", "memcpy", "memmove", "memset", "sqrt", "sqrtf"]
    + [name + suffix for name in _ROUNDING for suffix in ("", "f")]
)
"""Functions of the C library that generated code may call: their results are exact, so they are the same anywhere."""


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
