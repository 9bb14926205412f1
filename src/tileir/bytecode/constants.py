"""Dense constants as blobs (docs/bytecode.md section 3)."""

from __future__ import annotations

from tileir.annotations import TYPE_CHECKING, Final
from tileir.bytecode.container import read_offsets
from tileir.bytecode.primitives import ByteReader, ByteWriter, Malformed
from tileir.dialect.types import TileType
from tileir.ir.dense import DenseAttribute, dense_attribute, element_bytes
from tileir.ir.types import I1, FloatType, IntegerType, Type

if TYPE_CHECKING:
    from tileir.bytecode.primitives import Trace


class ConstantTable:
    """The constants of a file; a blob has a type only where it is used."""

    __slots__ = ("_data", "_end", "_known", "_offsets", "_raw", "_start", "_trace")

    def __init__(self, section: ByteReader | None) -> None:
        self._offsets: list[int] = []
        self._known: dict[tuple[int, Type], DenseAttribute] = {}
        # The bytes of each blob, so that tiles of several types share them.
        self._raw: dict[int, bytes] = {}
        self._data: bytes = b""
        self._start: int = 0
        self._end: int = 0
        self._trace: Trace | None = section.trace if section is not None else None
        if section is None:
            return
        count = section.count("")
        if not count:
            return
        section.align(8, "")
        if count > section.remaining // 8:
            section.fail("insufficient data for constant indices")
        if not section.remaining:
            section.fail("")
        self._offsets = read_offsets(section, 8, count, "")
        self._data = section.data
        self._start = section.position
        self._end = section.end
        self._check(section)

    def _check(self, section: ByteReader) -> None:
        available = self._end - self._start
        for index, start in enumerate(self._offsets):
            end = self._offsets[index + 1] if index + 1 < len(self._offsets) else available
            if end < start:
                section.fail(
                    f"invalid constant start indices: end ({end}) is less than start ({start}) for constant {index}"
                )
            if end > available:
                section.fail(
                    f"constant {index} extends beyond available data: size={end - start}, start={start}, "
                    f"total data size={available}"
                )

    def __len__(self) -> int:
        return len(self._offsets)

    def piece(self, index: int) -> tuple[int, int]:
        """Where the blob of an index starts and ends in the file."""
        start = self._start + self._offsets[index]
        end = self._start + self._offsets[index + 1] if index + 1 < len(self._offsets) else self._end
        return start, end

    def get(self, index: int, type: Type | None) -> DenseAttribute:
        """The constant of an index that is in range, as a tile of the type its user has."""
        if type is None:
            raise Malformed("provided type is null", 0)
        start, end = self.piece(index)
        found = self._single(start, end, type)
        if found is not None:
            return found
        key = (index, type)
        found = self._known.get(key)
        if found is None:
            reader = ByteReader(self._data, start, end, self._trace)
            if not isinstance(type, TileType):
                reader.fail("expect Cuda Tile integer or float type but got: '<<NULL TYPE>>'")
            if not isinstance(type.element, (IntegerType, FloatType)):
                reader.fail(f"expect Cuda Tile integer or float type but got: '{type.text}'")
            found = self._known[key] = self._decode(reader, type, index)
        return found

    def _single(self, start: int, end: int, type: Type) -> DenseAttribute | None:
        """One element for all, as nearly every constant has it; None for anything else."""
        if start >= end or self._trace is not None or not isinstance(type, TileType):
            return None
        element = type.element
        if element is I1 or not isinstance(element, (IntegerType, FloatType)):
            return None
        size = self._data[start]
        if size != element_bytes(element) or start + 1 + size > end:
            return None
        return dense_attribute(type, type.shape, element, self._data[start + 1 : start + 1 + size])

    def _decode(self, reader: ByteReader, type: TileType, index: int) -> DenseAttribute:
        size = reader.varint("failed to read the size of the data buffer")
        data = self._raw.get(index)
        if data is None:
            data = self._raw[index] = reader.raw(size, "failed to read the raw byte data")
        else:
            reader.position += size
        if type.element is I1:
            return _from_bits(reader, data, type)
        width = element_bytes(type.element)
        if len(data) != width and len(data) != width * type.count:
            reader.fail("failed to validate buffer size and format")
        return dense_attribute(type, type.shape, type.element, data)


# For each position of a bit, what each byte has there.
_BITS: Final = [bytes([byte >> position & 1 for byte in range(256)]) for position in range(8)]


def _from_bits(reader: ByteReader, data: bytes, type: TileType) -> DenseAttribute:
    """i1 is packed eight to a byte, lowest bit first; one byte for more than eight elements is a splat."""
    count = type.count
    if len(data) == 1 and count > 8:
        return dense_attribute(type, type.shape, I1, bytes([data[0] & 1]))
    if len(data) != (count + 7) // 8:
        reader.fail(f"i1 dense attribute payload size {len(data)} is not a recognized encoding for {count} elements")
    bits = bytearray(8 * len(data))
    for position in range(8):
        bits[position::8] = data.translate(_BITS[position])
    return dense_attribute(type, type.shape, I1, bytes(bits[:count]))


def _packed(data: bytes) -> bytes:
    """One bit per byte of `data`, eight to a byte: every eighth byte, as one long number, shifted into its place."""
    bits = data.translate(_BITS[0])
    number = 0
    for position in range(8):
        number |= int.from_bytes(bits[position::8], "little") << position
    return number.to_bytes((len(data) + 7) // 8, "little")


def encode_constant(value: DenseAttribute) -> bytes:
    """The blob of a constant: a splat as one element, i1 packed."""
    data = value.data
    if value.element_type is I1:
        if value.is_splat:
            data = b"\xff" if data[0] & 1 else b"\x00"
        else:
            data = _packed(data)
    writer = ByteWriter()
    writer.varint(len(data))
    writer.raw(data)
    return bytes(writer.data)
