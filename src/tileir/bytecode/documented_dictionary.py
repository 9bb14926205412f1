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
from tileir.bytecode.documented_attributes import (
    ASSUME_PREDICATE,
    no_form,
    read_payload,
    read_string,
    write_string,
    write_tagged,
)
from tileir.bytecode.documented_tables import DocumentedTables, DocumentedTableWriter
from tileir.bytecode.documented_types import read_extents
from tileir.bytecode.primitives import ByteReader, ByteWriter, Malformed
from tileir.bytecode.trace import Trace
from tileir.dialect.attributes import (
    BoundedAttribute,
    DivByAttribute,
    OptimizationHintsAttribute,
    PredicateAttribute,
    SameElementsAttribute,
    optimization_hints,
    optimization_hints_mistake,
)
from tileir.ir.attributes import (
    UNIT,
    ArrayAttribute,
    Attribute,
    DenseArrayAttribute,
    DictionaryAttribute,
    EnumAttribute,
    IntegerAttribute,
    UnitAttribute,
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

_EMPTY: Final = b"\x00"
_MAXIMUM_DEPTH: Final = 64
_NO_ATTRIBUTE: Final = "failed to read attribute reference"


class DictionaryEntry:
    """A named value; an enumerator is only a number until the operation says which enumeration it belongs to."""

    __slots__ = ("attribute", "kind", "name", "number")

    def __init__(self, name: str, kind: int, attribute: Attribute | None, number: int) -> None:
        self.name: str = name
        self.kind: int = kind
        self.attribute: Attribute | None = attribute
        self.number: int = number


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
        "_weight",
        "_weights",
    )

    def __init__(self, section: ByteReader, tables: DocumentedTables) -> None:
        self._tables: DocumentedTables = tables
        self._known: dict[int, list[DictionaryEntry]] = {}
        self._weights: dict[int, int] = {}
        self._weight: int = 0
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
        if self._data[start:end] != _EMPTY:
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
        if known is None:
            if index >= len(self._offsets):
                user.fail(f"attribute index {index} out of bounds")
            if index in self._busy or len(self._busy) > _MAXIMUM_DEPTH:
                user.fail("attribute nesting is too deep")
            start, end = self.piece(index)
            outer = self._weight
            self._weight = 8 + end - start
            self._busy.add(index)
            try:
                known = self._read_dictionary(ByteReader(self._data, start, end, self._trace))
            finally:
                self._busy.discard(index)
            self._known[index] = known
            self._weights[index] = self._weight
            self._weight = outer
        return known

    def attribute(self, index: int, user: ByteReader) -> Attribute:
        """What a reference stands for: an attribute, or the dictionary itself."""
        entries = self.entries(index, user)
        self._weight += self._weights[index]
        if self._weight > self._limit:
            user.fail("attribute is too large for the file that holds it")
        if len(entries) == 1 and not entries[0].name:
            return plain_attribute(entries[0], user)
        values: dict[str, Attribute] = {}
        for entry in entries:
            values[entry.name] = plain_attribute(entry, user)
        return dictionary_attribute(values)

    def _read_dictionary(self, reader: ByteReader) -> list[DictionaryEntry]:
        count = reader.count("failed to read number of elements for DictionaryAttr")
        names: set[str] = set()
        entries: list[DictionaryEntry] = []
        for index in range(count):
            name = read_string(reader, self._tables)
            if not name and count > 1:
                reader.fail(f"invalid empty attribute name for DictionaryAttr element {index}")
            if name in names:
                reader.fail(f'failed to parse DictionaryAttr, duplicate key found: "{name}"')
            names.add(name)
            entries.append(self._read_value(reader, name))
        if reader.remaining:
            reader.fail("attribute has bytes after its end")
        return entries

    def _read_value(self, reader: ByteReader, name: str) -> DictionaryEntry:
        what = f"failed to read attribute '{name}'"
        kind = reader.byte(what)
        number = 0
        attribute: Attribute | None = None
        if kind == TAGGED:
            attribute = self._read_tagged(reader)
        elif kind == ENUM:
            number = reader.varint(what)
        elif kind == HINTS:
            attribute = self._read_hints(reader)
        elif kind == I32_LIST:
            attribute = self._read_i32_list(reader, what)
        elif kind == SHAPE:
            attribute = self._read_shape(reader, what)
        elif kind == UNIT_VALUE:
            attribute = UNIT
        elif kind == INTEGER:
            attribute = self._read_integer(reader, what)
        elif kind == BOOL:
            attribute = bool_attribute(reader.byte(what) != 0)
        elif kind == ARRAY:
            count = reader.count("failed to read number of elements for ArrayAttr")
            elements: list[Attribute] = []
            for _ in range(count):
                elements.append(self.attribute(reader.varint(_NO_ATTRIBUTE), reader))
            attribute = array_attribute(tuple(elements))
        elif kind == REFERENCE:
            attribute = self.attribute(reader.varint(_NO_ATTRIBUTE), reader)
        else:
            reader.fail(f"unknown kind {kind} of attribute '{name}'")
        return DictionaryEntry(name, kind, attribute, number)

    def _read_tagged(self, reader: ByteReader) -> Attribute:
        """A tag and what belongs to it."""
        tag = reader.varint("failed to read attribute tag")
        if tag == ASSUME_PREDICATE:
            return self._read_predicate(reader)
        return read_payload(reader, tag, self._tables)

    def _read_predicate(self, reader: ByteReader) -> Attribute:
        """A header of kind and payload size, a reference to the predicate, and a condition word."""
        header = reader.varint(_NO_PREDICATE[0])
        kind = header & 7
        if kind >= len(PREDICATE_KINDS):
            reader.fail(f"invalid AssumePredicate kind: {kind}")
        what = _NO_PREDICATE[kind]
        start = reader.position
        found = self.attribute(reader.varint(what), reader)
        if not isinstance(found, PREDICATE_KINDS[kind]):
            reader.fail(what)
        condition = reader.signed(what)
        if condition:
            reader.fail(f"unsupported condition word {condition} in AssumePredicateAttr")
        if reader.position - start != header >> 3:
            reader.fail(what)
        return found

    def _read_hints(self, reader: ByteReader) -> Attribute:
        """Architectures, each with a reference to the dictionary of its hints."""
        count = reader.count("failed to read number of elements for DictionaryAttr")
        architectures: dict[str, Attribute] = {}
        for index in range(count):
            name = read_string(reader, self._tables)
            if not name:
                reader.fail(f"invalid empty attribute name for DictionaryAttr element {index}")
            if name in architectures:
                reader.fail(f'failed to parse DictionaryAttr, duplicate key found: "{name}"')
            architectures[name] = self.attribute(reader.varint(_NO_ATTRIBUTE), reader)
        entries = dictionary_attribute(architectures)
        mistake = optimization_hints_mistake(entries)
        if mistake is not None:
            reader.fail(mistake)
        return optimization_hints(entries)

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


