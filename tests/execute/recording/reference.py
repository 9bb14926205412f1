"""What an observer of its own sees of a launch, to compare recordings with."""

from __future__ import annotations

from typing import Any

import numpy

from tileir.dialect.ops import REDUCE, SCAN
from tileir.dialect.types import PointerType, TileType
from tileir.execute.observing.observer import Access, Observer, TileBlock
from tileir.execute.recording.recording import Recording
from tileir.ir.core import Operation


class Reference(Observer):
    """All operations, values and accesses of a launch, by tile block."""

    def __init__(self) -> None:
        self.order: list[int] = []
        self.steps: dict[int, list[Operation]] = {}
        self.values: dict[int, list[tuple[int, Any, Any]]] = {}
        self.accesses: list[tuple[int, int, Operation, str, Any, int, int]] = []

    def watches(self, operation: Operation) -> bool:
        parent = operation.parent_operation
        while parent is not None:
            if parent.declaration in (REDUCE, SCAN):
                return False
            parent = parent.parent_operation
        return True

    def block_started(self, block: TileBlock) -> None:
        self.order.append(block.number)
        self.steps[block.number], self.values[block.number] = [], []

    def before(self, operation: Operation, block: TileBlock, operands: list[Any]) -> None:
        self.steps[block.number].append(operation)

    def after(self, operation: Operation, block: TileBlock, results: list[Any]) -> None:
        step = len(self.steps[block.number])
        for value, content in zip(operation.results, results, strict=True):
            self.values[block.number].append((step, value, content))

    def access(self, access: Access) -> None:
        block = access.block.number
        touched = access.touched.copy()
        masked = access.addresses.size - touched.size
        self.accesses.append(
            (block, len(self.steps[block]), access.operation, access.kind, touched, access.size, masked)
        )


def agree(recording: Recording, reference: Reference) -> None:
    """Both saw the same launch: the same operations, the same bits, the same elements of the arrays."""
    program = recording.program
    assert recording.blocks.number.tolist() == reference.order
    for block in reference.order:
        executed = [program.operations[number] for number in recording.steps(block).tolist()]
        if recording.failure and recording.schedule == "interleaved":
            # Of a tile block that was under way when another one failed, all is known up to its last access.
            assert executed == reference.steps[block][: len(executed)]
            steps = recording.accesses.step[recording.rows(block)]
            assert not steps.size or int(steps.max()) <= len(executed)
        else:
            assert executed == reference.steps[block]
        history = recording.history(block)
        for step, value, content in reference.values[block]:
            if not isinstance(value.type, TileType) or isinstance(value.type.element, PointerType):
                continue
            if step > len(executed):
                continue
            found = history.at(program.value_numbers[value], step)
            assert found is not None and found[0] == step, (block, step, value)
            one, other = numpy.asarray(found[1]), numpy.asarray(content)
            assert one.dtype == other.dtype and one.shape == other.shape
            if recording.launch.memory.has_tables and one.dtype == numpy.int64:
                # Addresses of arrays that the kernel reads from memory.
                one = one.reshape(-1).copy()
                recording.launch.memory.move.back.words(one)
            assert one.tobytes() == other.tobytes(), (block, step, value)
    assert_same_accesses(recording, reference)


def assert_same_accesses(recording: Recording, reference: Reference) -> None:
    table, program = recording.accesses, recording.program
    back = recording.launch.memory.move.back
    row = 0
    for block, step, operation, kind, touched, size, masked in reference.accesses:
        left = set(touched.tolist())
        approximate = False
        first = row
        while row < len(table) and (row == first or left):
            if (int(table.block[row]), int(table.step[row])) != (block, step):
                break
            assert program.operations[int(table.operation[row])] is operation
            assert ("read", "write", "atomic")[int(table.kind[row])] == kind
            assert int(table.masked[row]) == masked
            number = int(table.array[row])
            elements = table.elements(row)
            # Reserved memory, and a table of addresses, lie elsewhere in another launch.
            if number >= 0 and not recording.arrays[number].name.startswith("table of"):
                array = recording.arrays[number]
                low = back.address(array.low)
                covered = {low + int(element) * array.size for element in elements}
                if size > array.size:
                    covered = {address for address in covered if address in left}
                if size < array.size:
                    covered = {address for address in left if (address - low) // array.size in set(elements.tolist())}
                approximate = bool(table.approximate[row])
                assert approximate or covered <= left, (block, step, operation)
                left -= covered
            else:
                places = {element % (1 << 64) for element in elements.tolist()}
                matched = {address for address in left if address // size in places}
                left -= matched or set(sorted(left)[: elements.size])
            row += 1
        assert row > first and not left, (block, step, operation, left)
    assert row == len(table)
