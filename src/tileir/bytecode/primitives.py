"""Numbers as bytes (docs/reference/bytecode.md section 1).

`ByteReader` never reads past its end and takes no memory on the word of a count: lists grow item by item, and every
item takes at least one byte, so a list is never longer than the bytes it is read from.
"""

from __future__ import annotations

import sys

from tileir.annotations import TYPE_CHECKING, Final, NoReturn, Sequence
from tileir.dialect.debug_info import DILocation
from tileir.ir.diagnostics import Code, Diagnostic, TileIRError, note
from tileir.ir.location import UNKNOWN, CallSiteLocation, FileLocation, Location

if TYPE_CHECKING:
    from typing import Literal

# Counts of types, operands, array elements and so on are bounded like this by NVIDIA's reader.
MAXIMUM_COUNT: Final = (1 << 32) - 2


def little_endian(data: bytes, code: Literal["I", "Q", "b", "i", "q"], size: int) -> list[int]:
    """The numbers of `size` bytes each that are one after the other in `data`; `code` is their letter for `memoryview`.

    In one step where the machine has its numbers in this order too.
    """
    if sys.byteorder == "little":
        return memoryview(data).cast(code).tolist()
    signed = code.islower()
    return [int.from_bytes(data[at : at + size], "little", signed=signed) for at in range(0, len(data), size)]


class BytecodeError(TileIRError):
    """The bytes are not a program, or the program has no bytes.

    `offset` is where the innermost reader stood, -1 when a program could not be written.  `location` is that of the
    operation that was being read, where the file has debug information.  `reason` is the first message without the
    offset.
    """

    def __init__(
        self, diagnostics: list[Diagnostic], offset: int, location: Location = UNKNOWN, reason: str = ""
    ) -> None:
        super().__init__(diagnostics)
        self.offset: int = offset
        self.location: Location = location
        self.reason: str = reason or self.message


def bytecode_error(failure: Malformed, messages: list[str]) -> BytecodeError:
    """The error of a reader, one diagnostic per line; a note leads to the source of the current operation."""
    if messages != ["input does not correspond to Tile IR bytecode"]:
        messages = [*messages, "failed to read provided Tile IR bytecode"]
    diagnostics = [Diagnostic("error", messages[0], UNKNOWN, None, failure.code)]
    diagnostics += [Diagnostic("error", message, UNKNOWN) for message in messages[1:]]
    position = failure.location
    while isinstance(position, CallSiteLocation):
        position = position.callee
    if isinstance(position, DILocation):
        position = position.source
    if isinstance(position, FileLocation):
        diagnostics[0].notes.append(note("the operation at hand comes from here", position))
    return BytecodeError(diagnostics, failure.offset, failure.location, failure.reasons[0] if failure.reasons else "")


class Malformed(Exception):
    """Ends the reading of a part of a file; the readers around it add their own line to `messages`.

    `reasons` has the same lines without offsets.
    Without a message it adds no line: for some failures NVIDIA's reader prints only the lines of the readers around.
    """

    def __init__(self, message: str, offset: int, prefixed: bool = True, code: Code | None = None) -> None:
        super().__init__(message)
        self.messages: list[str] = []
        self.reasons: list[str] = []
        if message:
            self.add(message, offset if prefixed else -1)
        self.offset: int = offset
        self.location: Location = UNKNOWN
        # The code of the first message.
        self.code: Code | None = code

    def add(self, message: str, offset: int = -1) -> Malformed:
        """Add the line of an outer reader; with an offset it is prefixed like the first."""
        self.messages.append(f"error at offset {offset}: {message}" if offset >= 0 else message)
        self.reasons.append(message)
        return self


class Span:
    """Some bytes of a file: one field, or a group of fields (`is_group`).

    `what` is the reader's word for it; for a field, the line it would have failed with.  `table` names the table a
    number is an index of.  `subject` is what was decoded: an attribute, a value, an operation.  A group that was never
    finished ends at -1.
    """

    __slots__ = ("end", "is_group", "start", "subject", "table", "value", "what")

    def __init__(self, start: int, end: int, what: str, value: int | None, is_group: bool) -> None:
        self.start: int = start
        self.end: int = end
        self.what: str = what
        self.value: int | None = value
        self.is_group: bool = is_group
        self.table: str = ""
        self.subject: object = None


