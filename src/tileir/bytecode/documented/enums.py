"""The enumerations of the documented layout (docs/bytecode.md section 10; the bytecode draft, "Six Enum-Attr Readers").

Every reader does the same: a varint, looked up in a table of (name, value) pairs.  Only the table and the name in the
message differ, so there is one reader and a table per enumeration.
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.bytecode.primitives import ByteReader
from tileir.dialect.enums import (
    ATOMIC_MODE,
    COMPARISON_ORDERING,
    COMPARISON_PREDICATE,
    MEMORY_ORDERING,
    MEMORY_SCOPE,
    OVERFLOW,
    PADDING,
    ROUNDING,
    SIGNEDNESS,
)
from tileir.ir.enums import EnumAttribute, EnumKind
from tileir.ir.versions import V13_1


class EnumReader:
    """Reads one enumeration; `kind` is None for the one whose values nothing in the dialect holds."""

    __slots__ = ("kind", "name", "table")

    def __init__(self, name: str, kind: EnumKind | None, keywords: list[str]) -> None:
        self.name: str = name
        self.kind: EnumKind | None = kind
        values = kind.values if kind is not None else {keyword: number for number, keyword in enumerate(keywords)}
        self.table: list[tuple[str, int]] = sorted([(k, values[k]) for k in keywords], key=_value)

    def keyword(self, reader: ByteReader, value: int) -> str:
        for keyword, number in self.table:
            if number == value:
                return keyword
        reader.fail(f"invalid {self.name} value: {value}")

    def attribute(self, reader: ByteReader, value: int) -> EnumAttribute:
        keyword = self.keyword(reader, value)
        if self.kind is None:
            reader.fail(f"no attribute holds a {self.name}")
        return self.kind[keyword]


def _value(item: tuple[str, int]) -> int:
    return item[1]


def _reader(name: str, kind: EnumKind) -> EnumReader:
    return EnumReader(name, kind, kind.keywords(V13_1))


# The six of the bytecode draft.  Its Comparison is the predicate; Width is reserved, because nothing says what it is
# for.
SIX_READERS: Final[list[EnumReader]] = [
    _reader("Comparison", COMPARISON_PREDICATE),
    _reader("Overflow", OVERFLOW),
    _reader("PaddingValue", PADDING),
    _reader("Rounding", ROUNDING),
    _reader("Signedness", SIGNEDNESS),
    EnumReader("Width", None, ["i1", "i8", "i16", "i32", "i64"]),
]

# Enumerations the operations of 13.1 have and the bytecode draft does not mention.
_OTHER_READERS: Final[list[EnumReader]] = [
    _reader("ComparisonOrdering", COMPARISON_ORDERING),
    _reader("MemoryOrderingSemantics", MEMORY_ORDERING),
    _reader("MemoryScope", MEMORY_SCOPE),
    _reader("AtomicRMWMode", ATOMIC_MODE),
]

READERS: Final[dict[EnumKind, EnumReader]] = {
    reader.kind: reader for reader in (*SIX_READERS, *_OTHER_READERS) if reader.kind is not None
}
