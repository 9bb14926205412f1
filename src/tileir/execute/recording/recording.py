"""`record` runs a launch and keeps what it does; `Recording` has every tile, access and step of it."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy

from tileir.dialect.types import TileType
from tileir.execute.analysis.parameters import may_write
from tileir.execute.arguments.binding import ArgumentLabel, bind, buffer_of, checked_arrays, known_memory
from tileir.execute.dtypes import Array
from tileir.execute.engine.interface import Progress
from tileir.execute.errors import BlockId, Callbacks, ExecutionError, LaunchError, converted
from tileir.execute.launching.entries import check_arguments, check_grid
from tileir.execute.launching.kernel import Kernel
from tileir.execute.memory import Memory, Region
from tileir.execute.observing.observer import Observer
from tileir.execute.recording.accesses import AccessTable
from tileir.execute.recording.arrays import RecordedArray
from tileir.execute.recording.file_writer import save
from tileir.execute.recording.memory_states import States
from tileir.execute.recording.program import ControlFlow, NumberedProgram, ValueHistory
from tileir.execute.recording.recorded_launch import OwnedMemory, RecordedLaunch, Source
from tileir.execute.recording.recorder import BlockTable, Recorder, Records, Seen
from tileir.execute.recording.replayer import Replayer
from tileir.execute.recording.script_variables import FunctionVariables, ScriptVariables
from tileir.execute.sanitizer.coverage import Coverage
from tileir.execute.sanitizer.report import Finding, SanitizerReport
from tileir.execute.sanitizer.sanitizer import Sanitizer
from tileir.forking import cached_property
from tileir.ir.core import Operation
from tileir.ir.diagnostics import TileIRError

LIMIT: Final = 1 << 30  # How many bytes a recording takes at most, by default.


@dataclass(eq=False, repr=False)
class Recording:
    """A recorded launch; `tileir.record` makes one (docs/tools/recording.md).

    A step belongs to a tile block, by number: step 0 is before its first operation, step n after the n-th one it
    executed.  A time is a number of accesses of the whole launch: at time t those before row t have happened.
    Operations and values have the numbers of `program`, arrays their index in `arrays`.

    Several threads may use it.  Its memory has the state of one time: hold `lock` while you use `go_to` and `contents`.
    """

    # What it is made of, for those who work on recordings.
    launch: RecordedLaunch
    records: Records
    limit: int
    failure: str  # The text of the error that ended the launch; empty if none did.
    report: SanitizerReport
    sanitize: bool | Literal["all"]  # Whether it was sanitized; "all": elements that are never written too.
    notes: list[str]  # What is not kept, in sentences.
    find_variables: Callable[[], ScriptVariables | None] = lambda: None

    def __post_init__(self) -> None:
        records = self.records
        self.program: NumberedProgram = self.launch.program
        self.control: ControlFlow = self.launch.control
        self.arrays: list[RecordedArray] = self.launch.arrays
        self.blocks: BlockTable = records.blocks
        self.seen: dict[Finding, Seen] = records.seen
        self.accesses: AccessTable = records.accesses
        self.lock = threading.RLock()
        self._states: States = records.states
        self._replayer: Replayer = Replayer(self.launch, records, cache_room(self.limit))

    @property
    def grid(self) -> BlockId:
        return self.launch.grid

    @property
    def order(self) -> Array:
        """The tile blocks in the order in which they began, by number, x fastest."""
        return self.blocks.number

    @property
    def schedule(self) -> str:
        return self.launch.schedule

    @property
    def findings(self) -> list[Finding]:
        return self.report.findings

    @property
    def bytes(self) -> int:
        """What the recording takes: the arrays, accesses, paths, old contents, and values that are kept."""
        return self.launch.memory.nbytes + self.records.nbytes + self._replayer.nbytes

    @property
    def differs(self) -> bool:
        """Whether a tile block that ran again has written something else than the first time: it must not."""
        return self._replayer.differs

    def place(self, block: int) -> int:
        """The position of a tile block in the order in which they began."""
        place = self.blocks.place(block)
        if place is None:
            raise LaunchError(f"tile block {block} is not in the recording")
        return place

    def steps(self, block: int) -> Array:
        """The operations that a tile block executed, by number: that of step n at n - 1."""
        return self.control.executed(self.blocks.path_of(self.place(block)))

    def rows(self, block: int) -> Array:
        return self._replayer.rows(block)

    def time(self, block: int, step: int) -> int:
        """How many accesses had happened at a step: those up to the last of the block by then."""
        rows = self.rows(block)
        done = int(numpy.searchsorted(self.accesses.step[rows], step, "right"))
        return int(rows[done - 1]) + 1 if done else int(self.blocks.began[self.place(block)])

    def history(self, block: int, step: int = -1) -> ValueHistory:
        """The values that a tile block computed, around a step if there is no room for all."""
        self.place(block)
        with self.lock:
            return self._replayer.history(block, step)

    def truncate(self, place: int) -> None:
        """Forget the tile blocks from a position on, as if they had not begun yet."""
        with self.lock:
            for block in self.order[place:].tolist():
                self._replayer.forget(block)
            self.records.truncate(place)

    def watch(self, block: int, observer: Observer) -> None:
        """Run a tile block again for an observer, with memory as it was at each of its accesses."""
        self.place(block)
        with self.lock:
            self._replayer.watch(block, observer)

    def values(self, block: int, step: int) -> list[tuple[int, int, Any]]:
        """What is known at a step: value, step at which it was computed, content."""
        history = self.history(block, step)
        found: list[tuple[int, int, Any]] = []
        for value, one in enumerate(self.program.values):
            if isinstance(one.type, TileType):
                newest = history.at(value, step)
                if newest is not None:
                    found.append((value, *newest))
        return found

    @property
    def has_script(self) -> bool:
        """Whether the variables of a script are known: the kernel comes from one, and the recording from no file."""
        return self.find_variables() is not None

    def functions(self, block: int, step: int) -> list[FunctionVariables]:
        """The variables of the script at a step: of the function that the tile block is in, then of its callers.

        The last is the kernel.  Empty if the kernel comes from no script, or the recording from a file.
        """
        variables = self.find_variables()
        if variables is None:
            return []
        return variables.functions(self.program, self.history(block, step), self.steps(block), step)

    def tile(self, block: int, step: int, value: int) -> Array:
        """A tile as it is at a step."""
        if not isinstance(self.program.values[value].type, TileType):
            raise LaunchError(f"{self.program.name(value)} is no tile: it has no elements")
        newest = self.history(block, step).at(value, step)
        if newest is None:
            raise LaunchError(f"{self.program.name(value)} is not computed yet at step {step} of tile block {block}")
        return numpy.asarray(newest[1])

    def array(self, array: int, block: int, step: int) -> Array:
        """A copy of an array as it is at a step."""
        with self.lock:
            return self.contents(array, block, step).copy()

    def contents(self, array: int, block: int, step: int) -> Array:
        """The same without a copy: the next question may change it."""
        self._states.move(self.time(block, step))
        return self.arrays[array].contents()

    def go_to(self, time: int) -> None:
        """Make the memory of the recording what it was after so many accesses of the launch; the end is the last."""
        self._states.move(time)

    def final(self, array: int) -> Array:
        """A copy of an array as it is when the launch is over."""
        with self.lock:
            self.go_to(len(self.accesses))
            return self.arrays[array].contents().copy()

    def position(self, row: int) -> tuple[int, int]:
        """The tile block and the step of an access."""
        return int(self.accesses.block[row]), int(self.accesses.step[row])

    def next_step(self, block: int, operation: int, step: int) -> int | None:
        """The first step behind one at which a tile block executes an operation."""
        return _behind(numpy.flatnonzero(self.steps(block) == operation) + 1, step)

    def previous_step(self, block: int, operation: int, step: int) -> int | None:
        """The last step before one at which a tile block executes an operation."""
        return _before(numpy.flatnonzero(self.steps(block) == operation) + 1, step)

    def next_change(self, block: int, value: int, step: int) -> int | None:
        """The first step behind one at which a value is computed."""
        return _behind(self._changes(block, value, step), step)

    def previous_change(self, block: int, value: int, step: int) -> int | None:
        """The last step before one at which a value is computed; 0 for parameters."""
        return _before(self._changes(block, value, step), step)

    def _changes(self, block: int, value: int, step: int) -> Array:
        owner = self.program.values[value].defining_operation
        if owner is not None and owner not in self.control.decisions:
            return numpy.flatnonzero(self.steps(block) == self.program.operation_numbers[owner]) + 1
        # Results and carried values of a loop or a branch are computed in the steps of other operations.
        return numpy.array(self.history(block, step).steps(value), numpy.int64)

    def next_access(self, array: int, index: tuple[int, ...], time: int) -> int | None:
        """The row of the first access from a time on that touches an element of an array."""
        return _behind(self.accesses.touching(array, self.arrays[array].place(index)), time - 1)

    def previous_access(self, array: int, index: tuple[int, ...], time: int) -> int | None:
        """The row of the last access before a time that touches an element of an array."""
        return _before(self.accesses.touching(array, self.arrays[array].place(index)), time)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the recording to a file, which `tileir.recording.load` reads; docs/tools/recording.md describes it."""
        more = {"sanitize": self.sanitize, "limit": self.limit, "failure": self.failure, "notes": self.notes}
        with self.lock:
            self.go_to(0)
            save(path, self.launch, self.records, self.report, more)


