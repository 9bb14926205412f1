"""The instructions of a function in the public layout, read (docs/reference/bytecode.md section 6).

The prefix of a record is its opcode, result types, flags and attributes: all in front of its operands.  Prefixes repeat
throughout a program, so that each is decoded once and cached by its bytes.  The length of a prefix follows from its
bytes: none is the beginning of another.
"""

from __future__ import annotations

import tileir.dialect.ops  # noqa: F401  (registers the declarations)
from tileir.annotations import Final
from tileir.bytecode import records
from tileir.bytecode.attributes import ARRAY, HINTS, check_values, read_attribute, read_nested, read_unsigned
from tileir.bytecode.debug import DebugTable
from tileir.bytecode.primitives import Malformed, Trace
from tileir.bytecode.records import AttributeField, Record, record_of
from tileir.bytecode.region_reader import RegionReader
from tileir.bytecode.tables import Tables
from tileir.dialect.attributes import PredicateAttribute
from tileir.ir.attributes import (
    UNIT,
    ArrayAttribute,
    Attribute,
    DenseArrayAttribute,
    FloatAttribute,
    IntegerAttribute,
    bool_attribute,
    dense_array_attribute,
    integer_attribute,
    string_attribute,
    symbol_attribute,
)
from tileir.ir.core import NO_ATTRIBUTES, NO_REGIONS, Block, Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.dense import signed_value
from tileir.ir.diagnostics import Code
from tileir.ir.location import UNKNOWN, Location
from tileir.ir.types import I1, I32, I64, Type
from tileir.ir.values import Value

# Longer prefixes, and prefixes beyond this number, are not kept.
_LONGEST: Final = 48
_MOST: Final = 1 << 16

_NO_LENGTHS: Final[list[int]] = []


class RecordPrefix:
    """A decoded prefix, `length` bytes long, the first `opcode_length` of them the opcode.

    `group_sizes` has the number of operands in each group, -1 for a group that is counted in front of its values.
    `is_whole` is true if only operands follow.
    `operand_count` is their sum, -1 where it is not known; where it is, `segments` are too.
    `void_promise` is the length of an `inbounds` list that promises nothing about any index, -1 where there is none.
    """

    def __init__(
        self,
        record: Record,
        flags: int,
        result_types: list[Type],
        attributes: dict[str, Attribute],
        opcode_length: int,
    ) -> None:
        self.record: Record = record
        self.declaration: OperationDeclaration = record.declaration
        self.is_whole: bool = not record.region_count and not record.late_results
        self.result_types: list[Type] = result_types
        self.attributes: dict[str, Attribute] = attributes if attributes else NO_ATTRIBUTES
        self.length: int = 0
        self.opcode_length: int = opcode_length
        self.group_sizes: list[int] = record.group_sizes(flags)
        self.operand_count: int = -1 if -1 in self.group_sizes else sum(self.group_sizes)
        promise = attributes.get("inbounds")
        self.void_promise: int = -1
        self.other_attributes: dict[str, Attribute] = NO_ATTRIBUTES
        if isinstance(promise, DenseArrayAttribute) and not any(promise.values):
            self.void_promise = len(promise.values)
            if len(attributes) > 1:
                self.other_attributes = {name: value for name, value in attributes.items() if name != "inbounds"}
        self.segments: tuple[int, ...] | None = None
        if self.operand_count >= 0 and record.operand_mode == records.SEGMENTED:
            self.segments = tuple(self.group_sizes)
            self.attributes = self.kept_attributes(self.segments)

    def kept_attributes(self, segments: tuple[int, ...]) -> dict[str, Attribute]:
        """The attributes without a list that promises nothing about any index.

        In text it is no list, so the IR does not keep it either.  One of the wrong length stays, for the verifier.
        """
        if self.void_promise >= 0:
            for number, declared in enumerate(self.declaration.operands):
                if declared.name == "index" and segments[number] == self.void_promise:
                    return self.other_attributes
        return self.attributes


