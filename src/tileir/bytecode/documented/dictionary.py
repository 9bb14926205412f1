"""The attribute table of the documented layout, read and written (docs/reference/bytecode.md section 10).

The bytecode draft lets each operation refer to a dictionary in an attribute table and describes payloads (enumerations,
hints, operand segments, shapes) that none of its thirteen tags covers.  The kind byte in front of each value is this
project's way to distinguish them.  Entry 0 of the table is the empty dictionary.  An entry whose only name is empty
stands for the attribute under that name, so that a reference can mean any attribute.
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.bytecode import container as sections
from tileir.bytecode.container import Container
from tileir.bytecode.documented import attributes as tags
from tileir.bytecode.documented.tables import DocumentedTables, DocumentedTableWriter, read_extents
from tileir.bytecode.entry_tables import NestedTable, check_count
from tileir.bytecode.primitives import ByteReader, ByteWriter, Malformed
from tileir.dialect import attributes as cuda_tile
from tileir.ir import attributes as builtin
from tileir.ir.attributes import Attribute
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
PREDICATE_KINDS: Final[list[type[cuda_tile.PredicateAttribute]]] = [
    cuda_tile.DivByAttribute,
    cuda_tile.BoundedAttribute,
    cuda_tile.SameElementsAttribute,
]
_NO_PREDICATE: Final[list[str]] = [
    "failed to read divisor for DivByAttr",
    "failed to read lower bound for BoundedAttr",
    "failed to read DenseI64ArrayAttr for SameElementsAttr",
]

EMPTY: Final = b"\x00"
_TOO_LARGE: Final = "attribute is too large for the file that holds it"
_NO_ATTRIBUTE: Final = "failed to read attribute reference"


class DictionaryEntry:
    """A named value; an enumerator is only a number until the operation determines its enumeration."""

    __slots__ = ("attribute", "kind", "name", "number")

    def __init__(self, name: str, kind: int, attribute: Attribute | None, number: int) -> None:
        self.name: str = name
        self.kind: int = kind
        self.attribute: Attribute | None = attribute
        self.number: int = number


class _Dictionary:
    """An entry of the table, and its weight: its own bytes and the weight of everything it refers to."""

    __slots__ = ("entries", "weight")

    def __init__(self, weight: int) -> None:
        self.entries: list[DictionaryEntry] = []
        self.weight: int = weight


class AttributeTable(NestedTable):
    """The attributes of a file.

    References let a short file describe a long attribute, so the weight of an entry is bounded.
    """

    def __init__(self, section: ByteReader, tables: DocumentedTables) -> None:
        super().__init__(section)
        self._tables: DocumentedTables = tables
        self._limit: int = 1024 + 16 * len(section.data)
        self._budget = 64 * self._limit
        count = section.varint("failed to read number of attributes")
        check_count(section, count, 4, "attributes")
        if count == 0:
            section.fail("attribute table has no entry for the empty dictionary")
        section.align(4, "failed to skip padding for attribute offsets")
        self.read_offsets(section, 4, count, "failed to read attribute offset")
        for index in range(count):
            start, end = self.bounds(index)
            if not self.is_inside(start, end):
                section.fail(f"attribute {index} extends beyond available data")
        start, end = self.bounds(0)
        if self._data[start:end] != EMPTY:
            section.fail("attribute 0 is not the empty dictionary")

    def entries(self, index: int, user: ByteReader) -> list[DictionaryEntry]:
        """The dictionary of an index."""
        if index >= len(self._offsets):
            user.fail(f"attribute index {index} out of bounds")
        found = self.entry(index)
        if not isinstance(found, _Dictionary):
            user.fail("attribute refers to itself")
        return found.entries

    def decode(self, reader: ByteReader) -> _Dictionary:
        found = _Dictionary(8 + reader.end - reader.start)
        count = reader.count("failed to read number of elements for DictionaryAttr")
        names: dict[str, None] = {}
        for _ in range(count):
            name = self._read_name(reader, names, count > 1)
            what = f"failed to read attribute '{name}'"
            kind = reader.byte(what)
            value: Attribute | None = None
            number = 0
            if kind == ENUM:
                number = reader.varint(what)
            elif kind in (TAGGED, HINTS, ARRAY, REFERENCE):
                value = self._read_parts(reader, kind, found)
            else:
                value = self._read_plain(reader, kind, name, what)
            found.entries.append(DictionaryEntry(name, kind, value, number))
        if reader.remaining:
            reader.fail("attribute has bytes after its end")
        return found

    def _read_name(self, reader: ByteReader, names: dict[str, None], is_needed: bool) -> str:
        """Read a name that is not among `names`, and add it to them."""
        name = tags.read_string(reader, self._tables)
        if not name and is_needed:
            reader.fail(f"invalid empty attribute name for DictionaryAttr element {len(names)}")
        if name in names:
            reader.fail(f'failed to parse DictionaryAttr, duplicate key found: "{name}"')
        names[name] = None
        return name

    def _read_part(self, reader: ByteReader, owner: _Dictionary, what: str = _NO_ATTRIBUTE) -> Attribute:
        """Read a reference to an attribute, or to a dictionary."""
        index = reader.varint(what)
        if index >= len(self._offsets):
            reader.fail(f"attribute index {index} out of bounds")
        found = self.part(index)
        if not isinstance(found, _Dictionary):
            is_circular = self._budget >= 0
            reader.fail("attribute refers to itself" if is_circular else _TOO_LARGE)
        owner.weight += found.weight
        if owner.weight > self._limit:
            reader.fail(_TOO_LARGE)
        entries = found.entries
        if len(entries) == 1 and not entries[0].name:
            return plain_attribute(entries[0], reader)
        return builtin.dictionary_attribute({entry.name: plain_attribute(entry, reader) for entry in entries})

    def _read_parts(self, reader: ByteReader, kind: int, owner: _Dictionary) -> Attribute:
        """Read a value that may refer to other entries."""
        if kind == TAGGED:
            tag = reader.varint("failed to read attribute tag")
            if tag == tags.ASSUME_PREDICATE:
                return self._read_predicate(reader, owner)
            return tags.read_payload(reader, tag, self._tables)
        if kind == REFERENCE:
            return self._read_part(reader, owner)
        if kind == ARRAY:
            count = reader.count("failed to read number of elements for ArrayAttr")
            return builtin.array_attribute(tuple([self._read_part(reader, owner) for _ in range(count)]))
        # Architectures, each with a reference to the dictionary of its hints.
        count = reader.count("failed to read number of elements for DictionaryAttr")
        names: dict[str, None] = {}
        hints: dict[str, Attribute] = {}
        for _ in range(count):
            name = self._read_name(reader, names, True)
            hints[name] = self._read_part(reader, owner)
        entries = builtin.dictionary_attribute(hints)
        error = cuda_tile.optimization_hints_error(entries)
        if error is not None:
            reader.fail(error)
        return cuda_tile.optimization_hints(entries)

    def _read_predicate(self, reader: ByteReader, owner: _Dictionary) -> Attribute:
        """A header of kind and payload size, a reference to the predicate, and a condition word."""
        header = reader.varint(_NO_PREDICATE[0])
        kind = header & 7
        if kind >= len(PREDICATE_KINDS):
            reader.fail(f"invalid AssumePredicate kind: {kind}")
        start = reader.position
        what = _NO_PREDICATE[kind]
        found = self._read_part(reader, owner, what)
        if not isinstance(found, PREDICATE_KINDS[kind]):
            reader.fail(what)
        condition = reader.signed(what)
        if condition:
            reader.fail(f"unsupported condition word {condition} in AssumePredicateAttr")
        if reader.position - start != header >> 3:
            reader.fail(what)
        return found

    def _read_plain(self, reader: ByteReader, kind: int, name: str, what: str) -> Attribute:
        """Read a value that refers to nothing."""
        if kind == I32_LIST:
            return self._read_i32_list(reader, what)
        if kind == SHAPE:
            return self._read_shape(reader, what)
        if kind == UNIT_VALUE:
            return builtin.UNIT
        if kind == INTEGER:
            return self._read_integer(reader, what)
        if kind == BOOL:
            return builtin.bool_attribute(reader.byte(what) != 0)
        reader.fail(f"unknown kind {kind} of attribute '{name}'")

    def _read_i32_list(self, reader: ByteReader, what: str) -> Attribute:
        """The bytecode draft's operand-segment array; any other list of i32 is written the same way."""
        count = reader.count(what)
        values: list[int] = []
        for _ in range(count):
            value = reader.signed(what)
            if not -1 << 31 <= value < 1 << 31:
                reader.fail(f"array contains unsupported value {value}")
            values.append(value)
        return builtin.dense_array_attribute(I32, tuple(values))

    def _read_shape(self, reader: ByteReader, what: str) -> Attribute:
        values = read_extents(reader, what)
        for value in values:
            if value >> 63:
                reader.fail(f"array contains unsupported value {value}")
        return builtin.dense_array_attribute(I64, values)

    def _read_integer(self, reader: ByteReader, what: str) -> Attribute:
        type = self._tables.types.get(reader.varint(what))
        if not isinstance(type, IntegerType) or type is I1:
            reader.fail("failed to read valid Type for IntegerAttr")
        value = reader.signed(what)
        if not -1 << (type.width - 1) <= value < 1 << (type.width - 1):
            reader.fail(f"value {value} does not fit in {type.width} bits")
        return builtin.integer_attribute(type, value)


