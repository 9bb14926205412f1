"""Cubins as far as they are read: ELF files with the sections that the reader of cubins looks at."""

from __future__ import annotations

import struct
from collections.abc import Sequence

NO_BITS = 8


def info(format: int, attribute: int, value: bytes) -> bytes:
    """An attribute of `.nv.info`."""
    return bytes([format, attribute]) + (len(value).to_bytes(2, "little") + value if format == 4 else value)


def cubin(
    kernels: Sequence[str] = ("k",),
    *,
    number: int = 90,
    registers: int = 32,
    stack: int = 0,
    shared: int = 0,
    barriers: int = 1,
    threads: int = 128,
    sizes: Sequence[int] = (8, 4),
    instructions: Sequence[int] = (0x918,),
    host: int | None = 62,
    machine: int = 190,
    newer_parameters: bool = False,
    cluster: int = 1,
) -> bytes:
    """The file: every kernel takes the same; `newer_parameters` are described as those of kernels with TMA are."""
    strings = b"\0" + b"".join([name.encode() + b"\0" for name in kernels])
    symbols = bytes(24)
    common = b""
    sections: list[tuple[str, int, bytes, int]] = []
    for index, name in enumerate(kernels, 1):
        symbols += struct.pack("<IBBHQQ", strings.index(name.encode() + b"\0"), 0x12, 0, 0, 0, 0)
        common += info(4, 0x2F, struct.pack("<II", index, registers)) + info(4, 0x11, struct.pack("<II", index, stack))
        own = info(2, 0x4C, bytes([barriers, 0])) + info(4, 0x10, struct.pack("<III", threads, 1, 1))
        if cluster > 1:
            own += info(4, 0x3D, struct.pack("<III", cluster, 1, 1))
        offset = 0
        for ordinal, size in enumerate(sizes):
            offset += -offset % size
            if newer_parameters:
                own += info(4, 0x45, struct.pack("<IHHHBB", 0, ordinal, offset, size, 0, 4))
            else:
                own += info(4, 0x17, struct.pack("<IHHI", 0, ordinal, offset, size << 18))
            offset += size
        sections.append((f".nv.info.{name}", 0x70000000, own, len(own)))
        code = b"".join([operation.to_bytes(16, "little") for operation in instructions])
        sections.append((f".text.{name}", 1, code, len(code)))
        sections.append((f".nv.shared.{name}", NO_BITS, b"", shared))
    sections += [(".nv.info", 0x70000000, common, len(common)), (".symtab", 2, symbols, len(symbols))]
    sections.append((".strtab", 3, strings, len(strings)))
    if host is not None:
        object_file = b"\x7fELF\x02\x01".ljust(18, b"\0") + host.to_bytes(2, "little") + bytes(44)
        sections.append((".nv.host", 0x70000087, object_file, len(object_file)))
    return elf(sections, flags=number << 8, machine=machine)


def elf(sections: Sequence[tuple[str, int, bytes, int]], *, flags: int, machine: int, abi: int = 8) -> bytes:
    """An ELF file of sections: name, type, contents, size."""
    names = b"\0" + b"".join([name.encode() + b"\0" for name, *_ in sections]) + b".shstrtab\0"
    table = bytes(64)
    body = bytearray()
    for name, kind, data, size in [*sections, (".shstrtab", 3, names, len(names))]:
        place = names.index(b"\0" + name.encode() + b"\0") + 1
        table += struct.pack("<IIQQQQIIQQ", place, kind, 0, 0, 64 + len(body), size, 0, 0, 8, 0)
        body += data
    count = len(sections) + 2
    identification = b"\x7fELF\x02\x01\x01\x41" + bytes([abi]) + bytes(7)
    header = struct.pack(
        "<16sHHIQQQIHHHHHH", identification, 2, machine, 1, 0, 0, 64 + len(body), flags, 64, 0, 0, 64, count, count - 1
    )
    return header + bytes(body) + table
