"""The stack of a tile block: the branch and the loops it is in, and the kernel, innermost first."""

from __future__ import annotations

from typing import Literal

import numpy

from tileir.dialect.ops import CONTINUE, FOR, IF, LOOP
from tileir.dialect.types import TileType
from tileir.execute.dtypes import Array
from tileir.execute.locations.wording import parenthesized
from tileir.execute.recording.recording import Recording
from tileir.execute.schedule import block_at
from tileir.ir.core import Block, Operation
from tileir.ir.types import IntegerType
from tileir.serve.debugger.course import Course
from tileir.serve.debugger.lines import Lines, SourcePlace
from tileir.serve.debugger.moments import Moment
from tileir.serve.debugger.names import ValueNames

FrameKind = Literal["kernel", "for", "loop", "if"]


class Frame:
    """A part of the program that is under way; `operation` is the one in it that is next, or that the frame before is
    of."""

    __slots__ = ("body", "branch", "kind", "name", "operation", "place", "round", "rounds", "since", "moment")

    def __init__(
        self, kind: FrameKind, name: str, operation: int, place: SourcePlace | None, body: Block, since: int
    ) -> None:
        self.kind: FrameKind = kind
        self.name: str = name
        """As in `for %i = 3 (round 4 of 16)`."""
        self.operation: int = operation
        self.place: SourcePlace | None = place
        self.body: Block = body
        """The operations that belong to it."""
        self.since: int = since
        """The step with which its round began: what was computed before is of another round."""
        self.round: int | None = None
        """Of a loop, counted from 1."""
        self.rounds: int | None = None
        """How many rounds there will be, if that is known before."""
        self.branch: Literal["then", "else"] | None = None
        self.moment: Moment = Moment(0, 0)
        """Where the tile block stands whose frame it is."""

    def __repr__(self) -> str:
        return f"<Frame {self.name}>"


def enclosing(operation: Operation, entry: Operation) -> list[Operation]:
    """The operations around one within a kernel, the innermost first."""
    found: list[Operation] = []
    around = operation.parent_operation
    while around is not None and around is not entry:
        found.append(around)
        around = around.parent_operation
    return found


def loop_of(terminator: Operation) -> Operation | None:
    """The loop that a `continue` or `break` is of."""
    around = terminator.parent_operation
    while around is not None and around.declaration is not FOR and around.declaration is not LOOP:
        around = around.parent_operation
    return around


class StackReader:
    """Reads stacks off what is recorded of a launch."""

    def __init__(self, course: Course, lines: Lines, names: ValueNames) -> None:
        self._course: Course = course
        self._lines: Lines = lines
        self._names: ValueNames = names
        self._continues: dict[Operation, list[int]] = {}
        for number, operation in enumerate(course.prepared.program.operations):
            if operation.declaration is CONTINUE:
                loop = loop_of(operation)
                if loop is not None:
                    self._continues.setdefault(loop, []).append(number)

    @property
    def _recording(self) -> Recording:
        return self._course.recording

    def frames(self, moment: Moment, steps: Array) -> list[Frame]:
        """The stack at a moment of a tile block that executes these operations, one for each step."""
        found = self._frames(moment, steps)
        for frame in found:
            frame.moment = moment
        return found

    def _frames(self, moment: Moment, steps: Array) -> list[Frame]:
        program = self._recording.program
        entry = program.entry
        body = entry.regions[0].block
        at = min(moment.step, len(steps) - 1)
        kernel = f"{entry.symbol_name or 'kernel'} {parenthesized(block_at(moment.block, self._recording.grid))}"
        if at < 0:
            return [Frame("kernel", kernel, 0, self._lines.head, body, 0)]
        current = int(steps[at])
        operation = program.operations[current]
        frames: list[Frame] = []
        number = current
        for around in enclosing(operation, entry):
            frames.append(self._frame(around, number, moment, steps))
            number = program.operation_numbers[around]
        frames.append(Frame("kernel", kernel, number, self._lines.place(number), body, 0))
        return frames

    def _frame(self, around: Operation, number: int, moment: Moment, steps: Array) -> Frame:
        program = self._recording.program
        inner = program.operations[number]
        body = inner.parent
        assert body is not None
        began = int(numpy.flatnonzero(steps[: moment.step] == program.operation_numbers[around])[-1]) + 1
        place = self._lines.place(number)
        if around.declaration is IF:
            branch: Literal["then", "else"] = "then" if around.regions[0].blocks[0] is body else "else"
            frame = Frame("if", f"if ({branch})", number, place, body, began)
            frame.branch = branch
            return frame
        again = numpy.flatnonzero(numpy.isin(steps[began : moment.step], self._continues.get(around, [])))
        round = len(again) + 1
        since = began + int(again[-1]) + 1 if len(again) else began
        if around.declaration is LOOP:
            frame = Frame("loop", f"loop (round {round})", number, place, body, since)
            frame.round = round
            return frame
        rounds = self._rounds(around, moment, began)
        counter = self._recording.history(moment.block, moment.step).at(
            program.value_numbers[around.regions[0].block.arguments[0]], moment.step
        )
        value = f" = {int(counter[1])}" if counter is not None else ""
        name = self._names.shown[program.value_numbers[around.regions[0].block.arguments[0]]]
        total = f" of {rounds}" if rounds is not None else ""
        frame = Frame("for", f"for {name}{value} (round {round}{total})", number, place, body, since)
        frame.round, frame.rounds = round, rounds
        return frame

    def _rounds(self, loop: Operation, moment: Moment, began: int) -> int | None:
        history = self._recording.history(moment.block, moment.step)
        numbers: list[int] = []
        for operand in loop.operands[:3]:
            found = history.at(self._recording.program.value_numbers[operand], began)
            if found is None:
                return None
            numbers.append(int(found[1]))
        if loop.unsigned_cmp:
            type = loop.operands[0].type
            assert isinstance(type, TileType) and isinstance(type.element, IntegerType)
            numbers = [number % (1 << type.element.width) for number in numbers]
        low, high, stride = numbers
        return max(-(-(high - low) // stride), 0) if stride > 0 else None
