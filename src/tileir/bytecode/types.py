"""Types in the public layout (docs/bytecode.md section 4)."""

from __future__ import annotations

from tileir.annotations import TYPE_CHECKING, Callable, Final
from tileir.bytecode.container import check_count, read_offsets
from tileir.bytecode.primitives import ByteReader, Malformed, PartWanted
from tileir.dialect.availability import (
    ELEMENT_GATES,
    GATHER_SCATTER_VIEW_GATE,
    STRIDED_VIEW_GATE,
)
from tileir.dialect.enums import PADDING
from tileir.dialect.types import (
    TOKEN,
    TensorViewType,
    gather_scatter_view_type,
    gather_view_mistake,
    partition_view_type,
    pointer_mistake,
    pointer_type,
    strided_view_mistake,
    strided_view_type,
    tensor_view_mistake,
    tensor_view_type,
    tile_mistake,
    tile_type,
    view_mistake,
)
from tileir.ir.declaration import NEWEST, V13_3, V13_4, Version, version_text
from tileir.ir.enums import EnumAttribute
from tileir.ir.types import (
    BF16,
    F4E2M1FN,
    F8E4M3FN,
    F8E5M2,
    F8E8M0FNU,
    F16,
    F32,
    F64,
    FNV8E5M3FNU,
    I1,
    I4,
    I8,
    I16,
    I32,
    I64,
    TF32,
    Type,
    function_type,
)

if TYPE_CHECKING:
    from tileir.bytecode.primitives import Trace

SCALARS: Final[dict[int, Type]] = {
    0: I1,
    1: I8,
    2: I16,
    3: I32,
    4: I64,
    5: F16,
    6: BF16,
    7: F32,
    8: TF32,
    9: F64,
    10: F8E4M3FN,
    11: F8E5M2,
    17: TOKEN,
    18: F8E8M0FNU,
    19: F4E2M1FN,
    22: I4,
    130: FNV8E5M3FNU,
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
    GATHER_SCATTER_VIEW_TAG: GATHER_SCATTER_VIEW_GATE,
    STRIDED_VIEW_TAG: STRIDED_VIEW_GATE,
    **{tag: ELEMENT_GATES[type] for tag, type in SCALARS.items() if type in ELEMENT_GATES},
}

# A type may contain types; real ones nest three deep.  What lies deeper than this is decoded first.
_RECURSION: Final = 16
# What the types of any file may cost, in decoded bytes and in characters of function types, and what each byte of the
# section adds.  Blobs may overlap and types may nest, so without a bound the cost is not linear in the file.
_DECODING_ALLOWANCE: Final = 1 << 16
_SPELLING_ALLOWANCE: Final = 1 << 23
_SPELLING_PER_BYTE: Final = 256


