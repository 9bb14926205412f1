"""What the records of a file refer to, read and collected (docs/reference/bytecode.md sections 2 to 4)."""

from __future__ import annotations

import tileir.dialect.ops  # noqa: F401  (registers the declarations)
from tileir.bytecode import container as sections
from tileir.bytecode.container import Container
from tileir.bytecode.debug import DebugEncoder, DebugTable
from tileir.bytecode.entry_tables import ConstantTable, StringInterner, StringTable, encode_constant
from tileir.bytecode.primitives import ByteReader, Malformed
from tileir.bytecode.types import TypeEncoder, TypeTable
from tileir.ir.attributes import Attribute
from tileir.ir.dense import DenseAttribute
from tileir.ir.types import Type
from tileir.ir.versions import Version


class Spellings:
    """How a file writes its attributes, where there is a choice: the tag of a boolean, the order of a dictionary.

    For a constant it is its index in the file: some writers have an entry for each use, or write a true i1 as 01.

    Each attribute has the bytes of its occurrences in file order; a writer takes them back in the same order.
    """

    def __init__(self) -> None:
        self._bytes: dict[Attribute, list[bytes]] = {}

    def note(self, attribute: Attribute, data: bytes) -> None:
        self._bytes.setdefault(attribute, []).append(data)

    def note_constant(self, value: DenseAttribute, index: int) -> None:
        self.note(value, index.to_bytes(8, "little"))

    def take(self, attribute: Attribute) -> bytes | None:
        """The next spelling of an attribute; the last one is used again when there are no more."""
        found = self._bytes.get(attribute)
        if not found:
            return None
        return found.pop(0) if len(found) > 1 else found[0]


class Tables:
    """What the records of a file refer to."""

    def __init__(self, file: Container, spellings: Spellings | None = None) -> None:
        self.version: Version = file.version
        self.version_name: str = file.version_name
        # Filled while reading for a writer that keeps how the file writes its attributes.
        self.spellings: Spellings | None = spellings
        self.producer: str | None = None
        name = "string"
        try:
            section = file.reader(sections.STRING)
            if section is None:
                name = ""
                raise Malformed("string section is mandatory", len(file.data))
            self.strings: StringTable = StringTable(section)
            # Read later, as in NVIDIA's reader: after the functions.
            self.debug: DebugTable = DebugTable(None, self.strings, file.version)
            name = "producer"
            producer = file.reader(sections.PRODUCER)
            if producer is not None:
                self.producer = self._read_producer(producer)
            name = "type"
            self.types: TypeTable = TypeTable(file.reader(sections.TYPE), file.version, file.version_name)
            name = "constant"
            self.constants: ConstantTable = ConstantTable(file.reader(sections.CONSTANT))
        except Malformed as failure:
            if name:
                failure.add(f"failed to parse {name} section", len(file.data))
            raise failure from None

    def _read_producer(self, section: ByteReader) -> str:
        index = section.varint("failed to read producer string index")
        try:
            return self.strings.get(index)
        except Malformed as failure:
            raise failure.add(f"failed to get producer string at index {index}", section.offset) from None

    def read_type(self, reader: ByteReader, what: str) -> Type:
        """The type a reader refers to; `what` is its line when there is none."""
        index = reader.varint(what)
        if reader.trace is not None:
            reader.trace.refer("type")
        try:
            found = self.types.get(index)
        except Malformed as failure:
            raise failure.add(what, reader.offset) from None
        if found is None:
            reader.fail(what)
        return found


class TableWriter:
    """What the records of a file refer to, being collected."""

    def __init__(self, version: Version) -> None:
        self.version: Version = version
        self.interner: StringInterner = StringInterner()
        self.types: TypeEncoder = TypeEncoder(version)
        self.debug: DebugEncoder = DebugEncoder(self.interner, version)
        self.constants: list[bytes] = []
        self.spellings: Spellings | None = None
        # A file may have a keyword of a later version than its own: readers take it, so writing it again keeps it.
        self.keeps_newer_keywords: bool = False
        self._constant_indices: dict[bytes, int] = {}
        self._constants_of: dict[DenseAttribute, int] = {}

    def string(self, value: str) -> int:
        return self.interner.string(value)

    def spelling(self, attribute: Attribute) -> bytes | None:
        """The bytes of an attribute in the file that is being written back, if there is one."""
        return self.spellings.take(attribute) if self.spellings is not None else None

    def constant(self, value: DenseAttribute) -> int:
        kept = self.spelling(value)
        if kept is not None:
            return int.from_bytes(kept, "little")
        found = self._constants_of.get(value, -1)
        if found < 0:
            found = self._constants_of[value] = self.constant_blob(encode_constant(value))
        return found

    def constant_blob(self, blob: bytes) -> int:
        found = self._constant_indices.get(blob)
        return self.add_constant(blob) if found is None else found

    def add_constant(self, blob: bytes) -> int:
        """A new entry, also for a blob that another entry has."""
        self.constants.append(blob)
        return self._constant_indices.setdefault(blob, len(self.constants) - 1)