class Trace:
    """The spans of a file in the order they were read, which is not the order of the file."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        # Where the reader that failed last stood.
        self.failure: int = -1

    def field(self, start: int, end: int, what: str, value: int | None) -> None:
        if end > start:
            self.spans.append(Span(start, end, what, value, False))

    def fields(self, start: int, size: int, what: str, values: list[int]) -> None:
        """A row of numbers of `size` bytes each."""
        for index, value in enumerate(values):
            self.spans.append(Span(start + index * size, start + (index + 1) * size, what, value, False))

    def refer(self, table: str, what: str = "") -> None:
        """Record which table the last number indexes, and what for where the field has no name of its own."""
        if self.spans:
            last = self.spans[-1]
            last.table = table
            last.what = what or last.what

    def join(self, start: int, end: int, value: int) -> None:
        """Take the fields from `start` on as one number."""
        what = ""
        while self.spans and self.spans[-1].start >= start and self.spans[-1].end <= end:
            what = self.spans.pop().what
        self.field(start, end, what, value)

    def open(self, what: str, start: int) -> Span:
        """Begin a group."""
        span = Span(start, -1, what, None, True)
        self.spans.append(span)
        return span

    def close(self, span: Span, end: int, subject: object) -> None:
        span.end = end
        span.subject = subject


class ByteReader:
    """A range of bytes with a position; offsets in messages count from the start of the range.

    With a `trace` it writes down what it reads.
    """

    __slots__ = ("data", "end", "position", "start", "trace")

    def __init__(self, data: bytes, start: int, end: int, trace: Trace | None = None) -> None:
        self.data: bytes = data
        self.start: int = start
        self.position: int = start
        self.end: int = end
        self.trace: Trace | None = trace

    @property
    def offset(self) -> int:
        return self.position - self.start

    @property
    def remaining(self) -> int:
        return self.end - self.position

    def fail(self, message: str, code: Code | None = None) -> NoReturn:
        if self.trace is not None:
            self.trace.failure = self.position
        raise Malformed(message, self.offset, True, code)

    def byte(self, what: str) -> int:
        if self.position >= self.end:
            self.fail(what)
        value = self.data[self.position]
        self.position += 1
        if self.trace is not None:
            self.trace.field(self.position - 1, self.position, what, value)
        return value

    def varint(self, what: str) -> int:
        """An unsigned LEB128 number of at most 64 bits; `what` is the message when there is none."""
        data = self.data
        position = self.position
        end = self.end
        if position < end:
            value = data[position]
            if value < 0x80:
                self.position = position + 1
                if self.trace is not None:
                    self.trace.field(position, position + 1, what, value)
                return value
        value = 0
        shift = 0
        while position < end:
            byte = data[position]
            position += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                value &= 0xFFFFFFFFFFFFFFFF
                if self.trace is not None:
                    self.trace.field(self.position, position, what, value)
                self.position = position
                return value
            shift += 7
            if shift > 63:
                break
        # The bytes of a number that has no end are gone all the same.
        self.position = position
        self.fail(what)

    def short(self) -> int:
        """A number of one or two bytes, as most are; -1 where `varint` has to read it: longer, traced or at the end."""
        position = self.position
        if position + 1 >= self.end or self.trace is not None:
            return -1
        value = self.data[position]
        if value >= 0x80:
            position += 1
            value += (self.data[position] << 7) - 0x80
            if value >= 0x4000:
                return -1
        self.position = position + 1
        return value

    def signed(self, what: str) -> int:
        """A zig-zag number."""
        start = self.position
        value = self.varint(what)
        value = (value >> 1) ^ -(value & 1)
        if self.trace is not None:
            self.trace.join(start, self.position, value)
        return value

    def count(self, what: str) -> int:
        """A number of items that follow, bounded like in NVIDIA's reader; read the items one by one."""
        value = self.varint(what)
        if value > MAXIMUM_COUNT:
            failure = Malformed(
                "varint value exceeds maximum supported capacity. (expected value less than "
                f"{MAXIMUM_COUNT}, got {value}).",
                self.offset,
            )
            raise failure.add(what, self.offset) if what else failure
        return value

    def fixed(self, size: int, what: str) -> int:
        """A little-endian number of `size` bytes."""
        end = self.position + size
        if end > self.end:
            self.fail(what)
        value = int.from_bytes(self.data[self.position : end], "little")
        if self.trace is not None:
            self.trace.field(self.position, end, what, value)
        self.position = end
        return value

    def raw(self, size: int, what: str) -> bytes:
        end = self.position + size
        if size < 0 or end > self.end:
            self.fail(what)
        value = self.data[self.position : end]
        if self.trace is not None:
            self.trace.field(self.position, end, what, None)
        self.position = end
        return value

    def integers(self, size: int, what: str) -> tuple[int, ...]:
        """A counted list of little-endian signed numbers of `size` bytes."""
        length = self.varint(what)
        if self.trace is not None:
            self.trace.refer("count")
        if length > MAXIMUM_COUNT:
            failure = Malformed(f"array size in bytecode ({length}) exceeds maximum supported capacity", self.offset)
            raise failure.add(what, self.offset)
        whole = (self.end - self.position) // size
        if length > whole:
            self.position += whole * size
            self.fail(what)
        start = self.position
        self.position = start + length * size
        code: Literal["b", "i", "q"] = "q" if size == 8 else "i" if size == 4 else "b"
        values = tuple(little_endian(self.data[start : self.position], code, size))
        if self.trace is not None:
            self.trace.fields(start, size, what, list(values))
        return values

    def align(self, alignment: int, what: str) -> None:
        """Skip padding up to a multiple of `alignment`, counted from the start of the range.

        A range that ends here fails even when it is aligned, as in NVIDIA's reader.
        """
        skip = -self.offset % alignment
        if skip > self.end - self.position or (alignment > 1 and self.position == self.end):
            self.fail(what)
        if self.trace is not None:
            self.trace.field(self.position, self.position + skip, "padding", None)
        self.position += skip


