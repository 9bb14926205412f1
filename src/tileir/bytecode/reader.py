"""The public layout, read (docs/reference/bytecode.md).

Bytecode is untrusted: every count is bounded by the bytes that follow it before memory is taken, nesting is bounded,
and every failure is a `BytecodeError` with the lines NVIDIA's reader prints.
"""

from __future__ import annotations

import tileir.dialect.ops  # noqa: F401  (registers the declarations)
from tileir.annotations import Final
from tileir.bytecode import container as sections
from tileir.bytecode.attributes import read_attribute
from tileir.bytecode.body_reader import BodyReader, PrefixCache
from tileir.bytecode.container import BytecodeOrigin, Container, read_container
from tileir.bytecode.debug import DebugTable
from tileir.bytecode.entry_tables import check_count
from tileir.bytecode.primitives import ByteReader, Malformed, bytecode_error
from tileir.bytecode.tables import Spellings, Tables
from tileir.dialect.attributes import OptimizationHintsAttribute
from tileir.dialect.enums import SYMBOL_VISIBILITY
from tileir.dialect.ops import ENTRY, GLOBAL, MODULE
from tileir.ir.attributes import UNIT, ArrayAttribute, Attribute, integer_attribute, string_attribute, type_attribute
from tileir.ir.core import NO_REGIONS, Block, Module, Operation, Region
from tileir.ir.dense import signed_value
from tileir.ir.location import UNKNOWN, Location
from tileir.ir.types import I64, FunctionType
from tileir.ir.versions import NEWEST, PREVIEW, V13_3, V13_4, V13_5, Version

_GLOBAL_FIELDS: Final = (
    "symbol name string.",
    "value type",
    "value constant index",
    "alignment",
    "symbol visibility",
    "constant flag",
)
FLAG_PRIVATE: Final = 1
FLAG_ENTRY: Final = 2
FLAG_HINTS: Final = 4


def read_public(data: bytes, newest: Version = NEWEST) -> Module:
    """The module in a file of the public layout, not yet verified."""
    try:
        file = read_container(data, newest)
        return ModuleReader(file).read()
    except Malformed as failure:
        raise bytecode_error(failure, failure.messages) from None


def read_spellings(file: Container) -> tuple[Tables, Spellings]:
    """The tables of a file and the way it writes its attributes."""
    spellings = Spellings()
    reader = ModuleReader(file, spellings)
    reader.read()
    return reader.tables, spellings


class _FunctionEntry:
    """A function before its body is read."""

    def __init__(self, name: int, signature: int, flags: int, location: int) -> None:
        self.name: int = name
        self.signature: int = signature
        self.flags: int = flags
        self.location: int = location
        self.hints: Attribute | None = None
        self.arguments: Attribute | None = None
        self.start: int = 0
        self.end: int = 0


