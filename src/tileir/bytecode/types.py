"""Types in the public layout, read and written (docs/reference/bytecode.md section 4)."""

from __future__ import annotations

from tileir.annotations import Final
from tileir.bytecode.entry_tables import NestedTable, check_count
from tileir.bytecode.primitives import ByteReader, ByteWriter, Malformed
from tileir.dialect import availability
from tileir.dialect import types as cuda_tile
from tileir.dialect.enums import PADDING
from tileir.ir import types as builtin
from tileir.ir.types import FunctionType, Type
from tileir.ir.versions import NEWEST, V13_3, V13_4, Version, version_text

SCALARS: Final[dict[int, Type]] = {
    0: builtin.I1,
    1: builtin.I8,
    2: builtin.I16,
    3: builtin.I32,
    4: builtin.I64,
    5: builtin.F16,
    6: builtin.BF16,
    7: builtin.F32,
    8: builtin.TF32,
    9: builtin.F64,
    10: builtin.F8E4M3FN,
    11: builtin.F8E5M2,
    17: cuda_tile.TOKEN,
    18: builtin.F8E8M0FNU,
    19: builtin.F4E2M1FN,
    22: builtin.I4,
    130: builtin.FNV8E5M3FNU,
}
SCALAR_TAGS: Final[dict[Type, int]] = {type: tag for tag, type in SCALARS.items()}
POINTER_TAG: Final = 12
TILE_TAG: Final = 13
TENSOR_VIEW_TAG: Final = 14
PARTITION_VIEW_TAG: Final = 15
FUNCTION_TAG: Final = 16
GATHER_SCATTER_VIEW_TAG: Final = 20
STRIDED_VIEW_TAG: Final = 21

# The tags that came later.
TAG_GATES: Final[dict[int, tuple[str, Version]]] = {
    GATHER_SCATTER_VIEW_TAG: availability.GATHER_SCATTER_VIEW_GATE,
    STRIDED_VIEW_TAG: availability.STRIDED_VIEW_GATE,
    **{tag: availability.ELEMENT_GATES[type] for tag, type in SCALARS.items() if type in availability.ELEMENT_GATES},
}

# What the types of any file may cost, in decoded bytes and in characters of function types, and what each byte of the
# section adds.  Entries may overlap and types may nest, so without a bound the cost is not linear in the file.
_DECODING_ALLOWANCE: Final = 1 << 16
_SPELLING_ALLOWANCE: Final = 1 << 23
_SPELLING_PER_BYTE: Final = 256


