"""Putting an object into memory without LLVM, whose linker takes longer to set up than all else about a cached kernel.

What LLVM makes of generated code is simple: code, constants, and distances between them that fit an instruction.  Such
an object of ELF for x86-64 or AArch64 is copied into pages of its own, its distances are filled in, and the pages are
made code and constants that nobody may write to.  Everything about the object is checked first.  Whatever is not of
the kinds below, or does not fit, and a system that refuses such pages, is no error: the answer is None, and the object
is for LLVM.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

_HEADER: Final = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION: Final = struct.Struct("<IIQQQQIIQQ")
_SYMBOL: Final = struct.Struct("<IBBHQQ")
_RELOCATION: Final = struct.Struct("<QIIq")

_IDENTITY: Final = b"\x7fELF\x02\x01\x01"
"""Of 64 bits, little-endian, of the only version."""
_RELOCATABLE: Final = 1

_NOTHING, _CONTENT, _SYMBOLS, _STRINGS, _RELOCATIONS = range(5)
_IN_MEMORY: Final = 2
_EXECUTABLE: Final = 4
_PLAIN_FLAGS: Final = _IN_MEMORY | _EXECUTABLE | 0x10 | 0x20
"""Those two, and that equal constants or strings may be merged, which may be left undone."""

_GLOBAL: Final = 1
_FUNCTION: Final = 2
_PLAIN_SYMBOLS: Final = (0, 1, _FUNCTION, 3)
"""Of no type, data, functions, sections: not variables of a thread, nor functions that choose themselves."""

_STUB: Final = 16
"""How many bytes a jump takes to a function of the C library, which may be farther away than a call reaches."""


class Mapped:
    """Pages with code, unmapped when this goes."""

    __slots__ = ("_pages", "address")

    def __init__(self, pages: mmap.mmap, address: int) -> None:
        self._pages: mmap.mmap = pages
        self.address: int = address
        """Where the function is that was asked for."""


class _Unknown(Exception):
    """Not of the kinds that are placed here."""


class _X86:
    number: Final = 62
    calls: Final = frozenset([4])
    """The kinds of distances that are those of calls."""
    jump: Final = b"\xff\x25\0\0\0\0"
    """`jmp [rip]`, which an address follows."""

    @staticmethod
    def fill(pages: mmap.mmap, kind: int, place: int, target: int) -> None:
        """Put the distance from a place to a target where it belongs."""
        _require(kind in (2, 4))
        struct.pack_into("<i", pages, place, target - place)

    @staticmethod
    def make_visible(address: int, size: int) -> None:
        """Let the processors see instructions that were written as data: these do so by themselves."""


class _Arm:
    number: Final = 183
    calls: Final = frozenset([282, 283])
    jump: Final = struct.pack("<II", 0x58000050, 0xD61F0200)
    """`ldr x16, .+8; br x16`, which an address follows."""

    _PAGE: Final = 275
    _IN_PAGE: Final = {277: 0, 278: 0, 284: 1, 285: 2, 286: 3, 299: 4}
    """The kinds of the last twelve bits of an address, by the power of two that the instruction counts in."""

    @staticmethod
    def fill(pages: mmap.mmap, kind: int, place: int, target: int) -> None:
        _require(place % 4 == 0 and target >= 0)
        (word,) = struct.unpack_from("<I", pages, place)
        if kind == _Arm._PAGE:
            distance = (target >> 12) - (place >> 12)
            _require(-(1 << 20) <= distance < 1 << 20)
            word = word & ~0x60FFFFE0 | (distance & 3) << 29 | (distance >> 2 & 0x7FFFF) << 5
        elif kind in _Arm._IN_PAGE:
            shift, low = _Arm._IN_PAGE[kind], target & 0xFFF
            _require(low % (1 << shift) == 0)
            word = word & ~(0xFFF << 10) | low >> shift << 10
        else:
            distance = target - place
            _require(kind in _Arm.calls and distance % 4 == 0 and -(1 << 27) <= distance < 1 << 27)
            word = word & ~0x3FFFFFF | distance >> 2 & 0x3FFFFFF
        struct.pack_into("<I", pages, place, word)

    @staticmethod
    def make_visible(address: int, size: int) -> None:
        global _clear_cache
        if _clear_cache is None:
            found: Any = getattr(ctypes.CDLL("libgcc_s.so.1"), "__clear_cache", None)
            _require(found is not None)
            found.argtypes, found.restype = [ctypes.c_void_p, ctypes.c_void_p], None
            _clear_cache = found
        _clear_cache(address, address + size)


_clear_cache: Callable[[int, int], None] | None = None


def mapped(data: bytes, entry: str, imports: Mapping[str, int]) -> Mapped | None:
    """Put an object into memory and find a function in it; `imports` are the addresses of what it calls."""
    machine = _machine()
    if machine is None:
        return None
    try:
        return _Object(data, machine).placed(entry, imports)
    except (_Unknown, struct.error, IndexError, ValueError, OSError):
        # Also what Python says of offsets outside the data, and the system of pages that it does not give.
        return None


def _machine() -> type[_X86] | type[_Arm] | None:
    """How this machine's objects are put into memory; None where that is left to LLVM."""
    if sys.platform != "linux" or sys.maxsize < 1 << 32 or sys.byteorder != "little":
        return None
    name = os.uname().machine
    return _X86 if name == "x86_64" else _Arm if name == "aarch64" else None


