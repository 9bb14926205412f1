"""Debug attributes, types and pooled numbers of a file in the documented layout (docs/bytecode.md section 10)."""

from __future__ import annotations

from tileir.bytecode import container as sections
from tileir.bytecode.container import Container
from tileir.bytecode.debug import CALL_SITE, DebugTable
from tileir.bytecode.documented.types import DocumentedTypeEncoder, DocumentedTypeTable
from tileir.bytecode.primitives import ByteReader, ByteWriter, Malformed, Trace, read_signed_leb128
from tileir.bytecode.strings import StringTable
from tileir.bytecode.tables import Tables, TableWriter
from tileir.ir.attributes import Attribute
from tileir.ir.declaration import V13_1
from tileir.ir.location import UNKNOWN, Location


class DocumentedDebugTable(DebugTable):
    """The public payloads behind a dispatcher of exactly seven cases."""

    __slots__ = ()

    def __init__(self, section: ByteReader | None, strings: StringTable) -> None:
        super().__init__(section, strings)

    def _decode(self, reader: ByteReader) -> Attribute:
        tag = reader.varint("failed to read debug tag")
        if tag > CALL_SITE:
            reader.fail(f"unsupported DebugTag {tag}")
        reader.position = reader.start
        return super()._decode(reader)


class DocumentedTables(Tables):
    """What the records of a file refer to, but for the attribute table, whose values refer to these."""

    __slots__ = ("_pool_end", "_pool_start", "_pooled", "data", "element_types", "trace")

    def __init__(self, file: Container) -> None:
        super().__init__(file)
        self.data: bytes = file.data
        self.trace: Trace | None = file.trace
        try:
            self.element_types: DocumentedTypeTable = DocumentedTypeTable(file.reader(sections.TYPE))
        except Malformed as failure:
            raise failure.add("failed to parse type section", len(file.data)) from None
        try:
            self.debug = DocumentedDebugTable(file.reader(sections.DEBUG), self.strings)
        except Malformed as failure:
            raise failure.add("failed to parse debug section", len(file.data)) from None
        self.types = self.element_types
        # The i64 pool is the last blob of the constant section.
        self._pool_start: int = 0
        self._pool_end: int = 0
        self._pooled: int = 0
        if len(self.constants):
            self._pool_start, self._pool_end = self.constants.piece(len(self.constants) - 1)

    def pooled(self, rank: int, offset: int) -> tuple[int, ...] | None:
        """`rank` numbers from a byte offset of the pool; None when it has not got them.

        Any number of arrays may share the pool, so what is taken out of it altogether is bounded by the file.
        """
        self._pooled += rank
        if offset > self._pool_end - self._pool_start or self._pooled > 1024 + 16 * len(self.data):
            return None
        reader = ByteReader(self.data, self._pool_start + offset, self._pool_end, self.trace)
        values: list[int] = []
        for _ in range(rank):
            try:
                values.append(reader.signed(""))
            except Malformed:
                return None
        return tuple(values)

    def location(self, reader: ByteReader, what: str) -> Location:
        """An index into the debug attributes, -1 for an unknown location."""
        index = read_signed_leb128(reader, what)
        if index == -1:
            return UNKNOWN
        if index < 0:
            reader.fail(what)
        try:
            found = self.debug.location(index + 1)
        except Malformed as failure:
            raise failure.add(what, reader.offset) from None
        if found is None:
            reader.fail(what)
        return found


class DocumentedTableWriter(TableWriter):
    """What the records of a file refer to, being collected; the attribute table is an `AttributeEncoder` on top."""

    __slots__ = ("_pool", "_pooled", "element_types", "packs_predicates", "pools_arrays")

    def __init__(self, pools_arrays: bool, packs_predicates: bool) -> None:
        super().__init__(V13_1)
        self.element_types: DocumentedTypeEncoder = DocumentedTypeEncoder()
        self.types = self.element_types
        self.pools_arrays: bool = pools_arrays
        self.packs_predicates: bool = packs_predicates
        self._pool: ByteWriter = ByteWriter()
        self._pooled: dict[tuple[int, ...], int] = {}

    def pool(self, values: tuple[int, ...]) -> int:
        """Where an array starts in the pool."""
        found = self._pooled.get(values)
        if found is None:
            found = self._pooled[values] = len(self._pool)
            write_values(self._pool, values)
        return found

    def pool_blob(self) -> bytes:
        return bytes(self._pool.data)


def write_values(writer: ByteWriter, values: tuple[int, ...]) -> None:
    for value in values:
        writer.signed(value)