def plain_attribute(entry: DictionaryEntry, user: ByteReader) -> Attribute:
    """The value of an entry without a declaration."""
    if entry.attribute is None:
        user.fail(f"nothing states which enumeration attribute '{entry.name}' belongs to")
    return entry.attribute


def read_attribute_table(file: Container, tables: DocumentedTables) -> AttributeTable:
    section = file.reader(sections.ATTRIBUTE)
    if section is None:
        raise Malformed("attribute section is mandatory", len(file.data))
    try:
        return AttributeTable(section, tables)
    except Malformed as failure:
        raise failure.add("failed to parse attribute section", len(file.data)) from None


_WITH_PARTS: Final = (cuda_tile.OptimizationHintsAttribute, builtin.ArrayAttribute, builtin.DictionaryAttribute)


class _OpenDictionary:
    """A dictionary being written, and the value in it whose parts get their entries first, if there is one."""

    def __init__(self, entries: tuple[tuple[str, Attribute], ...], attribute: Attribute) -> None:
        # What a reference to the dictionary stands for.
        self.attribute: Attribute = attribute
        self.entries: tuple[tuple[str, Attribute], ...] = entries
        self.position: int = 0
        self.writer: ByteWriter = ByteWriter()
        self.writer.varint(len(entries))
        self.value: Attribute | None = None
        self.parts: list[Attribute] = []
        self.indices: list[int] = []


