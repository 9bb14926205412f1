"""Loading a compiled object into this process, and the name under which it is kept on disk.

LLVM links an object.  It ends the process if a symbol is missing, so the symbols are read first: the three formats,
ELF, Mach-O and COFF, keep them in a table that takes a few lines to read.
"""

from __future__ import annotations

import ctypes
import operator
import struct
import sys
from _blake2 import blake2b
from collections.abc import Callable, Iterable, Iterator, Sequence
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
        """The worker: the address of a record and that of an arena."""
        self.repeats: bool = False
        """Whether a tile block has loops, which may take any time."""
        self.ns_per_block: int = 0
        """How many nanoseconds a tile block took in the last launch, 0 before the first: `thread_pool` keeps it."""
        self._deciding: Callable[[Any], object] | None = None
        self._measured: object = None

    def has_loops(self, deciding: list[int] | None) -> None:
        """Tile blocks have loops; the arguments named decide how often they turn (`turns`)."""
        self.repeats = True
        if deciding is not None:
            self._deciding = operator.itemgetter(*range(GRID, GRID + 3), *[ARGUMENTS + each for each in deciding])

    def takes_as_long(self, slots: Any) -> bool:
        """Whether a tile block of this launch takes about as long as one of the launch that `ns_per_block` is of."""
        if not self.repeats:
            return True
        return self._deciding is not None and self._deciding(slots) == self._measured

    def measured(self, slots: Any, ns_per_block: int) -> None:
        """Remember how long a tile block took in a launch."""
        self._measured = None
        self.ns_per_block = ns_per_block
        if self._deciding is not None:
            self._measured = self._deciding(slots)


_engine: Any = None
_libraries_of_engine: int = 0

_MOST_LIBRARIES: Final = 16
"""How many kernels one of LLVM's engines is given.  It never forgets a library, which is 8 KB even when the code is
gone, while an engine, which is 120 KB, goes with the last of its libraries."""


def load(data: bytes, entry: str = "worker") -> Loaded:
    """Load an object file and find a function in it."""
    return load_all(data, [entry])[0]


def load_all(data: bytes, entries: Sequence[str]) -> list[Loaded]:
    """Load an object file and find functions in it."""
    try:
        symbols = symbols_of(data)
    except UnknownObject as error:
        raise CompilationError(f"the compiled kernel cannot be loaded: {error}") from None
    for entry in entries:
        if entry not in symbols.defined:
            raise CompilationError(f"the compiled kernel cannot be loaded: it has no function '{entry}'")
    library, addresses = uninterrupted(_linked, data, entries, {name: address_of(name) for name in symbols.undefined})
    return [Loaded(library, address) for address in addresses]


class _Library:
    """Code that LLVM has put into memory, as long as this is there."""

    __slots__ = ("__weakref__",)


def _linked(data: bytes, entries: Sequence[str], imports: dict[str, int]) -> tuple[_Library, list[int]]:
    global _engine, _libraries_of_engine
    found = binding()
    builder = found.JITLibraryBuilder().add_object_img(data)
    for entry in entries:
        builder.export_symbol(entry)
    for name, address in imports.items():
        builder.import_symbol(name, address)
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
    except RuntimeError as error:
        raise CompilationError(f"the compiled kernel cannot be loaded: {str(error).strip()}") from None
    owner = _Library()
    give_back_after(owner, library)
    return owner, [library[entry] for entry in entries]


_addresses: dict[str, int] = {}
_libraries: dict[int, Any] = {}


def address_of(name: str) -> int:
    """Where a function that generated code may call is in this process."""
    found = _addresses.get(name)
    if found is None:
        if name not in CALLABLE:
            raise CompilationError(f"the compiled kernel needs '{name}', which it must not call")
        for library in _c_libraries():
            function = getattr(library, name, None)
            if function is not None:
                found = ctypes.cast(function, ctypes.c_void_p).value
                break
        if found is None:
            raise CompilationError(f"the compiled kernel needs '{name}', which the C library of this system lacks")
        _addresses[name] = found
    return found


def _c_libraries() -> Iterator[Any]:
    """Where functions are looked for, in order; opened when what comes before does not have one."""
    for number, opened in enumerate(_LIBRARIES):
        if number not in _libraries:
            # By number: two threads may open the same one, which does no harm.
            _libraries[number] = opened()
        yield _libraries[number]


def _mathematics() -> Any:
    """The C library's other half, which may not be loaded yet; finding it takes another process."""
    # Imported here: it brings a fifth of Python's library.
    from ctypes.util import find_library

    found = find_library("m")
    return ctypes.CDLL(found) if found else None


