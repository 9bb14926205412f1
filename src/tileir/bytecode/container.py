"""The envelope both layouts share: magic, version, sections (docs/reference/bytecode.md section 2)."""

from __future__ import annotations

from tileir.annotations import Final
from tileir.bytecode import MAGIC, is_bytecode
from tileir.bytecode.primitives import PADDING_BYTE, ByteReader, ByteWriter, Malformed, Trace
from tileir.ir.core import Operation
from tileir.ir.location import UnknownLocation
from tileir.ir.versions import NEWEST, V13_1, V13_5, Version, version_text

END: Final = 0
STRING: Final = 1
FUNCTION: Final = 2
DEBUG: Final = 3
CONSTANT: Final = 4
TYPE: Final = 5
GLOBAL: Final = 6
PRODUCER: Final = 7
# Only the documented layout has it: this section identifies the layout (docs/reference/bytecode.md section 10).
ATTRIBUTE: Final = 8

SECTION_NAMES: Final[dict[int, str]] = {
    END: "End",
    STRING: "String",
    FUNCTION: "Func",
    DEBUG: "Debug",
    CONSTANT: "Constant",
    TYPE: "Type",
    GLOBAL: "Global",
    PRODUCER: "Producer",
    ATTRIBUTE: "Attribute",
}
ALIGNMENTS: Final[dict[int, int]] = {STRING: 4, FUNCTION: 8, DEBUG: 8, CONSTANT: 8, TYPE: 4, ATTRIBUTE: 4}

HEADER_SIZE: Final = 12
PREVIEW_BIT: Final = 1


class Section:
    """One section: where its header starts, and where its payload starts and ends in the file."""

    __slots__ = ("alignment", "end", "header", "identifier", "start")

    def __init__(self, identifier: int, header: int, alignment: int, start: int, end: int) -> None:
        self.identifier: int = identifier
        self.header: int = header
        self.alignment: int = alignment
        self.start: int = start
        self.end: int = end


class Container:
    """The sections of a file, in file order; of two with one id the last one counts."""

    def __init__(
        self, data: bytes, version: Version, tag: int, order: list[Section], trace: Trace | None = None
    ) -> None:
        self.data: bytes = data
        # Passed on to the readers of all sections.
        self.trace: Trace | None = trace
        self.version: Version = version
        self.tag: int = tag
        self.order: list[Section] = order
        self.sections: dict[int, Section] = {section.identifier: section for section in order}

    @property
    def is_preview(self) -> bool:
        """Whether the header marks the content as a public preview."""
        return self.version >= V13_5 and bool(self.tag & PREVIEW_BIT)

    @property
    def version_name(self) -> str:
        """The version as messages write it."""
        name = version_text(self.version)
        return f"{name}.{self.tag}" if self.tag else name

    def reader(self, identifier: int) -> ByteReader | None:
        section = self.sections.get(identifier)
        return ByteReader(self.data, section.start, section.end, self.trace) if section is not None else None


class BytecodeOrigin(UnknownLocation):
    """The location of a module that was read from a file; it prints as unknown."""

    __slots__ = ("file",)

    def __init__(self, file: Container) -> None:
        self.file: Container = file


def origin_of(module: Operation) -> Container | None:
    """The file a module was read from, if it was."""
    location = module.location
    return location.file if isinstance(location, BytecodeOrigin) else None