class TypeTable(NestedTable):
    """The types of a file; `_spelling_budget` is how many characters its function types may have together."""

    def __init__(self, section: ByteReader | None, version: Version, version_name: str = "") -> None:
        super().__init__(section)
        self.version: Version = version
        self.version_name: str = version_name or version_text(version)
        self._spelling_budget: int = _SPELLING_ALLOWANCE
        count = section.varint("") if section is not None else 0
        if section is not None and count:
            check_count(section, count, 4, "types")
            section.align(4, "")
            self.read_offsets(section, 4, count)
            size = section.end - section.start
            self._budget = size + _DECODING_ALLOWANCE
            self._spelling_budget += size * _SPELLING_PER_BYTE

    def get(self, index: int) -> Type | None:
        """The type of an index; None when there is none or when it contains itself."""
        found = self.entry(index)
        return found if isinstance(found, Type) else None

    def decode(self, reader: ByteReader) -> Type:
        tag = reader.varint("") & 0xFF
        # Offsets in messages count from after the tag.
        reader.start = reader.position
        gate = TAG_GATES.get(tag)
        if gate is not None and gate[1] > self.version:
            raise Malformed(
                f"type '{gate[0]}' requires bytecode version {version_text(gate[1])}+, "
                f"file version is {self.version_name}",
                reader.offset,
                prefixed=False,
            )
        scalar = SCALARS.get(tag)
        if scalar is not None:
            return scalar
        if tag == TILE_TAG:
            return self._tile(reader)
        if tag == POINTER_TAG:
            return self._pointer(reader)
        if tag == TENSOR_VIEW_TAG:
            return self._tensor_view(reader)
        if tag in (PARTITION_VIEW_TAG, GATHER_SCATTER_VIEW_TAG, STRIDED_VIEW_TAG):
            return self._view(reader, tag)
        if tag == FUNCTION_TAG:
            return self._function(reader)
        raise Malformed(f"unknown type tag: {tag}", reader.offset, prefixed=False)

    def _type(self, reader: ByteReader, message: str, is_element: bool = False) -> Type:
        """Read the index of a type that this one contains; `message` is the error when there is none."""
        index = reader.varint(message)
        if reader.trace is not None:
            reader.trace.refer("type")
        try:
            found = self._contained(index, is_element)
        except Malformed as failure:
            raise failure.add(message, reader.offset) from None
        if not isinstance(found, Type):
            reader.fail(message)
        return found

    def _contained(self, index: int, is_element: bool) -> object | None:
        """What an index in another type refers to, as the element of a tile or view or otherwise."""
        return self.part(index)

    def _shape(self, reader: ByteReader, what: str, is_view: bool) -> tuple[int, ...]:
        """Read the extents or strides of a tile or a view; those of a view may be dynamic."""
        return reader.integers(8, what)

    def _checked(self, reader: ByteReader, error: str | None) -> None:
        if error is not None:
            reader.fail(error)

    def _tile(self, reader: ByteReader) -> Type:
        element = self._type(reader, "failed to get elementType type", True)
        shape = self._shape(reader, "failed to read shape", False)
        self._checked(reader, cuda_tile.tile_error(shape, element, NEWEST))
        return cuda_tile.tile_type(shape, element)

    def _pointer_flags(self, reader: ByteReader) -> int:
        return reader.varint("failed to read optional parameter flags") if self.version >= V13_4 else 0

    def _pointer_attribute(self, reader: ByteReader, flags: int) -> str | None:
        known = cuda_tile.pointer_attributes(self.version)
        return (
            self._keyword(reader, {name: cuda_tile.POINTER_ATTRIBUTES[name] for name in known}) if flags & 1 else None
        )

    def _keyword(self, reader: ByteReader, numbers: dict[str, int]) -> str:
        """Read the number of an enumerator."""
        value = reader.varint("failed to read VarInt for enum attribute.") & 0xFFFFFFFF
        for keyword, number in numbers.items():
            if number == value:
                return keyword
        reader.fail(f"invalid integer value for enum type: {value}")

    def _pointer(self, reader: ByteReader) -> Type:
        flags = self._pointer_flags(reader)
        pointee = self._type(reader, "failed to get pointeeType type")
        attribute = self._pointer_attribute(reader, flags)
        self._checked(reader, cuda_tile.pointer_error(pointee, NEWEST))
        return cuda_tile.pointer_type(pointee, attribute)

    def _tensor_view(self, reader: ByteReader) -> Type:
        flags = self._pointer_flags(reader)
        element = self._type(reader, "failed to get elementType type", True)
        shape = self._shape(reader, "failed to read shape", True)
        strides = self._shape(reader, "failed to read strides", True)
        attribute = self._pointer_attribute(reader, flags)
        self._checked(reader, cuda_tile.tensor_view_error(element, shape, strides, NEWEST))
        return cuda_tile.tensor_view_type(element, shape, strides, attribute)

    def _tensor(self, reader: ByteReader) -> cuda_tile.TensorViewType:
        found = self._type(reader, "failed to get tensor_view type")
        if not isinstance(found, cuda_tile.TensorViewType):
            reader.fail(f"expected ::mlir::cuda_tile::TensorViewType but got '{found.text}'")
        return found

    def _view(self, reader: ByteReader, tag: int) -> Type:
        # The layout of a partition view before 13.3 has a byte in front of the padding instead of flags.
        has_flags = tag != PARTITION_VIEW_TAG or self.version >= V13_3
        flags = reader.varint("failed to read optional parameter flags") if has_flags else 0
        shape = reader.integers(4, "failed to read tile_shape data")
        strides = reader.integers(4, "failed to read traversal_strides data") if tag == STRIDED_VIEW_TAG else ()
        tensor = self._tensor(reader)
        sparse_dim = 0
        dim_map: tuple[int, ...] = ()
        if tag == GATHER_SCATTER_VIEW_TAG:
            sparse_dim = reader.varint("failed to read sparse_dim")
            if sparse_dim >> 32:
                reader.fail(f"sparse_dim value {sparse_dim} exceeds uint32_t range")
        else:
            dim_map = reader.integers(4, "failed to read dim_map")
        if not has_flags:
            flags = 1 if reader.byte("failed to read OptionalEnum presence flag") else 0
        padding = PADDING[self._keyword(reader, PADDING.values)] if flags & 1 else None
        if tag == GATHER_SCATTER_VIEW_TAG:
            self._checked(reader, cuda_tile.view_error(shape, tensor, padding, None, NEWEST))
            self._checked(reader, cuda_tile.gather_view_error(tensor, sparse_dim))
            return cuda_tile.gather_scatter_view_type(shape, tensor, sparse_dim, padding)
        self._checked(reader, cuda_tile.view_error(shape, tensor, padding, dim_map, NEWEST))
        if tag == PARTITION_VIEW_TAG:
            return cuda_tile.partition_view_type(shape, tensor, padding, dim_map)
        self._checked(reader, cuda_tile.strided_view_error(len(shape), strides))
        return cuda_tile.strided_view_type(shape, tensor, strides, padding, dim_map)

    def _function(self, reader: ByteReader) -> Type:
        inputs = self._types(reader, "parameter")
        results = self._types(reader, "result")
        # A function type spells its parts out, and a few bytes can nest them: the spelling is paid for first.
        self._spelling_budget -= sum([len(t.text) for t in (*inputs, *results)])
        if self._spelling_budget < 0:
            reader.fail("function types are too large")
        return builtin.function_type(inputs, results)

    def _types(self, reader: ByteReader, what: str) -> tuple[Type, ...]:
        count = reader.count(f"failed to read number of {what}s")
        message = f"failed to get {what} type"
        return tuple([self._type(reader, message) for _ in range(count)])


