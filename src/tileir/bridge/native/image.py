"""The images of kernels that a program passes to the driver: bytecode, or an ELF file around it from `assembler`.

The driver is given the address of an image alone: both forms state how long they are.
"""

from __future__ import annotations

import ctypes
import struct
from typing import Final

from tileir.bytecode import MAGIC

_ELF: Final = b"\x7fELF"
_HEADER_SIZE: Final = 64
# 64-bit, little-endian, for CUDA (e_machine 190), without sections; `e_entry` has the size of the bytecode.
_HEADER: Final = struct.Struct("<4s5B7xHHIQQQIHHHHHH")
_MARK: Final = 0x7EAE
"""Where the header of a cubin has flags of its architecture."""


class NoBytecode(Exception):
    """An image without bytecode; the message names what it is."""


def elf_of(bytecode: bytes) -> bytes:
    """A file that programs take for a cubin."""
    size = len(bytecode)
    fields = (_ELF, 2, 1, 1, 0, 0, 2, 190, 1, size, 0, 0, _MARK, _HEADER_SIZE, 0, 0, 0, 0, 0)
    return _HEADER.pack(*fields) + bytecode


def bytecode_at(address: int) -> bytes:
    """The bytecode of the image at an address."""
    if ctypes.string_at(address, len(MAGIC)) == MAGIC:
        return ctypes.string_at(address, _bytecode_size(address))
    if ctypes.string_at(address, len(_ELF)) == _ELF:
        fields = _HEADER.unpack(ctypes.string_at(address, _HEADER_SIZE))
        if fields[12] == _MARK:
            return ctypes.string_at(address + _HEADER_SIZE, fields[9])
        raise NoBytecode("a cubin, which has machine code alone: nothing in it can be run without a GPU")
    raise NoBytecode("a kernel image that is neither Tile IR bytecode nor a cubin")


def _bytecode_size(address: int) -> int:
    """The size of bytecode: sections up to the one that ends it."""
    position = address + len(MAGIC) + 4
    while True:
        (head,) = ctypes.string_at(position, 1)
        position += 1
        if not head & 0x7F:
            return position - address
        size, position = _variable(position)
        if head & 0x80:
            alignment, position = _variable(position)
            position += -(position - address) % alignment
        position += size


def _variable(position: int) -> tuple[int, int]:
    """A number of variable length, and where it ends."""
    value = shift = 0
    while True:
        (byte,) = ctypes.string_at(position, 1)
        value, shift, position = value | (byte & 0x7F) << shift, shift + 7, position + 1
        if byte < 0x80:
            return value, position
