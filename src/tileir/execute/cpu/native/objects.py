"""Object files: which symbols one defines and which it needs from elsewhere.

LLVM ends the process when it loads an object whose symbols it cannot find, so they are looked at first.  The three
formats, ELF, Mach-O and COFF, keep them in a table that takes a few lines to read.
"""

from __future__ import annotations

import struct
from typing import Final

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
