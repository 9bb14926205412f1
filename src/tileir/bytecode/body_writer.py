"""The instructions of a function in the public layout, written (docs/reference/bytecode.md section 6)."""

from __future__ import annotations

from tileir.bytecode import records
from tileir.bytecode.attributes import write_array, write_attribute, write_dictionary
from tileir.bytecode.debug import COMPOSED, location_error
from tileir.bytecode.primitives import ByteWriter
from tileir.bytecode.records import AttributeField, Record, records_by_declaration
from tileir.bytecode.tables import TableWriter
from tileir.dialect.attributes import OptimizationHintsAttribute
from tileir.dialect.availability import (
    attribute_message,
    keyword_message,
    operand_message,
    operation_message,
    result_message,
)
from tileir.dialect.ops import REDUCE, SCAN
from tileir.ir.attributes import (
    FIRST_DRAFT_ONLY_VALUE,
    ArrayAttribute,
    Attribute,
    DenseArrayAttribute,
    EnumAttribute,
    IntegerAttribute,
    StringAttribute,
    SymbolAttribute,
)
from tileir.ir.core import Block, Operation
from tileir.ir.declaration import ONE, VARIADIC, OperationDeclaration
from tileir.ir.dense import DenseAttribute
from tileir.ir.diagnostics import Code, Diagnostic
from tileir.ir.traversal import is_pure
from tileir.ir.values import Value
from tileir.ir.versions import V13_1, V13_3, Version, version_text


class WriteFailure(Exception):
    """A program that has no bytes in the requested version."""

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        super().__init__(diagnostics[0].message)
        self.diagnostics: list[Diagnostic] = diagnostics


def fail(operation: Operation, message: str, code: Code | None = None) -> WriteFailure:
    return WriteFailure([Diagnostic("error", message, operation.location, None, code)])


def check_location(operation: Operation, tables: TableWriter) -> None:
    """Refuse a location that cannot be written, whether or not the function it stands in has a table of locations."""
    error = location_error(operation.location, tables.debug.writable)
    if error is not None:
        raise fail(operation, error)


def check_absent(operation: Operation, field: AttributeField, value: Attribute | None, version: Version) -> None:
    """An attribute newer than the file must hold its default."""
    if value is None or value is field.default:
        return
    if field.codec == records.BOOL_LIST and isinstance(value, DenseArrayAttribute) and not any(value.values):
        return
    raise fail(operation, attribute_message(field.name, field.optional, field.since, version))


def wire_value(operation: Operation, field: AttributeField, value: Attribute | None, layout: str) -> int:
    """The number of an enumerator; `layout` names what a draft enumerator lacks, for the error."""
    if not isinstance(value, EnumAttribute):
        raise fail(operation, f"requires attribute '{field.name}'")
    number = value.kind.values[value.keyword]
    if number >= FIRST_DRAFT_ONLY_VALUE:
        what = f"'{value.keyword}' of attribute '{field.name}'"
        raise fail(operation, f"{what} has no {layout}; legalize the program first")
    return number


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
        """Write an operation and those that follow it up to the next one with regions, and return that one.

        It is written up to its first block.
        """
        while operation is not None:
            record = self.records.get(operation.declaration)
            if record is None:
                raise self._unavailable(operation)
            if type(operation.location) in COMPOSED:
                check_location(operation, self.tables)
            if self.located:
                self.tables.debug.add(operation.location)
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
        message = operation_message(declaration.name, self.tables.version)
        return fail(operation, message, Code("newer-operation", name=declaration.name))

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
        number = wire_value(operation, field, value, "public bytecode form")
        since = value.kind.since.get(value.keyword) if isinstance(value, EnumAttribute) else None
        if since is not None and since > self.tables.version and not self.tables.keeps_newer_keywords:
            code = Code("newer-keyword", attribute=field.name, version=version_text(self.tables.version))
            raise fail(operation, keyword_message(field.name, self.tables.version), code)
        return number

    def _write_operation(self, operation: Operation, record: Record) -> None:
        self.varint(record.opcode)
        self.write_result_types(operation, record)
        lengths = operation.segment_lengths() if record.has_groups else []
        if record.has_flags:
            self.varint(self._flags(operation, record, lengths))
        for field in record.attributes:
            self._write_attribute(operation, field)
        if record.has_groups:
            self._write_groups(operation, record, lengths)
            return
        if record.operand_mode == records.COUNTED:
            self.varint(len(operation.operands))
        for value in operation.operands:
            self._write_operand(operation, value)

    def write_result_types(self, operation: Operation, record: Record) -> None:
        """Write the types of the results; one that is newer than the file must not be used."""
        results = operation.results
        kept = len(results) - len(record.late_results)
        for result in results[kept:]:
            if result.has_uses:
                declared = record.declaration.results[result.index]
                raise fail(operation, result_message(declared.name, declared.since or V13_1, self.tables.version))
        if record.counted_results:
            self.varint(kept)
        for result in results[:kept]:
            self.varint(self.tables.types.index(result.type))

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
            check_absent(operation, field, value, self.tables.version)
            return
        codec = field.codec
        if codec == records.UNIT or (value is None and field.optional and codec != records.BOOL_LIST):
            return
        if value is None:
            value = field.default
        if codec == records.ENUM:
            self.varint(self._enumerator(operation, field, value))
        elif codec == records.BOOL_LIST:
            count = len(operation.index)
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

    def _write_operand(self, operation: Operation, value: Value) -> None:
        number = self.numbers.get(value, -1)
        if number < 0:
            raise fail(operation, "operand is not defined before its use")
        self.varint(number)

    def _write_groups(self, operation: Operation, record: Record, lengths: list[int]) -> None:
        """Write the operands declared under each name, those of variable number after their number."""
        if record.operand_mode == records.COUNTED:
            self.varint(len(operation.operands))
        position = 0
        segmented = record.operand_mode == records.SEGMENTED
        for declared, length, bit in zip(record.declaration.operands, lengths, record.operand_bits, strict=True):
            if bit == -2 and length:
                raise fail(operation, operand_message(declared.name, declared.since or V13_1, self.tables.version))
            if segmented and declared.count == VARIADIC:
                self.varint(length)
            elif segmented and declared.count == ONE and length != 1:
                raise fail(operation, f"requires operand '{declared.name}'")
            for value in operation.operands[position : position + length]:
                self._write_operand(operation, value)
            position += length

    def begin_regions(self, operation: Operation, record: Record) -> None:
        if record.declaration in (REDUCE, SCAN):
            self._check_pure(operation)
        self.varint(record.region_count)

    def next_block(self, top: OpenOperation) -> Block | None:
        """Write what precedes the operations of the next block, and begin its region; None after the last block."""
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
        """Before 13.4 the body of a reduction is pure (the operations draft, 8.3.14)."""
        if self.tables.version > V13_3:
            return
        for inner in operation.walk():
            if inner is not operation and not is_pure(inner):
                remark = Diagnostic("remark", f"invalid op: {inner.name}", inner.location)
                message = f"'{operation.name}' op only pure operations allowed"
                raise WriteFailure([remark, Diagnostic("error", message, operation.location)])