def read_container(
    data: bytes, newest: Version = NEWEST, known_sections: int = PRODUCER, trace: Trace | None = None
) -> Container:
    """Read the header and the section headers, and nothing of the payloads."""
    if not is_bytecode(data):
        raise Malformed("input does not correspond to Tile IR bytecode", 0, prefixed=False)
    reader = ByteReader(data, 0, len(data), trace)
    reader.position = len(MAGIC)
    try:
        version, tag = _read_version(reader, newest)
    except Malformed as failure:
        raise failure.add("failed to parse bytecode header", reader.offset) from None
    order: list[Section] = []
    while True:
        header = reader.position
        try:
            section = _read_section_header(reader, known_sections)
        except Malformed as failure:
            raise failure.add("failed to parse section header", reader.offset) from None
        if section is None:
            if reader.remaining:
                reader.fail("end section is not the last section")
            return Container(data, version, tag, order, trace)
        identifier, length, alignment = section
        _check_alignment(reader, identifier, alignment)
        if length > reader.remaining:
            reader.fail(f"section length {length} exceeds remaining bytecode data. {reader.remaining}")
        start = reader.position
        reader.position += length
        order.append(Section(identifier, header, alignment if alignment is not None else 1, start, reader.position))


def section_identifiers(data: bytes) -> set[int]:
    """The sections of a file, as far as its envelope can be followed; the file may still be invalid."""
    found: set[int] = set()
    reader = ByteReader(data, 0, len(data))
    reader.position = min(HEADER_SIZE, len(data))
    while is_bytecode(data):
        try:
            section = _read_section_header(reader, 0x7F)
        except Malformed:
            break
        if section is None:
            break
        found.add(section[0])
        reader.position = min(reader.position + section[1], len(data))
    return found


def _read_version(reader: ByteReader, newest: Version) -> tuple[Version, int]:
    major = reader.byte("")
    minor = reader.byte("")
    tag = reader.fixed(2, "")
    version = (major, minor)
    if not V13_1 <= version <= newest:
        reader.fail(
            f"unsupported Tile version {major}.{minor}.{tag}, this reader supports versions "
            f"[13.1 - {version_text(newest)}]"
        )
    return version, tag


def _read_section_header(reader: ByteReader, known_sections: int) -> tuple[int, int, int | None] | None:
    """Identifier, length and alignment (None when the header has none) of a section; None for the end."""
    marker = reader.byte("unexpected end of data while reading section header")
    identifier = marker & 0x7F
    if identifier == END:
        if marker:
            reader.fail("end section should not have alignment flag set")
        return None
    if identifier > known_sections:
        reader.fail(f"unknown section ID: {identifier}")
    length = reader.varint("failed to read section length")
    if length > reader.remaining:
        reader.fail(f"section length {length} exceeds remaining data size {reader.remaining}")
    if not marker & 0x80:
        return identifier, length, None
    alignment = reader.varint("")
    if alignment == 0 or alignment & (alignment - 1):
        reader.fail(f"invalid alignment value: {alignment}")
    reader.align(alignment, "")
    return identifier, length, alignment


def _check_alignment(reader: ByteReader, identifier: int, alignment: int | None) -> None:
    expected = ALIGNMENTS.get(identifier, 1)
    if expected == 1 or (alignment is not None and alignment % expected == 0):
        return
    reader.fail(
        f"section {identifier} must have alignment that is a multiple of {expected} bytes, but has "
        + (f"alignment of {alignment}" if alignment is not None else "no alignment flag set")
    )


def write_container(
    version: Version, tag: int, sections: list[tuple[int, bytes]], preserved: Container | None = None
) -> bytes:
    """A file of these sections, in this order; those that a preserved file has are aligned as in it."""
    alignments = dict(ALIGNMENTS)
    if preserved is not None:
        alignments.update({section.identifier: section.alignment for section in preserved.order})
    writer = ByteWriter()
    writer.raw(MAGIC)
    writer.byte(version[0])
    writer.byte(version[1])
    writer.fixed(tag, 2)
    for identifier, payload in sections:
        alignment = alignments.get(identifier, 1)
        writer.byte(identifier | (0x80 if alignment > 1 else 0))
        writer.varint(len(payload))
        if alignment > 1:
            writer.varint(alignment)
            while len(writer) % alignment:
                writer.byte(PADDING_BYTE)
        writer.raw(payload)
    writer.byte(END)
    return bytes(writer.data)
