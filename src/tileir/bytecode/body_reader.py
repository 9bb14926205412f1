"""The instructions of a function in the public layout (docs/bytecode.md section 6)."""

from __future__ import annotations

import tileir.dialect.ops  # noqa: F401  (registers the declarations)
from tileir.bytecode import records
from tileir.bytecode.attributes import ARRAY, HINTS, check_values, read_attribute, read_nested, read_unsigned
from tileir.bytecode.debug import DebugTable
from tileir.bytecode.heads import Head, Heads, Meaning, kept_attributes
from tileir.bytecode.primitives import Malformed
from tileir.bytecode.records import AttributeField, Record, record_of, used_records
from tileir.bytecode.region_reader import RegionReader
from tileir.bytecode.tables import Tables
from tileir.dialect.attributes import PredicateAttribute
from tileir.ir.attributes import (
    UNIT,
    ArrayAttribute,
    Attribute,
    FloatAttribute,
    IntegerAttribute,
    bool_attribute,
    dense_array_attribute,
    integer_attribute,
    string_attribute,
    symbol_attribute,
)
from tileir.ir.core import NO_ATTRIBUTES, NO_OPERANDS, NO_REGIONS, Block, Operation
from tileir.ir.declaration import ONE, VARIADIC
from tileir.ir.dense import signed_value
from tileir.ir.interning import IS_COMPILED
from tileir.ir.location import UNKNOWN, Location
from tileir.ir.types import I1, I32, I64, Type
from tileir.ir.values import Value


