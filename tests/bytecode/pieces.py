"""A bytecode file taken apart and put together again, without asking whether it makes sense."""

from __future__ import annotations

from tileir.bytecode import MAGIC
from tileir.bytecode.attributes import read_attribute
from tileir.bytecode.container import (
    ALIGNMENTS,
    CONSTANT,
    DEBUG,
    FUNCTION,
    GLOBAL,
    PRODUCER,
    STRING,
    TYPE,
    read_container,
)
from tileir.bytecode.primitives import ByteReader, ByteWriter, Malformed
from tileir.bytecode.reader import FLAG_ENTRY, FLAG_HINTS
from tileir.bytecode.tables import Tables
from tileir.ir.versions import NEWEST, V13_5


class Piece:
    """One section; `stated_length` is what its header says, when that is not the truth."""

    def __init__(self, identifier: int, alignment: int, payload: bytes) -> None:
        self.identifier = identifier
        self.alignment = alignment
        self.payload = payload
        self.stated_length: int | None = None


class File:
    """The header and the sections."""

    def __init__(self, head: bytes, sections: list[Piece]) -> None:
        self.head = head
        self.sections = sections

    @staticmethod
    def parse(data: bytes, last_section: int = PRODUCER) -> File:
        try:
            container = read_container(data, NEWEST, last_section)
        except Malformed as failure:
            raise ValueError(failure.messages[0]) from None
        return File(data[:12], [Piece(s.identifier, s.alignment, data[s.start : s.end]) for s in container.order])

    def section(self, identifier: int) -> Piece:
        return [s for s in self.sections if s.identifier == identifier][-1]

    def build(self) -> bytes:
        writer = ByteWriter()
        writer.raw(self.head)
        for section in self.sections:
            aligned = section.alignment != 1
            writer.byte(section.identifier | (0x80 if aligned else 0))
            writer.varint(len(section.payload) if section.stated_length is None else section.stated_length)
            if aligned:
                writer.varint(section.alignment)
                # An absurd alignment is stated, not honored.
                if 1 < section.alignment <= 1 << 16:
                    writer.align(section.alignment)
            writer.raw(section.payload)
        writer.byte(0)
        return bytes(writer.data)


class Table:
    """Counted offsets and the blobs they point to."""

    def __init__(self, size: int, blobs: list[bytes]) -> None:
        self.size = size
        self.blobs = blobs

    def build(self) -> bytes:
        writer = ByteWriter()
        writer.varint(len(self.blobs))
        writer.align(self.size)
        offset = 0
        for blob in self.blobs:
            writer.fixed(offset, self.size)
            offset += len(blob)
        for blob in self.blobs:
            writer.raw(blob)
        return bytes(writer.data)


def split_table(section: Piece) -> Table:
    """The entries of a string, type or constant section."""
    size = {STRING: 4, TYPE: 4, CONSTANT: 8}[section.identifier]
    reader = ByteReader(section.payload, 0, len(section.payload))
    try:
        count = reader.varint("count")
        reader.align(size, "padding")
        offsets = [reader.fixed(size, "offset") for _ in range(min(count, len(section.payload)))]
    except Malformed:
        raise ValueError("not a table") from None
    data = section.payload[reader.position :]
    ends = [*offsets[1:], len(data)]
    return Table(size, [data[start:end] for start, end in zip(offsets, ends, strict=True)])


def split_debug(section: Piece) -> tuple[list[int], list[int], list[bytes]]:
    """Where each function starts in the indices, the indices, the attributes: what `debug_payload` takes."""
    reader = ByteReader(section.payload, 0, len(section.payload))
    tables: list[list[int]] = []
    try:
        for size in (4, 8, 4):
            count = reader.varint("count")
            reader.align(size, "padding")
            tables.append([reader.fixed(size, "number") for _ in range(min(count, len(section.payload)))])
    except Malformed:
        raise ValueError("not a debug section") from None
    data = section.payload[reader.position :]
    ends = [*tables[2][1:], len(data)]
    return tables[0], tables[1], [data[start:end] for start, end in zip(tables[2], ends, strict=True)]


