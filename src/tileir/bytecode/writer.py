"""The public layout, written (docs/bytecode.md).

Tables are filled in order of first use, as NVIDIA's writer fills them.  With `preserve` a module that was read from a
file gets that file's tables, section order and habits back first, so that an unchanged module gives the same bytes.
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.bytecode import container as sections
from tileir.bytecode import records
from tileir.bytecode.attributes import write_array, write_attribute, write_dictionary
from tileir.bytecode.constants import encode_constant
from tileir.bytecode.container import Container, write_blobs, write_container
from tileir.bytecode.debug import COMPOSED, DebugEncoder, StringInterner, is_encodable, location_mistake
from tileir.bytecode.origin import Spellings
from tileir.bytecode.primitives import BytecodeError, ByteWriter, Malformed
from tileir.bytecode.reader import read_spellings
from tileir.bytecode.records import AttributeField, Record, records_by_declaration
from tileir.bytecode.types import TypeEncoder
from tileir.dialect.attributes import OptimizationHintsAttribute
from tileir.dialect.availability import (
    attribute_words,
    global_words,
    keyword_words,
    operand_words,
    operation_words,
    result_words,
)
from tileir.dialect.enums import SYMBOL_VISIBILITY
from tileir.ir.attributes import (
    FIRST_SEED_ONLY_VALUE,
    ArrayAttribute,
    Attribute,
    DenseArrayAttribute,
    DenseAttribute,
    EnumAttribute,
    IntegerAttribute,
    StringAttribute,
    SymbolAttribute,
    TypeAttribute,
)
from tileir.ir.core import Block, Operation, Value
from tileir.ir.declaration import ONE, V13_1, V13_3, VARIADIC, OperationDeclaration, Version
from tileir.ir.diagnostics import Diagnostic
from tileir.ir.effects import is_pure
from tileir.ir.location import UNKNOWN, UnknownLocation

# Section order of NVIDIA's C++ writer.
_ORDER: Final = (
    sections.GLOBAL,
    sections.FUNCTION,
    sections.CONSTANT,
    sections.DEBUG,
    sections.TYPE,
    sections.PRODUCER,
    sections.STRING,
)


class WriteFailure(Exception):
    """A program that has no bytes in the wanted version."""

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        super().__init__(diagnostics[0].message)
        self.diagnostics: list[Diagnostic] = diagnostics


def fail(operation: Operation, message: str) -> WriteFailure:
    return WriteFailure([Diagnostic("error", message, operation.location)])


def check_location(operation: Operation) -> None:
    """Refuse a location that cannot be written, whether or not the function it stands in has a table of locations."""
    mistake = location_mistake(operation.location)
    if mistake is not None:
        raise fail(operation, mistake)


class TableWriter:
    """What the records of a file refer to, being collected."""

    __slots__ = (
        "_constant_indices",
        "_constants_of",
        "constants",
        "debug",
        "interner",
        "spellings",
        "types",
        "version",
    )

    def __init__(self, version: Version) -> None:
        self.version: Version = version
        self.interner: StringInterner = StringInterner()
        self.types: TypeEncoder = TypeEncoder(version)
        self.debug: DebugEncoder = DebugEncoder(self.interner)
        self.constants: list[bytes] = []
        self.spellings: Spellings | None = None
        self._constant_indices: dict[bytes, int] = {}
        self._constants_of: dict[DenseAttribute, int] = {}

    def string(self, value: str) -> int:
        return self.interner.string(value)

    def spelling(self, attribute: Attribute) -> bytes | None:
        """The bytes of an attribute in the file that is being written back, if there is one."""
        return self.spellings.take(attribute) if self.spellings is not None else None

    def constant(self, value: DenseAttribute) -> int:
        found = self._constants_of.get(value, -1)
        if found < 0:
            found = self._constants_of[value] = self.constant_blob(encode_constant(value))
        return found

    def constant_blob(self, blob: bytes) -> int:
        found = self._constant_indices.get(blob)
        if found is None:
            found = self._constant_indices[blob] = len(self.constants)
            self.constants.append(blob)
        return found


def write_public(module: Operation, version: Version, preserved: Container | None = None) -> bytes:
    """The bytes of a module; `preserved` is the file whose habits are kept."""
    try:
        return ModuleWriter(module, version, preserved).write()
    except WriteFailure as failure:
        raise BytecodeError(failure.diagnostics, -1) from None
    except Malformed as malformed:
        messages = [Diagnostic("error", message, UNKNOWN) for message in malformed.messages]
        raise BytecodeError(messages, -1) from None


class ModuleWriter:
    def __init__(self, module: Operation, version: Version, preserved: Container | None) -> None:
        self.module: Operation = module
        self.version: Version = version
        self.tables: TableWriter = TableWriter(version)
        self.preserved: Container | None = preserved
        self.keeps_debug: bool = False
        if preserved is not None:
            self._adopt(preserved)

    def _adopt(self, file: Container) -> None:
        """Fill the tables in the order the file has them."""
        tables, spellings = read_spellings(file)
        for index in range(len(tables.strings)):
            self.tables.string(tables.strings.get(index))
        for index in range(len(tables.types)):
            type = tables.types.get(index)
            if type is not None:
                self.tables.types.index(type)
        for index in range(len(tables.constants)):
            start, end = tables.constants.piece(index)
            self.tables.constant_blob(file.data[start:end])
        for index in range(len(tables.debug)):
            attribute = tables.debug.attribute(index + 1)
            if attribute is not None and not isinstance(attribute, UnknownLocation):
                self.tables.debug.reference(attribute)
        self.keeps_debug = bool(tables.debug.function_starts)
        # Spellings hold table numbers, which are the same only if no table entry was a repetition.
        same_strings = len(self.tables.interner.strings) == len(tables.strings)
        if same_strings and len(self.tables.types.blobs) == len(tables.types):
            self.tables.spellings = spellings

    def write(self) -> bytes:
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
        keep = self.preserved.sections if self.preserved is not None else {}
        if tables.constants or sections.CONSTANT in keep:
            payloads[sections.CONSTANT] = self._constants()
        if tables.debug.function_starts or sections.DEBUG in keep:
            payloads[sections.DEBUG] = tables.debug.payload()
        payloads[sections.TYPE] = write_blobs(tables.types.blobs, 4)
        producer = self.module.attributes.get("producer")
        if isinstance(producer, StringAttribute) and (self.version >= V13_3 or sections.PRODUCER in keep):
            writer = ByteWriter()
            writer.varint(tables.string(producer.value))
            payloads[sections.PRODUCER] = bytes(writer.data)
        strings = [text.encode("utf-8", "surrogateescape") for text in tables.interner.strings]
        payloads[sections.STRING] = write_blobs(strings, 4)
        order = [section.identifier for section in self.preserved.order] if self.preserved is not None else []
        order = [i for i in dict.fromkeys([*order, *_ORDER]) if i in payloads]
        tag = self.preserved.tag if self.preserved is not None else 0
        return write_container(self.version, tag, [(identifier, payloads[identifier]) for identifier in order])

    def _contents(self) -> tuple[list[Operation], list[Operation]]:
        """Globals and functions; anything else has no place in a file."""
        globals_: list[Operation] = []
        functions: list[Operation] = []
        name = self.module.name
        for region in self.module.regions:
            for block in region.blocks:
                for operation in block:
                    if operation.name == "cuda_tile.global":
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
            newer = global_words(operation, self.version)
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
        tables = self.tables
        writer = ByteWriter()
        writer.varint(len(operations))
        for operation in operations:
            name = operation.symbol_name
            signature = operation.attributes.get("function_type")
            if name is None or not isinstance(signature, TypeAttribute):
                raise fail(operation, "requires a name and a function type")
            hints = operation.attributes.get("optimization_hints")
            writer.varint(tables.string(name))
            writer.varint(tables.types.index(signature.type))
            is_entry = operation.name == "cuda_tile.entry"
            writer.byte((2 if is_entry else 0) | (4 if hints is not None else 0))
            check_location(operation)
            located = is_encodable(operation.location) or self.keeps_debug or _has_located(operation)
            debug = tables.debug if located else None
            writer.varint(debug.start_function(operation.location) if debug is not None else 0)
            if isinstance(hints, OptimizationHintsAttribute):
                write_attribute(writer, hints, tables)
            body = BodyWriter(tables, debug is not None)
            block = operation.regions[0].blocks[0]
            for argument in block.arguments:
                body.define(argument)
            body.write_operations(block)
            writer.varint(len(body.data))
            writer.raw(bytes(body.data))
        # NVIDIA's writer pads the section inside its payload, cuTile's does not; a file is written back as it was.
        kept = self.preserved.sections.get(sections.FUNCTION) if self.preserved is not None else None
        if kept is None or (kept.end - kept.start) % 8 == 0:
            writer.align(8)
        return bytes(writer.data)


def _has_located(function: Operation) -> bool:
    """Whether an operation has a location worth writing although its function has none: a call site can."""
    for operation in function.walk():
        if is_encodable(operation.location):
            return True
    return False


class OpenOperation:
    """An operation whose regions are being written: how many regions, and how many `blocks` of the last, were begun.

    `mark` is the number of values in front of the block at hand, whose own values end with it.
    """

    __slots__ = ("block", "blocks", "mark", "operation", "region")

    def __init__(self, operation: Operation) -> None:
        self.operation: Operation = operation
        self.region: int = 0
        self.blocks: list[Block] = []
        self.block: int = 0
        self.mark: int = 0


class BodyWriter(ByteWriter):
    """The instructions of a function."""

    __slots__ = ("located", "numbers", "records", "size", "tables")

    def __init__(self, tables: TableWriter, located: bool) -> None:
        super().__init__()
        self.tables: TableWriter = tables
        self.located: bool = located
        self.records: dict[OperationDeclaration, Record] = records_by_declaration(tables.version)
        self.numbers: dict[Value, int] = {}
        self.size: int = 0

    def define(self, value: Value) -> None:
        self.numbers[value] = self.size
        self.size += 1

    def write_operations(self, block: Block) -> None:
        """The operations of the body."""
        # An explicit stack, because programs may nest deeply.
        path: list[OpenOperation] = []
        operation = self.write_row(block.first)
        while True:
            if operation is not None:
                path.append(OpenOperation(operation))
            elif path:
                self.size = path[-1].mark
            else:
                return
            top = path[-1]
            following = self.next_block(top)
            if following is not None:
                operation = self.write_row(following.first)
            else:
                path.pop()
                self.define_results(top.operation, self.records[top.operation.declaration])
                operation = self.write_row(top.operation.next)

    def write_row(self, operation: Operation | None) -> Operation | None:
        """Write an operation and those that follow it, up to the next one with regions, which is given back.

        Of that one everything is written that stands in front of its first block.
        """
        data = self.data
        numbers = self.numbers
        table = self.records
        type_indices = self.tables.types.indices
        while operation is not None:
            record = table.get(operation.declaration)
            if record is None:
                raise self._unavailable(operation)
            if type(operation.location) in COMPOSED:
                check_location(operation)
            if self.located:
                self.tables.debug.add(operation.location)
            if record.simple and not operation.regions:
                # One number per field, nearly always one byte.
                data.append(record.opcode)
                for result in operation.results:
                    index = type_indices.get(result.type, -1)
                    if index < 0:
                        index = self.tables.types.index(result.type)
                    if index < 0x80:
                        data.append(index)
                    else:
                        self.varint(index)
                attributes = operation.attributes
                for field in record.attributes:
                    case = attributes.get(field.name, field.default)
                    wire = field.numbers.get(case, -1) if case is not None else -1
                    data.append(wire if wire >= 0 else self._enumerator(operation, field, case))
                for value in operation.operands:
                    number = numbers.get(value, -1)
                    if number < 0:
                        raise fail(operation, "operand is not defined before its use")
                    if number < 0x80:
                        data.append(number)
                    else:
                        self.varint(number)
                size = self.size
                for result in operation.results:
                    numbers[result] = size
                    size += 1
                self.size = size
            else:
                self._write_operation(operation, record)
                if record.region_count:
                    self.begin_regions(operation, record)
                    return operation
                self.define_results(operation, record)
            operation = operation.next
        return None

    def define_results(self, operation: Operation, record: Record) -> None:
        """Give the results their numbers; those that are newer than the file have none."""
        results = operation.results
        for result in results[: len(results) - len(record.late_results)]:
            self.define(result)

    def _unavailable(self, operation: Operation) -> WriteFailure:
        declaration = operation.declaration
        if declaration.unregistered or not declaration.name.startswith("cuda_tile."):
            return self._foreign(operation)
        if declaration.opcode is None:
            return fail(
                operation,
                f"operation '{declaration.name}' has no public bytecode form; legalize the program first",
            )
        return fail(operation, operation_words(declaration.name, self.tables.version))

    def _foreign(self, operation: Operation) -> WriteFailure:
        remark = Diagnostic("remark", f"invalid op: {operation.name}", operation.location)
        module: Operation = operation
        while True:
            parent = module.parent_operation
            if parent is None:
                break
            module = parent
        message = f"'{module.name}' op only ops from the 'cuda_tile' dialect are allowed"
        return WriteFailure([remark, Diagnostic("error", message, module.location)])

    def _enumerator(self, operation: Operation, field: AttributeField, value: Attribute | None) -> int:
        if not isinstance(value, EnumAttribute):
            raise fail(operation, f"requires attribute '{field.name}'")
        number = value.kind.values[value.keyword]
        if number >= FIRST_SEED_ONLY_VALUE:
            raise fail(
                operation,
                f"'{value.keyword}' of attribute '{field.name}' has no public bytecode form; "
                "legalize the program first",
            )
        since = value.kind.since.get(value.keyword)
        if since is not None and since > self.tables.version:
            raise fail(operation, keyword_words(field.name, self.tables.version))
        return number

    def _write_operation(self, operation: Operation, record: Record) -> None:
        """An operation up to its regions."""
        self.varint(record.opcode)
        results = operation.results
        kept = len(results) - len(record.late_results)
        for result in results[kept:]:
            if result.has_uses:
                raise fail(operation, self._newer_result(record, result.index))
        if record.counted_results:
            self.varint(kept)
        type_indices = self.tables.types.indices
        for result in results[:kept]:
            index = type_indices.get(result.type, -1)
            self.varint(index if index >= 0 else self.tables.types.index(result.type))
        if record.operand_mode != records.SEGMENTED and not record.has_flags:
            for field in record.attributes:
                self._write_attribute(operation, field)
            self._write_plain_operands(operation, record)
            return
        lengths = operation.declaration.segment_lengths(operation)
        if record.has_flags:
            self.varint(self._flags(operation, record, lengths))
        for field in record.attributes:
            self._write_attribute(operation, field)
        self._write_operands(operation, record, lengths)

    def _newer_result(self, record: Record, index: int) -> str:
        declared = record.declaration.results[index]
        return result_words(declared.name, declared.since or V13_1, self.tables.version)

    def _flags(self, operation: Operation, record: Record, lengths: list[int]) -> int:
        flags = 0
        for field in record.attributes:
            if field.bit >= 0 and field.name in operation.attributes:
                flags |= 1 << field.bit
        for bit, length in zip(record.operand_bits, lengths, strict=True):
            if bit >= 0 and length:
                flags |= 1 << bit
        return flags

    def _write_attribute(self, operation: Operation, field: AttributeField) -> None:
        value = operation.attributes.get(field.name)
        if value is not None and field.codec == records.CONSTANT and isinstance(value, DenseAttribute):
            self.varint(self.tables.constant(value))
            return
        if field.gated:
            self._check_absent(operation, field, value)
            return
        codec = field.codec
        if codec == records.UNIT or (value is None and field.optional and codec != records.BOOL_LIST):
            return
        if value is None:
            value = field.default
        if codec == records.ENUM:
            self.varint(self._enumerator(operation, field, value))
        elif codec == records.BOOL_LIST:
            count = len(operation.operand_group("index"))
            flags = value.values if isinstance(value, DenseArrayAttribute) else (0,) * count
            self.integers(flags, 1)
        elif codec == records.INTEGER and isinstance(value, IntegerAttribute):
            self.varint(value.value & ((1 << field.width) - 1))
        elif codec == records.BOOL and isinstance(value, IntegerAttribute):
            self.byte(1 if value.value else 0)
        elif codec == records.STRING and isinstance(value, StringAttribute):
            self.varint(self.tables.string(value.value))
        elif codec == records.SYMBOL and isinstance(value, SymbolAttribute):
            self.varint(self.tables.string(value.path[-1]))
        elif codec == records.I32_LIST and isinstance(value, DenseArrayAttribute):
            self.integers(value.values, 4)
        elif codec == records.ARRAY and isinstance(value, ArrayAttribute):
            write_array(self, value, self.tables)
        elif codec == records.HINTS and isinstance(value, OptimizationHintsAttribute):
            write_dictionary(self, value.entries, self.tables)
        elif codec == records.TAGGED and value is not None:
            write_attribute(self, value, self.tables)
        else:
            raise fail(operation, f"requires attribute '{field.name}'")

    def _check_absent(self, operation: Operation, field: AttributeField, value: Attribute | None) -> None:
        """An attribute newer than the file must hold its default."""
        if value is None or value is field.default:
            return
        if field.codec == records.BOOL_LIST and isinstance(value, DenseArrayAttribute) and not any(value.values):
            return
        raise fail(operation, attribute_words(field.name, field.optional, field.since, self.tables.version))

    def _write_plain_operands(self, operation: Operation, record: Record) -> None:
        """The operands of an operation whose record has no segments: all in one row."""
        data = self.data
        if record.operand_mode == records.COUNTED:
            self.varint(len(operation.operands))
        for value in operation.operands:
            number = self.numbers.get(value, -1)
            if number < 0:
                raise fail(operation, "operand is not defined before its use")
            if number < 0x80:
                data.append(number)
            else:
                self.varint(number)

    def _write_operands(self, operation: Operation, record: Record, lengths: list[int]) -> None:
        if record.operand_mode == records.COUNTED:
            self.varint(len(operation.operands))
        position = 0
        segmented = record.operand_mode == records.SEGMENTED
        for declared, length, bit in zip(record.declaration.operands, lengths, record.operand_bits, strict=True):
            if bit == -2 and length:
                raise fail(operation, operand_words(declared.name, declared.since or V13_1, self.tables.version))
            if segmented and declared.count == VARIADIC:
                self.varint(length)
            elif segmented and declared.count == ONE and length != 1:
                raise fail(operation, f"requires operand '{declared.name}'")
            for _ in range(length):
                number = self.numbers.get(operation.operands[position], -1)
                if number < 0:
                    raise fail(operation, "operand is not defined before its use")
                self.varint(number)
                position += 1

    def begin_regions(self, operation: Operation, record: Record) -> None:
        if record.declaration.name in ("cuda_tile.reduce", "cuda_tile.scan"):
            self._check_pure(operation)
        self.varint(record.region_count)

    def next_block(self, top: OpenOperation) -> Block | None:
        """Write the head of the next block of an operation, and of its region; None if there is no block left."""
        operation = top.operation
        while top.block == len(top.blocks):
            if top.region < len(operation.regions):
                top.blocks = operation.regions[top.region].blocks
            elif top.region < len(operation.declaration.regions):
                # A region that was left out.
                top.blocks = []
            else:
                return None
            top.region += 1
            top.block = 0
            self.varint(len(top.blocks))
        block = top.blocks[top.block]
        top.block += 1
        top.mark = self.size
        self.varint(len(block.arguments))
        for argument in block.arguments:
            self.varint(self.tables.types.index(argument.type))
            self.define(argument)
        self.varint(len(block))
        return block

    def _check_pure(self, operation: Operation) -> None:
        """Before 13.4 the body of a reduction is pure (seed 000, 8.3.14)."""
        if self.tables.version > V13_3:
            return
        for inner in operation.walk():
            if inner is not operation and not is_pure(inner):
                remark = Diagnostic("remark", f"invalid op: {inner.name}", inner.location)
                message = f"'{operation.name}' op only pure operations allowed"
                raise WriteFailure([remark, Diagnostic("error", message, operation.location)])
