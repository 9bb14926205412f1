"""The public layout, read (docs/bytecode.md).

Bytecode is untrusted: every count is bounded by the bytes that follow it before memory is taken, nesting is bounded,
and every failure is a `BytecodeError` with the lines NVIDIA's reader prints.
"""

from __future__ import annotations

import tileir.dialect.ops  # noqa: F401  (registers the declarations)
from tileir.annotations import Final
from tileir.bytecode import container as sections
from tileir.bytecode import records
from tileir.bytecode.attributes import read_attribute, read_hints
from tileir.bytecode.constants import ConstantTable
from tileir.bytecode.container import Container, read_container
from tileir.bytecode.debug import DebugTable
from tileir.bytecode.origin import BytecodeOrigin, Spellings
from tileir.bytecode.primitives import ByteReader, Malformed, bytecode_error
from tileir.bytecode.records import AttributeField, Record, records_of
from tileir.bytecode.types import TypeTable, version_text
from tileir.dialect.attributes import OptimizationHintsAttribute, PredicateAttribute
from tileir.dialect.enums import SYMBOL_VISIBILITY
from tileir.dialect.types import TileType
from tileir.ir.attributes import (
    UNIT,
    ArrayAttribute,
    Attribute,
    FloatAttribute,
    IntegerAttribute,
    array_attribute,
    bool_attribute,
    dense_array_attribute,
    integer_attribute,
    signed_value,
    string_attribute,
    symbol_attribute,
    type_attribute,
)
from tileir.ir.core import NO_ATTRIBUTES, NO_REGIONS, Block, Operation, Region, Value
from tileir.ir.declaration import NEWEST, ONE, REGISTRY, VARIADIC, Version
from tileir.ir.location import UNKNOWN, Location
from tileir.ir.types import I1, I32, I64, FunctionType, Type

_MAXIMUM_NESTING: Final = 100
_FLAG_PRIVATE: Final = 1
_FLAG_ENTRY: Final = 2
_FLAG_HINTS: Final = 4


class StringTable:
    """The strings of a file, decoded when asked for."""

    __slots__ = ("_data", "_end", "_known", "_offsets", "_start")

    def __init__(self, section: ByteReader) -> None:
        count = section.varint("failed to read number of strings")
        if count > section.remaining // 4:
            section.fail(
                f"number of strings ({count}) exceeds the maximum of {section.remaining // 4} that can fit in the "
                f"remaining payload of {section.remaining} bytes."
            )
        if count:
            section.align(4, "failed to skip padding for string offsets")
        self._offsets: list[int] = [section.fixed(4, "failed to read string offset") for _ in range(count)]
        self._known: list[str | None] = [None] * count
        self._data: bytes = section.data
        self._start: int = section.position
        self._end: int = section.end

    def __len__(self) -> int:
        return len(self._offsets)

    def piece(self, index: int) -> tuple[int, int]:
        start = self._start + self._offsets[index]
        end = self._start + self._offsets[index + 1] if index + 1 < len(self._offsets) else self._end
        return start, end

    def get(self, index: int) -> str:
        """The string of an index; one whose offsets make no sense is empty, as NVIDIA's reader has it."""
        if index >= len(self._offsets):
            raise Malformed(f"string index {index} out of bounds", 0, prefixed=False)
        found = self._known[index]
        if found is None:
            start, end = self.piece(index)
            valid = self._start <= start <= end <= self._end
            found = self._data[start:end].decode("utf-8", "surrogateescape") if valid else ""
            self._known[index] = found
        return found