class AttributeEncoder:
    """The attribute table of a file being written: each entry once, what it refers to before it."""

    __slots__ = ("_depth", "_indices", "blobs", "tables")

    def __init__(self, tables: DocumentedTableWriter) -> None:
        self.tables: DocumentedTableWriter = tables
        self._indices: dict[bytes, int] = {_EMPTY: 0}
        self._depth: int = 0
        self.blobs: list[bytes] = [_EMPTY]

    def add(self, blob: bytes) -> int:
        found = self._indices.get(blob)
        if found is None:
            found = self._indices[blob] = len(self.blobs)
            self.blobs.append(blob)
        return found

    def dictionary(self, entries: tuple[tuple[str, Attribute], ...]) -> int:
        """The index of a dictionary whose values are not enumerators."""
        writer = ByteWriter()
        writer.varint(len(entries))
        for name, value in entries:
            write_string(writer, name, self.tables)
            self.write_value(writer, value)
        return self.add(bytes(writer.data))

    def reference(self, attribute: Attribute) -> int:
        """The index of any attribute."""
        if self._depth > _MAXIMUM_DEPTH:
            raise Malformed("attribute nesting is too deep for the documented layout", 0, prefixed=False)
        self._depth += 1
        if isinstance(attribute, DictionaryAttribute):
            found = self.dictionary(attribute.entries)
        else:
            found = self.dictionary((("", attribute),))
        self._depth -= 1
        return found

    def write_value(self, writer: ByteWriter, value: Attribute) -> None:
        """The kind of a value and what belongs to it."""
        if isinstance(value, UnitAttribute):
            writer.byte(UNIT_VALUE)
        elif isinstance(value, IntegerAttribute):
            self._write_integer(writer, value)
        elif isinstance(value, OptimizationHintsAttribute):
            references = [(name, self.reference(hints)) for name, hints in value.entries.entries]
            writer.byte(HINTS)
            writer.varint(len(references))
            for name, index in references:
                write_string(writer, name, self.tables)
                writer.varint(index)
        elif isinstance(value, DenseArrayAttribute) and value.element_type is I32:
            self.write_i32_list(writer, value.values)
        elif isinstance(value, ArrayAttribute):
            indices = [self.reference(element) for element in value.elements]
            writer.byte(ARRAY)
            writer.varint(len(indices))
            for index in indices:
                writer.varint(index)
        elif isinstance(value, DictionaryAttribute):
            index = self.reference(value)
            writer.byte(REFERENCE)
            writer.varint(index)
        elif isinstance(value, EnumAttribute):
            raise Malformed(
                f"attribute '{value.text}' has no form in the documented layout where no operation declares it",
                0,
                prefixed=False,
            )
        else:
            writer.byte(TAGGED)
            if self.tables.packs_predicates and isinstance(value, PredicateAttribute):
                self._write_predicate(writer, value)
            else:
                write_tagged(writer, value, self.tables)

    def write_i32_list(self, writer: ByteWriter, values: tuple[int, ...]) -> None:
        writer.byte(I32_LIST)
        writer.varint(len(values))
        for number in values:
            writer.signed(number)

    def _write_integer(self, writer: ByteWriter, value: IntegerAttribute) -> None:
        if value.type is I1:
            writer.byte(BOOL)
            writer.byte(value.value & 1)
            return
        if not isinstance(value.type, IntegerType):
            raise no_form(value)
        writer.byte(INTEGER)
        writer.varint(self.tables.types.index(value.type))
        writer.signed(value.value)

    def _write_predicate(self, writer: ByteWriter, attribute: PredicateAttribute) -> None:
        """Tag 13: the predicate itself is an entry of the attribute table, in its own tag."""
        inner = ByteWriter()
        inner.varint(1)
        write_string(inner, "", self.tables)
        inner.byte(TAGGED)
        write_tagged(inner, attribute, self.tables)
        payload = ByteWriter()
        payload.varint(self.add(bytes(inner.data)))
        payload.signed(0)
        for kind, known in enumerate(PREDICATE_KINDS):
            if isinstance(attribute, known):
                writer.varint(ASSUME_PREDICATE)
                writer.varint(kind | len(payload) << 3)
                writer.raw(bytes(payload.data))
                return
        raise no_form(attribute)
