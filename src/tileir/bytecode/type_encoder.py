"""Writing types in the public layout (docs/bytecode.md section 4)."""

from __future__ import annotations

from tileir.bytecode.primitives import ByteWriter, Malformed
from tileir.bytecode.types import (
    FUNCTION_TAG,
    GATHER_SCATTER_VIEW_TAG,
    PARTITION_VIEW_TAG,
    POINTER_TAG,
    SCALAR_TAGS,
    STRIDED_VIEW_TAG,
    TAG_GATES,
    TENSOR_VIEW_TAG,
    TILE_TAG,
)
from tileir.dialect.availability import (
    pointer_attribute_words,
    type_words,
)
from tileir.dialect.enums import PADDING
from tileir.dialect.types import (
    GatherScatterViewType,
    PartitionViewType,
    PointerType,
    StridedViewType,
    TensorViewType,
    TileType,
)
from tileir.ir.types import (
    FunctionType,
    Type,
)
from tileir.ir.versions import V13_3, V13_4, Version


class TypeEncoder:
    """The types a file needs, each once, what it contains before it."""

    __slots__ = ("blobs", "indices", "version")

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

    def _add_parts(self, type: FunctionType) -> None:
        """Give the types in a function type their numbers."""
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
        elif isinstance(type, TileType):
            element = self.index(type.element)
            self._tag(writer, TILE_TAG)
            writer.varint(element)
            writer.integers(type.shape, 8)
        elif isinstance(type, PointerType):
            pointee = self.index(type.pointee)
            self._tag(writer, POINTER_TAG)
            self._pointer_flags(writer, type.attribute)
            writer.varint(pointee)
            self._pointer_attribute(writer, type.attribute)
        elif isinstance(type, TensorViewType):
            element = self.index(type.element)
            self._tag(writer, TENSOR_VIEW_TAG)
            self._pointer_flags(writer, type.attribute)
            writer.varint(element)
            writer.integers(type.shape, 8)
            writer.integers(type.strides, 8)
            self._pointer_attribute(writer, type.attribute)
        elif isinstance(type, FunctionType):
            inputs = [self.index(t) for t in type.inputs]
            results = [self.index(t) for t in type.results]
            self._tag(writer, FUNCTION_TAG)
            for group in (inputs, results):
                writer.varint(len(group))
                for index in group:
                    writer.varint(index)
        else:
            self._encode_view(writer, type)
        return bytes(writer.data)

    def _encode_view(self, writer: ByteWriter, type: Type) -> None:
        if not isinstance(type, (PartitionViewType, StridedViewType, GatherScatterViewType)):
            raise Malformed("unsupported type in bytecode writer", 0, prefixed=False)
        tensor = self.index(type.tensor)
        padding = type.padding
        flags = 0 if padding is None else 1
        unified = not isinstance(type, PartitionViewType) or self.version >= V13_3
        if isinstance(type, PartitionViewType):
            self._tag(writer, PARTITION_VIEW_TAG)
        elif isinstance(type, StridedViewType):
            self._tag(writer, STRIDED_VIEW_TAG)
        else:
            self._tag(writer, GATHER_SCATTER_VIEW_TAG)
        if unified:
            writer.varint(flags)
        writer.integers(type.tile_shape, 4)
        if isinstance(type, StridedViewType):
            writer.integers(type.traversal_strides, 4)
        writer.varint(tensor)
        if isinstance(type, GatherScatterViewType):
            writer.varint(type.sparse_dim)
        else:
            writer.integers(type.dim_map, 4)
        if not unified:
            writer.byte(flags)
        if padding is not None:
            writer.varint(PADDING.values[padding.keyword])

    def _tag(self, writer: ByteWriter, tag: int) -> None:
        gate = TAG_GATES.get(tag)
        if gate is not None and gate[1] > self.version:
            raise Malformed(type_words(gate, self.version), 0, prefixed=False)
        writer.varint(tag)

    def _pointer_flags(self, writer: ByteWriter, attribute: str | None) -> None:
        if self.version >= V13_4:
            writer.varint(0 if attribute is None else 1)
        elif attribute is not None:
            raise Malformed(pointer_attribute_words(self.version), 0, prefixed=False)

    def _pointer_attribute(self, writer: ByteWriter, attribute: str | None) -> None:
        if attribute is not None:
            writer.varint(0)