class Tables:
    """What the records of a file refer to."""

    __slots__ = ("constants", "debug", "spellings", "strings", "types", "version")

    def __init__(self, file: Container, spellings: Spellings | None = None) -> None:
        self.version: Version = file.version
        # Filled while reading when a writer wants to know how the file writes its attributes.
        self.spellings: Spellings | None = spellings
        section = file.reader(sections.STRING)
        if section is None:
            raise Malformed("string section is mandatory", len(file.data))
        self.strings: StringTable = _in_section("string", StringTable, section, file)
        self.types: TypeTable = TypeTable(None, file.version)
        section = file.reader(sections.TYPE)
        try:
            self.types = TypeTable(section, file.version)
        except Malformed as failure:
            raise failure.add("failed to parse type section", len(file.data)) from None
        try:
            self.constants: ConstantTable = ConstantTable(file.reader(sections.CONSTANT))
        except Malformed as failure:
            raise failure.add("failed to parse constant section", len(file.data)) from None
        try:
            self.debug: DebugTable = DebugTable(file.reader(sections.DEBUG), self.strings)
        except Malformed as failure:
            raise failure.add("failed to parse debug section", len(file.data)) from None

    def string(self, reader: ByteReader, what: str) -> str:
        return self.strings.get(reader.varint(what))


def _in_section(name: str, table: type[StringTable], section: ByteReader, file: Container) -> StringTable:
    try:
        return table(section)
    except Malformed as failure:
        raise failure.add(f"failed to parse {name} section", len(file.data)) from None


def read_public(data: bytes, newest: Version = NEWEST) -> Operation:
    """The module in a file of the public layout, not yet verified."""
    try:
        file = read_container(data, newest)
        return _ModuleReader(file).read()
    except Malformed as failure:
        messages = failure.messages
        if messages != ["input does not correspond to Tile IR bytecode"]:
            messages = [*messages, "failed to read provided Tile IR bytecode"]
        raise bytecode_error(messages, failure.offset) from None


def read_spellings(file: Container) -> tuple[Tables, Spellings]:
    """The tables of a file and the way it writes its attributes."""
    spellings = Spellings()
    reader = _ModuleReader(file, spellings)
    reader.read()
    return reader.tables, spellings