class AttributeEncoder:
    """The attribute table of a file being written: each entry once, what it refers to before it."""

    def __init__(self, tables: DocumentedTableWriter) -> None:
        self.tables: DocumentedTableWriter = tables
        self._indices: dict[bytes, int] = {EMPTY: 0}
        self._references: dict[Attribute, int] = {}
        self.blobs: list[bytes] = [EMPTY]

    def add(self, blob: bytes) -> int:
        found = self._indices.get(blob)
        if found is None:
            found = self._indices[blob] = len(self.blobs)
            self.blobs.append(blob)
        return found

    def reference(self, attribute: Attribute) -> int:
        """The index of any attribute whose parts are not enumerators."""
        known = self._references.get(attribute)
        if known is not None:
            return known
        # An explicit stack, because a program may nest attributes to any depth.
        path = [_opened(attribute)]
        while True:
            top = path[-1]
            part = self._next_part(top)
            if part is None:
                path.pop()
                index = self.add(bytes(top.writer.data))
                self._references[top.attribute] = index
                if not path:
                    return index
            else:
                known = self._references.get(part)
                if known is None:
                    path.append(_opened(part))
                    continue
                index = known
            path[-1].indices.append(index)

    def _next_part(self, top: _OpenDictionary) -> Attribute | None:
        """Write on up to a part that needs an entry of its own; None at the end of the dictionary."""
        while True:
            if top.value is not None:
                if len(top.indices) < len(top.parts):
                    return top.parts[len(top.indices)]
                self._write_parts(top.writer, top.value, top.indices)
                top.value = None
            elif top.position == len(top.entries):
                return None
            else:
                name, value = top.entries[top.position]
                top.position += 1
                tags.write_string(top.writer, name, self.tables)
                if isinstance(value, _WITH_PARTS):
                    top.value = value
                    top.parts = _parts(value)
                    top.indices = []
                else:
                    self._write_plain(top.writer, value)

    def write_value(self, writer: ByteWriter, value: Attribute) -> None:
        """The kind of a value and what belongs to it."""
        if isinstance(value, _WITH_PARTS):
            self._write_parts(writer, value, [self.reference(part) for part in _parts(value)])
        else:
            self._write_plain(writer, value)

    def _write_parts(self, writer: ByteWriter, value: Attribute, indices: list[int]) -> None:
        """A value that refers to other entries of the table."""
        if isinstance(value, cuda_tile.OptimizationHintsAttribute):
            writer.byte(HINTS)
            writer.varint(len(indices))
            for (name, _), index in zip(value.entries.entries, indices, strict=True):
                tags.write_string(writer, name, self.tables)
                writer.varint(index)
        elif isinstance(value, builtin.ArrayAttribute):
            writer.byte(ARRAY)
            writer.varint(len(indices))
            for index in indices:
                writer.varint(index)
        else:
            writer.byte(REFERENCE)
            writer.varint(indices[0])

    def _write_plain(self, writer: ByteWriter, value: Attribute) -> None:
        if isinstance(value, builtin.UnitAttribute):
            writer.byte(UNIT_VALUE)
        elif isinstance(value, builtin.IntegerAttribute):
            self._write_integer(writer, value)
        elif isinstance(value, builtin.DenseArrayAttribute) and value.element_type is I32:
            self.write_i32_list(writer, value.values)
        elif isinstance(value, builtin.EnumAttribute):
            raise Malformed(
                f"attribute '{value.text}' has no form in the documented layout where no operation declares it",
                0,
                prefixed=False,
            )
        else:
            writer.byte(TAGGED)
            tags.write_tagged(writer, value, self.tables)

    def write_i32_list(self, writer: ByteWriter, values: tuple[int, ...]) -> None:
        writer.byte(I32_LIST)
        writer.varint(len(values))
        for number in values:
            writer.signed(number)

    def _write_integer(self, writer: ByteWriter, value: builtin.IntegerAttribute) -> None:
        if value.type is I1:
            writer.byte(BOOL)
            writer.byte(value.value & 1)
            return
        if not isinstance(value.type, IntegerType):
            raise tags.no_form(value)
        writer.byte(INTEGER)
        writer.varint(self.tables.types.index(value.type))
        writer.signed(value.value)


def _parts(value: Attribute) -> list[Attribute]:
    """The attributes a value refers to: a dictionary among other values is an entry of its own."""
    if isinstance(value, cuda_tile.OptimizationHintsAttribute):
        return [hints for _, hints in value.entries.entries]
    return list(value.elements) if isinstance(value, builtin.ArrayAttribute) else [value]


def _opened(attribute: Attribute) -> _OpenDictionary:
    """The entry of an attribute: itself, or one whose only name is empty."""
    entries = attribute.entries if isinstance(attribute, builtin.DictionaryAttribute) else (("", attribute),)
    return _OpenDictionary(entries, attribute)
