"""The strings of a file, read and collected (docs/bytecode.md section 2)."""

from __future__ import annotations

from tileir.annotations import Final
from tileir.bytecode.container import check_count, read_offsets
from tileir.bytecode.primitives import ByteReader, Malformed

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


class StringInterner:
    """Gives each string its index, in order of first use."""

    __slots__ = ("indices", "strings")

    def __init__(self) -> None:
        self.indices: dict[str, int] = {}
        self.strings: list[str] = []

    def string(self, value: str) -> int:
        found = self.indices.get(value)
        if found is None:
            found = self.indices[value] = len(self.strings)
            self.strings.append(value)
        return found
