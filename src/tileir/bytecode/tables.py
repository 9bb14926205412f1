"""What the records of a file refer to: strings, types, constants (docs/bytecode.md sections 2 to 4)."""

from __future__ import annotations

import tileir.dialect.ops  # noqa: F401  (registers the declarations)
from tileir.annotations import Final
from tileir.bytecode import container as sections
from tileir.bytecode.constants import ConstantTable
from tileir.bytecode.container import Container, check_count, read_offsets
from tileir.bytecode.debug import DebugTable
from tileir.bytecode.origin import Spellings
from tileir.bytecode.primitives import ByteReader, Malformed
from tileir.bytecode.types import TypeTable
from tileir.ir.declaration import Version
from tileir.ir.types import Type

_STRING_ALLOWANCE: Final = 1 << 20


class StringTable:
    """The strings of a file, decoded when asked for."""

    __slots__ = ("_budget", "_data", "_end", "_known", "_offsets", "_start")

    def __init__(self, section: ByteReader) -> None:
        count = section.varint("")
        check_count(section, count, 4, "strings")
        if count:
            section.align(4, "")
        self._offsets: list[int] = read_offsets(section, 4, count, "")
        self._known: list[str | None] = [None] * count
        self._data: bytes = section.data
        self._start: int = section.position
        self._end: int = section.end
        # Strings may overlap, so without a bound they take more than the file.
        self._budget: int = section.end - section.start + _STRING_ALLOWANCE

    def __len__(self) -> int:
        return len(self._offsets)

    def piece(self, index: int) -> tuple[int, int]:
        """Where a string starts and ends in the file.

        Ends that make no sense are cut to the section, with the 32-bit arithmetic of NVIDIA's reader: a string that
        ends before it starts goes on to the end of the section.
        """
        size = self._end - self._start
        start = self._offsets[index]
        end = self._offsets[index + 1] if index + 1 < len(self._offsets) else size
        length = (end - start) & 0xFFFFFFFF
        start = min(start, size)
        return self._start + start, self._start + start + min(length, size - start)

    def get(self, index: int) -> str:
        if index >= len(self._offsets):
            raise Malformed(f"string index {index} out of bounds", 0, prefixed=False)
        found = self._known[index]
        if found is None:
            start, end = self.piece(index)
            self._budget -= end - start
            if self._budget < 0:
                raise Malformed("strings overlap too much", 0, prefixed=False)
            found = self._known[index] = self._data[start:end].decode("utf-8", "surrogateescape")
        return found


class Tables:
    """What the records of a file refer to."""

    __slots__ = ("constants", "debug", "producer", "spellings", "strings", "types", "version", "version_name")

    def __init__(self, file: Container, spellings: Spellings | None = None) -> None:
        self.version: Version = file.version
        self.version_name: str = file.version_name
        # Filled while reading when a writer wants to know how the file writes its attributes.
        self.spellings: Spellings | None = spellings
        self.producer: str | None = None
        name = "string"
        try:
            section = file.reader(sections.STRING)
            if section is None:
                raise Malformed("string section is mandatory", len(file.data))
            self.strings: StringTable = StringTable(section)
            # Read later: NVIDIA's reader looks at the functions first.
            self.debug: DebugTable = DebugTable(None, self.strings)
            name = "producer"
            producer = file.reader(sections.PRODUCER)
            if producer is not None:
                self.producer = self._read_producer(producer)
            name = "type"
            self.types: TypeTable = TypeTable(file.reader(sections.TYPE), file.version, file.version_name)
            name = "constant"
            self.constants: ConstantTable = ConstantTable(file.reader(sections.CONSTANT))
        except Malformed as failure:
            if not failure.messages or not failure.messages[0].endswith("is mandatory"):
                failure.add(f"failed to parse {name} section", len(file.data))
            raise failure from None

    def _read_producer(self, section: ByteReader) -> str:
        index = section.varint("failed to read producer string index")
        try:
            return self.strings.get(index)
        except Malformed as failure:
            raise failure.add(f"failed to get producer string at index {index}", section.offset) from None

    def string(self, reader: ByteReader, what: str) -> str:
        """The string a reader refers to; `what` is its line when there is none."""
        try:
            index = reader.varint("")
            if reader.trace is not None:
                reader.trace.refer("string", what)
            return self.strings.get(index)
        except Malformed as failure:
            raise failure.add(what, reader.offset) from None

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
