"""The public layout, written (docs/reference/bytecode.md).

Tables are filled in order of first use, as NVIDIA's writer fills them.  With `preserve` a module that was read from a
file first gets that file's tables, section order and encoding choices back: unchanged, it is written as the same bytes.
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.bytecode import container as sections
from tileir.bytecode.attributes import write_attribute
from tileir.bytecode.body_writer import BodyWriter, WriteFailure, check_location, fail
from tileir.bytecode.container import Container, write_container
from tileir.bytecode.debug import is_encodable
from tileir.bytecode.entry_tables import NestedTable, write_blobs
from tileir.bytecode.primitives import BytecodeError, ByteWriter, Malformed
from tileir.bytecode.reader import FLAG_ENTRY, FLAG_HINTS, FLAG_PRIVATE, read_spellings
from tileir.bytecode.records import is_private
from tileir.bytecode.tables import TableWriter
from tileir.dialect.attributes import OptimizationHintsAttribute, optimization_hints
from tileir.dialect.availability import global_message, preview_message
from tileir.dialect.enums import SYMBOL_VISIBILITY
from tileir.dialect.ops import ENTRY, GLOBAL
from tileir.ir.attributes import (
    Attribute,
    IntegerAttribute,
    StringAttribute,
    TypeAttribute,
    array_attribute,
    dictionary_attribute,
)
from tileir.ir.core import Operation
from tileir.ir.dense import DenseAttribute
from tileir.ir.diagnostics import Diagnostic
from tileir.ir.location import UNKNOWN, UnknownLocation
from tileir.ir.types import Type
from tileir.ir.versions import PREVIEW, V13_3, V13_5, Version

# Section order of NVIDIA's C++ writer; only the documented layout has attributes.
_ORDER: Final = (
    sections.GLOBAL,
    sections.FUNCTION,
    sections.CONSTANT,
    sections.DEBUG,
    sections.TYPE,
    sections.ATTRIBUTE,
    sections.PRODUCER,
    sections.STRING,
)


def write_public(module: Operation, version: Version, preserved: Container | None = None) -> bytes:
    """The bytes of a module; `preserved` is the file whose encoding choices are kept."""
    return ModuleWriter(module, version, TableWriter(version), preserved).write()


class ModuleWriter:
    def __init__(
        self, module: Operation, version: Version, tables: TableWriter, preserved: Container | None = None
    ) -> None:
        self.module: Operation = module
        self.version: Version = version
        self.tables: TableWriter = tables
        self.preserved: Container | None = preserved
        self.keeps_debug: bool = False

    def write(self) -> bytes:
        """The bytes of the module, or the error why it has none."""
        try:
            if self.preserved is not None:
                self._adopt(self.preserved)
            return self._write()
        except WriteFailure as failure:
            raise BytecodeError(failure.diagnostics, -1) from None
        except Malformed as malformed:
            messages = [Diagnostic("error", message, UNKNOWN) for message in malformed.messages]
            raise BytecodeError(messages, -1) from None

    def _adopt(self, file: Container) -> None:
        """Fill the tables in the order the file has them."""
        tables, spellings = read_spellings(file)
        self.tables.keeps_newer_keywords = True
        # Spellings hold table numbers: they are of use only if no entry is a repetition, or cannot be kept.
        same_numbers = True
        for index in range(len(tables.strings)):
            same_numbers &= self.tables.string(tables.strings.get(index)) == index
        entries = [_usable_entry(tables.types, index) for index in range(len(tables.types))]
        types = list(dict.fromkeys([entry for entry in entries if isinstance(entry, Type)]))
        self.tables.types.adopt(types)
        same_numbers &= len(types) == len(entries)
        for index in range(len(tables.constants)):
            start, end = tables.constants.bounds(index)
            self.tables.add_constant(file.data[start:end])
        for index in range(len(tables.debug)):
            attribute = _usable_entry(tables.debug, index)
            if isinstance(attribute, Attribute) and not isinstance(attribute, UnknownLocation):
                self.tables.debug.reference(attribute)
        self.keeps_debug = bool(tables.debug.function_starts)
        if same_numbers:
            self.tables.spellings = spellings

    def _write(self) -> bytes:
        globals_, functions = self._contents()
        tables = self.tables
        for function in functions:
            signature = function.attributes.get("function_type")
            if isinstance(signature, TypeAttribute):
                tables.types.index(signature.type)
        payloads: dict[int, bytes] = {}
        if globals_:
            payloads[sections.GLOBAL] = self._globals(globals_)
        payloads[sections.FUNCTION] = self._functions(functions)
        payloads.update(self._layout_sections())
        payloads[sections.TYPE] = write_blobs(tables.types.blobs, 4)
        producer = self.module.attributes.get("producer")
        if isinstance(producer, StringAttribute) and (self._has_producer() or self._was(sections.PRODUCER)):
            writer = ByteWriter()
            writer.varint(tables.string(producer.value))
            payloads[sections.PRODUCER] = bytes(writer.data)
        strings = [text.encode("utf-8", "surrogateescape") for text in tables.interner.strings]
        payloads[sections.STRING] = write_blobs(strings, 4)
        kept = [section.identifier for section in self.preserved.order] if self.preserved is not None else []
        order = [identifier for identifier in dict.fromkeys([*kept, *_ORDER]) if identifier in payloads]
        tag = self.preserved.tag if self.preserved is not None else 0
        if PREVIEW in self.module.attributes:
            if self.version < V13_5:
                raise Malformed(preview_message(), 0, prefixed=False)
            tag |= sections.PREVIEW_BIT
        payload_order = [(identifier, payloads[identifier]) for identifier in order]
        return write_container(self.version, tag, payload_order, self.preserved)

    def _was(self, section: int) -> bool:
        """Whether the file whose encoding is kept has a section."""
        return self.preserved is not None and section in self.preserved.sections

    def _has_producer(self) -> bool:
        return self.version >= V13_3

    def _layout_sections(self) -> dict[int, bytes]:
        """The sections that each layout fills in its own way: constants and debug attributes."""
        found: dict[int, bytes] = {}
        if self.tables.constants or self._was(sections.CONSTANT):
            found[sections.CONSTANT] = self._constants()
        if self.tables.debug.function_starts or self._was(sections.DEBUG):
            found[sections.DEBUG] = self.tables.debug.payload()
        return found

    def _contents(self) -> tuple[list[Operation], list[Operation]]:
        """Globals and functions; a file can hold nothing else."""
        globals_: list[Operation] = []
        functions: list[Operation] = []
        name = self.module.name
        for region in self.module.regions:
            for block in region.blocks:
                for operation in block:
                    if operation.declaration is GLOBAL:
                        globals_.append(operation)
                    elif "function_type" in operation.declaration.inherent:
                        functions.append(operation)
                    else:
                        message = f"'{name}' op only function and global ops are allowed in the body"
                        raise self._refused(operation, message)
        return globals_, functions

    def _refused(self, operation: Operation, message: str) -> WriteFailure:
        remark = Diagnostic("remark", f"invalid op: {operation.name}", operation.location)
        return WriteFailure([remark, Diagnostic("error", message, self.module.location)])

    def _constants(self) -> bytes:
        if self.tables.constants:
            return write_blobs(self.tables.constants, 8)
        # An empty section is padded all the same by the writer that always writes one.
        writer = ByteWriter()
        writer.varint(0)
        writer.align(8)
        return bytes(writer.data)

    def _globals(self, operations: list[Operation]) -> bytes:
        writer = ByteWriter()
        writer.varint(len(operations))
        for operation in operations:
            attributes = operation.attributes
            value = attributes.get("value")
            name = operation.symbol_name
            if not isinstance(value, DenseAttribute) or name is None:
                raise fail(operation, "failed to add global constant: '")
            private = operation.attribute("symbol_visibility") is SYMBOL_VISIBILITY["private"]
            newer = global_message(operation, self.version)
            if newer is not None:
                raise fail(operation, newer)
            alignment = attributes.get("alignment")
            writer.varint(self.tables.string(name))
            writer.varint(self.tables.types.index(value.type))
            writer.varint(self.tables.constant(value))
            writer.varint(alignment.value & 0xFFFFFFFFFFFFFFFF if isinstance(alignment, IntegerAttribute) else 0)
            if self.version >= V13_3:
                writer.varint(1 if private else 0)
                writer.varint(1 if "constant" in attributes else 0)
        return bytes(writer.data)

    def _functions(self, operations: list[Operation]) -> bytes:
        writer = self._function_entries(operations)
        # NVIDIA's writer pads the section inside its payload, cuTile's does not; a file is written back as it was.
        kept = self.preserved.sections.get(sections.FUNCTION) if self.preserved is not None else None
        if kept is None or (kept.end - kept.start) % 8 == 0:
            writer.align(8)
        return bytes(writer.data)

    def _function_entries(self, operations: list[Operation]) -> ByteWriter:
        writer = ByteWriter()
        writer.varint(len(operations))
        for operation in operations:
            name = operation.symbol_name
            signature = operation.attributes.get("function_type")
            if name is None or not isinstance(signature, TypeAttribute):
                raise fail(operation, "requires a name and a function type")
            writer.varint(self.tables.string(name))
            writer.varint(self.tables.types.index(signature.type))
            body = self._begin_function(writer, operation)
            block = operation.regions[0].blocks[0]
            for argument in block.arguments:
                body.define(argument)
            body.write_operations(block)
            writer.varint(len(body.data))
            writer.raw(bytes(body.data))
        return writer

    def _begin_function(self, writer: ByteWriter, operation: Operation) -> BodyWriter:
        """Write flags, location and hints; return the writer of the body."""
        tables = self.tables
        hints = operation.attributes.get("optimization_hints")
        flags = FLAG_PRIVATE if is_private(operation) else 0
        if operation.declaration is ENTRY:
            flags |= FLAG_ENTRY
        is_newer = self.version >= V13_5
        if hints is not None and not is_newer:
            flags |= FLAG_HINTS
        writer.byte(flags)
        check_location(operation, tables)
        located = is_encodable(operation.location) or self.keeps_debug or _has_located(operation)
        writer.varint(tables.debug.start_function(operation.location) if located else 0)
        if isinstance(hints, OptimizationHintsAttribute):
            write_attribute(writer, hints, tables)
        elif is_newer and operation.declaration is ENTRY:
            write_attribute(writer, optimization_hints(dictionary_attribute({})), tables)
        if is_newer:
            arguments = operation.attributes.get("arg_attrs")
            write_attribute(writer, array_attribute(()) if arguments is None else arguments, tables)
        return BodyWriter(tables, located)


def _usable_entry(table: NestedTable, index: int) -> object | None:
    """An entry of a file; None for one that cannot be decoded, which no accepted program uses."""
    try:
        return table.entry(index)
    except Malformed:
        return None


def _has_located(function: Operation) -> bool:
    """Whether an operation has a location worth writing although its function has none: a call site can."""
    for operation in function.walk():
        if is_encodable(operation.location):
            return True
    return False
