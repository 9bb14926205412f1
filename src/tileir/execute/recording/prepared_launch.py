"""A launch that is about to be recorded, as often as is wanted."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Final, Literal

from tileir.execute.analysis.parameters import may_write
from tileir.execute.arguments.binding import ArgumentLabel, bind, buffer_of, checked_arrays, known_memory
from tileir.execute.errors import LaunchError
from tileir.execute.launching.entries import check_grid
from tileir.execute.launching.kernel import Kernel
from tileir.execute.memory import Memory, Region
from tileir.execute.observing.observer import Observer
from tileir.execute.recording.arrays import RecordedArray
from tileir.execute.recording.program import ControlFlow, NumberedProgram
from tileir.execute.recording.recorded_launch import OwnedMemory, RecordedLaunch, Source
from tileir.execute.recording.recorder import Recorder, Records
from tileir.execute.recording.script_variables import ScriptVariables
from tileir.execute.sanitizer.coverage import Coverage
from tileir.execute.sanitizer.sanitizer import Sanitizer
from tileir.ir.core import Operation

_LEAST_ROOM: Final = 1 << 16  # For accesses and paths, besides the arrays.


class PreparedLaunch:
    """A launch whose arrays are copied, to be recorded as often as is wanted."""

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
        # The caller's memory is there as long as these are.
        self._bound: object = (bound, more)
        self.given: Memory = known_memory(kernel.globals.regions.values(), bound, more)  # The memory of the caller.
        self.room: int = _room_beside(limit, self.given.regions, entry)
        sources = [Source(region.start, region.data, region.labels, region.writable) for region in self.given.regions]
        owned = self.memory = OwnedMemory(sources, entry, bool(more))
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
        """What records the launch; its report has the mistakes that are found meanwhile."""
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
            f"and limit is {limit}: pass a larger limit, or launch on smaller arrays"
        )
    return room


def _may_be_written(region: Region, entry: Operation) -> bool:
    """Whether a kernel may write to a region, as far as is known before it runs."""
    if not region.writable:
        return False
    numbers = [label.number if isinstance(label, ArgumentLabel) else -1 for label in region.labels]
    return any(number < 0 or may_write(entry, number) for number in numbers)
