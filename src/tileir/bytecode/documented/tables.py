"""Enumerations, types, debug attributes and pooled numbers in the documented layout.

docs/reference/bytecode.md section 10 describes it.

There are nineteen type tags, 0 to 18 (the bytecode draft, "TypeTag Dispatcher").  The numbers are the public ones, the
payloads are not: shapes are lists of varints, a pointer has an address space, and f8E8M0FNU is a leaf that only tiles
and views reach.
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.bytecode import container as sections
from tileir.bytecode.container import Container
from tileir.bytecode.debug import CALL_SITE, DebugTable
from tileir.bytecode.primitives import ByteReader, ByteWriter, Malformed, Trace, read_signed_leb128
from tileir.bytecode.tables import Tables, TableWriter
from tileir.bytecode.types import PARTITION_VIEW_TAG, TypeEncoder, TypeTable
from tileir.dialect import enums
from tileir.dialect import types as cuda_tile
from tileir.ir.attributes import Attribute, EnumAttribute, EnumKind
from tileir.ir.location import UNKNOWN, Location
from tileir.ir.types import F8E8M0FNU, Type
from tileir.ir.versions import NEWEST, V13_1

# The names of enumerations in messages: those of the bytecode draft ("Six Enum-Attr Readers", of which nothing holds
# the sixth, Width), and those that the operations of 13.1 have and it does not mention.
ENUM_NAMES: Final[dict[EnumKind, str]] = {
    enums.COMPARISON_PREDICATE: "Comparison",
    enums.OVERFLOW: "Overflow",
    enums.PADDING: "PaddingValue",
    enums.ROUNDING: "Rounding",
    enums.SIGNEDNESS: "Signedness",
    enums.COMPARISON_ORDERING: "ComparisonOrdering",
    enums.MEMORY_ORDERING: "MemoryOrderingSemantics",
    enums.MEMORY_SCOPE: "MemoryScope",
    enums.ATOMIC_MODE: "AtomicRMWMode",
}


def enumerator(kind: EnumKind, value: int, reader: ByteReader) -> EnumAttribute:
    """The enumerator of 13.1 with a wire value."""
    for keyword in kind.keywords(V13_1):
        if kind.values[keyword] == value:
            return kind[keyword]
    reader.fail(f"invalid {ENUM_NAMES[kind]} value: {value}")


MAXIMUM_TYPE_TAG: Final = 18
LEAF_TAG: Final = 18
LEAF_ONLY: Final = "type 'f8E8M0FNU' is only allowed as the element type of a tile, a tensor_view or a partition_view"

_LARGEST: Final = (1 << 63) - 1


def read_extents(reader: ByteReader, what: str) -> tuple[int, ...]:
    """The shape parser the tile family shares: a rank and that many extents."""
    rank = reader.count(what)
    extents: list[int] = []
    for _ in range(rank):
        extents.append(reader.varint(what))
    return tuple(extents)


class DocumentedTypeTable(TypeTable):
    """The types of a file; only `element` returns the leaf."""

    def __init__(self, section: ByteReader | None) -> None:
        super().__init__(section, V13_1)
        # The annotated dump shows a type of this layout as one field.
        self._trace = None

    def get(self, index: int) -> Type | None:
        found = super().get(index)
        if found is F8E8M0FNU:
            raise Malformed(LEAF_ONLY, 0, prefixed=False)
        return found

    def element(self, index: int) -> Type | None:
        """The type of an index, for the element of a tile shape."""
        return super().get(index)

    def decode(self, reader: ByteReader) -> Type:
        start = reader.position
        tag = reader.varint("failed to read type tag")
        if tag > MAXIMUM_TYPE_TAG:
            reader.fail(f"unknown type tag: {tag}")
        if tag == LEAF_TAG:
            # The bytecode draft has the leaf in 13.1; the public layout got the type with 13.2.
            return F8E8M0FNU
        reader.position = start
        return super().decode(reader)

    def _contained(self, index: int, is_element: bool) -> object | None:
        found = self.part(index)
        if found is F8E8M0FNU and not is_element:
            raise Malformed(LEAF_ONLY, 0, prefixed=False)
        return found

    def _shape(self, reader: ByteReader, what: str, is_view: bool) -> tuple[int, ...]:
        """In a view, one more than each extent, so that 0 can stand for a dynamic one."""
        extents = read_extents(reader, what)
        if not is_view:
            return extents
        if any(number - 1 > _LARGEST for number in extents):
            reader.fail(what)
        return tuple([number - 1 if number else cuda_tile.DYNAMIC for number in extents])

    def _pointer(self, reader: ByteReader) -> Type:
        pointee = self._type(reader, "pointeeType")
        space = reader.varint("failed to read address space")
        if space:
            # Neither the dialect nor its text can express one (docs/reference/conflicts.md D1).
            reader.fail(f"address space {space} is not supported, pointers have address space 0")
        self._checked(reader, cuda_tile.pointer_error(pointee, NEWEST))
        return cuda_tile.pointer_type(pointee)

    def _view(self, reader: ByteReader, tag: int) -> Type:
        # The only view of 13.1 is the partition view; the others fail by their version before.
        tensor = self._tensor(reader)
        tile_shape = read_extents(reader, "failed to read tile_shape")
        dim_map = read_extents(reader, "failed to read dim_map")
        # The mode byte is 0 for no padding, else one more than the padding value.
        mode = reader.byte("failed to read partition mode")
        padding = enumerator(enums.PADDING, mode - 1, reader) if mode else None
        self._checked(reader, cuda_tile.view_error(tile_shape, tensor, padding, dim_map, NEWEST))
        return cuda_tile.partition_view_type(tile_shape, tensor, padding, dim_map)


class DocumentedTypeEncoder(TypeEncoder):
    """The types a file needs, each once, what it contains before it."""

    def __init__(self) -> None:
        super().__init__(V13_1)

    def index(self, type: Type) -> int:
        if type is F8E8M0FNU:
            raise Malformed(LEAF_ONLY, 0, prefixed=False)
        return super().index(type)

    def element(self, type: Type) -> int:
        return super().index(type)

    def _encode(self, type: Type) -> bytes:
        if isinstance(type, (cuda_tile.PointerType, cuda_tile.TensorViewType)) and type.attribute is not None:
            raise Malformed("pointer attribute requires bytecode version 13.4+, targeting 13.1", 0, prefixed=False)
        return super()._encode(type)

    def _tag(self, writer: ByteWriter, tag: int) -> None:
        if tag == LEAF_TAG:
            writer.varint(tag)
        else:
            super()._tag(writer, tag)

    def _shape(self, writer: ByteWriter, extents: tuple[int, ...], is_view: bool) -> None:
        writer.number_list(
            [0 if extent == cuda_tile.DYNAMIC else extent + 1 for extent in extents] if is_view else extents
        )

    def _pointer_end(self, writer: ByteWriter, attribute: str | None) -> None:
        writer.varint(0)

    def _encode_view(self, writer: ByteWriter, type: Type) -> None:
        if not isinstance(type, cuda_tile.PartitionViewType):
            # Newer views fail with the version that added them, anything else as a type without bytes.
            super()._encode_view(writer, type)
            return
        tensor = self.index(type.tensor)
        self._tag(writer, PARTITION_VIEW_TAG)
        writer.varint(tensor)
        writer.number_list(type.tile_shape)
        writer.number_list(type.dim_map)
        writer.byte(0 if type.padding is None else 1 + enums.PADDING.values[type.padding.keyword])


class DocumentedDebugTable(DebugTable):
    """The public payloads behind a dispatcher of exactly seven cases."""

    def decode(self, reader: ByteReader) -> Attribute:
        tag = reader.varint("failed to read debug tag")
        if tag > CALL_SITE:
            reader.fail(f"unsupported DebugTag {tag}")
        reader.position = reader.start
        return super().decode(reader)


class DocumentedTables(Tables):
    """What the records of a file refer to, but for the attribute table, whose values refer to these."""

    def __init__(self, file: Container) -> None:
        super().__init__(file)
        self.data: bytes = file.data
        self.trace: Trace | None = file.trace
        try:
            self.element_types: DocumentedTypeTable = DocumentedTypeTable(file.reader(sections.TYPE))
        except Malformed as failure:
            raise failure.add("failed to parse type section", len(file.data)) from None
        try:
            self.debug = DocumentedDebugTable(file.reader(sections.DEBUG), self.strings, file.version)
        except Malformed as failure:
            raise failure.add("failed to parse debug section", len(file.data)) from None
        self.types = self.element_types
        # The i64 pool is the last blob of the constant section.
        self._pool_start: int = 0
        self._pool_end: int = 0
        self._pooled: int = 0
        if len(self.constants):
            self._pool_start, self._pool_end = self.constants.bounds(len(self.constants) - 1)

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

    def __init__(self) -> None:
        super().__init__(V13_1)
        self.element_types: DocumentedTypeEncoder = DocumentedTypeEncoder()
        self.types = self.element_types