class _ModuleReader:
    def __init__(self, file: Container, spellings: Spellings | None = None) -> None:
        self.file: Container = file
        self.tables: Tables = Tables(file, spellings)
        self.block: Block = Block()

    def read(self) -> Operation:
        attributes: dict[str, Attribute] = {"sym_name": string_attribute("kernels")}
        producer = self.file.reader(sections.PRODUCER)
        if producer is not None:
            try:
                name = self.tables.string(producer, "failed to read producer")
            except Malformed as failure:
                raise failure.add("failed to parse producer section", len(self.file.data)) from None
            attributes["producer"] = string_attribute(name)
        globals_section = self.file.reader(sections.GLOBAL)
        if globals_section is not None:
            self._read_globals(globals_section)
        functions = self.file.reader(sections.FUNCTION)
        if functions is None:
            raise Malformed("function section is mandatory", len(self.file.data))
        self._read_functions(functions)
        origin: Location = BytecodeOrigin(self.file)
        return Operation(
            REGISTRY.by_name["cuda_tile.module"], [], [], attributes, [Region([self.block])], origin
        )

    def _read_globals(self, section: ByteReader) -> None:
        count = section.varint("failed to read number of globals")
        if count > section.remaining:
            section.fail(f"number of globals ({count}) exceeds the maximum of {section.remaining}")
        for _ in range(count):
            try:
                self._read_global(section)
            except Malformed as failure:
                raise failure.add("failed to create global from bytecode", len(self.file.data)) from None

    def _read_global(self, section: ByteReader) -> None:
        name_index = section.varint("failed to read global name")
        name = self.tables.strings.get(name_index)
        if not name:
            section.fail(f"global symbol name at index {name_index} is empty")
        type = self.tables.types.get(section.varint("failed to read global type"))
        if not isinstance(type, TileType):
            section.fail("failed to get global type")
        index = section.varint("failed to read global value")
        if index >= len(self.tables.constants):
            section.fail("global value constant index out of bounds")
        value = self.tables.constants.get(index, type, section)
        alignment = section.varint("failed to read global alignment")
        attributes: dict[str, Attribute] = {"sym_name": string_attribute(name), "value": value}
        if alignment:
            attributes["alignment"] = integer_attribute(I64, signed_value(64, alignment))
        if self.file.version >= (13, 3):
            visibility = section.varint("failed to read global visibility")
            if visibility > 1:
                section.fail(f"invalid symbol visibility value: {visibility}")
            if visibility:
                attributes["symbol_visibility"] = SYMBOL_VISIBILITY["private"]
            if section.varint("failed to read global constant flag"):
                attributes["constant"] = UNIT
        declaration = REGISTRY.by_name["cuda_tile.global"]
        self.block.append(Operation(declaration, [], [], attributes, NO_REGIONS, UNKNOWN))

    def _read_functions(self, section: ByteReader) -> None:
        try:
            count = section.varint("failed to read number of functions")
            if count > section.end - section.start:
                section.fail(f"number of functions ({count}) exceeds payload size ({section.end - section.start})")
            for _ in range(count):
                self._read_function(section)
        except Malformed as failure:
            if not failure.messages[-1].endswith("from bytecode"):
                failure.add("failed to parse function section", len(self.file.data))
            raise failure from None

    def _read_function(self, section: ByteReader) -> None:
        tables = self.tables
        size = len(self.file.data)
        name_index = section.varint("failed to read function name")
        name = tables.strings.get(name_index)
        if not name:
            section.fail(f"function name at index {name_index} is empty")
        signature_index = section.varint("failed to read function signature")
        if signature_index >= len(tables.types):
            section.fail(f"function signature index {signature_index} out of bounds for function '{name}'")
        try:
            signature = tables.types.get(signature_index)
        except Malformed as failure:
            message = f"failed to parse type at index {signature_index} for function '{name}"
            raise failure.add(message, section.offset) from None
        if not isinstance(signature, FunctionType):
            if signature is None:
                section.fail(f"failed to parse type at index {signature_index} for function '{name}")
            section.fail(
                f"function signature index {signature_index} does not refer to a function type for function "
                f"'{name}', got type: {signature.text}"
            )
        flags = section.byte("failed to read function flags")
        if flags & ~7:
            section.fail(f"function entry has unrecognized flag bits (0x{flags & ~7:X});")
        if not flags & _FLAG_ENTRY:
            section.fail(f"un-expected non-entry function '{name}'")
        debug_index = section.varint("failed to read function location")
        attributes: dict[str, Attribute] = {
            "sym_name": string_attribute(name),
            "function_type": type_attribute(signature),
        }
        if flags & _FLAG_HINTS:
            hints = read_attribute(section, tables)
            if not isinstance(hints, OptimizationHintsAttribute):
                section.fail(f"invalid optimization hints attribute for function '{name}'")
            attributes["optimization_hints"] = hints
        length = section.varint("failed to read function body length")
        if length > section.remaining:
            section.fail(
                f"function body length {length} exceeds remaining bytecode data ({section.remaining} bytes)"
            )
        locations = self._locations(name, debug_index, size)
        reader = BodyReader(self.file.data, section.position, section.position + length, tables, locations)
        location = reader.next_location()
        block = Block(list(signature.inputs))
        reader.values.extend(block.arguments)
        try:
            reader.read_operations(block, -1)
        except Malformed as failure:
            failure.add(f"failed to parse function body for function '{name}'", size)
            raise failure.add("failed to create function from bytecode", size) from None
        section.position += length
        declaration = REGISTRY.by_name["cuda_tile.entry"]
        self.block.append(Operation(declaration, [], [], attributes, [Region([block])], location))

    def _locations(self, name: str, debug_index: int, size: int) -> list[Location] | None:
        """The locations of a function and its operations in pre-order; None when all are unknown."""
        if debug_index == 0:
            return None
        debug = self.tables.debug
        number = debug_index - 1
        message = f"failed to read function location for '{name}'"
        if number >= len(debug.function_starts):
            raise Malformed(message, size).add("failed to create function from bytecode", size)
        start = debug.function_starts[number]
        # Functions follow one another, but only the end of the list is sure to end this one.
        try:
            first = debug.location(debug.indices[start]) if start < len(debug.indices) else None
        except Malformed as failure:
            raise failure.add(message, size).add("failed to create function from bytecode", size) from None
        if first is None:
            raise Malformed(message, size).add("failed to create function from bytecode", size)
        return _LocationList(debug, start).resolve_all()