class PrefixCache:
    """The prefixes of a file by their bytes, and the lengths that occur for each first byte."""

    __slots__ = ("known", "lengths")

    def __init__(self) -> None:
        self.known: dict[bytes, RecordPrefix] = {}
        self.lengths: list[list[int]] = [_NO_LENGTHS] * 256

    def add(self, data: bytes, prefix: RecordPrefix) -> None:
        length = prefix.length = len(data)
        if length > _LONGEST or len(self.known) > _MOST:
            return
        lengths = self.lengths[data[0]]
        if length not in lengths:
            self.lengths[data[0]] = sorted([*lengths, length])
        self.known[data] = prefix


class BodyReader(RegionReader):
    """The instructions of a function."""

    __slots__ = ("debug", "first", "has_locations", "next", "prefixes", "uses_prefixes")

    def __init__(
        self, data: bytes, start: int, end: int, tables: Tables, trace: Trace | None, prefixes: PrefixCache
    ) -> None:
        super().__init__(data, start, end, tables, trace)
        self.prefixes: PrefixCache = prefixes
        # A trace and the spellings of attributes need every field read.
        self.uses_prefixes: bool = trace is None and tables.spellings is None
        # Where the locations of the operations are, in pre-order: in the indices of the debug section from `first` on,
        # of those that are not read yet from `next` on.
        self.debug: DebugTable = tables.debug
        self.has_locations: bool = False
        self.first: int = 0
        self.next: int = 0

    def first_location(self, number: int) -> Location | None:
        """The location of the function itself; the operations then have theirs after it."""
        starts = self.debug.function_starts
        if number >= len(starts) or starts[number] >= len(self.debug.indices):
            return None
        self.has_locations = True
        self.first = self.next = starts[number] + 1
        return self.debug.location(self.debug.indices[starts[number]])

    def next_location(self) -> Location:
        indices = self.debug.indices
        if self.next >= len(indices):
            self.fail("failed to read operation location.")
        try:
            found = self.debug.location(indices[self.next])
        except Malformed as failure:
            raise failure.add("failed to read operation location.", self.offset) from None
        if found is None:
            self.fail("failed to read operation location.")
        self.next += 1
        return found

    def read_operations(self, block: Block) -> None:
        """All instructions up to the end, with all they contain."""
        try:
            self.read_nested(block)
        except Malformed as failure:
            failure.location = self._location_at_hand()
            for operation in reversed(self.path):
                operation.explain(failure, self.offset)
            raise

    def _location_at_hand(self) -> Location:
        """The location that was read last: that of the operation being read, not that of the function."""
        if not self.has_locations or not self.first < self.next <= len(self.debug.indices):
            return UNKNOWN
        found = self.debug.known_location(self.debug.indices[self.next - 1])
        return found if found is not None else UNKNOWN

    def function_location(self, number: int) -> Location:
        """The location of the function, as far as it can be had; numbers count from 1."""
        try:
            found = self.first_location(number - 1) if number > 0 else None
        except Malformed:
            found = None
        return found if found is not None else UNKNOWN

    def read_row(self, block: Block, count: int, done: int) -> int:
        """Read a row of records, those with a cached prefix without a call, which saves an eighth of the time."""
        data = self.data
        end = self.end
        values = self.values
        known = self.prefixes.known
        lengths = self.prefixes.lengths
        has_locations = self.has_locations
        trace = self.trace
        while done != count:
            start = self.position
            prefix: RecordPrefix | None = None
            if start < end:
                for length in lengths[data[start]]:
                    prefix = known.get(data[start : start + length])
                    if prefix is not None:
                        break
            elif count < 0:
                break
            done += 1
            span = trace.open("operation", start) if trace is not None else None
            location: Location = UNKNOWN
            if prefix is None or start + prefix.length > end:
                prefix, location = self._read_prefix()
            else:
                if has_locations:
                    self.position = start + prefix.opcode_length
                    location = self.next_location()
                self.position = start + prefix.length
            attributes = prefix.attributes
            segments = prefix.segments
            operands: list[Value] = []
            position = self.position
            # Numbers of at most three bytes each, as nearly all are; any others are read below.
            try:
                for _ in range(prefix.operand_count):
                    index = data[position]
                    position += 1
                    if index >= 0x80:
                        byte = data[position]
                        position += 1
                        index += (byte << 7) - 0x80
                        if byte >= 0x80:
                            index += (data[position] << 14) - 0x4000
                            position += 1
                            if index >= 0x200000:
                                raise IndexError
                    operands.append(values[index])
            except IndexError:
                position = end + 1
            if prefix.operand_count < 0 or position > end or trace is not None:
                operands, segments = self._read_operands(prefix.record, prefix.group_sizes)
                if segments is not None:
                    attributes = prefix.kept_attributes(segments)
            else:
                self.position = position
            types = prefix.result_types
            if prefix.is_whole:
                declaration = prefix.declaration
                made = Operation(declaration, operands, types, attributes, NO_REGIONS, location, segments, None, block)
                values.extend(made.results)
            elif self.end_record(prefix.record, operands, types, attributes, location, segments, block):
                self.path[-1].span = span
                break
            if trace is not None and span is not None:
                trace.close(span, self.position, block.last)
        return done

    def _read_prefix(self) -> tuple[RecordPrefix, Location]:
        """Read the fields of a record in front of its operands, and find its location."""
        start = self.position
        opcode = self.varint("failed to read operation opcode.") & 0xFFFFFFFF
        opcode_length = self.position - start
        record = record_of(opcode, self.tables.version)
        if record is None and opcode > records.maximum_opcode(self.tables.version):
            message = f"unsupported opcode {opcode} for bytecode version {self.tables.version_name}"
            self.fail(message, Code("unknown-opcode", opcode=str(opcode)))
        location = self.next_location() if self.has_locations else UNKNOWN
        if record is None:
            self.fail(f"unknown or unimplemented opcode: {opcode}", Code("unknown-opcode", opcode=str(opcode)))
        result_types = self._read_result_types(record)
        flags = self.varint("failed to read flags field") if record.has_flags else 0
        attributes = self._read_attributes(record, flags, result_types) if record.attributes else NO_ATTRIBUTES
        prefix = RecordPrefix(record, flags, result_types, attributes, opcode_length)
        if self.uses_prefixes:
            self.prefixes.add(self.data[start : self.position], prefix)
        return prefix, location

    def _read_result_types(self, record: Record) -> list[Type]:
        count = record.result_count
        stated = count
        if record.counted_results:
            stated = self.count(f"failed to read number of result types for {record.class_name}")
            if not record.later_results:
                count = stated
        found: list[Type] = []
        for index in range(count):
            found.append(self.tables.read_type(self, f"failed to get result type {index} for {record.class_name}"))
        if stated != count:
            self.fail(
                f"result count mismatch for {record.class_name}: expected {count} compatible results but got {stated}"
            )
        return found

    def _read_attributes(self, record: Record, flags: int, result_types: list[Type]) -> dict[str, Attribute]:
        found: dict[str, Attribute] = {}
        for field in record.attributes:
            if field.gated or (field.bit >= 0 and not flags >> field.bit & 1):
                continue
            span = self.trace.open(field.name, self.position) if self.trace is not None else None
            try:
                value = self._read_field(field, result_types)
            except Malformed as failure:
                kind = "optional attribute" if field.bit >= 0 else "attribute"
                raise failure.add(f"failed to parse {kind} '{field.name}'", self.offset) from None
            if self.trace is not None and span is not None:
                self.trace.close(span, self.position, value)
            if value is not None and value is not field.default:
                found[field.name] = value
        return found

    def _read_field(self, field: AttributeField, result_types: list[Type]) -> Attribute | None:
        codec = field.codec
        if codec == records.ENUM:
            number = self.varint("failed to read VarInt for enum attribute.") & 0xFFFFFFFF
            if number >= len(field.cases):
                self.fail(f"invalid integer value for enum type: {number}")
            return field.cases[number]
        if codec == records.UNIT:
            return UNIT
        if codec == records.INTEGER:
            number = signed_value(field.width, read_unsigned(self, field.width))
            return integer_attribute(I32 if field.width == 32 else I64, number)
        if codec == records.BOOL:
            return bool_attribute(self.byte("failed to read byte for inline bool (i1)") != 0)
        if codec == records.STRING:
            return string_attribute(self.tables.strings.read(self, "failed to read StringAttr."))
        if codec == records.SYMBOL:
            name = self.tables.strings.read(self, "failed to read string for FlatSymbolRefAttr.")
            if not name:
                self.fail("empty symbol reference is invalid")
            return symbol_attribute(name)
        if codec == records.CONSTANT:
            return self._read_constant(result_types)
        if codec == records.I32_LIST:
            values = self.integers(4, "failed to read DenseI32ArrayAttr values.")
            check_values(self, values, 32)
            return dense_array_attribute(I32, values)
        if codec == records.BOOL_LIST:
            values = self.integers(1, "failed to read DenseBoolArrayAttr values.")
            return dense_array_attribute(I1, tuple([1 if value else 0 for value in values]))
        if codec == records.ARRAY:
            array = read_nested(self, self.tables, ARRAY)
            if field.name != "identities" or not isinstance(array, ArrayAttribute):
                return array
            for element in array.elements:
                # Readers before 13.4 refuse this here, the one of 13.4 crashes on it later.
                if not isinstance(element, (IntegerAttribute, FloatAttribute)):
                    self.fail("ArrayAttr contains non-TypedAttr elements or is null")
            return array
        if codec == records.HINTS:
            return read_nested(self, self.tables, HINTS)
        return self._read_predicate()

    def _read_predicate(self) -> Attribute:
        try:
            found = read_attribute(self, self.tables)
        except Malformed as failure:
            message = "failed to parse self-contained attribute for AssumePredicateAttrInterface"
            raise failure.add(message, self.offset) from None
        if not isinstance(found, PredicateAttribute):
            self.fail("failed to cast parsed attribute to AssumePredicateAttrInterface")
        return found

    def _read_constant(self, result_types: list[Type]) -> Attribute:
        index = self.varint("failed to read constant index")
        if self.trace is not None:
            self.trace.refer("constant")
        if index >= len(self.tables.constants):
            self.fail(f"constant index {index} out of bounds")
        found = self.tables.constants.get(index, result_types[0] if result_types else None)
        if self.tables.spellings is not None:
            self.tables.spellings.note_constant(found, index)
        return found

    def _read_operands(self, record: Record, sizes: list[int]) -> tuple[list[Value], tuple[int, ...] | None]:
        """Read operand groups of these sizes; -1 for one that is counted in front of its values."""
        if record.operand_mode != records.SEGMENTED:
            return self._read_group(sizes[0] if sizes[0] >= 0 else self.count("failed to read operand count"), ""), None
        operands: list[Value] = []
        segments: list[int] = []
        for number, declared in enumerate(record.declaration.operands):
            count = sizes[number] if sizes[number] >= 0 else self.short()
            if count < 0:
                count = self._segment_length(record, declared.name)
            segments.append(count)
            operands += self._read_group(count, declared.name)
        return operands, tuple(segments)

    def _segment_length(self, record: Record, name: str) -> int:
        """A 32-bit number; one that is negative as such is too large."""
        operation = record.declaration.name
        count = self.varint(f"failed to read actual size for variadic ODS segment '{name}' of op '{operation}'")
        count &= 0xFFFFFFFF
        if count >> 31:
            self.fail(f"failed to read operands for {name} segment, exceeds maximum supported capacity")
        return count

    def _read_group(self, count: int, segment: str) -> list[Value]:
        """Read the values of an operand list, or of one segment of it."""
        found: list[Value] = []
        for number in range(count):
            index = self.short()
            if 0 <= index < len(self.values):
                found.append(self.values[index])
                continue
            what = f"for {segment} segment, element {number}" if segment else str(number)
            if index < 0:
                index = self.varint("failed to read operand index " + what)
            if index >= len(self.values):
                what = what if segment else f"for operand {number}"
                self.fail(f"operand index {index} out of bounds (size={len(self.values)}) {what}")
            found.append(self.values[index])
            if self.trace is not None:
                self.trace.spans[-1].subject = found[-1]
        return found