class TypeEncoder:
    """The types a file needs, each once, what it contains before it."""

    def __init__(self, version: Version) -> None:
        self.version: Version = version
        self.indices: dict[Type, int] = {}
        self.blobs: list[bytes] = []

    def index(self, type: Type) -> int:
        found = self.indices.get(type)
        if found is None:
            if isinstance(type, FunctionType):
                self._add_parts(type)
            blob = self._encode(type)
            found = self.indices[type] = len(self.blobs)
            self.blobs.append(blob)
        return found

    def adopt(self, types: list[Type]) -> None:
        """Number different types in this order, in which a type may come before what it contains."""
        self.indices = {type: index for index, type in enumerate(types)}
        self.blobs = [self._encode(type) for type in types]

    def element(self, type: Type) -> int:
        """The index of a type that is the element of a tile or of a view."""
        return self.index(type)

    def _shape(self, writer: ByteWriter, extents: tuple[int, ...], is_view: bool) -> None:
        writer.integers(extents, 8)

    def _add_parts(self, type: FunctionType) -> None:
        # An explicit stack, because function types may nest deeply.
        path: list[FunctionType] = [type]
        while path:
            top = path[-1]
            missing: Type | None = None
            for part in (*top.inputs, *top.results):
                if part not in self.indices:
                    missing = part
                    break
            if isinstance(missing, FunctionType):
                path.append(missing)
            elif missing is not None:
                self.index(missing)
            else:
                path.pop()
                if top is not type:
                    self.index(top)

    def _encode(self, type: Type) -> bytes:
        writer = ByteWriter()
        tag = SCALAR_TAGS.get(type)
        if tag is not None:
            self._tag(writer, tag)
        elif isinstance(type, cuda_tile.TileType):
            element = self.element(type.element)
            self._tag(writer, TILE_TAG)
            writer.varint(element)
            self._shape(writer, type.shape, False)
        elif isinstance(type, cuda_tile.PointerType):
            pointee = self.index(type.pointee)
            self._tag(writer, POINTER_TAG)
            self._pointer_flags(writer, type.attribute)
            writer.varint(pointee)
            self._pointer_end(writer, type.attribute)
        elif isinstance(type, cuda_tile.TensorViewType):
            element = self.element(type.element)
            self._tag(writer, TENSOR_VIEW_TAG)
            self._pointer_flags(writer, type.attribute)
            writer.varint(element)
            self._shape(writer, type.shape, True)
            self._shape(writer, type.strides, True)
            self._pointer_attribute(writer, type.attribute)
        elif isinstance(type, FunctionType):
            inputs = [self.index(t) for t in type.inputs]
            results = [self.index(t) for t in type.results]
            self._tag(writer, FUNCTION_TAG)
            for group in (inputs, results):
                writer.number_list(group)
        else:
            self._encode_view(writer, type)
        return bytes(writer.data)

    def _encode_view(self, writer: ByteWriter, type: Type) -> None:
        if not isinstance(type, cuda_tile.TileViewType):
            raise Malformed("unsupported type in bytecode writer", 0, prefixed=False)
        tag = PARTITION_VIEW_TAG
        if isinstance(type, cuda_tile.StridedViewType):
            tag = STRIDED_VIEW_TAG
        elif isinstance(type, cuda_tile.GatherScatterViewType):
            tag = GATHER_SCATTER_VIEW_TAG
        has_flags = tag != PARTITION_VIEW_TAG or self.version >= V13_3
        tensor = self.index(type.tensor)
        self._tag(writer, tag)
        if has_flags:
            writer.varint(0 if type.padding is None else 1)
        writer.integers(type.tile_shape, 4)
        if isinstance(type, cuda_tile.StridedViewType):
            writer.integers(type.traversal_strides, 4)
        writer.varint(tensor)
        if isinstance(type, cuda_tile.GatherScatterViewType):
            writer.varint(type.sparse_dim)
        else:
            writer.integers(type.dim_map, 4)
        if not has_flags:
            writer.byte(0 if type.padding is None else 1)
        if type.padding is not None:
            writer.varint(PADDING.values[type.padding.keyword])

    def _tag(self, writer: ByteWriter, tag: int) -> None:
        gate = TAG_GATES.get(tag)
        if gate is not None and gate[1] > self.version:
            raise Malformed(availability.type_message(gate, self.version), 0, prefixed=False)
        writer.varint(tag)

    def _pointer_flags(self, writer: ByteWriter, attribute: str | None) -> None:
        if attribute is not None and attribute not in cuda_tile.pointer_attributes(self.version):
            raise Malformed(availability.newer_pointer_attribute_message(self.version), 0, prefixed=False)
        if self.version >= V13_4:
            writer.varint(0 if attribute is None else 1)
        elif attribute is not None:
            raise Malformed(availability.pointer_attribute_message(self.version), 0, prefixed=False)

    def _pointer_end(self, writer: ByteWriter, attribute: str | None) -> None:
        self._pointer_attribute(writer, attribute)

    def _pointer_attribute(self, writer: ByteWriter, attribute: str | None) -> None:
        if attribute is not None:
            writer.varint(cuda_tile.POINTER_ATTRIBUTES[attribute])
