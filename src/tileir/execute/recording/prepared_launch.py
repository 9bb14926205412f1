"""A launch that is about to be recorded: the memory that its recording owns, and what it runs with.


Pointers are real addresses.  A tile block that runs again is to compute the same ones, whatever has become of the
caller's arrays, so the launch runs on copies.  Arrays that share memory share it in the copy, and a copy lies as far
from a page boundary as its array.  Addresses are translated: the arguments, and what 64-bit integers in memory point
to, if the launch names arrays that are reached through such tables (`memory=`).

What `alloca` reserves lies at the same place whenever a tile block runs: each block under way has an area, in which
each reservation follows the one before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, Final, Literal, NamedTuple

import numpy

from tileir.dialect.ops import ALLOCA
from tileir.dialect.types import PointerType, TileType
from tileir.execute.analysis.parameters import may_write
from tileir.execute.analysis.values import reserved_bytes
from tileir.execute.arguments.binding import ArgumentLabel, Buffer, bind, buffer_of, checked_arrays, known_memory
from tileir.execute.dtypes import Array
from tileir.execute.errors import BlockId, LaunchError
from tileir.execute.interpreter.compiler import Options
from tileir.execute.interpreter.kernel import Program, block_runner
from tileir.execute.launching.entries import check_grid
from tileir.execute.launching.kernel import Kernel
from tileir.execute.memory import Memory, Region, available_memory
from tileir.execute.observing.observer import Observer, TileBlock
from tileir.execute.recording.arrays import Finder, RecordedArray, arrays_of
from tileir.execute.recording.program import ControlFlow, NumberedProgram
from tileir.execute.recording.recorder import Recorder, Records
from tileir.execute.recording.script_variables import ScriptVariables
from tileir.execute.sanitizer.coverage import Coverage
from tileir.execute.sanitizer.sanitizer import Sanitizer
from tileir.execute.schedule import Order, RunBlock, block_order, run_interleaved
from tileir.ir.core import Operation

_PAGE: Final = 4096


class Move:
    """Where ranges of memory went: the start and the end of each before, and its new start."""

    def __init__(self, moved: list[tuple[int, int, int]]) -> None:
        self._moved: list[tuple[int, int, int]] = sorted(moved)
        self._starts, self._ends, new = numpy.array(self._moved, numpy.uint64).reshape(-1, 3).T
        self._distances: Array = new - self._starts

    @property
    def back(self) -> Move:
        return Move([(new, new + end - start, start) for start, end, new in self._moved])

    def address(self, address: int) -> int:
        """Where an address is now; one at the end of a region goes with it, unless another begins there."""
        last = address
        for start, end, new in self._moved:
            if start <= address < end:
                return address - start + new
            if address == end:
                last = address - start + new
        return last

    def words(self, words: Array) -> None:
        """Translate those of some 64-bit words that are addresses in the memory that moved."""
        if not len(self._starts):
            return
        values = words.view(numpy.uint64)
        number = numpy.searchsorted(self._starts, values, "right") - 1
        inside = (number >= 0) & (values < self._ends[number])
        if inside.any():
            values[inside] += self._distances[number[inside]]


class Source(NamedTuple):
    """Memory to be copied: where it was, its bytes, whose it is."""

    start: int
    data: Array
    labels: tuple[object, ...]
    writable: bool


class OwnedMemory(Memory):
    """Copies of all regions of a launch, in the order of their sources, and areas for what tile blocks reserve."""

    __slots__ = ("_areas", "_held", "_known", "_needed", "_used", "copies", "has_tables", "move")

    def __init__(
        self, sources: list[Source], entry: Operation, has_tables: bool, areas: dict[str, int] | None = None
    ) -> None:
        super().__init__()
        self.copies: list[Region] = []
        self.has_tables: bool = has_tables
        rooms = [_room(len(source.data), source.start % _PAGE) for source in sources]
        ends = [source.start + len(source.data) for source in sources]
        self.move: Move = Move(
            [(source.start, end, start) for source, end, (start, _) in zip(sources, ends, rooms, strict=True)]
        )
        for source, (start, room) in zip(sources, rooms, strict=True):
            copy = Region(start, len(source.data), room, (), True)
            copy.data[:] = source.data
            copy.writable = source.writable
            copy.labels = tuple([self._label(label, copy) for label in source.labels])
            self.copies.append(copy)
            self._insert(copy)
        # The most that one tile block can have reserved: each `alloca` once, as a loop gives back what it has reserved.
        reserved = [each for each in entry.walk() if each.declaration is ALLOCA]
        self._needed: int = sum([max(reserved_bytes(each), 1) + each.alignment for each in reserved])
        self._areas: list[tuple[Array, int]] = []
        # The areas of blocks under way, and what they hold, the last reservation at the end.
        self._used: dict[str, int] = {}
        self._held: dict[str, list[Region]] = {}
        self._known: dict[str, int] = {} if areas is None else areas
        if has_tables:
            for copy in self.copies:
                if _holds_words(copy):
                    self.move.words(copy.typed(numpy.dtype(numpy.uint64)))

    def _label(self, label: object, copy: Region) -> object:
        if not isinstance(label, ArgumentLabel):
            return label
        found = label.buffer
        address = self.move.address(found.address)
        moved = Buffer(address, found.shape, found.strides, found.dtype, found.writable, copy.owner, found.kind)
        return ArgumentLabel(label.what, moved, label.number)

    @property
    def nbytes(self) -> int:
        return sum([copy.size for copy in self.copies]) + sum([len(room) for room, _ in self._areas])

    @property
    def areas(self) -> dict[str, int]:
        """The areas of tile blocks that had another one than the first, by what their reservations are called."""
        return self._known

    def values(self, entry: Operation, given: list[Any]) -> list[Any]:
        """The values of the parameters, with pointers into the copies."""
        found: list[Any] = []
        for parameter, value in zip(entry.regions[0].blocks[0].arguments, given, strict=True):
            type = parameter.type
            if isinstance(type, TileType) and isinstance(type.element, PointerType):
                value = numpy.uint64(self.move.address(int(value)))
            elif self.has_tables and isinstance(value, numpy.int64):
                value = numpy.uint64(self.move.address(int(value) % (1 << 64))).view(numpy.int64)
            found.append(value)
        return found

    def copy_of(self, region: Region) -> Region:
        """The copy of one of the regions it was made of."""
        found = self.find(self.move.address(region.start))
        assert found is not None
        return found

    def hand_back(self, region: Region) -> None:
        """Give the caller what the launch made of a region."""
        if not region.writable:
            return
        copy = self.copy_of(region)
        data = copy.data
        if self.has_tables and _holds_words(copy):
            data = data.copy()
            self.move.back.words(data[: data.size // 8 * 8].view(numpy.uint64))
        region.data[:] = data

    # --- what tile blocks reserve ---

    def allocate(self, size: int, alignment: int, name: str) -> Region:
        if size + alignment > available_memory():
            raise MemoryError
        size = max(size, 1)
        room, base = self._area(name)
        held = self._held.setdefault(name, [])
        top = held[-1].end if held else base
        start = top + -top % alignment
        assert start + size <= base + self._needed, "each 'alloca' has one reservation at a time"
        region = Region(start, size, room, (name,), True)
        region.data[:] = 0
        held.append(region)
        self._insert(region)
        return region

    def release(self, region: Region) -> None:
        super().release(region)
        name = str(region.labels[0])
        held = self._held.get(name)
        if held and held[-1] is region:
            held.pop()
            if not held:
                del self._held[name], self._used[name]

    def _area(self, name: str) -> tuple[Array, int]:
        """The area of a tile block: the one it had before, or the first that no other one uses."""
        number = self._used.get(name)
        if number is None:
            used = set(self._used.values())
            number = self._known.get(name, -1)
            if number < 0:
                number = next(one for one in range(len(used) + 1) if one not in used)
                if number:
                    self._known[name] = number
            while number >= len(self._areas):
                start, room = _room(self._needed, 0)
                self._areas.append((room, start))
            self._used[name] = number
        return self._areas[number]


def _room(size: int, offset: int) -> tuple[int, Array]:
    """Memory for so many bytes that lie so far behind a page boundary: their address, and what keeps it."""
    room: Array = numpy.empty(size + 2 * _PAGE, numpy.uint8)
    base = int(room.ctypes.data)
    return base + -base % _PAGE + offset, room


def _holds_words(region: Region) -> bool:
    """Whether an array of 64-bit integers is in a region, which may be addresses."""
    dtypes = [label.buffer.dtype for label in region.labels if isinstance(label, ArgumentLabel)]
    return any(dtype.kind in "iu" and dtype.itemsize == 8 for dtype in dtypes)


@dataclass(slots=True, eq=False)
class RecordedLaunch:
    """What a recording runs: the kernel, memory, the values of the parameters, global variables."""

    entry: Operation
    grid: BlockId
    schedule: str
    exact: bool
    memory: OwnedMemory
    values: list[Any]
    globals: dict[str, Region]

    @property
    def is_interleaved(self) -> bool:
        return self.schedule == "interleaved"

    @property
    def order(self) -> Order:
        return block_order(self.schedule, self.grid)

    def program(self, observer: Observer, is_interleaved: bool) -> Program:
        """The kernel, compiled for an observer."""
        return Program(self.entry, Options(self.exact, observer, is_interleaved), self.globals)

    def runner(self, program: Program, observer: Observer, write: Callable[[str], object]) -> RunBlock:
        """What runs the tile block of a number."""
        first = TileBlock((0, 0, 0), 0, self.grid, self.memory, write, observer)
        return block_runner(program, self.values, first)

    def run(self, run: RunBlock, first: int = 0) -> None:
        """Run the tile blocks from a place in their order on; interleaved ones all."""
        if self.is_interleaved:
            run_interleaved(self.order, run, None)
            return
        for number in islice(self.order.numbers, first, None):
            run(number, None)


_LEAST_ROOM: Final = 1 << 16
"""For accesses and paths, besides the arrays."""


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
        self.program: NumberedProgram = NumberedProgram(entry)
        self.control: ControlFlow = ControlFlow(self.program)
        more = checked_arrays(memory, "memory") if memory else []
        bound = bind(entry, arguments)
        # The caller's memory is there as long as these are.
        self._bound: object = (bound, more)
        self.given: Memory = known_memory(kernel.globals.regions.values(), bound, more)
        """The memory of the caller."""
        self.room: int = _room_beside(limit, self.given.regions, entry)
        sources = [Source(region.start, region.data, region.labels, region.writable) for region in self.given.regions]
        owned = self.memory = OwnedMemory(sources, entry, bool(more))
        globals = {name: owned.copy_of(region) for name, region in kernel.globals.regions.items()}
        labels = [label for one in owned.regions for label in one.labels if isinstance(label, ArgumentLabel)]
        self.arrays: list[RecordedArray] = arrays_of(self.program, owned, labels)
        chosen = kernel.schedule if schedule is None else schedule
        values = owned.values(entry, bound.values)
        self.launch: RecordedLaunch = RecordedLaunch(entry, extents, chosen, kernel.exact, owned, values, globals)
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
        return Recorder(self.program, self.control, Finder(self.memory, self.arrays), records, observers, report)

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
