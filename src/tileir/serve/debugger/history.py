"""The launch as far as the debugger has recorded it: `Timeline` has its steps in the order of time, `LaunchHistory`
records more of it and writes what the kernel prints, `StackReader` reads the stack of a tile block off it.

A *slice* is a range of steps of one tile block that runs without interruption: under most schedules the whole of it.
Interleaved tile blocks yield before every memory operation, and their paths determine the slices.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

import numpy

from tileir.cpp.demangling import source_name
from tileir.dialect.ops import CONTINUE, FOR, IF, LOOP, PRINT_TKO, RETURN
from tileir.dialect.types import TileType
from tileir.execute.dtypes import Array
from tileir.execute.errors import converted
from tileir.execute.locations.wording import parenthesized
from tileir.execute.observing.observer import Observer
from tileir.execute.recording.recorder import Interrupted, Interruption
from tileir.execute.recording.recording import PreparedLaunch, Recording
from tileir.execute.recording.stepwise_recording import StepwiseRecording
from tileir.execute.schedule import WINDOW, block_at
from tileir.ir.core import Block, Operation
from tileir.ir.diagnostics import TileIRError
from tileir.ir.traits import TOKEN_ORDERED
from tileir.ir.traversal import ancestors
from tileir.ir.types import IntegerType
from tileir.serve.debugger.source_lines import SourceLines, SourceLocation
from tileir.serve.debugger.stops import Position, Stop
from tileir.serve.debugger.value_names import ValueNames


class Slice(NamedTuple):
    """Steps of a tile block from `first` up to `end`, counted from 0."""

    block: int
    first: int
    end: int


class Timeline:
    """The slices of a recorded launch."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._executed: dict[int, Array] = {}  # The operations of each path.
        blocks = zip(recording.order.tolist(), recording.blocks.steps.tolist(), strict=True)
        whole = (Slice(block, 0, count) for block, count in blocks)
        self.slices = list(self._interleaved() if recording.launch.is_interleaved else whole)
        self._of_block: dict[int, list[int]] = {}
        for number, one in enumerate(self.slices):
            self._of_block.setdefault(one.block, []).append(number)

    def _interleaved(self) -> Iterator[Slice]:
        """The order of `run_interleaved`."""
        operations = self._recording.program.operations
        ordered = numpy.array([one.declaration.has_trait(TOKEN_ORDERED) for one in operations], numpy.bool_)
        coming = iter(self._recording.order.tolist())
        waiting: deque[tuple[int, list[int]]] = deque()

        def start() -> None:
            for block in coming:
                steps = self.steps(block)
                waiting.append((block, [0, *numpy.flatnonzero(ordered[steps]).tolist(), len(steps)][::-1]))
                return

        for _ in range(WINDOW):
            start()
        while waiting:
            block, bounds = waiting.popleft()
            first = bounds.pop()
            # One that waits alone continues.
            while len(bounds) > 1 and not waiting:
                bounds.pop()
            if bounds[-1] > first:
                yield Slice(block, first, bounds[-1])
            steps = self.steps(block)
            if len(bounds) > 1:
                waiting.append((block, bounds))
            elif len(steps) and operations[int(steps[-1])].declaration is RETURN:
                start()

    def steps(self, block: int) -> Array:
        """The operation of each step of a tile block."""
        path = self._path(block)
        found = self._executed.get(path)
        if found is None:
            if len(self._executed) > 64:
                self._executed.clear()
            found = self._executed[path] = self._recording.steps(block)
        return found

    def _path(self, block: int) -> int:
        return int(self._recording.blocks.path[self._recording.place(block)])

    def slice_number(self, position: Position) -> int:
        """The slice that the next step of a position is in; the last one of a tile block that is done."""
        own = self._of_block.get(position.block)
        if not own:
            self._recording.place(position.block)
            return 0
        firsts = [self.slices[number].first for number in own]
        return own[max(bisect_right(firsts, position.step) - 1, 0)]

    def key(self, position: Position) -> tuple[int, int]:
        """Positions in the order of time have keys in order."""
        return self.slice_number(position), position.step

    @property
    def last(self) -> Position:
        return Position(self.slices[-1].block, self.slices[-1].end)

    def following(self, position: Position) -> Position:
        """The position one step later, in whatever tile block; or the last."""
        number = self.slice_number(position)
        if position.step + 1 < self.slices[number].end:
            return Position(position.block, position.step + 1)
        return Position(*self.slices[number + 1][:2]) if number + 1 < len(self.slices) else self.last

    def unfinished(self, position: Position) -> list[Position]:
        """Where the other tile blocks stand that are under way: each has had one of the last few slices."""
        last = self.slice_number(position)
        ends = {one.block: one.end for one in self.slices[max(last - 2 * WINDOW, 0) : last]}
        ends.pop(position.block, None)
        return [Position(block, step) for block, step in sorted(ends.items()) if step < len(self.steps(block))]

    def backwards(self, position: Position, operations: Array) -> Iterator[Position]:
        """The earlier positions whose next operation is true in `operations`, the last first."""
        first = self.slice_number(position)
        known: dict[int, Array] = {}  # The steps of each path that was searched.
        for number in range(first, -1, -1):
            block, low, end = self.slices[number]
            end = position.step if number == first else end
            path = self._path(block)
            if path not in known:
                known[path] = numpy.flatnonzero(operations[self.steps(block)])
            low, end = numpy.searchsorted(known[path], (low, end)).tolist()
            for step in known[path][low:end][::-1].tolist():
                yield Position(block, step)


_AHEAD: Final = 4096
"""A long tile block is recorded this many steps ahead of need, and at least to twice its recorded length."""