class TypeDecoder:
    """Decodes one blob; `resolve` gives the type of another index.

    `spelling_budget` is how many characters the function types may have together.
    """

    __slots__ = ("resolve", "spelling_budget", "version", "version_name")

    def __init__(self, version: Version, resolve: Callable[[int], Type | None], version_name: str = "") -> None:
        self.version_name: str = version_name or version_text(version)
        self.spelling_budget: int = _SPELLING_ALLOWANCE
        self.version: Version = version
        self.resolve: Callable[[int], Type | None] = resolve

    def decode(self, reader: ByteReader) -> Type:
        tag = reader.varint("") & 0xFF
        # Offsets in messages count from behind the tag.
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
        if tag == PARTITION_VIEW_TAG:
            return self._partition_view(reader)
        if tag == FUNCTION_TAG:
            return self._function(reader)
        if tag == GATHER_SCATTER_VIEW_TAG:
            return self._gather_scatter_view(reader)
        if tag == STRIDED_VIEW_TAG:
            return self._strided_view(reader)
        raise Malformed(f"unknown type tag: {tag}", reader.offset, prefixed=False)

    def _type(self, reader: ByteReader, message: str) -> Type:
        """The type that a blob refers to; `message` is said if there is none."""
        index = reader.varint(message)
        if reader.trace is not None:
            reader.trace.refer("type")
        try:
            found = self.resolve(index)
        except Malformed as failure:
            raise failure.add(message, reader.offset) from None
        if found is None:
            reader.fail(message)
        return found

    def _checked(self, reader: ByteReader, mistake: str | None) -> None:
        if mistake is not None:
            reader.fail(mistake)

    def _tile(self, reader: ByteReader) -> Type:
        element = self._type(reader, "failed to get elementType type")
        shape = reader.integers(8, "failed to read shape")
        self._checked(reader, tile_mistake(shape, element, NEWEST))
        return tile_type(shape, element)

    def _pointer_attribute(self, reader: ByteReader, flags: int) -> str | None:
        if not flags & 1:
            return None
        value = reader.varint("failed to read VarInt for enum attribute.") & 0xFFFFFFFF
        if value != 0:
            reader.fail(f"invalid integer value for enum type: {value}")
        return "none"

    def _pointer(self, reader: ByteReader) -> Type:
        flags = reader.varint("failed to read optional parameter flags") if self.version >= V13_4 else 0
        pointee = self._type(reader, "failed to get pointeeType type")
        attribute = self._pointer_attribute(reader, flags)
        self._checked(reader, pointer_mistake(pointee, NEWEST))
        return pointer_type(pointee, attribute)

    def _tensor_view(self, reader: ByteReader) -> Type:
        flags = reader.varint("failed to read optional parameter flags") if self.version >= V13_4 else 0
        element = self._type(reader, "failed to get elementType type")
        shape = reader.integers(8, "failed to read shape")
        strides = reader.integers(8, "failed to read strides")
        attribute = self._pointer_attribute(reader, flags)
        self._checked(reader, tensor_view_mistake(element, shape, strides, NEWEST))
        return tensor_view_type(element, shape, strides, attribute)

    def _tensor(self, reader: ByteReader) -> TensorViewType:
        found = self._type(reader, "failed to get tensor_view type")
        if not isinstance(found, TensorViewType):
            reader.fail(f"expected ::mlir::cuda_tile::TensorViewType but got '{found.text}'")
        return found

    def _padding(self, reader: ByteReader) -> EnumAttribute:
        value = reader.varint("failed to read VarInt for enum attribute.") & 0xFFFFFFFF
        for name, number in PADDING.values.items():
            if number == value:
                return PADDING[name]
        reader.fail(f"invalid integer value for enum type: {value}")

    def _partition_view(self, reader: ByteReader) -> Type:
        unified = self.version >= V13_3
        flags = reader.varint("failed to read optional parameter flags") if unified else 0
        tile_shape = reader.integers(4, "failed to read tile_shape data")
        tensor = self._tensor(reader)
        dim_map = reader.integers(4, "failed to read dim_map")
        if not unified:
            flags = 1 if reader.byte("failed to read OptionalEnum presence flag") else 0
        padding = self._padding(reader) if flags & 1 else None
        self._checked(reader, view_mistake(tile_shape, tensor, padding, dim_map, NEWEST))
        return partition_view_type(tile_shape, tensor, padding, dim_map)

    def _gather_scatter_view(self, reader: ByteReader) -> Type:
        flags = reader.varint("failed to read optional parameter flags")
        tile_shape = reader.integers(4, "failed to read tile_shape data")
        tensor = self._tensor(reader)
        sparse_dim = reader.varint("failed to read sparse_dim")
        if sparse_dim >> 32:
            reader.fail(f"sparse_dim value {sparse_dim} exceeds uint32_t range")
        padding = self._padding(reader) if flags & 1 else None
        self._checked(reader, view_mistake(tile_shape, tensor, padding, None, NEWEST))
        self._checked(reader, gather_view_mistake(tensor, sparse_dim))
        return gather_scatter_view_type(tile_shape, tensor, sparse_dim, padding)

    def _strided_view(self, reader: ByteReader) -> Type:
        flags = reader.varint("failed to read optional parameter flags")
        tile_shape = reader.integers(4, "failed to read tile_shape data")
        strides = reader.integers(4, "failed to read traversal_strides data")
        tensor = self._tensor(reader)
        dim_map = reader.integers(4, "failed to read dim_map")
        padding = self._padding(reader) if flags & 1 else None
        self._checked(reader, view_mistake(tile_shape, tensor, padding, dim_map, NEWEST))
        self._checked(reader, strided_view_mistake(len(tile_shape), strides))
        return strided_view_type(tile_shape, tensor, strides, padding, dim_map)

    def _function(self, reader: ByteReader) -> Type:
        inputs = self._types(reader, "parameter")
        results = self._types(reader, "result")
        # A function type spells its parts out, and a few bytes can nest them: the spelling is paid for first.
        self.spelling_budget -= sum([len(t.text) for t in (*inputs, *results)])
        if self.spelling_budget < 0:
            reader.fail("function types are too large")
        return function_type(inputs, results)

    def _types(self, reader: ByteReader, what: str) -> tuple[Type, ...]:
        count = reader.count(f"failed to read number of {what}s")
        message = f"failed to get {what} type"
        return tuple([self._type(reader, message) for _ in range(count)])


