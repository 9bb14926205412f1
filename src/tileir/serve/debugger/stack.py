"""The stack of a tile block: the branch and the loops it is in, and the kernel, innermost first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy

from tileir.dialect.ops import CONTINUE, FOR, IF, LOOP
from tileir.dialect.types import TileType
from tileir.execute.dtypes import Array
from tileir.execute.locations.wording import parenthesized
from tileir.execute.schedule import block_at
from tileir.ir.core import Block, Operation
from tileir.ir.traversal import ancestors
from tileir.ir.types import IntegerType
from tileir.serve.debugger.history import LaunchHistory
from tileir.serve.debugger.source_lines import SourceLines, SourceLocation
from tileir.serve.debugger.stops import Position
from tileir.serve.debugger.value_names import ValueNames


@dataclass(eq=False)
class Frame:
    """A part of the program that is being executed."""

    kind: Literal["kernel", "for", "loop", "if"]
    name: str  # As in `for %i = 3 (round 4 of 16)`.
    operation: int  # The operation in it that is next, or that has the inner frame.
    location: SourceLocation | None
    body: Block  # The operations that belong to it.
    since: int  # The step with which its round began: what was computed before is of another round.
    position: Position  # Where the tile block stands.


def enclosing(operation: Operation, entry: Operation) -> list[Operation]:
    """The operations around one within a kernel, the innermost first."""
    found = ancestors(operation)
    return found[: found.index(entry)]


class StackReader:
    """Reads stacks off what is recorded of a launch."""

    def __init__(self, history: LaunchHistory, lines: SourceLines, names: ValueNames) -> None:
        self._history, self._lines, self._names = history, lines, names
        self._continues: dict[Operation, list[int]] = {}  # The `continue` operations of each loop.
        program = history.prepared.program
        for number, operation in enumerate(program.operations):
            if operation.declaration is CONTINUE:
                loops = [one for one in enclosing(operation, program.entry) if one.declaration in (FOR, LOOP)]
                self._continues.setdefault(loops[0], []).append(number)

    def frames(self, position: Position) -> list[Frame]:
        program = self._history.prepared.program
        entry, body = program.entry, program.entry.regions[0].block
        steps = self._history.steps(position.block)
        index = block_at(position.block, self._history.prepared.launch.grid)
        kernel = f"{entry.symbol_name or 'kernel'} {parenthesized(index)}"
        if not len(steps):
            return [Frame("kernel", kernel, 0, self._lines.head, body, 0, position)]
        number = int(steps[min(position.step, len(steps) - 1)])
        frames: list[Frame] = []
        for around in enclosing(program.operations[number], entry):
            frames.append(self._frame(around, number, position, steps))
            number = program.operation_numbers[around]
        return [*frames, Frame("kernel", kernel, number, self._lines.location(number), body, 0, position)]

    def _frame(self, around: Operation, number: int, position: Position, steps: Array) -> Frame:
        program = self._history.prepared.program
        body = program.operations[number].parent
        assert body is not None
        began = int(numpy.flatnonzero(steps[: position.step] == program.operation_numbers[around])[-1]) + 1
        location = self._lines.location(number)
        if around.declaration is IF:
            branch = "then" if around.regions[0].blocks[0] is body else "else"
            return Frame("if", f"if ({branch})", number, location, body, began, position)
        again = numpy.flatnonzero(numpy.isin(steps[began : position.step], self._continues.get(around, [])))
        round = len(again) + 1
        since = began + int(again[-1]) + 1 if len(again) else began
        if around.declaration is LOOP:
            return Frame("loop", f"loop (round {round})", number, location, body, since, position)
        counter = program.value_numbers[around.regions[0].block.arguments[0]]
        content = self._history.recording.history(position.block, position.step).at(counter, position.step)
        value = f" = {int(content[1])}" if content is not None else ""
        rounds = self._rounds(around, position, began)
        total = f" of {rounds}" if rounds is not None else ""
        name = f"for {self._names.shown[counter]}{value} (round {round}{total})"
        return Frame("for", name, number, location, body, since, position)

    def _rounds(self, loop: Operation, position: Position, began: int) -> int | None:
        """How many rounds a loop has, if its bounds are known."""
        recording = self._history.recording
        history = recording.history(position.block, position.step)
        found = [history.at(recording.program.value_numbers[operand], began) for operand in loop.operands[:3]]
        numbers = [int(one[1]) for one in found if one is not None]
        if len(numbers) < 3:
            return None
        if loop.unsigned_cmp:
            type = loop.operands[0].type
            assert isinstance(type, TileType) and isinstance(type.element, IntegerType)
            numbers = [number % (1 << type.element.width) for number in numbers]
        low, high, stride = numbers
        return max(-(-(high - low) // stride), 0) if stride > 0 else None