class Reached(Exception):
    """The launch has reached a stop."""

    def __init__(self, stop: Stop) -> None:
        self.stop = stop


class LaunchHistory:
    def __init__(self, prepared: PreparedLaunch, sanitize: bool, output: Callable[[str], object]) -> None:
        self.prepared: Final = prepared
        self.interruption: Final = Interruption()
        self.stepwise: StepwiseRecording = StepwiseRecording(prepared, self.interruption, sanitize)
        self._output: Callable[[str], object] = output
        self._emitted: int = 0
        self._timeline: Timeline | None = None
        self._timeline_of: object = None
        operations = prepared.program.operations
        self._prints: Array = numpy.array([one.declaration is PRINT_TKO for one in operations], numpy.bool_)

    @property
    def recording(self) -> Recording:
        return self.stepwise.recording

    def sanitize(self, sanitize: bool) -> None:
        """Record again from the start, with the sanitizer or without; memory goes back to there."""
        if len(self.recording.blocks):
            self.recording.go_to(0)
        self.stepwise = StepwiseRecording(self.prepared, self.interruption, sanitize)

    @property
    def timeline(self) -> Timeline:
        blocks = self.recording.blocks
        state = (id(self.recording), len(blocks), int(blocks.steps[-1]) if len(blocks) else 0, self.stepwise.is_over)
        if self._timeline is None or self._timeline_of != state:
            self._timeline, self._timeline_of = Timeline(self.recording), state
        return self._timeline

    def record(self, position: Position) -> None:
        """Have a position in the recording, and something after it."""
        (block, step), index = position, self.stepwise.place(position.block)
        if index >= len(self.recording.blocks) or (not self.is_whole(block) and step >= len(self.steps(block))):
            self.record_block(index, step)

    def record_block(self, index: int, steps: int = 0) -> None:
        """Record the tile block at an index of the schedule, up to a step and somewhat further."""
        known = int(self.recording.blocks.steps[index]) if index < len(self.recording.blocks) else 0
        self._do(lambda: self.stepwise.record_to(index, max(steps + _AHEAD, 2 * known)))

    def complete(self) -> None:
        self._do(lambda: self.stepwise.record_to(self.stepwise.count - 1))

    def rehearse(self, observer: Observer, index: int) -> None:
        """Run from the tile block at an index of the schedule without recording."""
        self._do(lambda: self.stepwise.rehearse(observer, index, self._writer(index)))

    def _do(self, work: Callable[[], None]) -> None:
        try:
            work()
        except (TileIRError, Interrupted, Reached):
            raise
        except Exception as error:
            raise converted(error) from error

    def steps(self, block: int) -> Array:
        """The operations that a tile block executes, as far as they are recorded."""
        return self.timeline.steps(block)

    def has(self, position: Position) -> bool:
        """Whether a position is recorded: its next operation, or the end of its tile block."""
        if self.recording.blocks.place(position.block) is None:
            return False
        return position.step < len(self.steps(position.block)) + (not self.stepwise.is_full)

    def is_whole(self, block: int) -> bool:
        """Whether a tile block is recorded up to its end, or to where it failed."""
        if self.stepwise.is_over:
            return True
        steps = self.steps(block)
        return bool(len(steps)) and self.prepared.program.operations[int(steps[-1])].declaration is RETURN

    def is_later(self, one: Position, other: Position) -> bool:
        """Whether a position comes after another one, which is recorded, in the order of time."""
        blocks = self.recording.blocks
        index = blocks.place(one.block)
        if index is None:
            return True
        if one.block == other.block:
            return one.step > other.step
        if not self.prepared.launch.is_interleaved:
            known = blocks.place(other.block)
            return known is not None and index > known
        if one.step >= int(blocks.steps[index]):
            return True
        return self.timeline.key(one) > self.timeline.key(other)

    def _printed_before(self, position: Position) -> int:
        timeline = self.timeline
        if not self._prints.any() or not timeline.slices:
            return 0
        last = timeline.slice_number(position)
        count = 0
        for number, (block, first, end) in enumerate(timeline.slices[: last + 1]):
            end = end if number < last else min(position.step, end)
            count += int(numpy.count_nonzero(self._prints[timeline.steps(block)[first:end]]))
        return count

    def emit_to(self, position: Position) -> None:
        """Write what is printed before a position, unless it was written before."""
        self.emit(self._printed_before(position))

    def emit(self, count: int) -> None:
        for text in self.stepwise.texts[self._emitted : count]:
            self._emitted += 1
            self._output(text)

    def _writer(self, index: int) -> Callable[[str], object]:
        """Takes what a rehearsal prints that begins with a tile block, and writes what is new."""
        blocks = self.recording.blocks
        count = len(self.stepwise.texts)
        if index < len(blocks):
            count = self._printed_before(Position(int(blocks.number[index]), 0)) if index else 0

        def write(text: str) -> None:
            nonlocal count
            count += 1
            if count > self._emitted:
                self._emitted = count
                self._output(text)

        return write


@dataclass(eq=False)
class Frame:
    """A part of the program that is being executed."""

    kind: Literal["kernel", "for", "loop", "if"]
    name: str  # As in `for %i = 3 (round 4 of 16)`.
    operation: int  # The operation in it that is next, or that has the inner frame.
    location: SourceLocation | None
    body: Block  # The operations that belong to it.
    since: int  # The step with which its iteration began: values computed before are of another one.
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
        kernel = f"{source_name(entry.symbol_name or 'kernel')} {parenthesized(index)}"
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
        """The number of iterations of a loop, if its bounds are known."""
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
