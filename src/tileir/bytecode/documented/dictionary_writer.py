"""Writing the attribute table of the documented layout (docs/bytecode.md section 10)."""

from __future__ import annotations

from tileir.annotations import Final
from tileir.bytecode.documented.attributes import ASSUME_PREDICATE, no_form, write_string, write_tagged
from tileir.bytecode.documented.dictionary import (
    ARRAY,
    BOOL,
    EMPTY,
    HINTS,
    I32_LIST,
    INTEGER,
    PREDICATE_KINDS,
    REFERENCE,
    TAGGED,
    UNIT_VALUE,
)
from tileir.bytecode.documented.tables import DocumentedTableWriter
from tileir.bytecode.primitives import ByteWriter, Malformed
from tileir.dialect.attributes import OptimizationHintsAttribute, PredicateAttribute
from tileir.ir.attributes import (
    ArrayAttribute,
    Attribute,
    DenseArrayAttribute,
    DictionaryAttribute,
    IntegerAttribute,
    UnitAttribute,
)
from tileir.ir.enums import EnumAttribute
from tileir.ir.types import I1, I32, IntegerType

_WITH_PARTS: Final = (OptimizationHintsAttribute, ArrayAttribute, DictionaryAttribute)


class _OpenDictionary:
    """A dictionary being written, and the value in it whose parts get their entries first, if there is one."""

    __slots__ = ("attribute", "entries", "indices", "parts", "position", "value", "writer")

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

    __slots__ = ("_indices", "_references", "blobs", "tables")

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
        # An explicit stack, because attributes nest as deep as a program says.
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
                write_string(top.writer, name, self.tables)
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
        if isinstance(value, OptimizationHintsAttribute):
            writer.byte(HINTS)
            writer.varint(len(indices))
            for (name, _), index in zip(value.entries.entries, indices, strict=True):
                write_string(writer, name, self.tables)
                writer.varint(index)
        elif isinstance(value, ArrayAttribute):
            writer.byte(ARRAY)
            writer.varint(len(indices))
            for index in indices:
                writer.varint(index)
        else:
            writer.byte(REFERENCE)
            writer.varint(indices[0])

    def _write_plain(self, writer: ByteWriter, value: Attribute) -> None:
        if isinstance(value, UnitAttribute):
            writer.byte(UNIT_VALUE)
        elif isinstance(value, IntegerAttribute):
            self._write_integer(writer, value)
        elif isinstance(value, DenseArrayAttribute) and value.element_type is I32:
            self.write_i32_list(writer, value.values)
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


def _parts(value: Attribute) -> list[Attribute]:
    """The attributes a value refers to: a dictionary among other values is an entry of its own."""
    if isinstance(value, OptimizationHintsAttribute):
        return [hints for _, hints in value.entries.entries]
    return list(value.elements) if isinstance(value, ArrayAttribute) else [value]


def _opened(attribute: Attribute) -> _OpenDictionary:
    """The entry of an attribute: itself, or one whose only name is empty."""
    entries = attribute.entries if isinstance(attribute, DictionaryAttribute) else (("", attribute),)
    return _OpenDictionary(entries, attribute)
