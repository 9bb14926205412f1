"""The documented layout, written (docs/reference/bytecode.md section 10).

The bytecode draft has no writer, so the choices are this project's: strings by index, arrays inline, a bound in the tag
that fits what it has.  Tables are filled in order of first use.
"""

from __future__ import annotations

from tileir.bytecode import body_writer, records
from tileir.bytecode import container as sections
from tileir.bytecode.body_writer import BodyWriter, OpenOperation, WriteFailure, fail
from tileir.bytecode.container import Container
from tileir.bytecode.documented import dictionary
from tileir.bytecode.documented.attributes import write_dense, write_string
from tileir.bytecode.documented.dictionary import AttributeEncoder, read_attribute_table
from tileir.bytecode.documented.tables import DocumentedTables, DocumentedTableWriter
from tileir.bytecode.entry_tables import write_blobs
from tileir.bytecode.primitives import ByteWriter, Malformed, signed_leb128
from tileir.bytecode.reader import FLAG_ENTRY, FLAG_PRIVATE
from tileir.bytecode.writer import ModuleWriter
from tileir.dialect.availability import operand_message
from tileir.dialect.ops import ENTRY, GLOBAL
from tileir.ir.attributes import Attribute, EnumAttribute, SymbolAttribute, string_attribute
from tileir.ir.core import Block, Operation
from tileir.ir.dense import DenseAttribute
from tileir.ir.traversal import is_function
from tileir.ir.versions import V13_1, version_text


def write_documented(module: Operation, preserved: Container | None = None) -> bytes:
    """The bytes of a module; `preserved` is the file whose tables, section order and patch number are kept."""
    return DocumentedModuleWriter(module, preserved, DocumentedTableWriter()).write()


class DocumentedModuleWriter(ModuleWriter):
    def __init__(self, module: Operation, preserved: Container | None, tables: DocumentedTableWriter) -> None:
        super().__init__(module, V13_1, tables, preserved)
        self.documented: DocumentedTableWriter = tables
        self.attributes: AttributeEncoder = AttributeEncoder(tables)

    def _adopt(self, file: Container) -> None:
        try:
            self._adopt_tables(file)
        except Malformed:
            # An unused entry may be broken; the order is kept up to there.
            pass

    def _adopt_tables(self, file: Container) -> None:
        """Fill the tables in the order the file has them."""
        tables = DocumentedTables(file)
        attributes = read_attribute_table(file, tables)
        mine = self.documented
        for index in range(len(tables.strings)):
            mine.string(tables.strings.get(index))
        for index in range(len(tables.types)):
            type = tables.element_types.element(index)
            if type is not None:
                mine.element_types.element(type)
        for index in range(len(tables.debug)):
            attribute = tables.debug.attribute(index + 1)
            if attribute is not None:
                mine.debug.reference(attribute)
        # Dictionaries hold table numbers, which are the same only if no table entry was a repetition.
        if len(mine.interner.strings) == len(tables.strings) and len(mine.types.blobs) == len(tables.types):
            for index in range(len(attributes)):
                start, end = attributes.bounds(index)
                self.attributes.add(file.data[start:end])

    def _has_producer(self) -> bool:
        return True

    def _layout_sections(self) -> dict[int, bytes]:
        found = {sections.ATTRIBUTE: write_blobs(self.attributes.blobs, 4)}
        if self.tables.debug.blobs:
            found[sections.DEBUG] = self.tables.debug.payload()
        return found

    def _globals(self, operations: list[Operation]) -> bytes:
        """name type dictionary"""
        writer = ByteWriter()
        writer.varint(len(operations))
        schema = records.section_schema(GLOBAL)
        for operation in operations:
            name = operation.symbol_name
            value = operation.attributes.get("value")
            if name is None or not isinstance(value, DenseAttribute):
                raise fail(operation, "requires a name and a value")
            writer.varint(self.documented.string(name))
            writer.varint(self.documented.types.index(value.type))
            writer.varint(write_dictionary(operation, schema, None, self.attributes))
        return bytes(writer.data)

    def _functions(self, operations: list[Operation]) -> bytes:
        return bytes(self._function_entries(operations).data)

    def _begin_function(self, writer: ByteWriter, operation: Operation) -> BodyWriter:
        """Write flags, location and dictionary, which stand between the signature and the length of the body."""
        if operation.declaration is not ENTRY:
            raise fail(operation, f"operation '{operation.name}' has no form in the documented layout")
        writer.byte(FLAG_ENTRY | (FLAG_PRIVATE if records.is_private(operation) else 0))
        writer.raw(encode_location(operation, self.documented))
        writer.varint(write_dictionary(operation, records.section_schema(ENTRY), None, self.attributes))
        return DocumentedBodyWriter(self.documented, self.attributes)


