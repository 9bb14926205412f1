"""Types in the documented layout (docs/bytecode.md section 10; the bytecode draft, "TypeTag Dispatcher").

Nineteen tags, 0 to 18.  The numbers are the public ones, the payloads are not: shapes are lists of varints, a pointer
has an address space, and f8E8M0FNU is a leaf that only tiles and views reach.
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.bytecode.documented.enums import READERS
from tileir.bytecode.primitives import ByteReader, ByteWriter, Malformed
from tileir.bytecode.type_encoder import TypeEncoder
from tileir.bytecode.types import (
    FUNCTION_TAG,
    PARTITION_VIEW_TAG,
    POINTER_TAG,
    SCALAR_TAGS,
    TENSOR_VIEW_TAG,
    TILE_TAG,
    TypeDecoder,
    TypeTable,
)
from tileir.dialect.enums import PADDING
from tileir.dialect.types import (
    DYNAMIC,
    PartitionViewType,
    PointerType,
    TensorViewType,
    TileType,
    partition_view_type,
    pointer_mistake,
    pointer_type,
    tensor_view_mistake,
    tensor_view_type,
    tile_mistake,
    tile_type,
    view_mistake,
)
from tileir.ir.types import F8E8M0FNU, FunctionType, Type
from tileir.ir.versions import NEWEST, V13_1

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


def write_extents(writer: ByteWriter, extents: tuple[int, ...]) -> None:
    writer.varint(len(extents))
    for extent in extents:
        writer.varint(extent)


class DocumentedTypeDecoder(TypeDecoder):
    """Decodes one blob; `table` gives the type of another index."""

    __slots__ = ("table",)

    def __init__(self, table: DocumentedTypeTable) -> None:
        super().__init__(V13_1, table.get)
        self.table: DocumentedTypeTable = table

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

    def _element(self, reader: ByteReader) -> Type:
        """The element of a tile shape, the only place of the leaf."""
        message = "failed to get elementType type"
        index = reader.varint(message)
        try:
            found = self.table.element(index)
        except Malformed as failure:
            raise failure.add(message, reader.offset) from None
        if found is None:
            reader.fail(message)
        return found

    def _tile(self, reader: ByteReader) -> Type:
        element = self._element(reader)
        shape = read_extents(reader, "failed to read shape")
        self._checked(reader, tile_mistake(shape, element, NEWEST))
        return tile_type(shape, element)

    def _pointer(self, reader: ByteReader) -> Type:
        pointee = self._type(reader, "pointeeType")
        space = reader.varint("failed to read address space")
        if space:
            # Neither the dialect nor its text has a place for one (docs/conflicts.md D1).
            reader.fail(f"address space {space} is not supported, pointers have address space 0")
        self._checked(reader, pointer_mistake(pointee, NEWEST))
        return pointer_type(pointee)

    def _tensor_view(self, reader: ByteReader) -> Type:
        element = self._element(reader)
        shape = self._dynamic_extents(reader, "failed to read shape")
        strides = self._dynamic_extents(reader, "failed to read strides")
        self._checked(reader, tensor_view_mistake(element, shape, strides, NEWEST))
        return tensor_view_type(element, shape, strides)

    def _dynamic_extents(self, reader: ByteReader, what: str) -> tuple[int, ...]:
        """One more than each extent, so that 0 can stand for a dynamic one."""
        extents: list[int] = []
        for number in read_extents(reader, what):
            if number - 1 > _LARGEST:
                reader.fail(what)
            extents.append(number - 1 if number else DYNAMIC)
        return tuple(extents)

    def _partition_view(self, reader: ByteReader) -> Type:
        tensor = self._tensor(reader)
        tile_shape = read_extents(reader, "failed to read tile_shape")
        dim_map = read_extents(reader, "failed to read dim_map")
        # The mode byte is 0 for no padding, else one more than the padding value.
        mode = reader.byte("failed to read partition mode")
        padding = READERS[PADDING].attribute(reader, mode - 1) if mode else None
        self._checked(reader, view_mistake(tile_shape, tensor, padding, dim_map, NEWEST))
        return partition_view_type(tile_shape, tensor, padding, dim_map)


class DocumentedTypeTable(TypeTable):
    """The types of a file; only `element` gives out the leaf."""

    __slots__ = ()

    def __init__(self, section: ByteReader | None) -> None:
        super().__init__(None, V13_1)
        self._decoder = DocumentedTypeDecoder(self)
        if section is not None:
            self._read_offsets(section)

    def get(self, index: int) -> Type | None:
        found = super().get(index)
        if found is F8E8M0FNU:
            raise Malformed(LEAF_ONLY, 0, prefixed=False)
        return found

    def element(self, index: int) -> Type | None:
        """The type of an index, for the element of a tile shape."""
        return super().get(index)


class DocumentedTypeEncoder(TypeEncoder):
    """The types a file needs, each once, what it contains before it."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(V13_1)

    def index(self, type: Type) -> int:
        if type is F8E8M0FNU:
            raise Malformed(LEAF_ONLY, 0, prefixed=False)
        return super().index(type)

    def element(self, type: Type) -> int:
        """The index of a type that is the element of a tile shape."""
        return super().index(type)

    def _encode(self, type: Type) -> bytes:
        writer = ByteWriter()
        tag = SCALAR_TAGS.get(type)
        if tag == LEAF_TAG:
            writer.varint(LEAF_TAG)
        elif tag is not None:
            self._tag(writer, tag)
        elif isinstance(type, TileType):
            element = self.element(type.element)
            self._tag(writer, TILE_TAG)
            writer.varint(element)
            write_extents(writer, type.shape)
        elif isinstance(type, PointerType):
            self._refuse_pointer_attribute(type.attribute)
            pointee = self.index(type.pointee)
            self._tag(writer, POINTER_TAG)
            writer.varint(pointee)
            writer.varint(0)
        elif isinstance(type, TensorViewType):
            self._refuse_pointer_attribute(type.attribute)
            element = self.element(type.element)
            self._tag(writer, TENSOR_VIEW_TAG)
            writer.varint(element)
            for extents in (type.shape, type.strides):
                write_extents(writer, tuple([0 if extent == DYNAMIC else extent + 1 for extent in extents]))
        elif isinstance(type, PartitionViewType):
            tensor = self.index(type.tensor)
            self._tag(writer, PARTITION_VIEW_TAG)
            writer.varint(tensor)
            write_extents(writer, type.tile_shape)
            write_extents(writer, type.dim_map)
            writer.byte(0 if type.padding is None else 1 + PADDING.values[type.padding.keyword])
        elif isinstance(type, FunctionType):
            inputs = [self.index(t) for t in type.inputs]
            results = [self.index(t) for t in type.results]
            self._tag(writer, FUNCTION_TAG)
            for group in (inputs, results):
                write_extents(writer, tuple(group))
        else:
            # Newer views fail here with the version that brought them, anything else as a type without bytes.
            self._encode_view(writer, type)
        return bytes(writer.data)

    def _refuse_pointer_attribute(self, attribute: str | None) -> None:
        if attribute is not None:
            raise Malformed("pointer attribute requires bytecode version 13.4+, targeting 13.1", 0, prefixed=False)
