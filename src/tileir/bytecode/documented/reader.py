"""The documented layout, read (docs/reference/bytecode.md section 10; the bytecode draft).

The envelope, the framing of tables, regions and blocks and the numbering of values are those of the public layout;
types, attributes, operation records and locations are not.  Messages have no offset in front of them: the bytecode
draft quotes them bare.
"""

from __future__ import annotations

from tileir.annotations import Callable, Final
from tileir.bytecode import container as sections
from tileir.bytecode import records
from tileir.bytecode.body_reader import BodyReader, PrefixCache
from tileir.bytecode.container import BytecodeOrigin, Container, read_container
from tileir.bytecode.documented import dictionary
from tileir.bytecode.documented.tables import DocumentedTables, enumerator
from tileir.bytecode.primitives import ByteReader, Malformed, bytecode_error
from tileir.bytecode.reader import FLAG_ENTRY, FLAG_PRIVATE, ModuleReader
from tileir.dialect.attributes import OptimizationHintsAttribute, PredicateAttribute
from tileir.dialect.constraints import NUMBER
from tileir.dialect.ops import ENTRY, GLOBAL, MODULE
from tileir.dialect.types import TileType
from tileir.ir import attributes as builtin
from tileir.ir.attributes import Attribute
from tileir.ir.core import NO_ATTRIBUTES, Block, Module, Operation, Region
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.dense import DenseAttribute, dense_attribute
from tileir.ir.diagnostics import Code
from tileir.ir.location import UNKNOWN, Location
from tileir.ir.types import I32, I64, Type
from tileir.ir.versions import V13_1, version_text

_KNOWN_FLAGS: Final = FLAG_PRIVATE | FLAG_ENTRY
_NO_DICTIONARY: Final = "failed to read attribute dictionary"


def read_documented(data: bytes) -> Module:
    """The module in a file of the documented layout, not yet verified."""
    try:
        file = read_container(data, V13_1, sections.ATTRIBUTE)
        return DocumentedModuleReader(file).read()
    except Malformed as failure:
        raise bytecode_error(failure, failure.reasons) from None


# The attributes of an operation from its dictionary, and the sizes of its operand groups where it has them.
Bound = tuple[dict[str, Attribute], tuple[int, ...] | None]


def bind(
    index: int, schema: records.Schema, table: dictionary.AttributeTable, user: ByteReader, constant_type: Type | None
) -> Bound:
    """The attributes of an operation from its dictionary; one at its default is left out."""
    found: dict[str, Attribute] = {}
    segments: tuple[int, ...] | None = None
    names: set[str] = set()
    for entry in table.entries(index, user):
        names.add(entry.name)
        field = schema.names.get(entry.name)
        try:
            if field is not None:
                value = _declared(entry, field, user, constant_type)
                if value is not field.default:
                    found[entry.name] = value
            elif entry.name == records.SEGMENT_SIZES:
                segments = _segment_sizes(entry, user)
            elif not entry.name:
                user.fail("invalid empty attribute name for DictionaryAttr element 0")
            else:
                found[entry.name] = dictionary.plain_attribute(entry, user)
        except Malformed as failure:
            raise failure.add(f"failed to parse attribute '{entry.name}'", user.offset) from None
    for name in schema.required:
        if name not in names:
            user.fail(f"requires attribute '{name}'")
    return found if found else NO_ATTRIBUTES, segments


def _segment_sizes(entry: dictionary.DictionaryEntry, user: ByteReader) -> tuple[int, ...]:
    value = entry.attribute
    if entry.kind != dictionary.I32_LIST or not isinstance(value, builtin.DenseArrayAttribute):
        user.fail(f"unexpected kind {entry.kind} of attribute '{entry.name}'")
    return value.values