def _require(condition: bool) -> None:
    if not condition:
        raise _Unknown


class _Section:
    __slots__ = ("alignment", "base", "flags", "info", "kind", "link", "offset", "size")

    def __init__(self, fields: tuple[int, ...]) -> None:
        _name, self.kind, self.flags, _address, self.offset, self.size, self.link, self.info, alignment, _each = fields
        self.alignment: int = max(alignment, 1)
        self.base: int = -1
        """Where it begins in the pages; below zero where it is not in memory."""


class _Object:
    """An object file whose tables were found to be of the known kinds and within the data."""

    def __init__(self, data: bytes, machine: type[_X86] | type[_Arm]) -> None:
        self._data: bytes = data
        self._machine: type[_X86] | type[_Arm] = machine
        (
            identity, kind, number, _version, _start, _segments, offset, _flags, size, _segment_size, segments,
            section_size, count, _names,
        ) = _HEADER.unpack_from(data)  # fmt: skip
        _require(identity.startswith(_IDENTITY) and kind == _RELOCATABLE and number == machine.number)
        _require(size == _HEADER.size and segments == 0 and section_size == _SECTION.size and count > 0)
        _require(_HEADER.size <= offset <= len(data) - count * _SECTION.size)
        table = data[offset : offset + count * _SECTION.size]
        self._sections: list[_Section] = [_Section(fields) for fields in _SECTION.iter_unpack(table)]
        for section in self._sections:
            _require(section.kind <= _RELOCATIONS)
            _require(section.kind == _NOTHING or section.offset + section.size <= len(data))
        self._in_memory: list[_Section] = [section for section in self._sections if section.flags & _IN_MEMORY]
        for section in self._in_memory:
            # Neither variables, whose pages would have to be written to, nor parts of groups or tables for unwinding.
            _require(section.kind == _CONTENT and not section.flags & ~_PLAIN_FLAGS)
            _require(section.alignment & (section.alignment - 1) == 0 and section.alignment <= mmap.PAGESIZE)
        tables = [section for section in self._sections if section.kind == _SYMBOLS]
        _require(len(tables) == 1 and tables[0].size % _SYMBOL.size == 0)
        self._table: _Section = tables[0]
        self._symbols: list[tuple[int, ...]] = list(_SYMBOL.iter_unpack(self._content(tables[0])))
        self._names: bytes = self._content(self._section(tables[0].link, _STRINGS))

    def _section(self, number: int, kind: int) -> _Section:
        section = self._sections[number]
        _require(section.kind == kind)
        return section

    def _content(self, section: _Section) -> bytes:
        return self._data[section.offset : section.offset + section.size]

    def _name(self, symbol: tuple[int, ...]) -> str:
        return self._names[symbol[0] : self._names.index(b"\0", symbol[0])].decode()

    def placed(self, entry: str, imports: Mapping[str, int]) -> Mapped:
        code = [section for section in self._in_memory if section.flags & _EXECUTABLE]
        constants = [section for section in self._in_memory if not section.flags & _EXECUTABLE]
        end = _laid_out(code, 0)
        stubs = {name: -(-end // _STUB) * _STUB + number * _STUB for number, name in enumerate(imports)}
        end = max([end, *[stub + _STUB for stub in stubs.values()]])
        code_size = -(-end // mmap.PAGESIZE) * mmap.PAGESIZE
        size = -(-_laid_out(constants, code_size) // mmap.PAGESIZE) * mmap.PAGESIZE
        _require(code_size > 0)
        start = self._start(entry)
        pages = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ | mmap.PROT_WRITE)
        for section in self._in_memory:
            pages[section.base : section.base + section.size] = self._content(section)
        for name, stub in stubs.items():
            jump = self._machine.jump + imports[name].to_bytes(8, "little")
            pages[stub : stub + _STUB] = jump.ljust(_STUB, b"\xcc")
        self._relocate(pages, stubs)
        address = ctypes.addressof(ctypes.c_char.from_buffer(pages))
        self._machine.make_visible(address, code_size)
        _protect(address, code_size, mmap.PROT_READ | mmap.PROT_EXEC)
        if size > code_size:
            _protect(address + code_size, size - code_size, mmap.PROT_READ)
        return Mapped(pages, address + start)

    def _start(self, entry: str) -> int:
        for symbol in self._symbols:
            _number, info, _other, section, value, _size = symbol
            if info == _GLOBAL << 4 | _FUNCTION and section and self._name(symbol) == entry:
                _require(bool(self._sections[section].flags & _EXECUTABLE))
                return self._sections[section].base + self._within(section, value)
        raise _Unknown

    def _within(self, section: int, value: int) -> int:
        # The numbers at the top are not of sections: values that do not move, or memory that is shared by name.
        _require(section < len(self._sections) and self._sections[section].base >= 0)
        _require(value <= self._sections[section].size)
        return value

    def _relocate(self, pages: mmap.mmap, stubs: Mapping[str, int]) -> None:
        """Fill in the distances; both ends are in the pages, so these need not know where they are."""
        for table in self._sections:
            if table.kind != _RELOCATIONS:
                continue
            section = self._sections[table.info]
            _require(self._sections[table.link] is self._table and table.size % _RELOCATION.size == 0)
            if section.base < 0:
                continue
            for offset, kind, number, addend in _RELOCATION.iter_unpack(self._content(table)):
                _require(offset + 4 <= section.size)
                target = self._value(number, kind, stubs) + addend
                self._machine.fill(pages, kind, section.base + offset, target)

    def _value(self, number: int, kind: int, stubs: Mapping[str, int]) -> int:
        symbol = self._symbols[number]
        _name, info, _other, section, value, _size = symbol
        _require(info & 15 in _PLAIN_SYMBOLS)
        if section:
            return self._sections[section].base + self._within(section, value)
        # A distance to what is elsewhere is that of data, or of a function that is not called at once.
        _require(kind in self._machine.calls and info >> 4 == _GLOBAL)
        name = self._name(symbol)
        _require(name in stubs)
        return stubs[name]


def _laid_out(sections: list[_Section], end: int) -> int:
    """Give sections their places, from `end` on; where the last one ends."""
    for section in sections:
        section.base = -(-end // section.alignment) * section.alignment
        end = section.base + section.size
    return end


_mprotect: Callable[[int, int, int], int] | None = None


def _protect(address: int, size: int, protection: int) -> None:
    global _mprotect
    if _mprotect is None:
        found: Any = getattr(ctypes.CDLL(None), "mprotect", None)
        _require(found is not None)
        found.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        _mprotect = found
    _require(_mprotect(address, size, protection) == 0)