_LIBRARIES: Final[tuple[Callable[[], Any], ...]] = (
    (lambda: ctypes.CDLL("ucrtbase"), lambda: ctypes.CDLL("vcruntime140"))
    if sys.platform == "win32"
    else (lambda: ctypes.CDLL(None), _mathematics)
)


# --- symbols ---

_ROUNDING: Final = ("floor", "ceil", "trunc", "rint", "nearbyint", "round", "roundeven")

CALLABLE: Final = frozenset(
    ["fmod", "fmodf", "fma", "fmaf", "memcpy", "memmove", "memset", "sqrt", "sqrtf"]
    + [name + suffix for name in _ROUNDING for suffix in ("", "f")]
)
"""Functions of the C library that generated code may call: their results are exact, so they are the same anywhere."""


class Symbols:
    """The names an object defines for others, and those it needs."""

    __slots__ = ("defined", "undefined")

    def __init__(self) -> None:
        self.defined: list[str] = []
        self.undefined: list[str] = []


class UnknownObject(ValueError):
    """These bytes are no object file of a known format, or a damaged one."""


def symbols_of(data: bytes) -> Symbols:
    """The symbols of a 64-bit little-endian object file, without the prefix some systems put in front."""
    try:
        if data[:6] == b"\x7fELF\x02\x01":
            return _elf(data)
        if data[:4] == b"\xcf\xfa\xed\xfe":
            return _mach(data)
        if data[:2] in (b"\x64\x86", b"\x64\xaa"):
            return _coff(data)
    except (struct.error, IndexError, ValueError, UnicodeDecodeError) as error:
        raise UnknownObject(f"damaged object file: {error}") from None
    raise UnknownObject("no object file of a known format")


def _text(data: bytes, offset: int) -> str:
    return data[offset : data.index(b"\0", offset)].decode()


_SYMBOL_TABLE: Final = 2
_LOCAL: Final = 0


def _elf(data: bytes) -> Symbols:
    found = Symbols()
    (section_offset,) = struct.unpack_from("<Q", data, 0x28)
    entry_size, count = struct.unpack_from("<HH", data, 0x3A)
    for number in range(count):
        base = section_offset + number * entry_size
        if struct.unpack_from("<I", data, base + 4)[0] != _SYMBOL_TABLE:
            continue
        offset, size, link = struct.unpack_from("<QQI", data, base + 24)
        (strings,) = struct.unpack_from("<Q", data, section_offset + link * entry_size + 24)
        for name, info, _other, section, _value, _size in struct.iter_unpack("<IBBHQQ", data[offset : offset + size]):
            if not name or info >> 4 == _LOCAL:
                continue
            (found.defined if section else found.undefined).append(_text(data, strings + name))
    return found


_LOAD_SYMBOLS: Final = 2


def _mach(data: bytes) -> Symbols:
    found = Symbols()
    (commands,) = struct.unpack_from("<I", data, 16)
    base = 32
    for _ in range(commands):
        command, length = struct.unpack_from("<II", data, base)
        if command == _LOAD_SYMBOLS:
            offset, count, strings = struct.unpack_from("<III", data, base + 8)
            table = data[offset : offset + count * 16]
            for name, kind, _section, _flags, _value in struct.iter_unpack("<IBBHQ", table):
                # Debugging entries have high bits set, external ones the lowest; type 0 is an undefined symbol.
                if not kind & 0xE0 and kind & 1:
                    text = _text(data, strings + name).removeprefix("_")
                    (found.defined if kind & 0x0E else found.undefined).append(text)
        base += length
    return found


_EXTERNAL: Final = 2


def _coff(data: bytes) -> Symbols:
    found = Symbols()
    offset, count = struct.unpack_from("<II", data, 8)
    strings = offset + count * 18
    number = 0
    while number < count:
        raw, _value, section, _type, storage, auxiliary = struct.unpack_from("<8sIhHBB", data, offset + number * 18)
        if storage == _EXTERNAL:
            if raw[:4] == b"\0\0\0\0":
                name = _text(data, strings + int.from_bytes(raw[4:], "little"))
            else:
                name = raw.rstrip(b"\0").decode()
            # `_fltused` is a mark for the linker, not a thing to find.
            if name != "_fltused":
                (found.defined if section else found.undefined).append(name)
        number += 1 + auxiliary
    return found


# --- names on disk ---

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