def _behind(sorted_numbers: Array, number: int) -> int | None:
    place = int(numpy.searchsorted(sorted_numbers, number, "right"))
    return int(sorted_numbers[place]) if place < len(sorted_numbers) else None


def _before(sorted_numbers: Array, number: int) -> int | None:
    place = int(numpy.searchsorted(sorted_numbers, number)) - 1
    return int(sorted_numbers[place]) if place >= 0 else None


_LEAST_ROOM: Final = 1 << 16  # For accesses and paths, besides the arrays.


class PreparedLaunch:
    """A launch whose arrays are copied, so that it can be recorded any number of times."""

    def __init__(
        self,
        kernel: Kernel,
        grid: int | tuple[int, ...],
        arguments: tuple[object, ...],
        schedule: str | None,
        limit: int,
        memory: Iterable[object],
        source: object = None,
    ) -> None:
        """`source` is kept as long as this is: what the variables of the kernel are found from."""
        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
            raise LaunchError(f"limit is {limit!r}: pass the number of bytes that the recording may take")
        extents = check_grid(grid)
        entry = kernel.entry
        self._kernel: Kernel = kernel
        self._source: object = source
        self.limit: int = limit
        more = checked_arrays(memory, "memory") if memory else []
        bound = bind(entry, arguments)
        self._bound: object = (bound, more)  # The caller's memory is there as long as these are.
        self.given: Memory = known_memory(kernel.globals.regions.values(), bound, more)  # The memory of the caller.
        self.room: int = _room_beside(limit, self.given.regions, entry)
        sources = [Source(region.start, region.data, region.labels, region.writable) for region in self.given.regions]
        owned = self.memory = OwnedMemory(sources, entry, bool(more), None, self.given.multicasts)
        globals = {name: owned.copy_of(region) for name, region in kernel.globals.regions.items()}
        chosen = kernel.schedule if schedule is None else schedule
        values = owned.values(entry, bound.values)
        self.program: NumberedProgram = NumberedProgram(entry)
        self.launch: RecordedLaunch = RecordedLaunch(
            self.program, extents, chosen, kernel.exact, owned, values, globals
        )
        self.control: ControlFlow = self.launch.control
        self.arrays: list[RecordedArray] = self.launch.arrays
        self.regions: list[Region] = [one for one in owned.regions if _may_be_written(one, entry)]
        """What the kernel may write to."""

    @cached_property
    def script_variables(self) -> ScriptVariables | None:
        """The variables of the script that the kernel was compiled from, if they are known."""
        found = self._kernel.find_variables() if self._kernel.find_variables is not None else None
        return found if isinstance(found, ScriptVariables) else None

    def recorder(self, sanitize: bool | Literal["all"], uninitialized: list[object]) -> Recorder:
        """What records the launch; its report has the errors that are found meanwhile."""
        sanitizer = Sanitizer(uninitialized=self._copies(uninitialized))
        report = sanitizer.report
        observers: list[Observer] = [sanitizer] if sanitize else []
        if sanitize == "all":
            observers.append(Coverage(report=report))
        records = Records(self.regions, self.room, self.launch.is_interleaved)
        return Recorder(self.launch, records, observers, report)

    def _copies(self, arrays: list[object]) -> list[object]:
        """Where the recording has some arrays, as bytes; those that are not of the launch are left out."""
        found: list[object] = []
        for array in arrays:
            buffer = buffer_of(array, "an element of `uninitialized`")
            region = self.given.find(buffer.low)
            if region is not None:
                start = region.start
                found.append(self.memory.copy_of(region).data[buffer.low - start : buffer.high - start])
        return found

    def hand_back(self, written: Iterable[Region] | None = None) -> None:
        """Give the caller what the launch made of the arrays: of those that were written, None for all that may be."""
        chosen = set(self.regions if written is None else written)
        for region in self.given.regions:
            if self.memory.copy_of(region) in chosen:
                self.memory.hand_back(region)