def _declared(
    entry: dictionary.DictionaryEntry, field: records.AttributeField, user: ByteReader, constant_type: Type | None
) -> Attribute:
    """The value of a declared attribute, checked against the declaration."""
    if field.gated:
        user.fail(
            f"attribute '{field.name}' requires bytecode version {version_text(field.since)}+, file version is 13.1"
        )
    codec = field.codec
    value = entry.attribute
    if codec == records.ENUM and entry.kind == dictionary.ENUM:
        return enumerator(field.cases[0].kind, entry.number, user)
    if codec == records.UNIT and entry.kind == dictionary.UNIT_VALUE and value is not None:
        return value
    if codec == records.INTEGER and entry.kind == dictionary.INTEGER and isinstance(value, builtin.IntegerAttribute):
        if value.type is (I32 if field.width == 32 else I64):
            return value
    if codec == records.BOOL and entry.kind == dictionary.BOOL and value is not None:
        return value
    if codec == records.STRING and isinstance(value, builtin.StringAttribute):
        return value
    if codec == records.SYMBOL and isinstance(value, builtin.StringAttribute):
        if not value.value:
            user.fail("empty symbol reference is invalid")
        return builtin.symbol_attribute(value.value)
    if codec == records.CONSTANT and isinstance(value, DenseAttribute):
        return _constant(value, user, constant_type)
    if codec == records.I32_LIST and isinstance(value, builtin.DenseArrayAttribute):
        return _i32_list(value, user)
    if codec == records.ARRAY and isinstance(value, builtin.ArrayAttribute):
        return value
    if codec == records.HINTS and isinstance(value, OptimizationHintsAttribute):
        return value
    if codec == records.TAGGED and value is not None:
        if not isinstance(value, PredicateAttribute):
            user.fail("failed to cast parsed attribute to AssumePredicateAttrInterface")
        return value
    user.fail(f"unexpected kind {entry.kind} of attribute '{entry.name}'")


def _constant(value: DenseAttribute, user: ByteReader, type: Type | None) -> Attribute:
    """A constant has the type of its result; one element alone fills the whole tile."""
    if type is None:
        user.fail("expect Cuda Tile integer or float type but got no result")
    if not isinstance(type, TileType) or not NUMBER.accepts(type):
        user.fail(f"expect Cuda Tile integer or float type but got: '{type.text}'")
    if value.element_type is not type.element or (value.shape and value.shape != type.shape):
        user.fail("failed to validate buffer size and format")
    return dense_attribute(type, type.shape, type.element, value.data)


def _i32_list(value: builtin.DenseArrayAttribute, user: ByteReader) -> Attribute:
    for number in value.values:
        if not -0x80000000 < number < 0x7FFFFFFF:
            user.fail(f"array contains unsupported value {number}")
    return builtin.dense_array_attribute(I32, value.values)


class DocumentedModuleReader(ModuleReader):
    """Globals and functions, each read to its end before the next."""

    def __init__(self, file: Container) -> None:
        super().__init__(file)
        self.documented: DocumentedTables = DocumentedTables(file)
        self.attributes: dictionary.AttributeTable = dictionary.read_attribute_table(file, self.documented)
        self.tables = self.documented

    def read(self) -> Module:
        attributes: dict[str, Attribute] = {"sym_name": builtin.string_attribute("kernels")}
        if self.tables.producer is not None:
            attributes["producer"] = builtin.string_attribute(self.tables.producer)
        section = self.file.reader(sections.GLOBAL)
        if section is not None:
            self._read_all(section, "global", self._read_documented_global)
        section = self.file.reader(sections.FUNCTION)
        if section is None:
            raise Malformed("function section is mandatory", self.size)
        self._read_all(section, "function", self._read_documented_function)
        return Module(MODULE, [], [], attributes, [Region([self.block])], BytecodeOrigin(self.file))

    def _read_all(self, section: ByteReader, what: str, read: Callable[[ByteReader], None]) -> None:
        count = section.varint(f"failed to read number of {what}s")
        if count > section.remaining:
            section.fail(f"number of {what}s ({count}) exceeds payload size ({section.remaining})")
        for _ in range(count):
            span = section.trace.open(what, section.position) if section.trace is not None else None
            try:
                read(section)
            except Malformed as failure:
                raise failure.add(f"failed to create {what} from bytecode", self.size) from None
            if section.trace is not None and span is not None:
                section.trace.close(span, section.position, None)

    def _read_documented_global(self, section: ByteReader) -> None:
        """name type dictionary"""
        name = self._name(section, "global symbol")
        type = self.tables.read_type(section, "failed to get global type")
        schema = records.section_schema(GLOBAL)
        bound, _ = bind(section.varint(_NO_DICTIONARY), schema, self.attributes, section, type)
        self._define(GLOBAL, name, bound, [], UNKNOWN)

    def _read_documented_function(self, section: ByteReader) -> None:
        """name signature flags location dictionary length body"""
        name = self._name(section, "function")
        signature = self._signature(section.varint("failed to read function signature"), name)
        flags = section.byte("failed to read function flags")
        if flags & ~_KNOWN_FLAGS:
            section.fail(f"function entry has unrecognized flag bits (0x{flags & ~_KNOWN_FLAGS:X});")
        if not flags & FLAG_ENTRY:
            section.fail(f"un-expected non-entry function '{name}'")
        location = self.documented.location(section, f"failed to read function location for '{name}'")
        schema = records.section_schema(ENTRY)
        bound, _ = bind(section.varint(_NO_DICTIONARY), schema, self.attributes, section, None)
        length = section.varint("failed to read function body length")
        if length > section.remaining:
            section.fail(f"function body length {length} exceeds remaining bytecode data ({section.remaining} bytes)")
        end = section.position + length
        reader = DocumentedBodyReader(section.data, section.position, end, self.documented, self.attributes)
        block = Block(list(signature.inputs))
        reader.values.extend(block.arguments)
        try:
            reader.read_operations(block)
        except Malformed as failure:
            raise failure.add(f"failed to parse function body for function '{name}'", self.size) from None
        section.position += length
        attributes = {"function_type": builtin.type_attribute(signature), **bound}
        if flags & FLAG_PRIVATE:
            attributes["sym_visibility"] = builtin.string_attribute("private")
        self._define(ENTRY, name, attributes, [Region([block])], location)

    def _define(
        self,
        declaration: OperationDeclaration,
        name: str,
        attributes: dict[str, Attribute],
        regions: list[Region],
        location: Location,
    ) -> None:
        named: dict[str, Attribute] = {"sym_name": builtin.string_attribute(name), **attributes}
        self.block.append(Operation(declaration, [], [], named, regions, location))

    def _name(self, section: ByteReader, what: str) -> str:
        index = section.varint(f"failed to read {what} name")
        name = self.tables.strings.get(index)
        if not name:
            section.fail(f"{what} name at index {index} is empty")
        return name