class _LocationList:
    """The entries of a function, resolved once each."""

    def __init__(self, debug: DebugTable, start: int) -> None:
        self.debug: DebugTable = debug
        self.start: int = start

    def resolve_all(self) -> list[Location]:
        """Up to the first entry that is no location; whoever needs one past it reports the failure."""
        debug = self.debug
        known: dict[int, Location] = {}
        found: list[Location] = []
        starts = sorted(debug.function_starts)
        end = next((s for s in starts if s > self.start), len(debug.indices))
        for reference in debug.indices[self.start : end]:
            location = known.get(reference)
            if location is None:
                try:
                    location = debug.location(reference)
                except Malformed:
                    location = None
                if location is None:
                    break
                known[reference] = location
            found.append(location)
        return found


class BodyReader(ByteReader):
    """The instructions of a function."""

    __slots__ = ("locations", "nesting", "next", "records", "tables", "values")

    def __init__(
        self, data: bytes, start: int, end: int, tables: Tables, locations: list[Location] | None
    ) -> None:
        super().__init__(data, start, end)
        self.tables: Tables = tables
        self.records: dict[int, Record] = records_of(tables.version)
        self.values: list[Value] = []
        self.locations: list[Location] | None = locations
        self.next: int = 0
        self.nesting: int = 0

    def next_location(self) -> Location:
        """The location of the next operation in pre-order."""
        locations = self.locations
        if locations is None:
            return UNKNOWN
        if self.next >= len(locations):
            self.fail("failed to read operation location.")
        found = locations[self.next]
        self.next += 1
        return found

    def read_operations(self, block: Block, count: int) -> None:
        """`count` instructions, or with -1 all up to the end."""
        data = self.data
        end = self.end
        table = self.records
        types = self.tables.types.known
        values = self.values
        done = 0
        while done != count:
            position = self.position
            if position >= end:
                if count < 0:
                    return
                self.fail("failed to read opcode")
            done += 1
            record = table.get(data[position])
            # The common case: one byte per field, every field an index that is in range.  Anything else goes the
            # careful way from the start of the instruction.
            if record is not None and record.simple and position + record.simple_width < end:
                position += 1
                declaration = record.declaration
                result_types: list[Type] = []
                plain = True
                for _ in range(record.result_count):
                    byte = data[position]
                    position += 1
                    if byte >= 0x80 or byte >= len(types):
                        plain = False
                        break
                    known = types[byte]
                    if known is None:
                        plain = False
                        break
                    result_types.append(known)
                attributes = NO_ATTRIBUTES
                if plain and record.attributes:
                    for field in record.attributes:
                        byte = data[position]
                        position += 1
                        if byte >= len(field.cases):
                            plain = False
                            break
                        case = field.cases[byte]
                        if case is not field.default:
                            if attributes is NO_ATTRIBUTES:
                                attributes = {}
                            attributes[field.name] = case
                if plain:
                    operands: list[Value] = []
                    size = len(values)
                    for _ in range(record.operand_count):
                        index = data[position]
                        position += 1
                        if index >= 0x80:
                            if position >= end or data[position] >= 0x80:
                                plain = False
                                break
                            index = index & 0x7F | data[position] << 7
                            position += 1
                        if index >= size:
                            plain = False
                            break
                        operands.append(values[index])
                    if plain and position <= end:
                        self.position = position
                        location = UNKNOWN if self.locations is None else self.next_location()
                        operation = Operation(
                            declaration, operands, result_types, attributes, NO_REGIONS, location
                        )
                        block.append(operation)
                        values.extend(operation.results)
                        continue
            self._read_operation(block)

    def _read_operation(self, block: Block) -> None:
        """One instruction, field by field."""
        opcode = self.varint("failed to read opcode")
        record = self.records.get(opcode)
        version = self.tables.version
        if record is None:
            if opcode > records.MAXIMUM_OPCODE[version]:
                self.fail(f"unsupported opcode {opcode} for bytecode version {version_text(version)}")
            self.fail(f"unknown or unimplemented opcode: {opcode}")
        location = self.next_location()
        result_types = self._read_result_types(record)
        flags = self.varint(f"failed to read flags for {record.class_name}") if record.has_flags else 0
        attributes = self._read_attributes(record, flags, result_types)
        operands, segments = self._read_operands(record, flags)
        regions = self._read_regions(record) if record.region_count else NO_REGIONS
        operation = Operation(
            record.declaration,
            operands,
            [*result_types, *record.late_results],
            attributes if attributes else NO_ATTRIBUTES,
            regions,
            location,
            segments,
        )
        block.append(operation)
        results = operation.results
        self.values.extend(results[: len(result_types)])

    def _read_result_types(self, record: Record) -> list[Type]:
        count = record.result_count
        if record.counted_results:
            count = self.count(f"failed to read number of result types for {record.class_name}")
        found: list[Type] = []
        for index in range(count):
            message = f"failed to get result type {index} for {record.class_name}"
            number = self.varint(message)
            try:
                type = self.tables.types.get(number)
            except Malformed as failure:
                raise failure.add(message, self.offset) from None
            if type is None:
                self.fail(message)
            found.append(type)
        return found

    # --- attributes ---

    def _read_attributes(self, record: Record, flags: int, result_types: list[Type]) -> dict[str, Attribute]:
        found: dict[str, Attribute] = {}
        for field in record.attributes:
            if field.gated or (field.bit >= 0 and not flags >> field.bit & 1):
                continue
            try:
                value = self._read_field(field, result_types)
            except Malformed as failure:
                raise failure.add(f"failed to parse attribute '{field.name}'", self.offset) from None
            if value is not None and value is not field.default:
                found[field.name] = value
        return found

    def _read_field(self, field: AttributeField, result_types: list[Type]) -> Attribute | None:
        codec = field.codec
        what = f"failed to read attribute '{field.name}'"
        if codec == records.ENUM:
            number = self.varint(what)
            if number >= len(field.cases):
                self.fail(f"invalid integer value for enum type: {number}")
            return field.cases[number]
        if codec == records.UNIT:
            return UNIT
        if codec == records.INTEGER:
            number = self.varint(what)
            if number >> field.width:
                self.fail(f"value {number} does not fit in {field.width} bits")
            return integer_attribute(I32 if field.width == 32 else I64, signed_value(field.width, number))
        if codec == records.BOOL:
            return bool_attribute(self.byte(what) != 0)
        if codec == records.STRING:
            return string_attribute(self.tables.string(self, what))
        if codec == records.SYMBOL:
            name = self.tables.string(self, what)
            if not name:
                self.fail("empty symbol reference is invalid")
            return symbol_attribute(name)
        if codec == records.CONSTANT:
            return self._read_constant(result_types, what)
        if codec == records.I32_LIST:
            values = self.integers(4, what)
            for value in values:
                if value in (0x7FFFFFFF, -0x80000000):
                    self.fail(f"array contains unsupported value {value}")
            return dense_array_attribute(I32, values)
        if codec == records.BOOL_LIST:
            flags = tuple([1 if value else 0 for value in self.integers(1, what)])
            # The text cannot tell a list without a promise from no list at all, so neither does the IR.
            return dense_array_attribute(I1, flags) if any(flags) else None
        if codec == records.ARRAY:
            return self._read_array(what)
        if codec == records.HINTS:
            return read_hints(self, self.tables)
        found = read_attribute(self, self.tables)
        if not isinstance(found, PredicateAttribute):
            self.fail("failed to cast parsed attribute to AssumePredicateAttrInterface")
        return found

    def _read_constant(self, result_types: list[Type], what: str) -> Attribute:
        index = self.varint(what)
        if index >= len(self.tables.constants):
            self.fail(f"constant index {index} out of bounds")
        type = result_types[0] if result_types else None
        if type is None:
            self.fail("expect Cuda Tile integer or float type but got no result")
        return self.tables.constants.get(index, type, self)

    def _read_array(self, what: str) -> ArrayAttribute:
        count = self.count(what)
        elements: list[Attribute] = []
        for _ in range(count):
            element = read_attribute(self, self.tables)
            if not isinstance(element, (IntegerAttribute, FloatAttribute)):
                self.fail("failed to cast parsed attribute to TypedAttr")
            elements.append(element)
        return array_attribute(tuple(elements))

    # --- operands ---

    def _read_operands(self, record: Record, flags: int) -> tuple[list[Value], tuple[int, ...] | None]:
        mode = record.operand_mode
        if mode == records.FIXED:
            return [self._value(index) for index in range(record.operand_count)], None
        if mode == records.COUNTED:
            count = self.count("failed to read operand count")
            return [self._value(index) for index in range(count)], None
        operands: list[Value] = []
        segments: list[int] = []
        for declared, bit in zip(record.declaration.operands, record.operand_bits, strict=True):
            if declared.count == ONE:
                count = 1
            elif declared.count == VARIADIC:
                count = self.count("failed to read operand count")
            else:
                count = 1 if bit >= 0 and flags >> bit & 1 else 0
            segments.append(count)
            for _ in range(count):
                operands.append(self._value(len(operands)))
        return operands, tuple(segments)

    def _value(self, number: int) -> Value:
        index = self.varint(f"failed to read operand index {number}")
        if index >= len(self.values):
            self.fail(f"operand index {index} out of bounds (size={len(self.values)}) for operand {number}")
        return self.values[index]

    # --- regions ---

    def _read_regions(self, record: Record) -> list[Region]:
        count = self.varint("failed to read number of regions")
        if count != record.region_count:
            self.fail(f"{record.declaration.name} op expected {record.region_count} regions, got {count}")
        self.nesting += 1
        if self.nesting > _MAXIMUM_NESTING:
            self.fail(f"nesting is too deep (more than {_MAXIMUM_NESTING} levels)")
        regions: list[Region] = []
        for index in range(count):
            try:
                regions.append(self._read_region())
            except Malformed as failure:
                raise failure.add(f"failed to parse region {index}", self.offset) from None
        self.nesting -= 1
        return regions

    def _read_region(self) -> Region:
        region = Region()
        for index in range(self.count("failed to read number of blocks")):
            try:
                region.append(self._read_block())
            except Malformed as failure:
                raise failure.add(f"failed to parse block {index} in region.", self.offset) from None
        return region

    def _read_block(self) -> Block:
        mark = len(self.values)
        block = Block()
        for _ in range(self.count("failed to read number of block arguments")):
            type = self.tables.types.get(self.varint("failed to read block argument type"))
            if type is None:
                self.fail("failed to get block argument type")
            self.values.append(block.add_argument(type))
        self.read_operations(block, self.count("failed to read number of operations"))
        del self.values[mark:]
        last = block.last
        start = "invalid block structure: block is expected to have a terminator operation, but "
        if last is None:
            self.fail(start + "it is empty")
        if not last.declaration.is_terminator:
            self.fail(f"{start}the last operation '{last.name}' is not a terminator.")
        return block