class ModuleReader:
    """Reads in the order of NVIDIA's reader, which decides which of several errors is reported.

    The tables first, then the globals, the list of functions, the debug section, the functions.  What concerns a
    function or a global as a whole is reported at the end of the file.
    """

    def __init__(self, file: Container, spellings: Spellings | None = None) -> None:
        self.file: Container = file
        self.size: int = len(file.data)
        self.tables: Tables = Tables(file, spellings)
        self.prefixes: PrefixCache = PrefixCache()
        self.block: Block = Block()

    def read(self) -> Module:
        attributes: dict[str, Attribute] = {"sym_name": string_attribute("kernels")}
        if self.tables.producer is not None:
            attributes["producer"] = string_attribute(self.tables.producer)
        if self.file.is_preview:
            attributes[PREVIEW] = UNIT
        for numbers in self._list_globals():
            try:
                self._read_global(numbers)
            except Malformed as failure:
                raise failure.add("failed to create global from bytecode", self.size) from None
        functions = self._list_functions()
        try:
            self.tables.debug = DebugTable(self.file.reader(sections.DEBUG), self.tables.strings, self.file.version)
        except Malformed as failure:
            raise failure.add("failed to parse debug section", self.size) from None
        for function in functions:
            try:
                self._read_function(function)
            except Malformed as failure:
                raise failure.add("failed to create function from bytecode", self.size) from None
        origin: Location = BytecodeOrigin(self.file)
        return Module(MODULE, [], [], attributes, [Region([self.block])], origin)

    def _list_globals(self) -> list[list[int]]:
        """The numbers of each global: name, type, value, alignment, visibility, whether it is constant."""
        section = self.file.reader(sections.GLOBAL)
        if section is None:
            return []
        found: list[list[int]] = []
        fields = _GLOBAL_FIELDS if self.file.version >= V13_3 else _GLOBAL_FIELDS[:4]
        try:
            count = section.varint("failed to read number of global.")
            check_count(section, count, len(fields), "globals")
            for _ in range(count):
                start = section.position
                numbers = [section.varint(f"failed to read global {field}") for field in fields]
                if section.trace is not None:
                    section.trace.close(section.trace.open("global", start), section.position, None)
                found.append(numbers if len(numbers) > 4 else [*numbers, 0, 0])
        except Malformed as failure:
            raise failure.add("failed to parse global section", self.size) from None
        return found

    def _read_global(self, numbers: list[int]) -> None:
        name_index, type_index, value_index, alignment, visibility, constant = numbers
        tables = self.tables
        if value_index >= len(tables.constants):
            raise Malformed("global value constant index out of bounds", self.size)
        try:
            name = tables.strings.get(name_index)
        except Malformed as failure:
            message = f"failed to get global symbol name string for index {name_index}"
            raise failure.add(message, self.size) from None
        if not name:
            raise Malformed(f"global symbol name at index {name_index} is empty", self.size)
        try:
            type = tables.types.get(type_index)
        except Malformed as failure:
            raise failure.add("provided type is null", 0) from None
        value = tables.constants.get(value_index, type)
        if tables.spellings is not None:
            tables.spellings.note_constant(value, value_index)
        if visibility & 0xFFFFFFFF > 1:
            raise Malformed(f"invalid symbol visibility value: {visibility}", self.size)
        attributes: dict[str, Attribute] = {"sym_name": string_attribute(name), "value": value}
        if alignment:
            attributes["alignment"] = integer_attribute(I64, signed_value(64, alignment))
        if visibility & 1:
            attributes["symbol_visibility"] = SYMBOL_VISIBILITY["private"]
        if constant:
            attributes["constant"] = UNIT
        self.block.append(Operation(GLOBAL, [], [], attributes, NO_REGIONS, UNKNOWN))

    def _list_functions(self) -> list[_FunctionEntry]:
        section = self.file.reader(sections.FUNCTION)
        if section is None:
            raise Malformed("function section is mandatory", self.size)
        found: list[_FunctionEntry] = []
        try:
            count = section.varint("")
            size = section.end - section.start
            if count > size:
                section.fail(f"number of functions ({count}) exceeds payload size ({size})")
            for _ in range(count):
                found.append(self._read_entry(section))
        except Malformed as failure:
            raise failure.add("failed to parse function section", self.size) from None
        return found

    def _read_entry(self, section: ByteReader) -> _FunctionEntry:
        span = section.trace.open("function", section.position) if section.trace is not None else None
        name, signature = section.varint(""), section.varint("")
        flags = section.byte("")
        location = section.varint("")
        # Readers before 13.4 ignored the other bits.
        is_newer = self.file.version >= V13_5
        unknown = flags & ~(FLAG_PRIVATE | FLAG_ENTRY | (0 if is_newer else FLAG_HINTS))
        if unknown and self.file.version >= V13_4:
            section.fail(f"function entry has unrecognized flag bits (0x{unknown:X});")
        entry = _FunctionEntry(name, signature, flags, location)
        if flags & FLAG_ENTRY and (is_newer or flags & FLAG_HINTS):
            hints = section.trace.open("optimization_hints", section.position) if section.trace is not None else None
            entry.hints = read_attribute(section, self.tables)
            if section.trace is not None and hints is not None:
                section.trace.close(hints, section.position, entry.hints)
        if is_newer:
            entry.arguments = read_attribute(section, self.tables)
        length = section.varint("")
        if length > section.remaining:
            section.fail(f"function body length {length} exceeds remaining bytecode data ({section.remaining} bytes)")
        entry.start = section.position
        section.position += length
        entry.end = section.position
        if section.trace is not None and span is not None:
            section.trace.close(span, entry.end, None)
        return entry

    def _read_function(self, entry: _FunctionEntry) -> None:
        tables = self.tables
        size = self.size
        try:
            name = tables.strings.get(entry.name)
        except Malformed as failure:
            raise failure.add(f"failed to get function name string at index {entry.name}", size) from None
        if not name:
            raise Malformed(f"function name at index {entry.name} is empty", size)
        reader = BodyReader(self.file.data, entry.start, entry.end, tables, self.file.trace, self.prefixes)
        try:
            signature = self._signature(entry.signature, name)
        except Malformed as failure:
            failure.location = reader.function_location(entry.location)
            raise
        location: Location = UNKNOWN
        if entry.location:
            message = f"failed to read function location for '{name}'"
            try:
                first = reader.first_location(entry.location - 1)
            except Malformed as failure:
                raise failure.add(message, size) from None
            if first is None:
                raise Malformed(message, size)
            location = first
        if not entry.flags & FLAG_ENTRY:
            raise Malformed(f"un-expected non-entry function '{name}'", size)
        attributes: dict[str, Attribute] = {
            "sym_name": string_attribute(name),
            "function_type": type_attribute(signature),
        }
        if entry.flags & FLAG_PRIVATE:
            attributes["sym_visibility"] = string_attribute("private")
        if entry.hints is not None:
            if not isinstance(entry.hints, OptimizationHintsAttribute):
                raise Malformed(f"invalid optimization hints attribute for function '{name}'", size)
            # From 13.5 on every entry has hints; none are no attribute.
            if entry.flags & FLAG_HINTS or entry.hints.entries.entries:
                attributes["optimization_hints"] = entry.hints
        if entry.arguments is not None:
            if not isinstance(entry.arguments, ArrayAttribute):
                raise Malformed(f"invalid argument attributes for function '{name}'", size)
            if entry.arguments.elements:
                attributes["arg_attrs"] = entry.arguments
        block = Block(list(signature.inputs))
        reader.values.extend(block.arguments)
        try:
            reader.read_operations(block)
        except Malformed as failure:
            raise failure.add(f"failed to parse function body for function '{name}'", size) from None
        self.block.append(Operation(ENTRY, [], [], attributes, [Region([block])], location))

    def _signature(self, index: int, name: str) -> FunctionType:
        if index >= len(self.tables.types):
            raise Malformed(f"function signature index {index} out of bounds for function '{name}'", self.size)
        # The missing quote is NVIDIA's.
        message = f"failed to parse type at index {index} for function '{name}"
        try:
            found = self.tables.types.get(index)
        except Malformed as failure:
            raise failure.add(message, self.size) from None
        if found is None:
            raise Malformed(message, self.size)
        if not isinstance(found, FunctionType):
            raise Malformed(
                f"function signature index {index} does not refer to a function type for function '{name}', "
                f"got type: '{found.text}'",
                self.size,
            )
        return found
