"""Tables of offsets and then entries, of strings and of constants (docs/reference/bytecode.md sections 2 and 3).

Entries are decoded on first use, because a bad entry that nothing uses is no error.
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.bytecode.primitives import ByteReader, ByteWriter, Malformed, Trace, little_endian
from tileir.dialect.types import TileType
from tileir.ir.dense import DenseAttribute, dense_attribute, element_bytes
from tileir.ir.types import I1, FloatType, IntegerType, Type

# Entries that are made of others are decoded recursively up to this depth; real ones nest three deep.
_RECURSION: Final = 16
# What the strings of any file may take; they may overlap, so without a bound they take more than the file.
_STRING_ALLOWANCE: Final = 1 << 20


class EntryTable:
    """Entries that follow their offsets in a section."""

    def __init__(self, section: ByteReader | None) -> None:
        self._offsets: list[int] = []
        self._data: bytes = b""
        self._start: int = 0
        self._end: int = 0
        self._trace: Trace | None = section.trace if section is not None else None

    def read_offsets(self, section: ByteReader, size: int, count: int, what: str = "") -> None:
        """Read `count` offsets; the entries begin after them."""
        self._offsets = read_offsets(section, size, count, what)
        self._data = section.data
        self._start = section.position
        self._end = section.end

    def __len__(self) -> int:
        return len(self._offsets)

    def bounds(self, index: int) -> tuple[int, int]:
        """Where an entry starts and ends in the file."""
        offsets = self._offsets
        end = self._start + offsets[index + 1] if index + 1 < len(offsets) else self._end
        return self._start + offsets[index], end

    def is_inside(self, start: int, end: int) -> bool:
        return self._start <= start <= end <= self._end


class _PartNeeded(Exception):
    """Ends the decoding of an entry; the part of it with this index is to be decoded first."""

    def __init__(self, index: int) -> None:
        super().__init__(index)
        self.index: int = index


class NestedTable(EntryTable):
    """Entries that refer to other entries, to any depth."""

    def __init__(self, section: ByteReader | None) -> None:
        super().__init__(section)
        self._known: dict[int, object] = {}
        # How many more bytes may be decoded: entries may overlap, so without a bound the cost is not linear.
        self._budget: int = 1 << 62
        self._busy: set[int] = set()
        # Entries that were decoded for one that contains them, and are none; with the reason, where there is one.
        self._failed: set[int] = set()
        self._failures: dict[int, Malformed] = {}

    def decode(self, reader: ByteReader) -> object:
        """Decode an entry; `part` decodes those it is made of."""
        raise TypeError(type(self).__name__)

    def entry(self, index: int) -> object | None:
        """The entry of an index; None when there is none or when it contains itself."""
        found = self._known.get(index)
        return found if found is not None else self._decode_with_parts(index)

    def _decode_with_parts(self, index: int) -> object | None:
        # An explicit stack: what lies too deep for Python's is decoded first.
        path = [index]
        spans = len(self._trace.spans) if self._trace is not None else 0
        try:
            while True:
                top = path[-1]
                found: object | None = None
                try:
                    found = self.part(top)
                except _PartNeeded as needed:
                    if self._trace is not None:
                        del self._trace.spans[spans:]
                    if needed.index in path:
                        self._failed.add(needed.index)
                    else:
                        path.append(needed.index)
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

    def part(self, index: int) -> object | None:
        """The entry of an index as `entry` returns it, for the one that is being decoded."""
        found = self._known.get(index)
        if found is not None:
            return found
        if not 0 <= index < len(self._offsets):
            return None
        if self._busy:
            if index in self._failures:
                raise self._failures[index]
            if index in self._failed or index in self._busy:
                return None
            if len(self._busy) > _RECURSION:
                raise _PartNeeded(index)
        start, end = self.bounds(index)
        if not self.is_inside(start, end) or self._budget < 0:
            return None
        self._busy.add(index)
        reader = ByteReader(self._data, start, end, self._trace)
        try:
            found = self.decode(reader)
        finally:
            self._busy.discard(index)
            self._budget -= reader.position - start
        self._known[index] = found
        return found


class StringTable(EntryTable):
    def __init__(self, section: ByteReader) -> None:
        super().__init__(section)
        count = section.varint("")
        check_count(section, count, 4, "strings")
        if count:
            section.align(4, "")
        self.read_offsets(section, 4, count)
        self._known: list[str | None] = [None] * count
        self._budget: int = section.end - section.start + _STRING_ALLOWANCE

    def bounds(self, index: int) -> tuple[int, int]:
        """Where a string starts and ends in the file.

        A wrong end is clamped to the section, with the 32-bit arithmetic of NVIDIA's reader: a string that
        ends before it starts goes on to the end of the section.
        """
        start, end = super().bounds(index)
        length = (end - start) & 0xFFFFFFFF
        start = min(start, self._end)
        return start, start + min(length, self._end - start)

    def get(self, index: int) -> str:
        if index >= len(self._offsets):
            raise Malformed(f"string index {index} out of bounds", 0, prefixed=False)
        found = self._known[index]
        if found is None:
            start, end = self.bounds(index)
            self._budget -= end - start
            if self._budget < 0:
                raise Malformed("strings overlap too much", 0, prefixed=False)
            found = self._known[index] = self._data[start:end].decode("utf-8", "surrogateescape")
        return found

    def read(self, reader: ByteReader, what: str) -> str:
        """The string a reader refers to; `what` is its line when there is none."""
        try:
            index = reader.varint("")
            if reader.trace is not None:
                reader.trace.refer("string", what)
            return self.get(index)
        except Malformed as failure:
            raise failure.add(what, reader.offset) from None


class StringInterner:
    """Assigns each string its index, in order of first use."""

    def __init__(self) -> None:
        self.indices: dict[str, int] = {}
        self.strings: list[str] = []

    def string(self, value: str) -> int:
        found = self.indices.get(value)
        if found is None:
            found = self.indices[value] = len(self.strings)
            self.strings.append(value)
        return found


class ConstantTable(EntryTable):
    """The constants of a file; an entry has a type only where it is used."""

    def __init__(self, section: ByteReader | None) -> None:
        super().__init__(section)
        self._known: dict[tuple[int, Type], DenseAttribute] = {}
        # The bytes of each entry, so that tiles of several types share them.
        self._raw: dict[int, bytes] = {}
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
        self.read_offsets(section, 8, count)
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

    def get(self, index: int, type: Type | None) -> DenseAttribute:
        """The constant of an index that is in range, as a tile of the type its user has."""
        if type is None:
            raise Malformed("provided type is null", 0)
        key = (index, type)
        found = self._known.get(key)
        if found is None:
            start, end = self.bounds(index)
            reader = ByteReader(self._data, start, end, self._trace)
            if not isinstance(type, TileType):
                reader.fail("expect Cuda Tile integer or float type but got: '<<NULL TYPE>>'")
            if not isinstance(type.element, (IntegerType, FloatType)):
                reader.fail(f"expect Cuda Tile integer or float type but got: '{type.text}'")
            found = self._known[key] = self._decode(reader, type, index)
        return found

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
    """One bit per byte of `data`, eight to a byte: every eighth byte, as one long number, shifted to its position."""
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


def check_count(reader: ByteReader, count: int, size: int, what: str) -> None:
    """A table of `count` items of `size` bytes must fit."""
    most = reader.remaining // size
    if count > most:
        reader.fail(
            f"number of {what} ({count}) exceeds the maximum of {most} that can fit in the remaining payload of "
            f"{reader.remaining} bytes."
        )


def read_offsets(reader: ByteReader, size: int, count: int, what: str) -> list[int]:
    """A table of `count` little-endian offsets."""
    data = reader.raw(count * size, what)
    found = little_endian(data, "I" if size == 4 else "Q", size)
    if reader.trace is not None and found:
        reader.trace.spans.pop()
        reader.trace.fields(reader.position - len(data), size, what or "offset", found)
    return found


def write_blobs(blobs: list[bytes], size: int) -> bytes:
    """A counted table of offsets and the blobs they point to: strings, types, constants."""
    writer = ByteWriter()
    writer.varint(len(blobs))
    if blobs:
        writer.align(size)
        writer.fixed_numbers(starts_of(blobs), size)
        writer.raw(b"".join(blobs))
    return bytes(writer.data)


def starts_of(blobs: list[bytes]) -> list[int]:
    """Where each blob starts when they follow one another."""
    starts: list[int] = []
    offset = 0
    for blob in blobs:
        starts.append(offset)
        offset += len(blob)
    return starts