def encode_location(operation: Operation, tables: DocumentedTableWriter) -> bytes:
    """The location field of a record; as in the public layout a position without a scope is unknown in the file."""
    body_writer.check_location(operation, tables)
    # References count from 1; the field counts from 0, and nothing is -1.
    return signed_leb128(tables.debug.reference(operation.location) - 1)


def write_dictionary(
    operation: Operation, schema: records.Schema, segments: tuple[int, ...] | None, table: AttributeEncoder
) -> int:
    """The index of the dictionary of an operation: declared attributes, operand segments, then the others."""
    tables = table.tables
    attributes = operation.attributes
    writer = ByteWriter()
    count = 0
    for field in schema.fields:
        value = attributes.get(field.name)
        if field.gated:
            body_writer.check_absent(operation, field, value, V13_1)
        elif value is None or value is field.default:
            if value is None and field.name in schema.required:
                raise fail(operation, f"requires attribute '{field.name}'")
        else:
            write_string(writer, field.name, tables)
            _write_declared(writer, operation, field, value, table)
            count += 1
    if segments is not None:
        write_string(writer, records.SEGMENT_SIZES, tables)
        table.write_i32_list(writer, segments)
        count += 1
    for name, value in attributes.items():
        if name == "sym_visibility" and is_function(operation) and records.is_private(operation):
            continue  # A flag encodes it.
        if name not in schema.names and name not in records.OUTSIDE_DICTIONARY:
            write_string(writer, name, tables)
            _write_plain(writer, operation, value, table)
            count += 1
    if count == 0:
        return 0
    head = ByteWriter()
    head.varint(count)
    return table.add(bytes(head.data + writer.data))


def _write_declared(
    writer: ByteWriter, operation: Operation, field: records.AttributeField, value: Attribute, table: AttributeEncoder
) -> None:
    if field.codec == records.ENUM:
        writer.byte(dictionary.ENUM)
        writer.varint(_enumerator(operation, field, value))
    elif field.codec == records.SYMBOL and isinstance(value, SymbolAttribute):
        _write_plain(writer, operation, string_attribute(value.path[-1]), table)
    elif field.codec == records.CONSTANT and isinstance(value, DenseAttribute):
        # The type is that of the operation, so a splat needs no more than its one element.
        writer.byte(dictionary.TAGGED)
        write_dense(writer, value, () if value.is_splat else value.shape, table.tables)
    else:
        _write_plain(writer, operation, value, table)


def _write_plain(writer: ByteWriter, operation: Operation, value: Attribute, table: AttributeEncoder) -> None:
    try:
        table.write_value(writer, value)
    except Malformed as failure:
        raise fail(operation, failure.messages[0]) from None


def _enumerator(operation: Operation, field: records.AttributeField, value: Attribute) -> int:
    number = body_writer.wire_value(operation, field, value, "form in the documented layout")
    since = value.kind.since.get(value.keyword) if isinstance(value, EnumAttribute) else None
    if isinstance(value, EnumAttribute) and since is not None and since > V13_1:
        what = f"'{value.keyword}' of attribute '{field.name}'"
        raise fail(operation, f"{what} requires bytecode version {version_text(since)}+, but targeting 13.1")
    return number


class DocumentedBodyWriter(BodyWriter):
    """The operations of a function."""

    __slots__ = ("attributes", "documented")

    def __init__(self, tables: DocumentedTableWriter, attributes: AttributeEncoder) -> None:
        super().__init__(tables, False)
        self.documented: DocumentedTableWriter = tables
        self.attributes: AttributeEncoder = attributes
        self.records = {record.declaration: record for record in records.documented_records().values()}

    def next_block(self, top: OpenOperation) -> Block | None:
        try:
            return super().next_block(top)
        except Malformed as failure:
            raise fail(top.operation, failure.messages[0]) from None

    def _unavailable(self, operation: Operation) -> WriteFailure:
        declaration = operation.declaration
        if declaration.draft_only and not declaration.unregistered:
            return fail(operation, f"operation '{declaration.name}' has no opcode; legalize the program first")
        return super()._unavailable(operation)

    def _write_operation(self, operation: Operation, record: records.Record) -> None:
        """One record up to its regions: opcode, location, result types, operand count, operands, dictionary."""
        assert isinstance(record, records.DocumentedRecord)
        try:
            self.varint(record.opcode)
            self.raw(encode_location(operation, self.documented))
            self.write_result_types(operation, record)
            lengths = operation.segment_lengths()
            for declared, length, bit in zip(record.declaration.operands, lengths, record.operand_bits, strict=True):
                if bit == -2 and length:
                    raise fail(operation, operand_message(declared.name, declared.since or V13_1, V13_1))
            self.varint(len(operation.operands))
            for value in operation.operands:
                self._write_operand(operation, value)
            segments = tuple([lengths[index] for index in record.kept_operands]) if record.segmented else None
            self.varint(write_dictionary(operation, record.schema, segments, self.attributes))
        except Malformed as failure:
            # Tables do not know whose type or location it is.
            raise fail(operation, failure.messages[0]) from None