class BodyReader(RegionReader):
    """The instructions of a function."""

    __slots__ = ("debug", "first", "has_locations", "heads", "next", "records")

    def __init__(self, data: bytes, start: int, end: int, tables: Tables, debug: DebugTable, heads: Heads) -> None:
        super().__init__(data, start, end, tables)
        self.heads: Heads = heads
        self.records: dict[int, Record] = used_records(tables.version)
        # Where the locations of the operations are, in pre-order: in the indices of the debug section from `first` on,
        # of those that are not read yet from `next` on.
        self.debug: DebugTable = debug
        self.has_locations: bool = False
        self.first: int = 0
        self.next: int = 0

    def first_location(self, number: int) -> Location | None:
        """The location of the function itself; the operations then have theirs behind it."""
        starts = self.debug.function_starts
        if number >= len(starts) or starts[number] >= len(self.debug.indices):
            return None
        self.has_locations = True
        self.first = self.next = starts[number] + 1
        return self.debug.location(self.debug.indices[starts[number]])

    def next_location(self) -> Location:
        """The location of the next operation."""
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
            self.read_nest(block)
        except Malformed as failure:
            failure.location = self._location_at_hand()
            for operation in reversed(self.path):
                operation.explain(failure, self.offset)
            raise

    def _location_at_hand(self) -> Location:
        """The location that was asked for last, which is that of the operation being read; not that of the function."""
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
        """The instructions of a block, `done` of which are read, up to the next one with regions or the last.

        There are `count`, or with -1 all up to the end.  Gives how many are read, counting the one that was begun.
        """
        data = self.data
        end = self.end
        heads = self.heads
        known = heads.known
        lengths_of = heads.lengths
        values = self.values
        indices = self.debug.indices
        locations = self.debug.locations
        constants = self.tables.constants
        has_locations = self.has_locations
        location: Location = UNKNOWN
        position = self.position
        while done != count:
            if position >= end:
                self.position = position
                if count < 0:
                    return done
                self.fail("failed to read operation opcode.")
            done += 1
            start = position
            head: Head | None = None
            meaning: Meaning | None = None
            operands = NO_OPERANDS
            try:
                # The common case: a head without mistakes, operands of at most three bytes each that all exist.
                # Anything else goes the careful way from the start of the instruction.
                if IS_COMPILED:
                    head = heads.find(data, start)
                if head is None:
                    for length in lengths_of[data[start]]:
                        head = known.get(data[start : start + length])
                        if head is not None:
                            break
                    else:
                        head = self._new_head(start)
                if head is not None:
                    position += head.length
                    fixed = head.fixed
                    if fixed > 0:
                        before = index = 0
                        for number in range(fixed):
                            before = index
                            index = data[position]
                            position += 1
                            if index >= 0x80:
                                byte = data[position]
                                position += 1
                                if byte >= 0x80:
                                    index += byte << 7
                                    byte = data[position]
                                    position += 1
                                    if byte >= 0x80:
                                        head = None
                                        break
                                    index += (byte << 14) - 0x4080
                                else:
                                    index += (byte << 7) - 0x80
                            if number > 1:
                                operands.append(values[index])
                            elif number == 1:
                                operands = [values[before], values[index]]
                        if head is not None:
                            meaning = head.meaning
                            if fixed == 1:
                                operands = [values[index]]
                    elif head.constants is not None:
                        byte = index = data[position]
                        position += 1
                        if index >= 0x80:
                            byte = data[position]
                            position += 1
                            if byte >= 0x80:
                                index += byte << 7
                                byte = data[position]
                                position += 1
                                index += (byte << 14) - 0x4080
                            else:
                                index += (byte << 7) - 0x80
                        if byte < 0x80:
                            meaning = head.constant(constants, index)
                    elif fixed == 0:
                        meaning = head.meaning
                    else:
                        operands = []
                        lengths = 0
                        for length in head.plan:
                            if length < 0:
                                length = data[position]
                                position += 1
                                if length >= 0x80:
                                    head = None
                                    break
                                lengths = lengths << 8 | length
                            for _ in range(length):
                                index = data[position]
                                position += 1
                                if index >= 0x80:
                                    byte = data[position]
                                    position += 1
                                    if byte >= 0x80:
                                        index += byte << 7
                                        byte = data[position]
                                        position += 1
                                        if byte >= 0x80:
                                            head = None
                                            break
                                        index += (byte << 14) - 0x4080
                                    else:
                                        index += (byte << 7) - 0x80
                                operands.append(values[index])
                            if head is None:
                                break
                        if head is not None:
                            meaning = head.variant(lengths) if head.segmented else head.meaning
            except IndexError:
                meaning = None
            if head is None or meaning is None or position > end:
                self.position = start
                if self.read_one(block):
                    break
                position = self.position
                continue
            if has_locations:
                place = self.next
                reference = indices[place] if place < len(indices) else -1
                found = locations[reference] if 0 <= reference < len(locations) else None
                if found is not None:
                    location = found
                    self.next = place + 1
                else:
                    # Where the careful way stands when it asks for the location: behind the opcode.
                    self.position = start + 1
                    while data[self.position - 1] >= 0x80:
                        self.position += 1
                    location = self.next_location()
            types = head.result_types
            if head.record.region_count:
                self.position = position
                attributes, segments = meaning.attributes, meaning.segments
                self.begin_regions(head.record, operands, types, attributes, location, segments, block)
                break
            operation = Operation(
                head.declaration,
                operands,
                types,
                meaning.attributes,
                NO_REGIONS,
                location,
                meaning.segments,
                None,
                block,
            )
            results = operation.results
            if len(results) == 1:
                values.append(results[0])
            else:
                values.extend(results)
        else:
            self.position = position
        return done

    def _new_head(self, start: int) -> Head | None:
        """Read a head that is not known yet; None if it has a mistake, or is not to be remembered."""
        # Who is traced, or collects how attributes are written, reads every field.
        if self.trace is not None or self.tables.spellings is not None:
            return None
        self.position = start
        try:
            opcode = self.varint("") & 0xFFFFFFFF
            record = self.records.get(opcode)
            if record is None:
                record = record_of(opcode, self.tables.version)
            # Results that came later have no number.
            if record is None or record.late_results:
                return None
            result_types = self._read_result_types(record)
            flags = self.varint("") if record.has_flags else 0
            attributes = NO_ATTRIBUTES
            if record.attributes and not record.is_constant:
                attributes = self._read_attributes(record, flags, result_types)
        except Malformed:
            return None
        end = self.position
        head = Head(record, flags, result_types, attributes, end - start)
        self.heads.add(self.data[start:end], head)
        return head

    def read_one(self, block: Block) -> bool:
        """One instruction, field by field, as a group of its own when it is traced; True if its regions are to come."""
        trace = self.trace
        if trace is None:
            return self._read_operation(block)
        span = trace.open("operation", self.position)
        if self._read_operation(block):
            self.path[-1].span = span
            return True
        trace.close(span, self.position, block.last)
        return False

    def _read_operation(self, block: Block) -> bool:
        """One instruction up to its regions, field by field; True if it has any."""
        opcode = self.varint("failed to read operation opcode.") & 0xFFFFFFFF
        record = record_of(opcode, self.tables.version)
        if record is None and opcode > records.maximum_opcode(self.tables.version):
            self.fail(f"unsupported opcode {opcode} for bytecode version {self.tables.version_name}")
        location = self.next_location() if self.has_locations else UNKNOWN
        if record is None:
            self.fail(f"unknown or unimplemented opcode: {opcode}")
        result_types = self._read_result_types(record)
        flags = self.varint("failed to read flags field") if record.has_flags else 0
        attributes = self._read_attributes(record, flags, result_types)
        operands, segments = self._read_operands(record, flags)
        if attributes and segments is not None:
            attributes = kept_attributes(record, attributes, segments)
        return self.end_record(record, operands, result_types, attributes, location, segments, block)

    def _read_result_types(self, record: Record) -> list[Type]:
        count = record.result_count
        stated = count
        if record.counted_results:
            stated = self.count(f"failed to read number of result types for {record.class_name}")
            if not record.later_results:
                count = stated
        found: list[Type] = []
        data = self.data
        known = self.tables.types.known
        for index in range(count):
            position = self.position
            if self.trace is None and position + 1 < self.end:
                # A number of one byte or two, of a type that was used before: no words for a failure are needed.
                number = data[position]
                length = 1
                if number >= 0x80 and data[position + 1] < 0x80:
                    number += (data[position + 1] << 7) - 0x80
                    length = 2
                type = known[number] if number < len(known) and (number < 0x80 or length == 2) else None
                if type is not None:
                    found.append(type)
                    self.position = position + length
                    continue
            found.append(self.tables.read_type(self, f"failed to get result type {index} for {record.class_name}"))
        if stated != count:
            self.fail(
                f"result count mismatch for {record.class_name}: expected {count} compatible results but got {stated}"
            )
        return found

    # --- attributes ---

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
            return string_attribute(self.tables.string(self, "failed to read StringAttr."))
        if codec == records.SYMBOL:
            name = self.tables.string(self, "failed to read string for FlatSymbolRefAttr.")
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
            for element in array.elements if isinstance(array, ArrayAttribute) else ():
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
        return self.tables.constants.get(index, result_types[0] if result_types else None)

    # --- operands ---

    def _read_operands(self, record: Record, flags: int) -> tuple[list[Value], tuple[int, ...] | None]:
        mode = record.operand_mode
        if mode == records.FIXED:
            return self._read_values(record.operand_count), None
        if mode == records.COUNTED:
            return self._read_values(self.count("failed to read operand count")), None
        operands: list[Value] = []
        segments: list[int] = []
        for declared, bit in zip(record.declaration.operands, record.operand_bits, strict=True):
            if declared.count == ONE:
                count = 1
            elif declared.count == VARIADIC:
                count = self._segment_length(record, declared.name)
            else:
                count = 1 if bit >= 0 and flags >> bit & 1 else 0
            segments.append(count)
            for number in range(count):
                operands.append(self._segment_value(declared.name, number))
        return operands, tuple(segments)

    def _segment_length(self, record: Record, name: str) -> int:
        """A 32-bit number; what is negative as one counts as nothing."""
        operation = record.declaration.name
        count = self.varint(f"failed to read actual size for variadic ODS segment '{name}' of op '{operation}'")
        count &= 0xFFFFFFFF
        if count >> 31:
            self.fail(f"failed to read operands for {name} segment, exceeds maximum supported capacity")
        return count

    def _read_values(self, count: int) -> list[Value]:
        found: list[Value] = []
        for number in range(count):
            index = self.varint(f"failed to read operand index {number}")
            if index >= len(self.values):
                self.fail(f"operand index {index} out of bounds (size={len(self.values)}) for operand {number}")
            found.append(self.values[index])
            if self.trace is not None:
                self.trace.spans[-1].subject = found[-1]
        return found

    def _segment_value(self, name: str, number: int) -> Value:
        index = self.varint(f"failed to read operand index for {name} segment, element {number}")
        if index >= len(self.values):
            self.fail(
                f"operand index {index} out of bounds (size={len(self.values)}) for {name} segment, element {number}"
            )
        if self.trace is not None:
            self.trace.spans[-1].subject = self.values[index]
        return self.values[index]