def cache_room(limit: int) -> int:
    """How much of a limit is for the values of tile blocks that ran again."""
    return limit // 8


def _room_beside(limit: int, regions: list[Region], entry: Operation) -> int:
    """What a limit leaves beside copies of the arrays; it must hold those that are written once more."""
    arrays = sum([region.size for region in regions])
    written = sum([region.size for region in regions if _may_be_written(region, entry)])
    room = limit - cache_room(limit) - arrays
    if room < written + _LEAST_ROOM:
        needed = -(-(arrays + written + _LEAST_ROOM) * 8 // 7)
        raise LaunchError(
            f"a recording of this launch takes {needed} bytes at least, as its arrays have {arrays}, "
            f"and the memory limit is {limit}: raise it (`memory_limit`, --memory-limit), or launch on smaller arrays"
        )
    return room


def _may_be_written(region: Region, entry: Operation) -> bool:
    """Whether a kernel may write to a region, as far as is known before it runs."""
    if not region.writable:
        return False
    numbers = [label.number if isinstance(label, ArgumentLabel) else -1 for label in region.labels]
    return any(number < 0 or may_write(entry, number) for number in numbers)


def record(
    kernel: Kernel,
    grid: int | tuple[int, ...],
    args: Sequence[object] = (),
    *,
    schedule: str | None = None,
    limit: int = LIMIT,
    sanitize: bool | Literal["all"] = True,
    memory: Iterable[object] = (),
    uninitialized: Iterable[object] = (),
    output: Callable[[str], object] | None = None,
    source: object = None,
    progress: Progress | None = None,
) -> Recording:
    """Launch a kernel in the interpreter, and keep what it does: `tileir.record` comes by here."""
    prepared = PreparedLaunch(kernel, grid, check_arguments(args), schedule, limit, memory, source)
    prepared.launch.progress = progress
    recorder = prepared.recorder(sanitize, checked_arrays(uninitialized, "uninitialized"))
    failure = _run(prepared.launch, recorder, output if output is not None else sys.stdout.write)
    prepared.launch.progress = None
    prepared.hand_back(recorder.written if recorder.end is None else prepared.memory.copies)
    if recorder.end is not None:
        recorder.end.put()
    return recording_of(prepared, recorder, sanitize, failure)


def recording_of(
    prepared: PreparedLaunch, recorder: Recorder, sanitize: bool | Literal["all"], failure: str = ""
) -> Recording:
    return Recording(
        prepared.launch,
        recorder.records,
        prepared.limit,
        failure,
        recorder.report,
        sanitize,
        notes_of(recorder, prepared.limit),
        lambda: prepared.script_variables,
    )


def notes_of(recorder: Recorder, limit: int) -> list[str]:
    """What is not kept, in sentences."""
    notes: list[str] = []
    if not recorder.records.states.is_whole:
        notes.append("Not every write is kept: to show the past, tile blocks may run again, which takes longer.")
    if recorder.end is not None:
        notes.append(
            f"The recording ends after {len(recorder.accesses)} accesses of {len(recorder.blocks)} tile blocks, "
            f"as it may take {limit} bytes; the launch went on."
        )
    return notes


def _run(launch: RecordedLaunch, observer: Observer, write: Callable[[str], object]) -> str:
    """Run all tile blocks; returns the text of the error that ended the launch, or nothing."""
    callbacks = Callbacks()
    try:
        with numpy.errstate(all="ignore"):
            program = launch.compiled(observer, launch.is_interleaved)
            observer.launch_started(launch.grid, launch.memory)
            try:
                launch.run(launch.runner(program, observer, callbacks.noted(write)))
            finally:
                observer.launch_finished()
    except ExecutionError as error:
        return str(error)
    except Exception as error:
        # What a callback raises is the caller's.
        if isinstance(error, TileIRError) or error in callbacks.raised:
            raise
        raise converted(error) from error
    return ""