class TypeTable:
    """The types of a file, decoded when asked for, because a bad type nobody uses is no mistake."""

    __slots__ = (
        "_budget",
        "_busy",
        "_data",
        "_decoder",
        "_end",
        "_failed",
        "_failures",
        "_offsets",
        "_start",
        "_trace",
        "known",
    )

    def __init__(self, section: ByteReader | None, version: Version, version_name: str = "") -> None:
        self._decoder: TypeDecoder = TypeDecoder(version, self.part, version_name)
        self._busy: set[int] = set()
        # Types that were decoded for one that contains them, and are none; with the reason, where there is one.
        self._failed: set[int] = set()
        self._failures: dict[int, Malformed] = {}
        self._budget: int = 0
        self._offsets: list[int] = []
        self._data: bytes = b""
        self._start: int = 0
        self._end: int = 0
        self._trace: Trace | None = section.trace if section is not None else None
        self.known: list[Type | None] = []
        if section is not None:
            self._read_offsets(section)

    def _read_offsets(self, section: ByteReader) -> None:
        count = section.varint("")
        if not count:
            return
        check_count(section, count, 4, "types")
        section.align(4, "")
        self._offsets = read_offsets(section, 4, count, "")
        self._data = section.data
        self._start = section.position
        self._end = section.end
        self.known = [None] * count
        size = section.end - section.start
        self._budget = size + _DECODING_ALLOWANCE
        self._decoder.spelling_budget += size * _SPELLING_PER_BYTE

    def __len__(self) -> int:
        return len(self._offsets)

    def piece(self, index: int) -> tuple[int, int]:
        """Where the blob of an index starts and ends in the file."""
        offsets = self._offsets
        start = self._start + offsets[index]
        end = self._start + offsets[index + 1] if index + 1 < len(offsets) else self._end
        return start, end

    def get(self, index: int) -> Type | None:
        """The type of an index; None when there is none or when it contains itself."""
        found = self.known[index] if index < len(self.known) else None
        return found if found is not None or index >= len(self.known) else self._get(index)

    def _get(self, index: int) -> Type | None:
        # Function types nest as deep as the file says: what lies too deep for Python's stack is decoded first.
        path = [index]
        spans = len(self._trace.spans) if self._trace is not None else 0
        try:
            while True:
                top = path[-1]
                found: Type | None = None
                try:
                    found = self.part(top)
                except PartWanted as wanted:
                    if self._trace is not None:
                        del self._trace.spans[spans:]
                    if wanted.index in path:
                        self._failed.add(wanted.index)
                    else:
                        path.append(wanted.index)
                    continue
                except Malformed as failure:
                    if len(path) == 1:
                        raise
                    self._failures[top] = failure
                if len(path) == 1:
                    return found
                if found is None:
                    self._failed.add(top)
                path.pop()
        finally:
            self._failed.clear()
            self._failures.clear()

    def part(self, index: int) -> Type | None:
        """The type of an index as `get` gives it, to the one that is being decoded."""
        if index >= len(self.known):
            return None
        found = self.known[index]
        if found is not None:
            return found
        if self._busy:
            if index in self._failures:
                raise self._failures[index]
            if index in self._failed or index in self._busy:
                return None
            if len(self._busy) > _RECURSION:
                raise PartWanted(index)
        start, end = self.piece(index)
        if not self._start <= start <= end <= self._end or self._budget < 0:
            return None
        self._busy.add(index)
        reader = ByteReader(self._data, start, end, self._trace)
        try:
            found = self._decoder.decode(reader)
        finally:
            self._busy.discard(index)
            self._budget -= reader.position - start
        self.known[index] = found
        return found