class Function:
    """One entry of the function section; `hints` are the bytes between location and body, of 13.5 the attributes of arguments too."""

    def __init__(self, name: int, signature: int, flags: int, location: int, hints: bytes, body: bytes) -> None:
        self.name = name
        self.signature = signature
        self.flags = flags
        self.location = location
        self.hints = hints
        self.body = body

    def build(self) -> bytes:
        writer = ByteWriter()
        writer.varint(self.name)
        writer.varint(self.signature)
        writer.byte(self.flags)
        writer.varint(self.location)
        writer.raw(self.hints)
        writer.varint(len(self.body))
        writer.raw(self.body)
        return bytes(writer.data)


def split_functions(file: File) -> tuple[list[Function], bytes]:
    """The functions, and what follows the last one."""
    payload = file.section(FUNCTION).payload
    reader = ByteReader(payload, 0, len(payload))
    functions: list[Function] = []
    try:
        tables = Tables(read_container(file.build()))
        for _ in range(reader.varint("count")):
            name, signature = reader.varint("name"), reader.varint("signature")
            flags, location = reader.byte("flags"), reader.varint("location")
            start = reader.position
            is_newer = tables.version >= V13_5
            if flags & (FLAG_ENTRY if is_newer else FLAG_HINTS):
                read_attribute(reader, tables)
            if is_newer:
                read_attribute(reader, tables)
            hints = payload[start : reader.position]
            functions.append(
                Function(name, signature, flags, location, hints, reader.raw(reader.varint("length"), "body"))
            )
    except Malformed:
        raise ValueError("not a function section") from None
    return functions, payload[reader.position :]


# --- files from scratch ---

#: The types every file made here starts with.
I1, I32, F32, TOKEN, FUNCTION_TYPE, TILE_I32, TILE_I1 = range(7)
TYPES = (b"\x00", b"\x03", b"\x07", b"\x11", b"\x10\x00\x00", b"\x0d\x01\x00", b"\x0d\x00\x00")
RETURN = b"\x5c\x00\x00"
#: What every entry of 13.5 has: no hints and no attributes of arguments.
NO_HINTS = b"\x0b\x00\x06\x00"


def varint(value: int) -> bytes:
    writer = ByteWriter()
    writer.varint(value)
    return bytes(writer.data)


def words(values: list[int], size: int = 8) -> bytes:
    """A counted list of little-endian numbers."""
    writer = ByteWriter()
    writer.integers(tuple(values), size)
    return bytes(writer.data)


def tile(element: int, *shape: int) -> bytes:
    """The blob of a tile type."""
    return b"\x0d" + varint(element) + words(list(shape))


def constant(data: bytes) -> bytes:
    """The blob of a constant."""
    return varint(len(data)) + data


def debug_payload(starts: list[int], indices: list[int], blobs: list[bytes]) -> bytes:
    """The debug section: where each function starts in `indices`, the indices, the attributes."""
    writer = ByteWriter()
    for values, size in ((starts, 4), (indices, 8)):
        writer.varint(len(values))
        writer.align(size)
        for value in values:
            writer.fixed(value, size)
    writer.varint(len(blobs))
    writer.align(4)
    offset = 0
    for blob in blobs:
        writer.fixed(offset, 4)
        offset += len(blob)
    writer.raw(b"".join(blobs))
    return bytes(writer.data)


def make_file(
    body: bytes = RETURN,
    *,
    version: tuple[int, int] = (13, 4),
    tag: int = 0,
    types: tuple[bytes, ...] = (),
    constants: tuple[bytes, ...] = (),
    strings: tuple[bytes, ...] = (),
    globals_: bytes = b"",
    debug: bytes = b"",
    producer: bytes = b"",
    location: int = 0,
    flags: int = 2,
    hints: bytes | None = None,
    signature: int = FUNCTION_TYPE,
) -> bytes:
    """A file with one entry `k`; `types`, `constants` and `strings` follow the ones that are always there."""
    if hints is None:
        hints = NO_HINTS if version >= V13_5 else b""
    function = Function(0, signature, flags, location, hints, body)
    payloads = {
        FUNCTION: varint(1) + function.build(),
        STRING: Table(4, [b"k", *strings]).build(),
        TYPE: Table(4, [*TYPES, *types]).build(),
    }
    if constants:
        payloads[CONSTANT] = Table(8, list(constants)).build()
    for identifier, payload in ((GLOBAL, globals_), (DEBUG, debug), (PRODUCER, producer)):
        if payload:
            payloads[identifier] = payload
    pieces = [Piece(identifier, ALIGNMENTS.get(identifier, 1), payload) for identifier, payload in payloads.items()]
    return File(MAGIC + bytes(version) + tag.to_bytes(2, "little"), pieces).build()