PADDING_BYTE: Final = 0xCB


class ByteWriter:
    """Bytes being collected."""

    __slots__ = ("data",)

    def __init__(self) -> None:
        self.data: bytearray = bytearray()

    def __len__(self) -> int:
        return len(self.data)

    def byte(self, value: int) -> None:
        self.data.append(value)

    def varint(self, value: int) -> None:
        data = self.data
        while value >= 0x80:
            data.append(value & 0x7F | 0x80)
            value >>= 7
        data.append(value)

    def signed(self, value: int) -> None:
        self.varint((value << 1 if value >= 0 else (-value << 1) - 1) & 0xFFFFFFFFFFFFFFFF)

    def fixed(self, value: int, size: int) -> None:
        self.data += (value & ((1 << (8 * size)) - 1)).to_bytes(size, "little")

    def raw(self, data: bytes) -> None:
        self.data += data

    def fixed_numbers(self, values: list[int], size: int) -> None:
        """Unsigned little-endian numbers, one after the other."""
        self.data += b"".join([value.to_bytes(size, "little") for value in values])

    def number_list(self, values: Sequence[int]) -> None:
        """A counted list of unsigned numbers."""
        self.varint(len(values))
        for value in values:
            self.varint(value)

    def integers(self, values: tuple[int, ...], size: int) -> None:
        """A counted list of little-endian signed numbers."""
        self.varint(len(values))
        try:
            self.data += b"".join([value.to_bytes(size, "little", signed=True) for value in values])
        except OverflowError:
            largest = max(values, key=abs)
            raise Malformed(
                f"{largest} does not fit into a signed number of {8 * size} bits", 0, prefixed=False
            ) from None

    def align(self, alignment: int) -> None:
        while len(self.data) % alignment:
            self.data.append(PADDING_BYTE)


def varints(numbers: tuple[int, ...]) -> bytes:
    """Unsigned numbers one after the other, nearly always of one byte each."""
    if max(numbers) < 0x80:
        return bytes(numbers)
    writer = ByteWriter()
    for number in numbers:
        writer.varint(number)
    return bytes(writer.data)


def signed_leb128(value: int) -> bytes:
    """The bytecode draft's location index: LEB128 with the sign in the last byte, so that -1 is 0x7F."""
    data = bytearray()
    while True:
        byte = value & 0x7F
        value >>= 7
        if (value == 0 and not byte & 0x40) or (value == -1 and byte & 0x40):
            data.append(byte)
            return bytes(data)
        data.append(byte | 0x80)


def read_signed_leb128(reader: ByteReader, what: str) -> int:
    value = 0
    shift = 0
    start = reader.position
    while True:
        byte = reader.byte(what)
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            if byte & 0x40:
                value -= 1 << shift
            if reader.trace is not None:
                reader.trace.join(start, reader.position, value)
            return value
        if shift > 63:
            reader.fail(what)
