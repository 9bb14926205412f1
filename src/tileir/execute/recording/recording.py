"""`record`: run a launch and keep what it does; `Recording`: ask for any tile, access and moment of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any, Final, Literal

import numpy

from tileir.dialect.types import TileType
from tileir.execute.arguments import ArgumentLabel, bind, checked_arrays, known_memory
from tileir.execute.dtypes import Array
from tileir.execute.errors import BlockId, LaunchError
from tileir.execute.grids import check_grid
from tileir.execute.interpreter.compiler import Options
from tileir.execute.interpreter.kernel import Program, block_runner, run_in_order
from tileir.execute.launch import Kernel
from tileir.execute.memory import Region
from tileir.execute.observer import Observer, Observers, TileBlock
from tileir.execute.recording.accesses import AccessTable
from tileir.execute.recording.arrays import Finder, RecordedArray, arrays_of
from tileir.execute.recording.control import ControlFlow
from tileir.execute.recording.findings import Seen
from tileir.execute.recording.owned_memory import OwnedMemory
from tileir.execute.recording.program import NumberedProgram
from tileir.execute.recording.recorder import BlockTable, Recorder, SanitizedRecorder
from tileir.execute.recording.replay import Capture, History, run_block
from tileir.execute.recording.timeline import Timeline
from tileir.execute.sanitizer.coverage import Coverage
from tileir.execute.sanitizer.report import Finding, SanitizerReport
from tileir.execute.sanitizer.sanitizer import Sanitizer
from tileir.execute.schedule import block_at, block_order, run_interleaved
from tileir.ir.core import Operation
from tileir.ir.diagnostics import TileIRError

LIMIT: Final = 1 << 30
"""How many bytes a recording takes at most, unless told otherwise."""


class RecordedLaunch:
    """What the program of a recording runs with: memory, the values of the parameters, global variables."""

    __slots__ = ("exact", "globals", "grid", "memory", "schedule", "values")

    def __init__(
        self,
        grid: BlockId,
        schedule: str,
        exact: bool,
        memory: OwnedMemory,
        values: list[Any],
        globals: dict[str, Region],
    ) -> None:
        self.grid: BlockId = grid
        self.schedule: str = schedule
        self.exact: bool = exact
        self.memory: OwnedMemory = memory
        self.values: list[Any] = values
        self.globals: dict[str, Region] = globals


class Recording:
    """A recorded launch.  A moment is a tile block, by number, and a step of it: step 0 is before its first operation,
    step n after the n-th one it executed."""

    def __init__(
        self,
        program: NumberedProgram,
        control: ControlFlow,
        launch: RecordedLaunch,
        arrays: list[RecordedArray],
        recorder: Recorder,
        limit: int,
        failure: str,
        report: SanitizerReport,
        sanitize: bool | Literal["all"],
    ) -> None:
        self.program: NumberedProgram = program
        self.control: ControlFlow = control
        self.launch: RecordedLaunch = launch
        self.arrays: list[RecordedArray] = arrays
        self.accesses: AccessTable = recorder.accesses
        self.blocks: BlockTable = recorder.blocks
        self.limit: int = limit
        self.failure: str = failure
        """The error that ended the launch, in words; empty if none did."""
        self.report: SanitizerReport = report
        self.sanitize: bool | Literal["all"] = sanitize
        """Whether mistakes were looked for; "all": elements that are never written too."""
        self.seen: dict[Finding, Seen] = recorder.seen if isinstance(recorder, SanitizedRecorder) else {}
        """When each finding was first seen."""
        self.notes: list[str] = []
        """What is not kept, in sentences."""
        self._timeline: Timeline = recorder.timeline
        self._capture: Capture = Capture(program, control, self.accesses, self._timeline, recorder.allowed)
        self._code: Program | None = None
        self._histories: dict[int, History] = {}
        self._rows: tuple[Array, Array] | None = None

    @property
    def grid(self) -> BlockId:
        return self.launch.grid

    @property
    def schedule(self) -> str:
        return self.launch.schedule

    @property
    def findings(self) -> list[Finding]:
        return self.report.findings

    @property
    def bytes(self) -> int:
        """What the recording takes: the arrays, the accesses, the paths, what writes replaced."""
        return self.launch.memory.nbytes + self.accesses.nbytes + self.blocks.nbytes + self._timeline.nbytes

    def place(self, block: int) -> int:
        """The place of a tile block in the order in which they began."""
        place = self.blocks.place(block)
        if place is None:
            raise LaunchError(f"tile block {block} is not in the recording")
        return place

    def steps(self, block: int) -> Array:
        """The operations that a tile block executed, by number: that of step n at n - 1."""
        return self.control.executed(self.blocks.path(self.place(block)))

    def rows(self, block: int) -> Array:
        """The rows of the accesses of a tile block."""
        if self._rows is None:
            column = self.accesses.block
            self._rows = numpy.argsort(column, kind="stable"), numpy.sort(column, kind="stable")
        order, blocks = self._rows
        found: Array = order[numpy.searchsorted(blocks, block) : numpy.searchsorted(blocks, block, "right")]
        return found

    def time(self, block: int, step: int) -> int:
        """How many accesses had happened at a moment: those up to the last of the block by then."""
        rows = self.rows(block)
        done = int(numpy.searchsorted(self.accesses.step[rows], step, "right"))
        return int(rows[done - 1]) + 1 if done else int(self.blocks.began[self.place(block)])

    def history(self, block: int) -> History:
        """The values that a tile block computed."""
        found = self._histories.get(block)
        if found is None:
            found = self._histories[block] = self._replay(block)
            while len(self._histories) > 4:
                del self._histories[next(iter(self._histories))]
        return found

    def _replay(self, block: int) -> History:
        launch, capture = self.launch, self._capture
        if self._code is None:
            self._code = Program(self.program.entry, Options(launch.exact, capture), launch.globals)
        self._run_again(self._code, capture, block)
        return capture.history

    def _run_again(self, code: Program, observer: Observer, block: int) -> None:
        launch, capture = self.launch, self._capture
        self._timeline.move(int(self.blocks.began[self.place(block)]))
        capture.begin(launch.values, self.rows(block).tolist())
        tile_block = TileBlock(block_at(block, launch.grid), block, launch.grid, launch.memory, _nowhere, observer)
        with numpy.errstate(all="ignore"):
            prepared = code.prepared(launch.values, tile_block)
        run_block(code, prepared, tile_block, capture)

    def watch(self, block: int, observer: Observer) -> None:
        """Run a tile block again for an observer, with memory as it was at each of its accesses."""
        launch, capture = self.launch, self._capture
        both = Observers([capture, observer])
        code = Program(self.program.entry, Options(launch.exact, both), launch.globals)
        self._run_again(code, both, block)

    def values(self, block: int, step: int) -> list[tuple[int, int, Any]]:
        """What is known at a moment: value, step at which it was computed, content."""
        history = self.history(block)
        found: list[tuple[int, int, Any]] = []
        for value, one in enumerate(self.program.values):
            if isinstance(one.type, TileType):
                newest = history.at(value, step)
                if newest is not None:
                    found.append((value, *newest))
        return found

    def tile(self, block: int, step: int, value: int) -> Array:
        """A tile as it is at a moment."""
        newest = self.history(block).at(value, step)
        if newest is None:
            raise LaunchError(f"{self.program.name(value)} is not computed yet at step {step} of tile block {block}")
        return numpy.asarray(newest[1])

    def array(self, array: int, block: int, step: int) -> Array:
        """A copy of an array as it is at a moment."""
        return self.contents(array, block, step).copy()

    def contents(self, array: int, block: int, step: int) -> Array:
        """The same without a copy: the next question may change it."""
        self._timeline.move(self.time(block, step))
        return self.arrays[array].contents()

    def go_to(self, time: int) -> None:
        """Make the memory of the recording what it was after so many accesses of the launch; the end is the last."""
        self._timeline.move(time)

    def final(self, array: int) -> Array:
        """A copy of an array as it is when the launch is over."""
        self.go_to(len(self.accesses))
        return self.arrays[array].contents().copy()


def _nowhere(text: str) -> None:
    """What a tile block prints that runs again."""


def record(
    kernel: Kernel,
    grid: int | tuple[int, ...],
    *arguments: object,
    schedule: str | None = None,
    limit: int = LIMIT,
    sanitize: bool | Literal["all"] = True,
    memory: Iterable[object] = (),
    output: Callable[[str], object] | None = None,
) -> Recording:
    """Launch a kernel in the interpreter, and keep what it does."""
    extents = check_grid(grid)
    program = NumberedProgram(kernel.entry)
    control = ControlFlow(program)
    more = checked_arrays(memory, "memory") if memory else []
    bound = bind(kernel.entry, arguments)
    given = known_memory(kernel.globals.regions.values(), bound, more)
    owned = OwnedMemory(given, program, bool(more))
    values = owned.values(kernel.entry, bound)
    globals: dict[str, Region] = {}
    for name, region in kernel.globals.regions.items():
        copy = owned.find(owned.move.address(region.start))
        assert copy is not None
        globals[name] = copy
    labels = [label for one in owned.regions for label in one.labels if isinstance(label, ArgumentLabel)]
    arrays = arrays_of(program, owned, labels)
    chosen = kernel.schedule if schedule is None else schedule
    launch = RecordedLaunch(extents, chosen, kernel.exact, owned, values, globals)
    sanitizer = Sanitizer()
    report = sanitizer.report
    recorder = Recorder(program, control)
    if sanitize:
        both: list[Observer] = [sanitizer, Coverage(report=report)]
        inner = Observers(both) if sanitize == "all" else sanitizer
        recorder = SanitizedRecorder(program, control, inner, report)
    recorder.use(Finder(owned, arrays))
    failure = _run(kernel.entry, launch, recorder, output if output is not None else sys.stdout.write)
    for one in owned.owned:
        if one.copy in recorder.written:
            owned.hand_back(one)
    return Recording(program, control, launch, arrays, recorder, limit, failure, report, sanitize)


def _run(entry: Operation, launch: RecordedLaunch, observer: Observer, write: Callable[[str], object]) -> str:
    """Run all tile blocks; gives the error that ended the launch, in words, or nothing."""
    order = block_order(launch.schedule, launch.grid)
    program = Program(entry, Options(launch.exact, observer, order.interleaved), launch.globals)
    first = TileBlock((0, 0, 0), 0, launch.grid, launch.memory, write, observer)
    observer.launch_started(launch.grid, launch.memory)
    try:
        with numpy.errstate(all="ignore"):
            prepared = program.prepared(launch.values, first)
            run = block_runner(program, prepared, first)
            if order.interleaved:
                run_interleaved(order, run, None)
            else:
                run_in_order(order, run, None, launch.memory)
    except TileIRError as error:
        return str(error)
    finally:
        observer.launch_finished()
    return ""
