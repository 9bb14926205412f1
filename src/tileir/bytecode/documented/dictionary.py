"""The attribute table of the documented layout (docs/bytecode.md section 10).

The bytecode draft lets each operation refer to a dictionary in an attribute table and describes payloads (enumerations,
hints, operand segments, shapes) that none of its thirteen tags covers.  The kind byte in front of each value is this
project's way to tell them apart.  Entry 0 of the table is the empty dictionary.  An entry whose only name is empty
stands for the attribute under that name, so that a reference can mean any attribute.
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.bytecode import container as sections
from tileir.bytecode.container import Container
from tileir.bytecode.documented.attributes import (
    ASSUME_PREDICATE,
    read_payload,
    read_string,
)
from tileir.bytecode.documented.tables import DocumentedTables, read_extents
from tileir.bytecode.primitives import ByteReader, Malformed, Trace
from tileir.dialect.attributes import (
    BoundedAttribute,
    DivByAttribute,
    PredicateAttribute,
    SameElementsAttribute,
    optimization_hints,
    optimization_hints_mistake,
)
from tileir.ir.attributes import (
    UNIT,
    Attribute,
    array_attribute,
    bool_attribute,
    dense_array_attribute,
    dictionary_attribute,
    integer_attribute,
)
from tileir.ir.types import I1, I32, I64, IntegerType

TAGGED: Final = 0
ENUM: Final = 1
HINTS: Final = 2
I32_LIST: Final = 3
SHAPE: Final = 4
UNIT_VALUE: Final = 5
INTEGER: Final = 6
BOOL: Final = 7
ARRAY: Final = 8
REFERENCE: Final = 9

# Kinds in the header of tag 13.
PREDICATE_KINDS: Final[list[type[PredicateAttribute]]] = [DivByAttribute, BoundedAttribute, SameElementsAttribute]
_NO_PREDICATE: Final[list[str]] = [
    "failed to read divisor for DivByAttr",
    "failed to read lower bound for BoundedAttr",
    "failed to read DenseI64ArrayAttr for SameElementsAttr",
]

EMPTY: Final = b"\x00"
_NO_ATTRIBUTE: Final = "failed to read attribute reference"


class DictionaryEntry:
    """A named value; an enumerator is only a number until the operation says which enumeration it belongs to."""

    __slots__ = ("attribute", "kind", "name", "number")

    def __init__(self, name: str, kind: int, attribute: Attribute | None, number: int) -> None:
        self.name: str = name
        self.kind: int = kind
        self.attribute: Attribute | None = attribute
        self.number: int = number


class _OpenEntry:
    """An entry of the table being read, and the value in it whose parts are other entries, if there is one."""

    __slots__ = (
        "count",
        "entries",
        "header",
        "index",
        "is_open",
        "keys",
        "kind",
        "name",
        "names",
        "parts",
        "reader",
        "start",
        "wanted",
        "weight",
        "what",
    )

    def __init__(self, index: int, reader: ByteReader) -> None:
        self.index: int = index
        self.reader: ByteReader = reader
        # Its own bytes, and the weight of everything it refers to.
        self.weight: int = 8 + reader.end - reader.start
        self.entries: list[DictionaryEntry] = []
        self.count: int = 0
        self.name: str = ""
        self.names: set[str] = set()
        self.is_open: bool = False
        self.kind: int = 0
        self.what: str = ""
        # How many entries the value refers to, those that are read, and their names.
        self.wanted: int = 0
        self.parts: list[Attribute] = []
        self.keys: dict[str, None] = {}
        # Of a predicate: its header and where what it counts begins.
        self.header: int = 0
        self.start: int = 0

    def open(self, kind: int, wanted: int, what: str = _NO_ATTRIBUTE) -> None:
        """Begin a value that refers to other entries."""
        self.is_open = True
        self.kind = kind
        self.wanted = wanted
        self.what = what
        self.parts = []
        self.keys = {}

    def add(self, kind: int, attribute: Attribute | None, number: int = 0) -> None:
        self.entries.append(DictionaryEntry(self.name, kind, attribute, number))


class AttributeTable:
    """The attributes of a file, decoded when asked for.

    References let a short file describe a long attribute, so what an entry stands for is weighed: its own bytes and
    the weight of everything it refers to.
    """

    __slots__ = (
        "_busy",
        "_data",
        "_end",
        "_known",
        "_limit",
        "_offsets",
        "_start",
        "_tables",
        "_trace",
        "_weights",
    )

    def __init__(self, section: ByteReader, tables: DocumentedTables) -> None:
        self._tables: DocumentedTables = tables
        self._known: dict[int, list[DictionaryEntry]] = {}
        self._weights: dict[int, int] = {}
        self._limit: int = 1024 + 16 * len(section.data)
        self._busy: set[int] = set()
        count = section.varint("failed to read number of attributes")
        if count > section.remaining // 4:
            section.fail(
                f"number of attributes ({count}) exceeds the maximum of {section.remaining // 4} that can fit in the "
                f"remaining payload of {section.remaining} bytes."
            )
        if count == 0:
            section.fail("attribute table has no entry for the empty dictionary")
        section.align(4, "failed to skip padding for attribute offsets")
        self._offsets: list[int] = [section.fixed(4, "failed to read attribute offset") for _ in range(count)]
        self._data: bytes = section.data
        self._trace: Trace | None = section.trace
        self._start: int = section.position
        self._end: int = section.end
        self._check(section)

    def _check(self, section: ByteReader) -> None:
        """Entries follow one another and the first is the empty dictionary."""
        for index in range(len(self._offsets)):
            start, end = self.piece(index)
            if not self._start <= start <= end <= self._end:
                section.fail(f"attribute {index} extends beyond available data")
        start, end = self.piece(0)
        if self._data[start:end] != EMPTY:
            section.fail("attribute 0 is not the empty dictionary")

    def __len__(self) -> int:
        return len(self._offsets)

    def piece(self, index: int) -> tuple[int, int]:
        """Where the blob of an index starts and ends in the file."""
        start = self._start + self._offsets[index]
        end = self._start + self._offsets[index + 1] if index + 1 < len(self._offsets) else self._end
        return start, end

    def entries(self, index: int, user: ByteReader) -> list[DictionaryEntry]:
        """The dictionary of an index."""
        known = self._known.get(index)
        return known if known is not None else self._read(index, user)

    def _read(self, index: int, user: ByteReader) -> list[DictionaryEntry]:
        """Read an entry and those it refers to.

        An explicit stack, because attributes nest as deep as the file says.
        """
        path = [self._open(index, user)]
        try:
            while True:
                top = path[-1]
                part = self._advance(top)
                if part >= 0 and part not in self._known:
                    path.append(self._open(part, top.reader))
                    continue
                if part < 0:
                    path.pop()
                    self._busy.discard(top.index)
                    self._known[top.index] = top.entries
                    self._weights[top.index] = top.weight
                    if not path:
                        return top.entries
                    part = top.index
                self._hand_over(part, path[-1])
        finally:
            self._busy.clear()

    def _open(self, index: int, user: ByteReader) -> _OpenEntry:
        if index >= len(self._offsets):
            user.fail(f"attribute index {index} out of bounds")
        if index in self._busy:
            user.fail("attribute refers to itself")
        self._busy.add(index)
        start, end = self.piece(index)
        opened = _OpenEntry(index, ByteReader(self._data, start, end, self._trace))
        opened.count = opened.reader.count("failed to read number of elements for DictionaryAttr")
        return opened

    def _hand_over(self, index: int, user: _OpenEntry) -> None:
        """Give a value what it refers to: an attribute, or the dictionary itself."""
        entries = self._known[index]
        user.weight += self._weights[index]
        if user.weight > self._limit:
            user.reader.fail("attribute is too large for the file that holds it")
        if len(entries) == 1 and not entries[0].name:
            user.parts.append(plain_attribute(entries[0], user.reader))
            return
        values: dict[str, Attribute] = {}
        for entry in entries:
            values[entry.name] = plain_attribute(entry, user.reader)
        user.parts.append(dictionary_attribute(values))

    def _advance(self, top: _OpenEntry) -> int:
        """Read on up to a reference: the index of what it stands for; -1 at the end of the entry."""
        reader = top.reader
        while True:
            if top.is_open:
                if len(top.parts) < top.wanted:
                    if top.kind == HINTS:
                        self._read_architecture(top)
                    return reader.varint(top.what)
                top.is_open = False
                top.add(top.kind, self._ended(top))
            elif len(top.entries) < top.count:
                self._begin_value(top)
            elif reader.remaining:
                reader.fail("attribute has bytes after its end")
            else:
                return -1

    def _begin_value(self, top: _OpenEntry) -> None:
        """Read the name and kind of a value, and the value itself if it refers to nothing."""
        reader = top.reader
        name = top.name = read_string(reader, self._tables)
        if not name and top.count > 1:
            reader.fail(f"invalid empty attribute name for DictionaryAttr element {len(top.entries)}")
        if name in top.names:
            reader.fail(f'failed to parse DictionaryAttr, duplicate key found: "{name}"')
        top.names.add(name)
        what = f"failed to read attribute '{name}'"
        kind = reader.byte(what)
        if kind == TAGGED:
            tag = reader.varint("failed to read attribute tag")
            if tag == ASSUME_PREDICATE:
                self._begin_predicate(top)
            else:
                top.add(kind, read_payload(reader, tag, self._tables))
        elif kind == ENUM:
            top.add(kind, None, reader.varint(what))
        elif kind == HINTS:
            # Architectures, each with a reference to the dictionary of its hints.
            top.open(kind, reader.count("failed to read number of elements for DictionaryAttr"))
        elif kind == I32_LIST:
            top.add(kind, self._read_i32_list(reader, what))
        elif kind == SHAPE:
            top.add(kind, self._read_shape(reader, what))
        elif kind == UNIT_VALUE:
            top.add(kind, UNIT)
        elif kind == INTEGER:
            top.add(kind, self._read_integer(reader, what))
        elif kind == BOOL:
            top.add(kind, bool_attribute(reader.byte(what) != 0))
        elif kind == ARRAY:
            top.open(kind, reader.count("failed to read number of elements for ArrayAttr"))
        elif kind == REFERENCE:
            top.open(kind, 1)
        else:
            reader.fail(f"unknown kind {kind} of attribute '{name}'")

    def _ended(self, top: _OpenEntry) -> Attribute:
        """The value whose parts are all read."""
        if top.kind == ARRAY:
            return array_attribute(tuple(top.parts))
        if top.kind == HINTS:
            entries = dictionary_attribute(dict(zip(top.keys, top.parts, strict=True)))
            mistake = optimization_hints_mistake(entries)
            if mistake is not None:
                top.reader.fail(mistake)
            return optimization_hints(entries)
        return self._ended_predicate(top) if top.kind == TAGGED else top.parts[0]

    def _begin_predicate(self, top: _OpenEntry) -> None:
        """A header of kind and payload size, a reference to the predicate, and a condition word."""
        reader = top.reader
        top.header = reader.varint(_NO_PREDICATE[0])
        kind = top.header & 7
        if kind >= len(PREDICATE_KINDS):
            reader.fail(f"invalid AssumePredicate kind: {kind}")
        top.start = reader.position
        top.open(TAGGED, 1, _NO_PREDICATE[kind])

    def _ended_predicate(self, top: _OpenEntry) -> Attribute:
        reader = top.reader
        found = top.parts[0]
        if not isinstance(found, PREDICATE_KINDS[top.header & 7]):
            reader.fail(top.what)
        condition = reader.signed(top.what)
        if condition:
            reader.fail(f"unsupported condition word {condition} in AssumePredicateAttr")
        if reader.position - top.start != top.header >> 3:
            reader.fail(top.what)
        return found

    def _read_architecture(self, top: _OpenEntry) -> None:
        name = read_string(top.reader, self._tables)
        if not name:
            top.reader.fail(f"invalid empty attribute name for DictionaryAttr element {len(top.keys)}")
        if name in top.keys:
            top.reader.fail(f'failed to parse DictionaryAttr, duplicate key found: "{name}"')
        top.keys[name] = None

    def _read_i32_list(self, reader: ByteReader, what: str) -> Attribute:
        """The bytecode draft's operand-segment array; any other list of i32 looks the same."""
        count = reader.count(what)
        values: list[int] = []
        for _ in range(count):
            value = reader.signed(what)
            if not -1 << 31 <= value < 1 << 31:
                reader.fail(f"array contains unsupported value {value}")
            values.append(value)
        return dense_array_attribute(I32, tuple(values))

    def _read_shape(self, reader: ByteReader, what: str) -> Attribute:
        values = read_extents(reader, what)
        for value in values:
            if value >> 63:
                reader.fail(f"array contains unsupported value {value}")
        return dense_array_attribute(I64, values)

    def _read_integer(self, reader: ByteReader, what: str) -> Attribute:
        type = self._tables.types.get(reader.varint(what))
        if not isinstance(type, IntegerType) or type is I1:
            reader.fail("failed to read valid Type for IntegerAttr")
        value = reader.signed(what)
        if not -1 << (type.width - 1) <= value < 1 << (type.width - 1):
            reader.fail(f"value {value} does not fit in {type.width} bits")
        return integer_attribute(type, value)


def plain_attribute(entry: DictionaryEntry, user: ByteReader) -> Attribute:
    """The value of an entry nobody declared."""
    if entry.attribute is None:
        user.fail(f"nothing says which enumeration attribute '{entry.name}' belongs to")
    return entry.attribute


def read_attribute_table(file: Container, tables: DocumentedTables) -> AttributeTable:
    """The attribute table of a file whose other tables are read."""
    section = file.reader(sections.ATTRIBUTE)
    if section is None:
        raise Malformed("attribute section is mandatory", len(file.data))
    try:
        return AttributeTable(section, tables)
    except Malformed as failure:
        raise failure.add("failed to parse attribute section", len(file.data)) from None