class DocumentedBodyReader(BodyReader):
    """The operations of a function."""

    __slots__ = ("_bound", "attributes", "documented", "layouts")

    def __init__(
        self, data: bytes, start: int, end: int, tables: DocumentedTables, attributes: dictionary.AttributeTable
    ) -> None:
        super().__init__(data, start, end, tables, tables.trace, PrefixCache())
        self.documented: DocumentedTables = tables
        self.attributes: dictionary.AttributeTable = attributes
        self.layouts: dict[int, records.DocumentedRecord] = records.documented_records()
        # Most operations of one kind share a few dictionaries.
        self._bound: dict[tuple[int, int, Type | None], Bound] = {}

    def read_row(self, block: Block, count: int, done: int) -> int:
        trace = self.trace
        while done != count:
            if count < 0 and self.position >= self.end:
                break
            done += 1
            span = trace.open("operation", self.position) if trace is not None else None
            if self._read_record(block):
                self.path[-1].span = span
                break
            if trace is not None and span is not None:
                trace.close(span, self.position, block.last)
        return done

    def _read_record(self, block: Block) -> bool:
        """One record up to its regions: opcode, location, result types, operand count, operands, dictionary."""
        opcode = self.varint("failed to read opcode")
        record = self.layouts.get(opcode)
        if record is None:
            self.fail(f"unknown or unimplemented opcode: {opcode}", Code("unknown-opcode", opcode=str(opcode)))
        location = self.documented.location(self, "failed to read operation location.")
        result_types = self._read_result_types(record)
        total = self.count("failed to read operand count")
        operands = self._read_group(total, "")
        attributes, sizes = self._dictionary(record, result_types)
        segments = record.segments_of(total, sizes)
        if segments is None:
            self.fail(f"{total} operands do not fit {record.class_name}")
        if record.operand_mode != records.SEGMENTED:
            segments = None
        return self.end_record(record, operands, result_types, attributes, location, segments, block)

    def _dictionary(self, record: records.DocumentedRecord, result_types: list[Type]) -> Bound:
        index = self.varint(_NO_DICTIONARY)
        type = result_types[0] if record.schema.has_constant and result_types else None
        key = (record.opcode, index, type)
        found = self._bound.get(key)
        if found is None:
            found = self._bound[key] = bind(index, record.schema, self.attributes, self, type)
        return found
