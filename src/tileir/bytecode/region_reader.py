"""Reading regions in one another, in either layout: what comes after the record of an operation."""

from __future__ import annotations

from tileir.annotations import Final
from tileir.bytecode.primitives import ByteReader, Malformed, Span, Trace
from tileir.bytecode.records import Record
from tileir.bytecode.tables import Tables
from tileir.ir.attributes import Attribute
from tileir.ir.core import NO_ATTRIBUTES, NO_REGIONS, Block, Operation, Region
from tileir.ir.location import Location
from tileir.ir.traversal import DEEPEST_REGION
from tileir.ir.types import Type
from tileir.ir.values import Value

# How far reading has come with the regions of an operation.
_IN_REGION: Final = 0
_IN_BLOCK: Final = 1
_IN_OPERATIONS: Final = 2


class OpenOperation:
    """An operation whose regions are being read; everything else about it is known.

    `mark` is the number of values in front of the current block, whose own values end with it; `count` is how many
    operations it has.  `outer`, `outer_count` and `outer_done` are where reading continues afterwards.
    """

    def __init__(
        self,
        record: Record,
        operands: list[Value],
        result_types: list[Type],
        attributes: dict[str, Attribute],
        location: Location,
        segments: tuple[int, ...] | None,
        outer: Block,
    ) -> None:
        self.record: Record = record
        self.operands: list[Value] = operands
        self.result_types: list[Type] = result_types
        self.attributes: dict[str, Attribute] = attributes
        self.location: Location = location
        self.segments: tuple[int, ...] | None = segments
        self.regions: list[Region] = []
        self.region_count: int = 0
        self.block: Block = outer
        self.block_count: int = 0
        self.block_number: int = 0
        self.count: int = 0
        self.mark: int = 0
        self.reached: int = _IN_REGION
        self.outer: Block = outer
        self.outer_count: int = 0
        self.outer_done: int = 0
        self.span: Span | None = None
        self.region_span: Span | None = None
        self.block_span: Span | None = None

    def explain(self, failure: Malformed, offset: int) -> None:
        """Add what was being read to a failure."""
        if self.reached == _IN_OPERATIONS:
            failure.add(f"failed to parse operation {len(self.block)} in block.", offset)
        if self.reached != _IN_REGION:
            failure.add(f"failed to parse block {self.block_number} in region.", offset)
        failure.add(f"failed to parse region {len(self.regions) - 1}", offset)


class RegionReader(ByteReader):
    """Reads blocks and regions, and the operations that hold them; each layout reads records in `read_row`."""

    __slots__ = ("path", "tables", "values")

    def __init__(self, data: bytes, start: int, end: int, tables: Tables, trace: Trace | None) -> None:
        super().__init__(data, start, end, trace)
        self.tables: Tables = tables
        self.values: list[Value] = []
        # The operations whose regions are being read, from the outside in: an explicit stack, because they nest deeply.
        self.path: list[OpenOperation] = []

    def read_row(self, block: Block, count: int, done: int) -> int:
        """Read the records of a block from number `done` on, up to the next one with regions or the last.

        There are `count`, or with -1 all up to the end.  Returns how many are read, with the one that was begun.
        """
        raise TypeError(type(self).__name__)

    def read_nested(self, block: Block) -> None:
        """Read all operations up to the end, with their regions."""
        path = self.path
        count = -1
        done = 0
        while True:
            depth = len(path)
            done = self.read_row(block, count, done)
            if not path:
                return
            top = path[-1]
            if len(path) > depth:
                top.outer_count = count
                top.outer_done = done
            else:
                self._end_block(top, block)
            following = self._next_block(top)
            if following is not None:
                block = following
                count = top.count
                done = 0
            else:
                path.pop()
                block = top.outer
                count = top.outer_count
                done = top.outer_done
                self._end_operation(top, block)

    def end_record(
        self,
        record: Record,
        operands: list[Value],
        result_types: list[Type],
        attributes: dict[str, Attribute],
        location: Location,
        segments: tuple[int, ...] | None,
        block: Block,
    ) -> bool:
        """Make the operation of a record, or begin its regions: then return True."""
        late = record.late_results
        all_types = result_types if not late else [*result_types, *late]
        if not attributes:
            attributes = NO_ATTRIBUTES
        if record.region_count:
            top = OpenOperation(record, operands, all_types, attributes, location, segments, block)
            top.region_count = self.count("failed to read number of regions to parse.")
            if top.region_count != record.region_count:
                self.fail(
                    f"{record.declaration.name} op expected {record.region_count} regions, got {top.region_count}"
                )
            if len(self.path) == DEEPEST_REGION:
                self.fail(f"nesting is too deep (more than {DEEPEST_REGION} levels)")
            self.path.append(top)
            return True
        results = Operation(
            record.declaration, operands, all_types, attributes, NO_REGIONS, location, segments, None, block
        ).results
        self.values.extend(results if not late else results[: len(result_types)])
        return False

    def _next_block(self, top: OpenOperation) -> Block | None:
        """Read what precedes the operations of the next block, and begin its region; None after the last block."""
        trace = self.trace
        while top.block_number == top.block_count:
            if trace is not None and top.region_span is not None:
                trace.close(top.region_span, self.position, None)
            if len(top.regions) == top.region_count:
                return None
            top.reached = _IN_REGION
            top.regions.append(Region())
            top.region_span = trace.open("region", self.position) if trace is not None else None
            top.block_count = self.varint("failed to read region block count")
            top.block_number = 0
        top.reached = _IN_BLOCK
        top.mark = len(self.values)
        top.block_span = trace.open("block", self.position) if trace is not None else None
        block = Block()
        for index in range(self.varint("failed to read block argument count.")):
            type = self.tables.read_type(self, f"failed to read block argument type: {index}")
            self.values.append(block.add_argument(type))
        top.count = self.varint("failed to read block operation count.")
        top.reached = _IN_OPERATIONS
        top.block = block
        return block

    def _end_block(self, top: OpenOperation, block: Block) -> None:
        top.reached = _IN_BLOCK
        if self.trace is not None and top.block_span is not None:
            self.trace.close(top.block_span, self.position, None)
        del self.values[top.mark :]
        last = block.last
        start = "invalid block structure: block is expected to have a terminator operation, but "
        if last is None:
            self.fail(start + "it is empty")
        if not last.declaration.is_terminator:
            self.fail(f"{start}the last operation '{last.name}' is not a terminator.")
        top.regions[-1].append(block)
        top.block_number += 1

    def _end_operation(self, top: OpenOperation, block: Block) -> None:
        operation = Operation(
            top.record.declaration,
            top.operands,
            top.result_types,
            top.attributes,
            top.regions,
            top.location,
            top.segments,
        )
        block.append(operation)
        # Results that came later than the version have no number.
        self.values.extend(operation.results[: len(top.result_types) - len(top.record.late_results)])
        if self.trace is not None and top.span is not None:
            self.trace.close(top.span, self.position, operation)
