"""What is kept of a launch (blocks, paths, accesses, states of memory, findings), and the observer that keeps it."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from tileir.execute.dtypes import Array
from tileir.execute.errors import ExecutionError
from tileir.execute.memory import Region
from tileir.execute.observing.observer import Access, Observer, Observers, TileBlock
from tileir.execute.recording.accesses import KINDS, READ, AccessTable, Allowed, Column, Table
from tileir.execute.recording.arrays import Finder
from tileir.execute.recording.memory_states import Copy, States, Write
from tileir.execute.recording.program import CHUNK, Path
from tileir.execute.recording.recorded_launch import RecordedLaunch
from tileir.execute.sanitizer.report import Finding, SanitizerReport
from tileir.ir.core import Operation


class Seen(NamedTuple):
    """When a finding was first seen: step, row of the access, element where two accesses meet; -1 for none."""

    step: int
    row: int = -1
    element: int = -1


class BlockTable(Table):
    """The tile blocks of a launch in the order in which they began."""

    number = Column("<i4")
    path = Column("<i4")  # Which of `paths` it took.
    steps = Column("<u4")
    began = Column("<i8")  # How many accesses had happened when it began.

    def __init__(self) -> None:
        super().__init__()
        self.paths: list[Path] = []
        self._path_numbers: dict[Path, int] = {}
        self._places: dict[int, int] | None = None
        self.nbytes: int = 0

    def __len__(self) -> int:
        return len(self.data["number"])

    def begin(self, number: int, time: int) -> int:
        """A tile block begins; returns its position in the order."""
        for column, value in zip(self.data.values(), (number, -1, 0, time), strict=True):
            column.append(value)
        self._places = None
        self.nbytes += 20
        return len(self) - 1

    def finish(self, place: int, path: Path, steps: int) -> None:
        number = self._path_numbers.get(path)
        if number is None:
            number = self._path_numbers[path] = len(self.paths)
            self._add_path(path)
        self.data["path"][place] = number
        self.data["steps"][place] = steps

    def _add_path(self, path: Path) -> None:
        self.paths.append(path)
        self.nbytes += len(path.data) + 300

    def truncate(self, place: int) -> None:
        self.nbytes -= 20 * (len(self) - place)
        for column in self.data.values():
            del column[place:]
        self._places = None

    def restore(self, columns: Mapping[str, Array], paths: list[Path]) -> None:
        self._load(columns)
        self.nbytes = 20 * len(self)
        for path in paths:
            self._add_path(path)

    def place(self, number: int) -> int | None:
        """The position of the tile block of a number; None if it did not begin."""
        if self._places is None:
            self._places = {number: place for place, number in enumerate(self.data["number"])}
        return self._places.get(number)

    def path_of(self, place: int) -> Path:
        return self.paths[self.data["path"][place]]


class Records:
    """All that is kept of a launch."""

    def __init__(self, regions: list[Region], room: int, is_interleaved: bool) -> None:
        """`regions` are those that the kernel may write to; `room` is how many bytes there are beside the arrays."""
        self.accesses: AccessTable = AccessTable()
        self.blocks: BlockTable = BlockTable()
        self.allowed: Allowed = Allowed()
        self.states: States = States(regions, room, lambda: self.blocks.began, is_interleaved)
        self.seen: dict[Finding, Seen] = {}  # When findings were first seen.

    def truncate(self, place: int) -> None:
        """Go back to where the tile block at position `place` began, and forget it and those behind it."""
        time = int(self.blocks.began[place])
        self.states.truncate(time)
        self.accesses.truncate(time)
        self.blocks.truncate(place)

    @property
    def nbytes(self) -> int:
        return self.accesses.nbytes + self.blocks.nbytes + self.allowed.nbytes + self.states.nbytes


_CHECKED_BYTES: Final = 1 << 14  # The bytes between checks of the room, kept free for accesses and tile blocks.


class Interrupted(Exception):
    """The launch ends where it is, on request."""


@dataclass(slots=True, eq=False)
class Interruption:
    """Whether a launch is to end where it is; another thread or a signal handler may set it."""

    is_requested: bool = False


@dataclass(slots=True, eq=False)
class _Running:
    block: TileBlock
    place: int
    decisions: array[int] = field(default_factory=lambda: array("i"))
    steps: int = 0  # The steps up to the last decision.
    last: int = -1  # The operation behind the last decision that it is known to have come to, or -1.


class Recorder(Observers):
    """Keeps the paths, accesses and writes of a launch; `report` has what the observers found."""

    def __init__(
        self, launch: RecordedLaunch, records: Records, observers: list[Observer], report: SanitizerReport
    ) -> None:
        super().__init__(observers)
        self.report: SanitizerReport = report
        self._known: int = 0
        self.records: Records = records
        self.accesses: AccessTable = records.accesses
        self.blocks: BlockTable = records.blocks
        self.written: set[Region] = set()  # The regions that something was written to.
        self._operations: list[Operation] = launch.program.operations
        self._decisions: dict[Operation, int] = launch.control.decisions
        self._distances: dict[Operation, int] = launch.control.distances
        self._numbers: dict[Operation, int] = launch.program.operation_numbers
        self._running: dict[int, _Running] = {}
        self._last: _Running | None = None
        self._finder: Finder = Finder(launch.memory, launch.arrays)
        self._room: int = records.states.room
        self._next_check: int = 0
        self.interruption: Interruption = Interruption()
        self.bound: tuple[int, int] = (-1, 0)  # The tile block and step behind which the launch ends; -1 for none.
        self.end: Copy | None = None  # The arrays where the recording ran out of room.

    def _check_room(self) -> None:
        """Have as much room for writes as accesses and paths leave; end the recording if that is none."""
        taken = self.accesses.nbytes + self.blocks.nbytes + self.records.allowed.nbytes
        taken += sum([4 * len(state.decisions) for state in self._running.values()])
        self._next_check = self.accesses.nbytes + self.blocks.nbytes + _CHECKED_BYTES
        states = self.records.states
        states.room = self._room - taken - 2 * _CHECKED_BYTES
        states.fit()
        if states.nbytes > states.room:
            # Memory is as before the access for which there is no room.
            self.end = Copy(len(self.accesses), len(self.blocks), states.regions)
            self._close_all()

    def _state(self, block: TileBlock) -> _Running:
        last = self._last
        if last is not None and last.block is block:
            return last
        found = self._last = self._running[block.number]
        return found

    def block_started(self, block: TileBlock) -> None:
        super().block_started(block)
        if self.interruption.is_requested:
            raise Interrupted
        if self.end is not None:
            return
        place = self.blocks.begin(block.number, len(self.accesses))
        if self.accesses.nbytes + self.blocks.nbytes > self._next_check:
            self._check_room()
        self._last = self._running[block.number] = _Running(block, place)

    def block_finished(self, block: TileBlock) -> None:
        super().block_finished(block)
        if block.number in self._running:
            self._close(self._running.pop(block.number))

    def launch_finished(self) -> None:
        # Those that an error of another one has ended.
        self._close_all()
        super().launch_finished()

    def _close_all(self) -> None:
        for state in self._running.values():
            self._close(state)
        self._running.clear()

    def _close(self, state: _Running) -> None:
        steps = state.steps
        if state.last >= 0:
            steps += self._distances[self._operations[state.last]]
        self.blocks.finish(state.place, Path.of(state.decisions, state.last), steps)

    def watches(self, operation: Operation) -> bool:
        return super().watches(operation) or operation in self._decisions

    def before(self, operation: Operation, block: TileBlock, operands: list[Any]) -> None:
        number = self._decisions.get(operation)
        if self.interruption.is_requested:
            raise Interrupted
        if number is not None and self.end is None:
            state = self._state(block)
            state.last = -1
            state.steps += self._distances[operation]
            state.decisions.append(number)
            if block.number == self.bound[0] and state.steps > self.bound[1]:
                raise Interrupted
            if len(state.decisions) % CHUNK == 0:
                self._check_room()
        if self._watched.get(operation):
            super().before(operation, block, operands)
            self._note(self.step_of(operation, block))

    def failed(self, error: ExecutionError, block: TileBlock) -> bool:
        operation = error.operation
        if self.end is None and operation in self._distances and operation not in self._decisions:
            self._state(block).last = self._numbers[operation]
        is_dealt_with = super().failed(error, block)
        self._note(self.step_of(operation, block))
        return is_dealt_with

    def step_of(self, operation: Operation, block: TileBlock) -> int:
        if self.end is not None:
            return -1
        steps = self._state(block).steps
        return steps if operation in self._decisions else steps + self._distances.get(operation, 0)

    def access(self, access: Access) -> Array | None:
        row = self.record(access)
        allowed = super().access(access)
        if row < 0:
            self._note(-1)
            return allowed
        self._note(self.step_of(access.operation, access.block), row, access)
        if allowed is not None:
            self.records.allowed.add(row, allowed)
        return allowed

    def record(self, access: Access) -> int:
        """Add the rows of an access; returns the first, -1 if the recording has ended."""
        if self.accesses.nbytes + self.blocks.nbytes > self._next_check and self.end is None:
            self._state(access.block).last = self._numbers[access.operation]
            self._check_room()
        if self.end is not None:
            return -1
        operation = access.operation
        block = access.block
        state = self._state(block)
        step = state.steps + self._distances[operation]
        number = state.last = self._numbers[operation]
        kind = KINDS[access.kind]
        parts, masked = self._finder.find(access)
        first = len(self.accesses)
        for part in parts:
            numbers = (block.number, step, number, part.array, kind, masked, part.approximate)
            row = self.accesses.add(numbers, part.boxes)
            if kind != READ and part.target is not None and part.region is not None and part.region.writable:
                self.written.add(part.region)
                self.records.states.add(Write(row, part.region, part.target, part.where))
        return first

    def _note(self, step: int, row: int = -1, access: Access | None = None) -> None:
        """Record when new findings were first seen."""
        known = len(self.report.findings) + len(self.report.notes)
        if known == self._known:
            return
        self._known = known
        for finding in [*self.report.findings, *self.report.notes]:
            if finding not in self.records.seen:
                self.records.seen[finding] = Seen(step, row)
                number = int(self.accesses.array[row]) if access is not None and finding.other is not None else -1
                if access is None or number < 0 or (finding.element is None and access.addresses.ndim):
                    continue
                array = self._finder.arrays[number]
                address = int(access.addresses[finding.element or ()])
                if array.low <= address < array.high:
                    self.records.seen[finding] = Seen(step, row, (address - array.low) // array.size)
